/* Number text and doubles, both ways: grammar, rounding, shortest text.
 * The references are strtod (correctly rounded in glibc), hand-chosen bits, and long doubles. */
#include "api/numbers.h"
#include "tests/check.h"
#include "tests/matrices.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* As in an array: a comma follows. */
static size_t read_length(const char *text, double *value) {
    char padded[1024];
    const size_t size = (size_t)snprintf(padded, sizeof padded, "%s,", text);
    const char *end = api_number_read(padded, padded + size, value);
    return end == NULL ? 0 : (size_t)(end - padded);
}

static void test_reads_hand_checked_values(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t bits;
    } rows[] = {
        {"0", 0},
        {"-0", 0x8000000000000000},
        {"-0.0", 0x8000000000000000},
        {"1", 0x3FF0000000000000},
        {"-1", 0xBFF0000000000000},
        {"1E0", 0x3FF0000000000000},
        {"10e-1", 0x3FF0000000000000},
        {"0.1", 0x3FB999999999999A},
        {"0.30000000000000004", 0x3FD3333333333334},
        {"9007199254740993", 0x4340000000000000},         /* 2^53 + 1: tie to even */
        {"9007199254740993.0000001", 0x4340000000000001}, /* just over the tie */
        {"1.7976931348623157e308", 0x7FEFFFFFFFFFFFFF},
        {"2.2250738585072014e-308", 0x0010000000000000},
        {"2.2250738585072011e-308", 0x000FFFFFFFFFFFFF},
        {"4.9406564584124654e-324", 1},
        {"2e-324", 0}, /* under half of the least double */
        {"1e-400", 0},
        {"-1e-400", 0x8000000000000000},
        {"1e23", 0x44B52D02C7E14AF6}, /* 10^23 lies between two doubles */
        {"0.000000000000000000000000000001e30", 0x3FF0000000000000},
        {"100000000000000000000000000000000e-32", 0x3FF0000000000000},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        double value = 7;
        if (read_length(rows[i].text, &value) != strlen(rows[i].text) ||
            bits_of(value) != rows[i].bits) {
            fail_msg("%s read as %.17g", rows[i].text, value);
        }
    }
}

static void test_grammar(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t length; /* 0: refused */
    } rows[] = {
        {"", 0},
        {"-", 0},
        {"+1", 0},
        {".5", 0},
        {"1.", 0},
        {"1.e3", 0},
        {"01", 0},
        {"-01", 0},
        {"00", 0},
        {"1e", 0},
        {"1e+", 0},
        {"NaN", 0},
        {"inf", 0},
        {"-inf", 0},
        {"nan", 0},
        {"0x5", 1},
        {"1.5.2", 3},
        {"1e5e", 3},
        {"1-", 1},
        {"1e308 ", 5},
        {"1e309", 0},
        {"-1e309", 0},
        {"1e99999999999", 0},
        {"- 1", 0},
        {"0e0", 3},
        {"0.0e-0", 6},
        {"1E+05", 5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        double value;
        const size_t length = read_length(rows[i].text, &value);
        if (length != rows[i].length) {
            fail_msg("'%s': %zu bytes taken, expected %zu", rows[i].text, length, rows[i].length);
        }
    }
}

static void test_never_reads_past_end(void **state) {
    (void)state;
    static const char *const texts[] = {"12345", "1.5", "1e5", "-", "1.", "1e", "1e+", "1e400"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        const size_t size = strlen(texts[i]);
        for (size_t cut = 0; cut <= size; ++cut) {
            char *exact = malloc(cut == 0 ? 1 : cut); /* address sanitizer watches what is behind */
            assert_non_null(exact);
            memcpy(exact, texts[i], cut);
            double value;
            const char *end = api_number_read(exact, exact + cut, &value);
            assert_true(end == NULL || end <= exact + cut);
            free(exact);
        }
    }
}

static void test_long_numbers_round_correctly(void **state) {
    (void)state;
    /* 1 + 2^-53 exactly, then one digit more 700 places on: up, not to even */
    char text[900];
    int size =
        snprintf(text, sizeof text, "1.00000000000000011102230246251565404236316680908203125");
    double value;
    assert_int_equal(read_length(text, &value), size);
    assert_true(bits_of(value) == 0x3FF0000000000000);
    memset(text + size, '0', 700);
    memcpy(text + size + 700, "1", 2);
    assert_int_equal(read_length(text, &value), size + 701);
    assert_true(bits_of(value) == 0x3FF0000000000001);
}

