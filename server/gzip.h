/* Bodies in gzip's format (RFC 1952), packed and unpacked from one buffer into another.
 * When that is wanted, and on which thread, is for the caller. */
#ifndef SERVER_GZIP_H
#define SERVER_GZIP_H

#include "api/buffer.h"

enum gzip_result {
    GZIP_OK,
    GZIP_CUT,      /* it breaks off */
    GZIP_BAD,      /* not gzip, or damaged */
    GZIP_TRAILING, /* something follows the end; a second member counts as that too */
    GZIP_FULL,     /* more than out->maximum */
    GZIP_MEMORY,
};

/* Appends what `packed` holds to out, which is never longer than its maximum on the way. What it
 * holds after a failure is of no use. */
enum gzip_result gzip_unpack(const char *packed, size_t size, struct api_buffer *out);

/* Appends the plain bytes, packed. False: no memory, or over out->maximum. */
bool gzip_pack(const char *plain, size_t size, struct api_buffer *out);

#endif
