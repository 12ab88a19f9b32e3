/* Reads a small file that is a secret, and refuses one that others could read.
 * What stands in the file is for the caller to judge. */
#ifndef SERVER_PRIVATE_FILE_H
#define SERVER_PRIVATE_FILE_H

#include "api/buffer.h"

#include <stdbool.h>

/* Bytes of the largest file that is taken. */
#define PRIVATE_FILE_MAX_SIZE ((size_t)1 << 20)

#define PRIVATE_FILE_ERROR_SIZE 320

/* Fills text, which holds nothing yet, and puts a NUL behind it that does not count. False with the
 * error's text set: no regular file, over the maximum, not to be read, or, when it is a secret,
 * open to its group or to others. */
bool private_file_read(const char *path, bool is_secret, struct api_buffer *text,
                       char error[PRIVATE_FILE_ERROR_SIZE]);

/* Overwrites the bytes before it frees them. */
void private_file_finish(struct api_buffer *text);

#endif
