/* Arrays of matrices going in and out: one view for float and double, validation, and the report.
 * It computes nothing; bind.c and palette.c do. */
#include "batch.h"

#include <float.h>
#include <math.h>

/* The smallest magnitude that rounds to infinity in float32: the largest float32 plus half a unit
 * of its last place. */
#define FLOAT_LIMIT 0x1.ffffffp127

/* Room for the rounding of a bound and of the sums it bounds. */
#define BOUND_MARGIN 16.0

void skin_check_init(struct skin_check *check, const struct skin_options *options,
                     enum skin_precision precision, struct skin_report *report) {
    double tolerance;
    check->options = options != NULL ? *options : skin_options_default(precision);
    tolerance = check->options.affine_tolerance;
    tolerance = tolerance > 0.0 ? tolerance : 0.0;
    check->options.affine_tolerance = fmin(tolerance, SKIN_MAX_AFFINE_TOLERANCE);
    check->report = report;
    check->status = SKIN_OK;
    if (report != NULL) {
        report->count = 0;
    }
}

static void add_fault(struct skin_check *check, const struct skin_fault *fault) {
    struct skin_report *report = check->report;
    if (check->status == SKIN_OK) {
        check->status = fault->status;
    }
    if (report == NULL) {
        return;
    }
    if (report->count < report->capacity) {
        report->faults[report->count] = *fault;
    }
    report->count++;
}

static void load_matrix(const struct skin_source *source, size_t index, struct skin_mat4 *matrix) {
    if (source->f64 != NULL) {
        *matrix = source->f64[index];
        return;
    }
    for (int i = 0; i < 16; i++) {
        matrix->m[i] = source->f32[index].m[i];
    }
}

void skin_source_load(const struct skin_source *source, size_t index, struct skin_rows *rows) {
    struct skin_mat4 matrix;
    load_matrix(source, index, &matrix);
    skin_rows_load(&matrix, rows);
}

/* The place of the first element that is not finite, or 16. */
static unsigned find_not_finite(const struct skin_mat4 *matrix) {
    unsigned i = 0;
    while (i < 16 && isfinite(matrix->m[i])) {
        i++;
    }
    return i;
}

/* The place of the first element that makes the matrix not affine, or 16. */
static unsigned find_not_affine(const struct skin_mat4 *matrix, double tolerance) {
    for (unsigned i = 3; i < 16; i += 4) {
        double expected = i == 15 ? 1.0 : 0.0;
        if (fabs(matrix->m[i] - expected) > tolerance) {
            return i;
        }
    }
    return 16;
}

bool skin_check_load(struct skin_check *check, enum skin_operand operand,
                     const struct skin_source *source, size_t index, struct skin_rows *rows) {
    struct skin_mat4 matrix;
    enum skin_status status = SKIN_NOT_FINITE;
    unsigned element;
    load_matrix(source, index, &matrix);
    element = find_not_finite(&matrix);
    if (element == 16) {
        status = SKIN_NOT_AFFINE;
        element = find_not_affine(&matrix, check->options.affine_tolerance);
    }
    if (element < 16) {
        add_fault(check, &(struct skin_fault){.status = status,
                                              .operand = operand,
                                              .index = index,
                                              .element = element,
                                              .value = matrix.m[element]});
        return false;
    }
    skin_rows_load(&matrix, rows);
    return true;
}

bool skin_check_invert(struct skin_check *check, enum skin_operand operand, size_t index,
                       const struct skin_rows *rows, struct skin_wide_rows *inverse) {
    double condition;
    enum skin_status status =
        skin_rows_invert(rows, check->options.max_condition, inverse, &condition);
    if (status == SKIN_OK) {
        return true;
    }
    add_fault(check, &(struct skin_fault){.status = status,
                                          .operand = operand,
                                          .index = index,
                                          .value = status == SKIN_ILL_CONDITIONED ? condition
                                                   : status == SKIN_OVERFLOW      ? INFINITY
                                                                                  : 0.0});
    return false;
}

void skin_check_result(struct skin_check *check, size_t index, const struct skin_rows *result) {
    double limit = check->options.precision == SKIN_F32 ? FLOAT_LIMIT : INFINITY;
    for (unsigned row = 0; row < 4; row++) {
        for (unsigned column = 0; column < 3; column++) {
            double value = result->at[row][column];
            if (!(fabs(value) < limit)) {
                add_fault(check, &(struct skin_fault){.status = SKIN_OVERFLOW,
                                                      .operand = SKIN_RESULT,
                                                      .index = index,
                                                      .element = 4 * row + column,
                                                      .value = isnan(value) ? INFINITY : value});
                return;
            }
        }
    }
}

bool skin_check_bound(const struct skin_check *check, double intermediate, double result) {
    double limit = check->options.precision == SKIN_F32 ? (double)FLT_MAX : DBL_MAX;
    return intermediate < DBL_MAX / BOUND_MARGIN && result < limit / BOUND_MARGIN;
}

/* Adding zero turns the -0.0 of a tiny negative number into 0.0. */
static float round_to_float(double value) {
    return (float)value + 0.0F;
}

void skin_sink_store(const struct skin_sink *sink, enum skin_precision precision, size_t index,
                     const struct skin_rows *result) {
    struct skin_mat4 matrix;
    skin_rows_store(result, &matrix);
    if (sink->f32 != NULL) {
        for (int i = 0; i < 16; i++) {
            sink->f32[index].m[i] = round_to_float(matrix.m[i]);
        }
        return;
    }
    if (precision == SKIN_F32) {
        for (int i = 0; i < 16; i++) {
            matrix.m[i] = round_to_float(matrix.m[i]);
        }
    }
    sink->f64[index] = matrix;
}
