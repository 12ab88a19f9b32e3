/* An append-only byte buffer with a mandatory maximum. It knows nothing of JSON; once an append
 * does not fit or memory is out it stays failed, so callers check once at the end. */
#ifndef API_BUFFER_H
#define API_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct api_buffer {
    char *data; /* owned; NULL while empty */
    size_t size;
    size_t capacity;
    size_t maximum; /* size never passes this */
    bool failed;    /* an append was refused; data is then incomplete */
    bool full;      /* it was refused for the maximum, not for want of memory */
};

/* Starts empty; allocates nothing. */
void api_buffer_init(struct api_buffer *buffer, size_t maximum);
void api_buffer_finish(struct api_buffer *buffer);

/* Room for `size` more bytes, to be filled by the caller and claimed by adding to buffer->size.
 * NULL (and failed) when there is none. */
char *api_buffer_reserve(struct api_buffer *buffer, size_t size);

void api_buffer_append(struct api_buffer *buffer, const char *data, size_t size);
void api_buffer_text(struct api_buffer *buffer, const char *text);

#endif