/* Random digits, points and exponents against strtod. */
static void test_reads_as_strtod(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 200000; ++i) {
        char text[64];
        char *at = text;
        at += sprintf(at, "%s", random_unit(&seed) < 0.5 ? "-" : "");
        const int digits = 1 + (int)(random_unit(&seed) * 20);
        *at++ = (char)('1' + (int)(random_unit(&seed) * 9));
        const int point = (int)(random_unit(&seed) * (digits + 3));
        for (int d = 1; d < digits; ++d) {
            if (d == point) {
                *at++ = '.';
            }
            *at++ = (char)('0' + (int)(random_unit(&seed) * 10));
        }
        if (random_unit(&seed) < 0.5) {
            at += sprintf(at, "e%d", (int)random_between(&seed, -330, 290));
        }
        *at = '\0';
        double value;
        const double expected = strtod(text, NULL);
        assert_int_equal(read_length(text, &value), isinf(expected) ? 0 : strlen(text));
        if (isfinite(expected) && bits_of(value) != bits_of(expected)) {
            fail_msg("%s read as %.17g, not %.17g", text, value, expected);
        }
    }
}

static void check_written_f64(double value) {
    char text[API_NUMBER_SIZE + 1];
    char *end = api_number_write_f64(text, value);
    assert_in_range(end - text, 1, API_NUMBER_SIZE);
    *end = '\0';
    double back;
    if (read_length(text, &back) != (size_t)(end - text) || bits_of(back) != bits_of(value) ||
        bits_of(strtod(text, NULL)) != bits_of(value)) {
        fail_msg("%.17g was written as %s", value, text);
    }
}

static void test_every_double_reads_back(void **state) {
    (void)state;
    uint64_t seed = 2;
    for (int i = 0; i < 300000; ++i) {
        const uint64_t high = (uint64_t)(random_unit(&seed) * 4294967296.0);
        const uint64_t low = (uint64_t)(random_unit(&seed) * 4294967296.0);
        const double value = from_bits(high << 32 | low);
        if (isfinite(value)) {
            check_written_f64(value);
        }
        check_written_f64(random_between(&seed, -2, 2));
        check_written_f64(floor(random_between(&seed, -4e9, 4e9)));
    }
}

static void test_every_float_reads_back(void **state) {
    (void)state;
    uint64_t seed = 3;
    for (int i = 0; i < 300000; ++i) {
        const uint32_t bits = (uint32_t)(random_unit(&seed) * 4294967296.0);
        float value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) {
            continue;
        }
        char text[API_NUMBER_SIZE + 1];
        *api_number_write_f32(text, value) = '\0';
        const float back = strtof(text, NULL);
        uint32_t back_bits;
        memcpy(&back_bits, &back, sizeof back);
        if (back_bits != bits) {
            fail_msg("%.9g was written as %s", (double)value, text);
        }
    }
}

static void test_texts_are_shortest(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0.0, "0"},
        {-0.0, "-0.0"},
        {1.0, "1"},
        {-1.0, "-1"},
        {100000, "100000"},
        {-22, "-22"},
        {0.1, "0.1"},
        {0.5, "0.5"},
        {1e60, "1e+60"},
        {1.0 / 3, "0.3333333333333333"},
        {0x1p-1074, "5e-324"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        char text[API_NUMBER_SIZE + 1];
        *api_number_write_f64(text, rows[i].value) = '\0';
        assert_string_equal(text, rows[i].text);
    }
    char text[API_NUMBER_SIZE + 1];
    *api_number_write_f32(text, 0.1F) = '\0';
    assert_string_equal(text, "0.1");
    *api_number_write_f32(text, 3.4028235e38F) = '\0';
    assert_string_equal(text, "3.4028235e+38");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_hand_checked_values),
        cmocka_unit_test(test_grammar),
        cmocka_unit_test(test_never_reads_past_end),
        cmocka_unit_test(test_long_numbers_round_correctly),
        cmocka_unit_test(test_reads_as_strtod),
        cmocka_unit_test(test_every_double_reads_back),
        cmocka_unit_test(test_every_float_reads_back),
        cmocka_unit_test(test_texts_are_shortest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
