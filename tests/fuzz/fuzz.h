/* What every fuzz target is made of: one function over bytes, and a claim that must hold for all of
 * them. A file beside this one is a target; there is nothing else to list or register. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The names are libFuzzer's. Called once, and for each input; both return 0. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process when the condition does not hold; libFuzzer then keeps the input. */
#define fuzz_require(condition)                                                                    \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition);   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* A block of exactly that size, so that the sanitizer sees each read behind its end. To be freed.
 */
static inline char *fuzz_copy(const void *data, size_t size) {
    char *copy = malloc(size == 0 ? 1 : size);
    fuzz_require(copy != NULL);
    if (size > 0) {
        memcpy(copy, data, size);
    }
    return copy;
}

/* The same with a NUL behind it. */
static inline char *fuzz_text(const void *data, size_t size) {
    char *copy = malloc(size + 1);
    fuzz_require(copy != NULL);
    if (size > 0) {
        memcpy(copy, data, size);
    }
    copy[size] = '\0';
    return copy;
}

/* The piece up to the next `mark`, which is skipped; moves *at behind it. */
static inline const uint8_t *fuzz_piece(const uint8_t **at, const uint8_t *end, char mark,
                                        size_t *size) {
    const uint8_t *start = *at;
    const uint8_t *stop = start < end ? memchr(start, mark, (size_t)(end - start)) : NULL;
    *size = (size_t)((stop != NULL ? stop : end) - start);
    *at = stop != NULL ? stop + 1 : end;
    return start;
}

#endif
