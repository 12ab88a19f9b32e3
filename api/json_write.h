/* Appends JSON text to a buffer: strings, numbers and members, straight and without a tree.
 * What it is given must be valid (UTF-8, finite); it does not look for the start or end of things.
 */
#ifndef API_JSON_WRITE_H
#define API_JSON_WRITE_H

#include "buffer.h"

/* A quoted string, escaped (RFC 8259, section 7). */
void api_write_string(struct api_buffer *out, const char *text);

/* A comma, a name that needs no escape, and a colon: for every member but the first. */
void api_write_key(struct api_buffer *out, const char *name);

/* Shortest text that reads back to the same double; finite only. */
void api_write_number(struct api_buffer *out, double value);

/* A whole number of at most 53 bits, always as digits. */
void api_write_integer(struct api_buffer *out, double value);

#endif
