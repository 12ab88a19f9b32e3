/* The pre-pass over a JSON body: lifts numeric arrays out of the text, so that the JSON library
 * never makes a value for a number of a matrix. It finds no errors of grammar; jansson does. */
#ifndef API_LIFT_H
#define API_LIFT_H

#include "buffer.h"
#include "problem.h"

#include <stdbool.h>
#include <stddef.h>

#define API_SPAN_MAX_RANK 3

/* One lifted array: numbers, or arrays of equal shape, nested up to 3 deep, as in [bone][row][4].
 * shape[0] is the outermost count; the product of shape is the count of numbers. */
struct api_span {
    size_t first; /* index of its first number in api_lifted.numbers */
    size_t rank;
    size_t shape[API_SPAN_MAX_RANK];
    size_t start; /* byte offsets of '[' and of the byte behind ']' in the original text */
    size_t end;
    size_t compact_end; /* byte offset behind its handle in the compact text */
};

struct api_lifted {
    double *numbers; /* owned */
    size_t number_count;
    size_t number_capacity;
    struct api_span *spans; /* owned; in order of their place in the text, none inside another */
    size_t span_count;
    size_t span_capacity;
    /* The text is no JSON for certain, from this offset on at the latest; else it is SIZE_MAX. */
    size_t malformed_offset;
    /* The text with each span replaced by a handle. Unused, and every array left in place, when
     * `plain` is set: some string of the client's could be taken for a handle. */
    struct api_buffer compact;
    bool plain;
};

/* Scans the text once, fills `lifted` and builds the compact text. The text is not changed.
 * Returns API_OK, also for text that is no JSON (the compact text then has the same first fault);
 * or API_TOO_DEEP, API_PAYLOAD_TOO_LARGE (too many values or numbers) or API_OVERLOADED (memory).
 * api_lifted_finish is due after any of them. */
enum api_code api_lift(const char *text, size_t size, struct api_lifted *lifted);
void api_lifted_finish(struct api_lifted *lifted);

/* The span that a JSON string of the compact text stands for, or NULL for the client's strings.
 * The text must have been read to its end: then no string of the client's can look like a handle.
 */
const struct api_span *api_lifted_span(const struct api_lifted *lifted, const char *string);

/* The offset in the original text of a byte offset in the compact text. */
size_t api_lifted_offset(const struct api_lifted *lifted, size_t compact_offset);

#endif
