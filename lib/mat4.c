/* Affine row-vector matrices: products that survive cancellation, and points through a matrix.
 * Inverses are in inverse.c; nothing here looks at arrays of bones. */
#include "mat4.h"

#include "wide.h"

#include <math.h>

/* The plain product is off by at most 4.5 units of 2^-52 (3 multiplications and additions a stage,
 * a shifted translation, a rounded inverse) of the same product of absolute values. So up to this
 * ratio between the latter and the result, 64 units hold with room to spare. */
#define PLAIN_RATIO 8.0

void skin_rows_load(const struct skin_mat4 *matrix, struct skin_rows *rows) {
    for (int row = 0; row < 4; row++) {
        for (int column = 0; column < 3; column++) {
            rows->at[row][column] = matrix->m[4 * row + column];
        }
    }
}

void skin_rows_store(const struct skin_rows *rows, struct skin_mat4 *matrix) {
    for (int row = 0; row < 4; row++) {
        for (int column = 0; column < 3; column++) {
            matrix->m[4 * row + column] = rows->at[row][column];
        }
        matrix->m[4 * row + 3] = row == 3 ? 1.0 : 0.0;
    }
}

/* Not fmax: each column is a chain of its own, and of single instructions. */
double skin_rows_largest(const struct skin_rows *rows) {
    double largest[3] = {0.0, 0.0, 0.0};
    for (int row = 0; row < 4; row++) {
        for (int column = 0; column < 3; column++) {
            double size = fabs(rows->at[row][column]);
            largest[column] = size > largest[column] ? size : largest[column];
        }
    }
    double two = largest[0] > largest[1] ? largest[0] : largest[1];
    return two > largest[2] ? two : largest[2];
}

void skin_rows_shift(const struct skin_rows *rows, const double origin[3],
                     struct skin_wide_rows *wide) {
    *wide = (struct skin_wide_rows){.hi = *rows};
    for (int column = 0; column < 3; column++) {
        struct skin_wide shifted = skin_two_sum(rows->at[3][column], -origin[column]);
        wide->hi.at[3][column] = shifted.hi;
        wide->lo.at[3][column] = shifted.lo;
    }
}

/* Sums start at +0.0, so that no element is -0.0. */
static void multiply_plain(const struct skin_rows *a, const struct skin_rows *b,
                           struct skin_rows *product) {
    for (int row = 0; row < 4; row++) {
        for (int column = 0; column < 3; column++) {
            double sum = 0.0;
            for (int k = 0; k < 3; k++) {
                sum += a->at[row][k] * b->at[k][column];
            }
            product->at[row][column] = row == 3 ? sum + b->at[3][column] : sum;
        }
    }
}

static struct skin_wide element(const struct skin_wide_rows *rows, int row, int column) {
    return (struct skin_wide){rows->hi.at[row][column], rows->lo.at[row][column]};
}

static void multiply_wide(const struct skin_wide_rows *a, const struct skin_wide_rows *b,
                          struct skin_wide_rows *product) {
    for (int row = 0; row < 4; row++) {
        for (int column = 0; column < 3; column++) {
            struct skin_wide sum = {0.0, 0.0};
            for (int k = 0; k < 3; k++) {
                struct skin_wide term =
                    skin_wide_multiply(element(a, row, k), element(b, k, column));
                sum = skin_wide_add(sum, term);
            }
            if (row == 3) {
                sum = skin_wide_add(sum, element(b, 3, column));
            }
            product->hi.at[row][column] = sum.hi;
            product->lo.at[row][column] = sum.lo;
        }
    }
}

static void take_sizes(const struct skin_rows *rows, struct skin_rows *sizes) {
    for (int row = 0; row < 4; row++) {
        for (int column = 0; column < 3; column++) {
            sizes->at[row][column] = fabs(rows->at[row][column]);
        }
    }
}

/* The largest element of |a| * |b| * |c|. */
static double product_size(const struct skin_wide_rows *a, const struct skin_wide_rows *b,
                           const struct skin_wide_rows *c) {
    struct skin_rows left;
    struct skin_rows right;
    struct skin_rows sizes;
    take_sizes(&a->hi, &left);
    take_sizes(&b->hi, &right);
    multiply_plain(&left, &right, &sizes);
    if (c != NULL) {
        left = sizes;
        take_sizes(&c->hi, &right);
        multiply_plain(&left, &right, &sizes);
    }
    return skin_rows_largest(&sizes);
}

static void multiply_carefully(const struct skin_wide_rows *a, const struct skin_wide_rows *b,
                               const struct skin_wide_rows *c, struct skin_rows *product) {
    struct skin_wide_rows wide;
    multiply_wide(a, b, &wide);
    if (c != NULL) {
        struct skin_wide_rows left = wide;
        multiply_wide(&left, c, &wide);
    }
    for (int row = 0; row < 4; row++) {
        for (int column = 0; column < 3; column++) {
            product->at[row][column] = wide.hi.at[row][column] + 0.0;
        }
    }
}

void skin_rows_multiply(const struct skin_wide_rows *a, const struct skin_wide_rows *b,
                        const struct skin_wide_rows *c, struct skin_rows *product) {
    struct skin_rows plain;
    multiply_plain(&a->hi, &b->hi, &plain);
    if (c != NULL) {
        struct skin_rows left = plain;
        multiply_plain(&left, &c->hi, &plain);
    }
    if (product_size(a, b, c) <= PLAIN_RATIO * skin_rows_largest(&plain)) {
        *product = plain;
    } else {
        multiply_carefully(a, b, c, product);
    }
}

void skin_mat4_multiply(const struct skin_mat4 *a, const struct skin_mat4 *b,
                        struct skin_mat4 *product) {
    struct skin_wide_rows left = {0};
    struct skin_wide_rows right = {0};
    struct skin_rows rows;
    skin_rows_load(a, &left.hi);
    skin_rows_load(b, &right.hi);
    skin_rows_multiply(&left, &right, NULL, &rows);
    skin_rows_store(&rows, product);
}

void skin_transform_point(const double point[3], const struct skin_mat4 *matrix, double out[3]) {
    double result[3];
    for (int column = 0; column < 3; column++) {
        double sum = 0.0;
        for (int k = 0; k < 3; k++) {
            sum += point[k] * matrix->m[4 * k + column];
        }
        result[column] = sum + matrix->m[12 + column];
    }
    for (int column = 0; column < 3; column++) {
        out[column] = result[column];
    }
}
