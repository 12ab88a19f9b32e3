/* Whether a 3x3 determinant is exactly zero, in integer arithmetic over double's whole range.
 * The value of a determinant that is not zero is not its business: inverse.c has that. */
#include "mat4.h"

#include <math.h>
#include <stdint.h>

/* Each double is split into digits of a number in base 2^16. A product of three digits is below
 * 2^48 and at most 6 * 125 of them meet in one place, so that an int64_t never overflows. */
#define DIGIT_BITS 16
#define DIGIT_BASE (1 << DIGIT_BITS)
/* 53 bits, shifted by up to 15. */
#define DIGITS_PER_DOUBLE 5
/* frexp gives exponents from -1073 to 1024; 1136 is the multiple of 16 that makes exponent - 53
 * positive. */
#define EXPONENT_BIAS 1136
#define MAX_PLACE ((1024 - 53 + EXPONENT_BIAS) / DIGIT_BITS)
#define PLACE_COUNT (3 * (MAX_PLACE + DIGITS_PER_DOUBLE))

struct digits {
    int place; /* of the lowest digit */
    int64_t digit[DIGITS_PER_DOUBLE];
};

static void split_double(double value, struct digits *digits) {
    int exponent = 0;
    int64_t mantissa = (int64_t)ldexp(frexp(fabs(value), &exponent), 53);
    int shift = (exponent - 53 + EXPONENT_BIAS) % DIGIT_BITS;
    int64_t sign = value < 0.0 ? -1 : 1;
    digits->place = (exponent - 53 + EXPONENT_BIAS) / DIGIT_BITS;
    digits->digit[0] = sign * ((mantissa % (DIGIT_BASE >> shift)) * (1 << shift));
    mantissa /= DIGIT_BASE >> shift;
    for (int i = 1; i < DIGITS_PER_DOUBLE; i++) {
        digits->digit[i] = sign * (mantissa % DIGIT_BASE);
        mantissa /= DIGIT_BASE;
    }
}

static void add_product(int64_t *places, int sign, const struct digits *a, const struct digits *b,
                        const struct digits *c) {
    int64_t *base = places + a->place + b->place + c->place;
    for (int i = 0; i < DIGITS_PER_DOUBLE; i++) {
        for (int j = 0; j < DIGITS_PER_DOUBLE; j++) {
            for (int k = 0; k < DIGITS_PER_DOUBLE; k++) {
                base[i + j + k] += sign * a->digit[i] * b->digit[j] * c->digit[k];
            }
        }
    }
}

static bool is_zero(const int64_t *places) {
    int64_t carry = 0;
    for (int i = 0; i < PLACE_COUNT; i++) {
        int64_t value = places[i] + carry;
        if (value % DIGIT_BASE != 0) {
            return false;
        }
        carry = value / DIGIT_BASE;
    }
    return carry == 0;
}

bool skin_determinant_is_zero(const struct skin_rows *rows) {
    static const int permutation[6][3] = {
        {0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {1, 0, 2}, {2, 1, 0},
    };
    struct digits element[3][3];
    int64_t places[PLACE_COUNT] = {0};
    for (int row = 0; row < 3; row++) {
        for (int column = 0; column < 3; column++) {
            split_double(rows->at[row][column], &element[row][column]);
        }
    }
    for (int i = 0; i < 6; i++) {
        const int *column = permutation[i];
        add_product(places, i < 3 ? 1 : -1, &element[0][column[0]], &element[1][column[1]],
                    &element[2][column[2]]);
    }
    return is_zero(places);
}
