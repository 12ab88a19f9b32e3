/* The checks of private_file.h are made on the open descriptor, so that a file that is exchanged
 * meanwhile is not judged by its predecessor. It follows links: secrets are often mounted as one.
 */
#define _GNU_SOURCE
#include "private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool private_file_fail(const char *path, const char *why,
                              char error[PRIVATE_FILE_ERROR_SIZE]) {
    snprintf(error, PRIVATE_FILE_ERROR_SIZE, "%.200s: %s", path, why);
    return false;
}

static bool private_file_check(int file, const char *path, bool is_secret,
                               char error[PRIVATE_FILE_ERROR_SIZE]) {
    struct stat status;
    if (fstat(file, &status) != 0) {
        return private_file_fail(path, strerror(errno), error);
    }
    if (!S_ISREG(status.st_mode)) {
        return private_file_fail(path, "not a regular file", error);
    }
    if (is_secret && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return private_file_fail(
            path, "its group or others have access; allow its owner alone (chmod 600)", error);
    }
    return true;
}

static bool private_file_fill(int file, const char *path, struct api_buffer *text,
                              char error[PRIVATE_FILE_ERROR_SIZE]) {
    for (;;) {
        char *room = api_buffer_reserve(text, 4096);
        if (room == NULL) {
            return private_file_fail(path, text->full ? "over 1 MiB" : "out of memory", error);
        }
        const ssize_t got = read(file, room, 4095); /* and one for the NUL */
        if (got < 0 && errno != EINTR) {
            return private_file_fail(path, strerror(errno), error);
        }
        text->size += got > 0 ? (size_t)got : 0;
        text->data[text->size] = '\0';
        if (got == 0) {
            return true;
        }
    }
}

bool private_file_read(const char *path, bool is_secret, struct api_buffer *text,
                       char error[PRIVATE_FILE_ERROR_SIZE]) {
    api_buffer_init(text, PRIVATE_FILE_MAX_SIZE);
    /* without waiting for the other end, should it be a pipe */
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return private_file_fail(path, strerror(errno), error);
    }
    const bool is_read = private_file_check(file, path, is_secret, error) &&
                         private_file_fill(file, path, text, error);
    close(file);
    if (!is_read) {
        private_file_finish(text);
    }
    return is_read;
}

void private_file_finish(struct api_buffer *text) {
    if (text->data != NULL) {
        explicit_bzero(text->data, text->capacity);
    }
    api_buffer_finish(text);
}
