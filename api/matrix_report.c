/* Turns the faults that lib found into findings: pointer, bone's name, the values, a hint.
 * It judges nothing itself but whether a matrix looks transposed. */
#include "matrix.h"

#include "arguments.h"
#include "numbers.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

struct number_text {
    char text[API_NUMBER_SIZE + 1];
};

static struct number_text number_text(double value) {
    struct number_text number = {"NaN"};
    if (isinf(value)) {
        memcpy(number.text, value > 0 ? "Infinity" : "-Infinity", value > 0 ? 9 : 10);
    } else if (!isnan(value)) {
        *api_number_write_f64(number.text, value) = '\0';
    }
    return number;
}

static double element(const struct api_matrices *matrices, size_t index, size_t k) {
    return matrices->f64 != NULL ? matrices->f64[index].m[k] : (double)matrices->f32[index].m[k];
}

/* Row vectors: what should be the last column holds a translation, and the last row is as a last
 * column should be. */
static bool looks_transposed(const struct api_matrices *matrices, size_t index) {
    const bool row_is_affine =
        element(matrices, index, 12) == 0 && element(matrices, index, 13) == 0 &&
        element(matrices, index, 14) == 0 && element(matrices, index, 15) == 1;
    const bool has_translation = element(matrices, index, 3) != 0 ||
                                 element(matrices, index, 7) != 0 ||
                                 element(matrices, index, 11) != 0;
    return row_is_affine && has_translation;
}

/* The place of our element k among the 16 numbers as the caller sent them. */
static unsigned sent_place(const struct api_call *call, unsigned k) {
    return call->options.column_vector ? 4 * (k % 4) + k / 4 : k;
}

/* Sent as an object, which says its own convention. */
static bool is_object(const struct api_call *call, const struct api_matrices *matrices,
                      size_t index) {
    const json_t *value = api_argument(call, matrices->member);
    return json_is_object(value) || json_is_object(json_array_get(value, index));
}

static void tell_not_affine(const struct api_call *call, const struct api_matrices *matrices,
                            size_t index, struct api_finding *finding) {
    const bool column_vector = call->options.column_vector;
    api_text_format(finding->detail, sizeof finding->detail,
                    "numbers %s are (%s, %s, %s, %s), must be (0, 0, 0, 1)",
                    column_vector ? "12, 13, 14, 15" : "3, 7, 11, 15",
                    number_text(element(matrices, index, 3)).text,
                    number_text(element(matrices, index, 7)).text,
                    number_text(element(matrices, index, 11)).text,
                    number_text(element(matrices, index, 15)).text);
    if (!is_object(call, matrices, index) && looks_transposed(matrices, index)) {
        api_text_format(finding->hint, sizeof finding->hint,
                        "looks transposed: translation is at %s; set convention to %s",
                        column_vector ? "12, 13, 14" : "3, 7, 11",
                        column_vector ? "row-vector" : "column-vector");
    }
}

static void tell_detail(const struct api_call *call, const struct api_matrices *matrices,
                        const struct skin_fault *fault, struct api_finding *finding) {
    char *detail = finding->detail;
    const size_t size = sizeof finding->detail;
    const struct number_text value = number_text(fault->value);
    switch (fault->status) {
    case SKIN_NOT_AFFINE:
        tell_not_affine(call, matrices, fault->index, finding);
        return;
    case SKIN_NOT_FINITE:
        api_text_format(detail, size, "number %u is %s", sent_place(call, fault->element),
                        value.text);
        return;
    case SKIN_ILL_CONDITIONED:
        if (isinf(fault->value)) {
            api_text_format(detail, size,
                            "its condition number is too large to be told, and taken as over %s",
                            number_text(call->options.skin.max_condition).text);
            return;
        }
        api_text_format(detail, size, "condition number %.3g is at or over %s", fault->value,
                        number_text(call->options.skin.max_condition).text);
        return;
    case SKIN_OVERFLOW:
        if (fault->operand != SKIN_RESULT) {
            api_text_format(detail, size, "its inverse is beyond the range of double");
            return;
        }
        api_text_format(detail, size, "number %u would be %s, beyond the range of %s",
                        sent_place(call, fault->element), value.text,
                        call->options.skin.precision == SKIN_F32 ? "float32" : "double");
        return;
    case SKIN_SINGULAR:
        api_text_format(detail, size, "the determinant of its 3x3 part is 0; it must be inverted");
        return;
    case SKIN_OK:
    case SKIN_NOT_UNIT_QUATERNION:
        break;
    }
    api_text_format(detail, size, "%s", skin_status_text(fault->status));
}

static enum api_code code_of(enum skin_status status) {
    switch (status) {
    case SKIN_NOT_FINITE:
        return API_NOT_FINITE;
    case SKIN_NOT_AFFINE:
        return API_NOT_AFFINE;
    case SKIN_SINGULAR:
        return API_SINGULAR;
    case SKIN_ILL_CONDITIONED:
        return API_ILL_CONDITIONED;
    case SKIN_OVERFLOW:
        return API_OVERFLOW;
    case SKIN_NOT_UNIT_QUATERNION:
        return API_NOT_UNIT_QUATERNION;
    case SKIN_OK:
        break;
    }
    return API_OK;
}

static void tell_place(const struct api_call *call, const struct api_matrices *matrices,
                       size_t index, struct api_finding *finding) {
    if (matrices->layout == API_LAYOUT_SINGLE) {
        api_text_format(finding->pointer, sizeof finding->pointer, "/%s", matrices->member);
        return;
    }
    const size_t step = matrices->layout == API_LAYOUT_FLAT ? 16 : 1;
    api_text_format(finding->pointer, sizeof finding->pointer, "/%s/%zu", matrices->member,
                    step * index);
    finding->index = index;
    if (index < call->names.count) {
        api_text_format(finding->name, sizeof finding->name, "%s", call->names.items[index]);
    }
}

void api_matrices_report(struct api_call *call, const struct skin_report *report,
                         const struct api_matrices *const by_operand[SKIN_RESULT + 1]) {
    const bool clean = call->problem->code == API_OK;
    const size_t stored = report->count < report->capacity ? report->count : report->capacity;
    bool is_told = true;
    for (size_t i = 0; i < stored; ++i) {
        const struct skin_fault *fault = &report->faults[i];
        const struct api_matrices *matrices = by_operand[fault->operand];
        is_told = matrices != NULL && (fault->operand != SKIN_RESULT || clean);
        if (!is_told) {
            continue;
        }
        struct api_finding *finding = api_problem_add(call->problem, code_of(fault->status));
        if (finding == NULL) {
            return;
        }
        ++call->matrix_faults;
        tell_place(call, matrices, fault->index, finding);
        tell_detail(call, matrices, fault, finding);
    }
    if (is_told && report->count > stored) { /* the rest is of the same kind as the last */
        call->problem->count += report->count - stored;
        call->matrix_faults += report->count - stored;
    }
}
