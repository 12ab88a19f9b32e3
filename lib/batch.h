/* Arrays of matrices going in and out: one view for float and double, validation, and the report.
 * Internal to lib; it computes nothing. */
#ifndef SKIN_BATCH_H
#define SKIN_BATCH_H

#include "mat4.h"

/* Matrices to read; exactly one of the two is set. Floats widen exactly. */
struct skin_source {
    const struct skin_mat4 *f64;
    const struct skin_mat4f *f32;
};

/* Matrices to write; exactly one of the two is set. */
struct skin_sink {
    struct skin_mat4 *f64;
    struct skin_mat4f *f32;
};

/* One call's validation: what is asked for, and what was found. */
struct skin_check {
    struct skin_options options;
    struct skin_report *report; /* NULL: only the status is wanted */
    enum skin_status status;    /* of the first fault */
};

/* options NULL: the default for `precision`. */
void skin_check_init(struct skin_check *check, const struct skin_options *options,
                     enum skin_precision precision, struct skin_report *report);

/* Loads a matrix that was checked before. */
void skin_source_load(const struct skin_source *source, size_t index, struct skin_rows *rows);

/* Loads a matrix if it is finite and affine; else records a fault and returns false. */
bool skin_check_load(struct skin_check *check, enum skin_operand operand,
                     const struct skin_source *source, size_t index, struct skin_rows *rows);

/* Inverts the 3x3 part if that can be done; else records a fault and returns false. */
bool skin_check_invert(struct skin_check *check, enum skin_operand operand, size_t index,
                       const struct skin_rows *rows, struct skin_wide_rows *inverse);

/* Records a fault if the result does not fit the precision. */
void skin_check_result(struct skin_check *check, size_t index, const struct skin_rows *result);

/* Whether every result fits the precision and no intermediate overflows, given bounds on their
 * magnitudes. False means only that each result must be looked at. */
bool skin_check_bound(const struct skin_check *check, double intermediate, double result);

/* Rounds to the precision and writes; the result must fit. */
void skin_sink_store(const struct skin_sink *sink, enum skin_precision precision, size_t index,
                     const struct skin_rows *result);

#endif
