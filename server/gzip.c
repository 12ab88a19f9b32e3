/* Packing by zlib, fast rather than small: numbers as text shrink to less than half at its lowest
 * level, and higher ones cost far more than they save. */
#include "gzip.h"

#include <limits.h>
#include <zlib.h>

/* zlib's window of 32 KiB, with 16 for gzip's header and checksum. */
#define GZIP_WINDOW_BITS (15 + 16)

/* zlib's default use of memory */
#define GZIP_MEMORY_LEVEL 8

/* Bytes that are made room for at a time. */
#define GZIP_STEP ((size_t)64 << 10)

/* Room for the next step, or for what is left of the maximum; NULL when nothing is. */
static char *gzip_room(struct api_buffer *out, size_t *room) {
    const size_t left = out->maximum - out->size;
    *room = left < GZIP_STEP ? left : GZIP_STEP;
    return *room > 0 ? api_buffer_reserve(out, *room) : NULL;
}

/* Whether there is any output left once the buffer is full: the trailer may still be due. */
static int gzip_unpack_full(z_stream *stream) {
    unsigned char spare;
    stream->next_out = &spare; // cppcheck-suppress autoVariables
    stream->avail_out = 1;
    const int result = inflate(stream, Z_NO_FLUSH);
    stream->next_out = NULL;
    return stream->avail_out == 0 ? Z_MEM_ERROR : result;
}

static enum gzip_result gzip_unpack_all(z_stream *stream, struct api_buffer *out) {
    int result = Z_OK;
    while (result == Z_OK) {
        size_t room;
        char *at = gzip_room(out, &room);
        if (at == NULL && room > 0) {
            return GZIP_MEMORY;
        }
        if (at == NULL) {
            result = gzip_unpack_full(stream);
            if (result == Z_MEM_ERROR) {
                return GZIP_FULL;
            }
            continue;
        }
        stream->next_out = (unsigned char *)at;
        stream->avail_out = (uInt)room;
        result = inflate(stream, Z_NO_FLUSH);
        out->size += room - stream->avail_out;
    }
    switch (result) {
    case Z_STREAM_END:
        return stream->avail_in > 0 ? GZIP_TRAILING : GZIP_OK;
    case Z_BUF_ERROR:
        return GZIP_CUT;
    case Z_MEM_ERROR:
        return GZIP_MEMORY;
    default:
        return GZIP_BAD;
    }
}

enum gzip_result gzip_unpack(const char *packed, size_t size, struct api_buffer *out) {
    z_stream stream = {.next_in = (unsigned char *)packed, .avail_in = (uInt)size};
    if (size > UINT_MAX) {
        return GZIP_FULL;
    }
    if (inflateInit2(&stream, GZIP_WINDOW_BITS) != Z_OK) {
        return GZIP_MEMORY;
    }
    const enum gzip_result result = gzip_unpack_all(&stream, out);
    inflateEnd(&stream);
    return result;
}

bool gzip_pack(const char *plain, size_t size, struct api_buffer *out) {
    z_stream stream = {.next_in = (unsigned char *)plain, .avail_in = (uInt)size};
    if (size > UINT_MAX || deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, GZIP_WINDOW_BITS,
                                        GZIP_MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        return false;
    }
    const size_t bound = deflateBound(&stream, (uLong)size);
    char *room = api_buffer_reserve(out, bound);
    bool is_packed = false;
    if (room != NULL && bound <= UINT_MAX) {
        stream.next_out = (unsigned char *)room;
        stream.avail_out = (uInt)bound;
        is_packed = deflate(&stream, Z_FINISH) == Z_STREAM_END;
        out->size += bound - stream.avail_out;
    }
    deflateEnd(&stream);
    return is_packed;
}
