/* Affine matrices as lib works on them: 4 rows of 3, inverses, and products of several factors.
 * Internal to lib; arrays, validation and faults are in batch.h. */
#ifndef SKIN_MAT4_H
#define SKIN_MAT4_H

#include "skin.h"

#include <stdbool.h>

/* An affine matrix without its constant last column; row 3 is the translation. */
struct skin_rows {
    double at[4][3];
};

/* hi + lo, unevaluated: an inverse or a difference that one double cannot hold. */
struct skin_wide_rows {
    struct skin_rows hi;
    struct skin_rows lo;
};

/* The last column of the matrix is not read. */
void skin_rows_load(const struct skin_mat4 *matrix, struct skin_rows *rows);
void skin_rows_store(const struct skin_rows *rows, struct skin_mat4 *matrix);

/* The largest magnitude of the 12 elements. */
double skin_rows_largest(const struct skin_rows *rows);

/* wide = rows with `origin` subtracted from the translation, without rounding. This is what keeps
 * scenes far from the origin exact: it comes before anything multiplies the translation. */
void skin_rows_shift(const struct skin_rows *rows, const double origin[3],
                     struct skin_wide_rows *wide);

/* inverse = inverse of the 3x3 part, with translation zero, to double-double accuracy.
 * condition  |A|1 * |inverse(A)|1 of the 3x3 part; infinite where it is beyond double's range or
 *            too large to be known
 * Returns SKIN_OK, SKIN_SINGULAR, SKIN_ILL_CONDITIONED, or SKIN_OVERFLOW where the inverse itself
 * is beyond double's range. All 9 elements must be finite. */
enum skin_status skin_rows_invert(const struct skin_rows *rows, double max_condition,
                                  struct skin_wide_rows *inverse, double *condition);

/* product = a * b * c, or a * b where c is NULL. The error is at most about 40 units of 2^-52
 * relative to the largest element, however much cancels, as long as nothing underflows: plain
 * doubles where a bound on their error allows it, else double-double. */
void skin_rows_multiply(const struct skin_wide_rows *a, const struct skin_wide_rows *b,
                        const struct skin_wide_rows *c, struct skin_rows *product);

/* Whether the determinant of the 3x3 part is exactly zero; no rounding and no underflow takes
 * part. All 9 elements must be finite. */
bool skin_determinant_is_zero(const struct skin_rows *rows);

#endif
