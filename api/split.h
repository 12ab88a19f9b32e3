/* Cuts a batch's body into its items without reading them, so that they can be read at the same
 * time. It finds only where items begin and end; whether they are JSON is seen when they are read.
 */
#ifndef API_SPLIT_H
#define API_SPLIT_H

#include "buffer.h"
#include "problem.h"

#include <stddef.h>

struct api_slice {
    size_t offset;
    size_t size;
};

struct api_split {
    struct api_slice *slices; /* owned */
    size_t count;
    size_t capacity;
    struct api_buffer envelope; /* the text with 0 in the place of each item */
};

/* Cuts out the elements of the array that is the member `name` of the object that `text` is.
 * Returns API_OK, also for a text in which there is no such array (the envelope is then the whole
 * text); or API_LIMIT_EXCEEDED for more than `maximum` items, or API_OVERLOADED.
 * The name is found as it is usually written, without escapes. */
enum api_code api_split(const char *text, size_t size, const char *name, size_t maximum,
                        struct api_split *split);

/* The offset in the text of an offset in the envelope. */
size_t api_split_offset(const struct api_split *split, size_t envelope_offset);

void api_split_finish(struct api_split *split);

#endif
