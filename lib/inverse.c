/* The inverse of an affine matrix: adjugate over determinant, judged free of scale.
 * It never inverts a general 4x4; the last column of an affine matrix carries nothing. */
#include "mat4.h"

#include "wide.h"

#include <math.h>

/* The double-double determinant is good to about 2^-100 of the sum of its terms' magnitudes. */
#define DETERMINANT_RATIO 0x1p-80
/* Below this the error terms of products leave double's range. */
#define DETERMINANT_MIN 0x1p-900

/* A matrix scaled by a power of two, its adjugate and its determinant. */
struct adjugate {
    struct skin_rows scaled;
    struct skin_wide at[3][3];
    struct skin_wide determinant;
};

/* A power of two as a product, since 2^1074 is no double. */
struct power {
    double first;
    double second;
};

static struct power power_of_two(int exponent) {
    int half = exponent / 2;
    return (struct power){ldexp(1.0, half), ldexp(1.0, exponent - half)};
}

static void scale_linear(struct skin_rows *rows, struct power power) {
    for (int row = 0; row < 3; row++) {
        for (int column = 0; column < 3; column++) {
            rows->at[row][column] = rows->at[row][column] * power.first * power.second + 0.0;
        }
    }
}

/* a * d - b * c */
static struct skin_wide cross(double a, double d, double b, double c) {
    return skin_wide_add(skin_two_product(a, d), skin_two_product(-b, c));
}

static void adjugate_compute(struct adjugate *adjugate) {
    const double(*a)[3] = (const double(*)[3])adjugate->scaled.at;
    struct skin_wide sum = {0.0, 0.0};
    for (int row = 0; row < 3; row++) {
        int r1 = (row + 1) % 3;
        int r2 = (row + 2) % 3;
        for (int column = 0; column < 3; column++) {
            int c1 = (column + 1) % 3;
            int c2 = (column + 2) % 3;
            adjugate->at[column][row] = cross(a[r1][c1], a[r2][c2], a[r1][c2], a[r2][c1]);
        }
    }
    for (int column = 0; column < 3; column++) {
        struct skin_wide factor = {a[0][column], 0.0};
        sum = skin_wide_add(sum, skin_wide_multiply(factor, adjugate->at[column][0]));
    }
    adjugate->determinant = sum;
}

/* inverse = adjugate / determinant */
static void adjugate_divide(const struct adjugate *adjugate, struct skin_wide_rows *inverse) {
    struct skin_wide reciprocal = skin_wide_reciprocal(adjugate->determinant);
    *inverse = (struct skin_wide_rows){0};
    for (int row = 0; row < 3; row++) {
        for (int column = 0; column < 3; column++) {
            struct skin_wide value = skin_wide_multiply(adjugate->at[row][column], reciprocal);
            inverse->hi.at[row][column] = value.hi;
            inverse->lo.at[row][column] = value.lo;
        }
    }
}

/* The 1-norm of the 3x3 part: the largest absolute column sum. */
static double linear_norm(const struct skin_rows *rows) {
    double largest = 0.0;
    for (int column = 0; column < 3; column++) {
        double sum = 0.0;
        for (int row = 0; row < 3; row++) {
            sum += fabs(rows->at[row][column]);
        }
        largest = fmax(largest, sum);
    }
    return largest;
}

/* Whether the determinant is certainly not zero, and most of its digits are no rounding. */
static bool determinant_is_known(const struct adjugate *adjugate) {
    const double(*a)[3] = (const double(*)[3])adjugate->scaled.at;
    double size = fabs(adjugate->determinant.hi);
    double terms = 0.0;
    for (int column = 0; column < 3; column++) {
        int c1 = (column + 1) % 3;
        int c2 = (column + 2) % 3;
        terms += fabs(a[0][column]) * (fabs(a[1][c1] * a[2][c2]) + fabs(a[1][c2] * a[2][c1]));
    }
    return size >= DETERMINANT_RATIO * terms && size >= DETERMINANT_MIN;
}

static bool linear_is_finite(const struct skin_rows *rows) {
    double sum = 0.0;
    for (int row = 0; row < 3; row++) {
        for (int column = 0; column < 3; column++) {
            /* 0 times a finite number is 0; of anything else it is NaN. */
            sum += 0.0 * rows->at[row][column];
        }
    }
    return sum == 0.0;
}

static double linear_largest(const struct skin_rows *rows) {
    struct skin_rows linear = *rows;
    linear.at[3][0] = linear.at[3][1] = linear.at[3][2] = 0.0;
    return skin_rows_largest(&linear);
}

enum skin_status skin_rows_invert(const struct skin_rows *rows, double max_condition,
                                  struct skin_wide_rows *inverse, double *condition) {
    struct adjugate adjugate = {.scaled = *rows};
    struct power unit;
    int exponent = 0;
    double largest = linear_largest(rows);
    *condition = INFINITY;
    if (largest == 0.0) {
        return SKIN_SINGULAR;
    }
    (void)frexp(largest, &exponent);
    unit = power_of_two(-exponent);
    scale_linear(&adjugate.scaled, unit);
    adjugate_compute(&adjugate);
    if (!determinant_is_known(&adjugate)) {
        return skin_determinant_is_zero(rows) ? SKIN_SINGULAR : SKIN_ILL_CONDITIONED;
    }
    adjugate_divide(&adjugate, inverse);
    *condition = linear_norm(&adjugate.scaled) * linear_norm(&inverse->hi);
    if (!(*condition < max_condition)) {
        return SKIN_ILL_CONDITIONED;
    }
    scale_linear(&inverse->hi, unit);
    scale_linear(&inverse->lo, unit);
    return linear_is_finite(&inverse->hi) ? SKIN_OK : SKIN_OVERFLOW;
}

static bool rows_are_finite(const struct skin_rows *rows) {
    const double *t = rows->at[3];
    return linear_is_finite(rows) && isfinite(t[0]) && isfinite(t[1]) && isfinite(t[2]);
}

enum skin_status skin_mat4_invert(const struct skin_mat4 *a, double max_condition,
                                  struct skin_mat4 *inverse, double *condition) {
    static const struct skin_rows identity = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {0, 0, 0}}};
    struct skin_rows rows;
    struct skin_rows result;
    struct skin_wide_rows shifted;
    struct skin_wide_rows linear;
    double found = INFINITY;
    enum skin_status status = SKIN_NOT_FINITE;
    skin_rows_load(a, &rows);
    if (rows_are_finite(&rows)) {
        status = skin_rows_invert(&rows, max_condition, &linear, &found);
    }
    if (condition != NULL) {
        *condition = found;
    }
    if (status != SKIN_OK) {
        return status;
    }
    skin_rows_shift(&identity, rows.at[3], &shifted);
    skin_rows_multiply(&shifted, &linear, NULL, &result);
    if (!rows_are_finite(&result)) {
        return SKIN_OVERFLOW;
    }
    skin_rows_store(&result, inverse);
    return SKIN_OK;
}
