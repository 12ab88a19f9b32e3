/* Assertions on doubles and floats for every cmocka test; each fails the caller, with its file and
 * line. It holds no test data and knows nothing of matrices. */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

/* cmocka.h needs these four before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

/* |actual - expected| <= relative * |expected|; a NaN never passes. */
#define check_near(actual, expected, relative)                                                     \
    check_near_at(actual, expected, relative, __FILE__, __LINE__)

/* Each element within relative * (the largest magnitude in expected). */
#define check_array_near(actual, expected, count, relative)                                        \
    check_arrays_near_at(actual, expected, count, relative, __FILE__, __LINE__)

/* Equal bit for bit, so that 0.0 and -0.0 differ. */
#define check_array_equal(actual, expected, count)                                                 \
    check_arrays_equal_at(actual, expected, count, __FILE__, __LINE__)

#define check_floats_equal(actual, expected, count)                                                \
    check_floats_equal_at(actual, expected, count, __FILE__, __LINE__)

/* The bytes at `memory` are all `byte`: nothing was written there. */
#define check_untouched(memory, size, byte)                                                        \
    check_untouched_at(memory, size, byte, __FILE__, __LINE__)

static inline void check_arrays_near_at(const double *actual, const double *expected, size_t count,
                                        double relative, const char *file, int line) {
    double largest = 0.0;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, fabs(expected[i]));
    }
    for (size_t i = 0; i < count; i++) {
        double error = fabs(actual[i] - expected[i]);
        if (!(error <= relative * largest)) {
            print_error("element %zu: got %.17g, expected %.17g, off by %g, allowed %g\n", i,
                        actual[i], expected[i], error, relative * largest);
            _fail(file, line);
        }
    }
}

static inline void check_near_at(double actual, double expected, double relative, const char *file,
                                 int line) {
    check_arrays_near_at(&actual, &expected, 1, relative, file, line);
}

static inline uint64_t check_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline void check_arrays_equal_at(const double *actual, const double *expected, size_t count,
                                         const char *file, int line) {
    for (size_t i = 0; i < count; i++) {
        if (check_bits(actual[i]) != check_bits(expected[i])) {
            print_error("element %zu: got %.17g, expected exactly %.17g\n", i, actual[i],
                        expected[i]);
            _fail(file, line);
        }
    }
}

static inline void check_floats_equal_at(const float *actual, const float *expected, size_t count,
                                         const char *file, int line) {
    for (size_t i = 0; i < count; i++) {
        if (check_bits(actual[i]) != check_bits(expected[i])) {
            print_error("element %zu: got %.9g, expected exactly %.9g\n", i, (double)actual[i],
                        (double)expected[i]);
            _fail(file, line);
        }
    }
}

static inline void check_untouched_at(const void *memory, size_t size, unsigned char byte,
                                      const char *file, int line) {
    const unsigned char *bytes = memory;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != byte) {
            print_error("byte %zu was written: 0x%02x\n", i, bytes[i]);
            _fail(file, line);
        }
    }
}

#endif
