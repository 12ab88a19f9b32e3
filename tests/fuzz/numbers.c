/* Number text to double against strtod and JSON's grammar written out anew, and each double and
 * float to text, which must read back bit for bit and be the shortest that does. */
#include "api/numbers.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>

static size_t digits_at(const char *text, size_t size, size_t at) {
    size_t count = 0;
    while (at + count < size && text[at + count] >= '0' && text[at + count] <= '9') {
        ++count;
    }
    return count;
}

/* Bytes of the number that the text begins with, 0 for none: RFC 8259, section 6. */
static size_t number_size(const char *text, size_t size) {
    size_t at = size > 0 && text[0] == '-' ? 1 : 0;
    size_t count = digits_at(text, size, at);
    if (count == 0 || (count > 1 && text[at] == '0')) {
        return 0;
    }
    at += count;
    if (at < size && text[at] == '.') {
        count = digits_at(text, size, at + 1);
        if (count == 0) {
            return 0;
        }
        at += 1 + count;
    }
    if (at < size && (text[at] == 'e' || text[at] == 'E')) {
        ++at;
        at += at < size && (text[at] == '+' || text[at] == '-') ? 1 : 0;
        count = digits_at(text, size, at);
        if (count == 0) {
            return 0;
        }
        at += count;
    }
    return at;
}

static bool same_number(double a, double b) {
    return a == b && signbit(a) == signbit(b);
}

static void check_read(const char *text, size_t size) {
    double value = -1;
    const char *behind = api_number_read(text, text + size, &value);
    const size_t wanted = number_size(text, size);
    if (wanted == 0) {
        fuzz_require(behind == NULL);
        return;
    }
    char *alone = fuzz_text(text, wanted);
    errno = 0;
    const double expected = strtod(alone, NULL);
    const bool is_out_of_range = errno == ERANGE;
    free(alone);
    if (!isfinite(expected)) {
        fuzz_require(behind == NULL);
    } else if (behind == NULL) {
        /* too small, and it touches the end: more digits could follow */
        fuzz_require(is_out_of_range && wanted == size);
    } else {
        fuzz_require(behind == text + wanted && same_number(value, expected));
    }
}

/* Digits of the text, without zeros at either end, sign, point and exponent. */
static int significant_digits(const char *text) {
    int count = 0;
    int zeros = 0;
    for (; *text != '\0' && *text != 'e'; ++text) {
        if (*text >= '1' && *text <= '9') {
            count += zeros + 1;
            zeros = 0;
        } else if (*text == '0' && count > 0) {
            ++zeros;
        }
    }
    return count;
}

static void check_write_f64(double value) {
    char text[API_NUMBER_SIZE + 1];
    char shorter[40];
    char *end = api_number_write_f64(text, value);
    fuzz_require(end > text && end <= text + API_NUMBER_SIZE);
    *end = '\0';
    fuzz_require(number_size(text, (size_t)(end - text)) == (size_t)(end - text));
    fuzz_require(same_number(strtod(text, NULL), value));
    const int digits = significant_digits(text);
    if (digits > 1 && strpbrk(text, ".e") != NULL) { /* a long integer is written in full */
        (void)snprintf(shorter, sizeof shorter, "%.*e", digits - 2, value);
        fuzz_require(strtod(shorter, NULL) != value);
    }
}

static void check_write_f32(float value) {
    char text[API_NUMBER_SIZE + 1];
    char shorter[40];
    char *end = api_number_write_f32(text, value);
    fuzz_require(end > text && end <= text + API_NUMBER_SIZE);
    *end = '\0';
    fuzz_require(number_size(text, (size_t)(end - text)) == (size_t)(end - text));
    const float again = strtof(text, NULL);
    fuzz_require(again == value && signbit(again) == signbit(value));
    const int digits = significant_digits(text);
    if (digits > 1 && strpbrk(text, ".e") != NULL) {
        (void)snprintf(shorter, sizeof shorter, "%.*e", digits - 2, (double)value);
        fuzz_require(strtof(shorter, NULL) != value);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_copy(data, size);
    check_read(text, size);
    free(text);
    for (size_t i = 0; i + 8 <= size && i < 64; ++i) {
        double wide;
        float narrow;
        memcpy(&wide, data + i, sizeof wide);
        memcpy(&narrow, data + i, sizeof narrow);
        if (isfinite(wide)) {
            check_write_f64(wide);
        }
        if (isfinite(narrow)) {
            check_write_f32(narrow);
        }
    }
    return 0;
}
