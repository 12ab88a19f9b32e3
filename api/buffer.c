/* The append-only byte buffer of buffer.h: grows by doubling up to its maximum.
 * It never throws data away and never grows past what it was told. */
#include "buffer.h"

#include <stdlib.h>
#include <string.h>

void api_buffer_init(struct api_buffer *buffer, size_t maximum) {
    *buffer = (struct api_buffer){.maximum = maximum};
}

void api_buffer_finish(struct api_buffer *buffer) {
    free(buffer->data);
    api_buffer_init(buffer, buffer->maximum);
}

static bool buffer_grow(struct api_buffer *buffer, size_t wanted) {
    size_t capacity = buffer->capacity < 512 ? 512 : buffer->capacity;
    while (capacity < wanted) {
        capacity *= 2;
    }
    if (capacity > buffer->maximum) {
        capacity = buffer->maximum;
    }
    char *data = realloc(buffer->data, capacity);
    if (data == NULL) {
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

char *api_buffer_reserve(struct api_buffer *buffer, size_t size) {
    if (buffer->failed) {
        return NULL;
    }
    if (size > buffer->maximum - buffer->size) {
        buffer->failed = buffer->full = true;
        return NULL;
    }
    if (size > buffer->capacity - buffer->size && !buffer_grow(buffer, buffer->size + size)) {
        buffer->failed = true;
        return NULL;
    }
    return buffer->data + buffer->size;
}

void api_buffer_append(struct api_buffer *buffer, const char *data, size_t size) {
    if (size == 0) {
        return;
    }
    char *room = api_buffer_reserve(buffer, size);
    if (room != NULL) {
        memcpy(room, data, size);
        buffer->size += size;
    }
}

void api_buffer_text(struct api_buffer *buffer, const char *text) {
    api_buffer_append(buffer, text, strlen(text));
}
