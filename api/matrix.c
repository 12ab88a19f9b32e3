/* Reads matrices: arrays that the pre-pass lifted are used where they lie, everything else goes
 * element by element. Writing is in matrix_write.c, faults found by lib are in matrix_report.c. */
#include "matrix.h"

#include "arguments.h"

#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const struct skin_mat4 identity = {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}};

/* Elements of one matrix that are told to be no numbers; the rest is seldom news. */
#define MAX_ELEMENT_FINDINGS 4

/* Where a matrix stands in the request: for its findings. */
struct place {
    const char *member;
    size_t index;     /* API_NO_INDEX for a single matrix */
    bool in_flat;     /* of one array of numbers: its elements stand in the member itself */
    size_t told_past; /* no more about its elements once the problem has so many findings */
};

static struct api_finding *find_at(struct api_call *call, enum api_code code, struct place place,
                                   const char *part) {
    struct api_finding *finding = api_problem_add(call->problem, code);
    if (finding == NULL) {
        return NULL;
    }
    ++call->matrix_faults;
    finding->index = place.index;
    if (place.index == API_NO_INDEX || place.in_flat) {
        api_text_format(finding->pointer, sizeof finding->pointer, "/%s%s", place.member, part);
    } else {
        api_text_format(finding->pointer, sizeof finding->pointer, "/%s/%zu%s", place.member,
                        place.index, part);
    }
    if (place.index < call->names.count) {
        api_text_format(finding->name, sizeof finding->name, "%s", call->names.items[place.index]);
    }
    return finding;
}

#define FIND(call, code, place, part, ...)                                                         \
    do {                                                                                           \
        struct api_finding *finding_ = find_at(call, code, place, part);                           \
        if (finding_ != NULL) {                                                                    \
            api_text_format(finding_->detail, sizeof finding_->detail, __VA_ARGS__);               \
        }                                                                                          \
    } while (0)

static void transpose(double m[16]) {
    for (size_t row = 0; row < 4; ++row) {
        for (size_t column = row + 1; column < 4; ++column) {
            const double above = m[4 * row + column];
            m[4 * row + column] = m[4 * column + row];
            m[4 * column + row] = above;
        }
    }
}

static void transpose_f32(float m[16]) {
    for (size_t row = 0; row < 4; ++row) {
        for (size_t column = row + 1; column < 4; ++column) {
            const float above = m[4 * row + column];
            m[4 * row + column] = m[4 * column + row];
            m[4 * column + row] = above;
        }
    }
}

/* ---- arrays of numbers -------------------------------------------------------------------- */

static size_t told_past(const struct api_call *call) {
    return call->problem->count + MAX_ELEMENT_FINDINGS;
}

/* `count` elements of an array that was not lifted, from `first` on, into `out`. */
static bool read_elements(struct api_call *call, const json_t *array, struct place place,
                          const char *part, const char *what, size_t first, size_t count,
                          double *out) {
    bool ok = true;
    for (size_t i = 0; i < count; ++i) {
        const json_t *element = json_array_get(array, first + i);
        if (json_is_number(element)) {
            out[i] = json_number_value(element);
            continue;
        }
        ok = false;
        if (call->problem->count < place.told_past) {
            char pointer[64];
            api_text_format(pointer, sizeof pointer, "%s/%zu", part, first + i);
            FIND(call, API_WRONG_TYPE, place, pointer, "%s: element %zu is not a number but %s",
                 what, first + i, api_kind_text(api_document_kind(call->document, element)));
        }
    }
    return ok;
}

/* `count` numbers out of an array, lifted or not, into `out`. `what` is "matrix" or "rotation". */
static bool read_numbers(struct api_call *call, const json_t *value, struct place place,
                         const char *part, const char *what, size_t count, double *out) {
    const struct api_span *span = api_document_span(call->document, value);
    const enum api_kind kind = api_document_kind(call->document, value);
    if (span != NULL && span->rank == 1 && span->shape[0] == count) {
        memcpy(out, api_document_numbers(call->document, span), count * sizeof *out);
        return true;
    }
    if (kind != API_KIND_ARRAY && (span == NULL || span->rank > 1)) {
        FIND(call, API_WRONG_TYPE, place, part, "%s: expected an array of %zu numbers, found %s",
             what, count, span == NULL ? api_kind_text(kind) : "an array of arrays");
        return false;
    }
    const size_t found = span != NULL ? span->shape[0] : json_array_size(value);
    if (found != count) {
        FIND(call, API_COUNT_MISMATCH, place, part, "%s: %zu numbers where %zu are due", what,
             found, count);
        return false;
    }
    return read_elements(call, value, place, part, what, 0, count, out);
}

/* An array as one matrix: 16 numbers, or 4 arrays of 4. */
static bool read_array(struct api_call *call, const json_t *value, struct place place,
                       struct skin_mat4 *matrix) {
    const struct api_span *span = api_document_span(call->document, value);
    if (span != NULL && span->rank == 2 && span->shape[0] == 4 && span->shape[1] == 4) {
        memcpy(matrix->m, api_document_numbers(call->document, span), sizeof matrix->m);
        return true;
    }
    if (span != NULL && span->rank > 1) {
        FIND(call, API_COUNT_MISMATCH, place, "",
             "matrix: %zu arrays of %zu where 16 numbers or 4 arrays of 4 are due", span->shape[0],
             span->shape[1]);
        return false;
    }
    const enum api_kind first =
        span == NULL ? api_document_kind(call->document, json_array_get(value, 0)) : API_KIND_SPAN;
    const bool nested = span == NULL && (first == API_KIND_SPAN || first == API_KIND_ARRAY);
    if (!nested || json_array_size(value) != 4) {
        return read_numbers(call, value, place, "", "matrix", 16, matrix->m);
    }
    bool ok = true;
    for (size_t row = 0; row < 4; ++row) {
        static const char *const parts[] = {"/0", "/1", "/2", "/3"};
        ok = read_numbers(call, json_array_get(value, row), place, parts[row], "row of a matrix", 4,
                          matrix->m + 4 * row) &&
             ok;
    }
    return ok;
}

/* ---- objects ------------------------------------------------------------------------------ */

static bool read_part(struct api_call *call, const json_t *object, struct place place,
                      const char *name, size_t count, double *numbers, const double **part) {
    const json_t *value = json_object_get(object, name);
    if (value == NULL) {
        return true;
    }
    char pointer[32];
    api_text_format(pointer, sizeof pointer, "/%s", name);
    *part = numbers;
    return read_numbers(call, value, place, pointer, name, count, numbers);
}

/* {"translation", "rotation", "scale"}, each optional, as in a glTF node. */
static bool read_trs(struct api_call *call, const json_t *object, struct place place,
                     struct skin_mat4 *matrix) {
    double translation[3];
    double rotation[4];
    double scale[3];
    const double *t = NULL;
    const double *r = NULL;
    const double *s = NULL;
    place.told_past = told_past(call);
    bool ok = read_part(call, object, place, "translation", 3, translation, &t);
    ok = read_part(call, object, place, "rotation", 4, rotation, &r) && ok;
    ok = read_part(call, object, place, "scale", 3, scale, &s) && ok;
    if (ok && skin_mat4_from_trs(t, r, s, matrix) != SKIN_OK) {
        FIND(call, API_NOT_UNIT_QUATERNION, place, "/rotation",
             "rotation (%.17g, %.17g, %.17g, %.17g) has not length 1", r[0], r[1], r[2], r[3]);
        return false;
    }
    return ok;
}

/* e00..e33 or m00..m33: row, column of a column-vector matrix, so e03 is the translation's x. */
static bool read_unity(struct api_call *call, const json_t *object, struct place place, char letter,
                       struct skin_mat4 *matrix) {
    bool ok = true;
    place.told_past = told_past(call); /* what was unknown is beside the point */
    for (size_t i = 0; i < 16; ++i) {
        const size_t row = i / 4;
        const size_t column = i % 4;
        const char name[] = {letter, (char)('0' + row), (char)('0' + column), '\0'};
        const json_t *value = json_object_get(object, name);
        if (json_is_number(value)) {
            matrix->m[4 * column + row] = json_number_value(value);
            continue;
        }
        ok = false;
        if (call->problem->count < place.told_past) {
            char pointer[8];
            api_text_format(pointer, sizeof pointer, "/%s", name);
            FIND(call, value == NULL ? API_MISSING_MEMBER : API_WRONG_TYPE, place, pointer,
                 "a Unity matrix needs the number %s", name);
        }
    }
    return ok;
}

static void check_object_members(struct api_call *call, const json_t *object, struct place place,
                                 const char *const *known) {
    char pointer[128];
    if (place.index == API_NO_INDEX) {
        api_text_format(pointer, sizeof pointer, "/%s", place.member);
    } else {
        api_text_format(pointer, sizeof pointer, "/%s/%zu", place.member, place.index);
    }
    api_members_check(call, object, pointer, known);
}

/* The letter of a Unity object, told by any of its members, so that one of them may be missing;
 * '\0' for what is none. */
static char unity_letter(const json_t *object) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value) {
        if ((name[0] == 'e' || name[0] == 'm') && name[1] >= '0' && name[1] <= '3' &&
            name[2] >= '0' && name[2] <= '3' && name[3] == '\0') {
            return name[0];
        }
    }
    return '\0';
}

static bool read_object(struct api_call *call, const json_t *object, struct place place,
                        struct skin_mat4 *matrix) {
    static const char *const trs[] = {"translation", "rotation", "scale", NULL};
    static const char *const unity[2][17] = {
        {"e00", "e01", "e02", "e03", "e10", "e11", "e12", "e13", "e20", "e21", "e22", "e23", "e30",
         "e31", "e32", "e33", NULL},
        {"m00", "m01", "m02", "m03", "m10", "m11", "m12", "m13", "m20", "m21", "m22", "m23", "m30",
         "m31", "m32", "m33", NULL},
    };
    const char letter = unity_letter(object);
    if (letter != '\0') {
        check_object_members(call, object, place, unity[letter == 'e' ? 0 : 1]);
        return read_unity(call, object, place, letter, matrix);
    }
    check_object_members(call, object, place, trs);
    return read_trs(call, object, place, matrix);
}

/* ---- one matrix, many matrices ------------------------------------------------------------ */

/* However much was found in one matrix since then, it is one matrix that cannot be used. */
static void count_once(struct api_call *call, size_t faults_before) {
    if (call->matrix_faults > faults_before) {
        call->matrix_faults = faults_before + 1;
    }
}

/* Any shape as one matrix of row vectors; the identity where it cannot be read. */
static void read_any(struct api_call *call, const json_t *value, struct place place,
                     struct skin_mat4 *matrix) {
    const enum api_kind kind = api_document_kind(call->document, value);
    const size_t faults = call->matrix_faults;
    bool ok = false;
    place.told_past = told_past(call);
    if (kind == API_KIND_OBJECT) {
        ok = read_object(call, value, place, matrix);
    } else if (kind == API_KIND_SPAN || kind == API_KIND_ARRAY) {
        ok = read_array(call, value, place, matrix);
        if (call->options.column_vector) {
            transpose(matrix->m);
        }
    } else {
        FIND(call, API_WRONG_TYPE, place, "", "expected a matrix, found %s", api_kind_text(kind));
    }
    if (!ok) {
        *matrix = identity;
    }
    count_once(call, faults);
}

static bool allocate(struct api_call *call, size_t count, struct api_matrices *matrices) {
    matrices->count = count;
    matrices->owned = calloc(count + 1, sizeof *matrices->f64);
    matrices->f64 = matrices->owned;
    if (matrices->owned == NULL) {
        api_problem_set(call->problem, API_OVERLOADED, "no memory for %zu matrices", count);
    }
    return matrices->owned != NULL;
}

static bool is_array(enum api_kind kind) {
    return kind == API_KIND_SPAN || kind == API_KIND_ARRAY;
}

static bool check_present(struct api_call *call, const char *member, enum api_kind kind,
                          const char *wanted) {
    if (kind == API_KIND_ABSENT) {
        api_argument_missing(call, member);
        return false;
    }
    if (!is_array(kind) && kind != API_KIND_OBJECT) {
        api_call_find(call, API_WRONG_TYPE, member, "expected %s, found %s", wanted,
                      api_kind_text(kind));
        return false;
    }
    return true;
}

bool api_matrix_read(struct api_call *call, const char *member, struct api_matrices *matrices) {
    *matrices = (struct api_matrices){.member = member, .layout = API_LAYOUT_SINGLE};
    const json_t *value = api_argument(call, member);
    if (!check_present(call, member, api_document_kind(call->document, value), "a matrix") ||
        !allocate(call, 1, matrices)) {
        return false;
    }
    ++call->matrix_count;
    read_any(call, value, (struct place){.member = member, .index = API_NO_INDEX}, matrices->f64);
    return true;
}

/* A lifted array that is a list as it lies there: [16 N], [N][16] or [N][4][4]. */
static bool list_of_span(const struct api_document *document, const struct api_span *span,
                         struct api_matrices *matrices) {
    if (span->rank == 1 && span->shape[0] % 16 == 0) {
        matrices->layout = API_LAYOUT_FLAT;
        matrices->count = span->shape[0] / 16;
    } else if ((span->rank == 2 && span->shape[1] == 16) ||
               (span->rank == 3 && span->shape[1] == 4 && span->shape[2] == 4)) {
        matrices->count = span->shape[0];
    } else {
        return false;
    }
    /* a struct of 16 doubles has the layout and alignment of 16 doubles in a row */
    matrices->f64 = (struct skin_mat4 *)api_document_numbers(document, span);
    return true;
}

/* One array of plain numbers that was not lifted. */
static bool list_of_numbers(struct api_call *call, const json_t *list,
                            struct api_matrices *matrices) {
    const size_t count = json_array_size(list) / 16;
    matrices->layout = API_LAYOUT_FLAT;
    if (json_array_size(list) % 16 != 0) {
        api_call_find(call, API_COUNT_MISMATCH, matrices->member,
                      "%zu numbers do not divide into matrices of 16", json_array_size(list));
        return false;
    }
    bool ok = allocate(call, count, matrices);
    for (size_t i = 0; i < count && matrices->f64 != NULL; ++i) {
        const size_t faults = call->matrix_faults;
        const struct place place = {
            .member = matrices->member, .index = i, .in_flat = true, .told_past = told_past(call)};
        ok = read_elements(call, list, place, "", "list of matrices", 16 * i, 16,
                           matrices->f64[i].m) &&
             ok;
        count_once(call, faults);
    }
    return ok;
}

static bool check_bones(struct api_call *call, const char *member, size_t count) {
    if (count <= API_MAX_BONES) {
        return true;
    }
    api_call_find(call, API_LIMIT_EXCEEDED, member, "%zu matrices, at most %d", count,
                  API_MAX_BONES);
    return false;
}

void api_matrices_to_rows(const struct api_call *call, struct api_matrices *matrices) {
    for (size_t i = 0; call->options.column_vector && i < matrices->count; ++i) {
        if (matrices->f64 != NULL) {
            transpose(matrices->f64[i].m);
        } else {
            transpose_f32(matrices->f32[i].m);
        }
    }
}

/* A lifted array that is no list of matrices: says what is wrong with it. */
static void refuse_span(struct api_call *call, const struct api_span *span, const char *member) {
    if (span->rank == 1) {
        api_call_find(call, API_COUNT_MISMATCH, member,
                      "%zu numbers do not divide into matrices of 16", span->shape[0]);
        return;
    }
    if (span->rank == 2 && span->shape[0] == 4 && span->shape[1] == 4) {
        struct api_finding *finding = api_call_find(call, API_COUNT_MISMATCH, member,
                                                    "one matrix where a list of them is due");
        if (finding != NULL) {
            api_text_format(finding->hint, sizeof finding->hint, "put it into an array");
        }
        return;
    }
    call->matrix_count += span->shape[0];
    for (size_t i = 0; i < span->shape[0]; ++i) {
        const struct place place = {.member = member, .index = i};
        if (span->rank == 2) {
            FIND(call, API_COUNT_MISMATCH, place, "", "matrix: %zu numbers where 16 are due",
                 span->shape[1]);
        } else {
            FIND(call, API_COUNT_MISMATCH, place, "",
                 "matrix: %zu arrays of %zu where 4 arrays of 4 are due", span->shape[1],
                 span->shape[2]);
        }
    }
}

static bool list_of_any(struct api_call *call, const json_t *list, struct api_matrices *matrices) {
    const size_t count = json_array_size(list);
    if (!check_bones(call, matrices->member, count) || !allocate(call, count, matrices)) {
        return false;
    }
    for (size_t i = 0; i < count; ++i) {
        read_any(call, json_array_get(list, i),
                 (struct place){.member = matrices->member, .index = i}, &matrices->f64[i]);
    }
    call->matrix_count += count;
    return true;
}

bool api_matrix_list_read(struct api_call *call, const char *member,
                          struct api_matrices *matrices) {
    *matrices = (struct api_matrices){.member = member, .layout = API_LAYOUT_LIST};
    const json_t *list = api_argument(call, member);
    const enum api_kind kind = api_document_kind(call->document, list);
    const struct api_span *span = api_document_span(call->document, list);
    if (kind == API_KIND_OBJECT) {
        api_call_find(call, API_WRONG_TYPE, member, "expected a list of matrices, found an object");
        return false;
    }
    if (!check_present(call, member, kind, "a list of matrices")) {
        return false;
    }
    const bool numbers = span == NULL && json_is_number(json_array_get(list, 0));
    if (span == NULL && !numbers) {
        return list_of_any(call, list, matrices);
    }
    if (span != NULL && span->rank > 1 && !check_bones(call, member, span->shape[0])) {
        return false;
    }
    if (span != NULL && !list_of_span(call->document, span, matrices)) {
        refuse_span(call, span, member);
        return false;
    }
    if (numbers && !list_of_numbers(call, list, matrices)) {
        return false;
    }
    if (!check_bones(call, member, matrices->count)) {
        return false;
    }
    call->matrix_count += matrices->count;
    api_matrices_to_rows(call, matrices);
    return true;
}

void api_matrices_finish(struct api_matrices *matrices) {
    free(matrices->owned);
    *matrices = (struct api_matrices){.member = matrices->member};
}

void api_matrices_blank(struct api_matrices *matrices) {
    for (size_t i = 0; i < matrices->count; ++i) {
        for (size_t k = 0; k < 16; ++k) {
            if (matrices->f64 != NULL) {
                matrices->f64[i].m[k] = identity.m[k];
            } else {
                matrices->f32[i].m[k] = (float)identity.m[k];
            }
        }
    }
}

/* ---- octets ------------------------------------------------------------------------------- */

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "raw bodies are little-endian and used in place"
#endif

static void set_octets(struct api_matrices *matrices, char *bytes, size_t count, bool f64) {
    matrices->count = count;
    if (f64) {
        matrices->f64 = (struct skin_mat4 *)(void *)bytes;
    } else {
        matrices->f32 = (struct skin_mat4f *)(void *)bytes;
    }
}

/* Says which sizes would fit. */
static void refuse_size(struct api_call *call, size_t least, size_t step) {
    const size_t size = call->request->size;
    const size_t below = size < least ? 0 : (size - least) / step;
    struct api_finding *finding = api_problem_add(call->problem, API_SIZE_MISMATCH);
    if (finding != NULL) {
        api_text_format(finding->detail, sizeof finding->detail,
                        "%zu bytes do not fit: N bones take %zu + N * %zu bytes, so %zu for %zu "
                        "bones, %zu for %zu",
                        size, least, step, least + below * step, below, least + (below + 1) * step,
                        below + 1);
    }
}

static bool split_count(struct api_call *call, size_t least, size_t step, size_t *bone_count) {
    const size_t size = call->request->size;
    if (size < least || (size - least) % step != 0) {
        refuse_size(call, least, step);
        return false;
    }
    *bone_count = (size - least) / step;
    if (*bone_count <= API_MAX_BONES) {
        return true;
    }
    struct api_finding *finding = api_problem_add(call->problem, API_LIMIT_EXCEEDED);
    if (finding != NULL) {
        api_text_format(finding->detail, sizeof finding->detail, "%zu bones, at most %d",
                        *bone_count, API_MAX_BONES);
    }
    return false;
}

bool api_matrices_split(struct api_call *call, size_t single_count, size_t list_count,
                        struct api_matrices *matrices) {
    const bool f64 = call->options.skin.precision == SKIN_F64;
    const size_t matrix_size = f64 ? sizeof(struct skin_mat4) : sizeof(struct skin_mat4f);
    size_t bone_count = 0;
    if (!split_count(call, single_count * matrix_size, list_count * matrix_size, &bone_count)) {
        return false;
    }
    char *at = call->request->body;
    for (size_t i = 0; i < single_count + list_count; ++i) {
        const bool single = i < single_count;
        const size_t count = single ? 1 : bone_count;
        matrices[i].layout = single ? API_LAYOUT_SINGLE : API_LAYOUT_LIST;
        set_octets(&matrices[i], at, count, f64);
        api_matrices_to_rows(call, &matrices[i]);
        call->matrix_count += count;
        at += count * matrix_size;
    }
    return true;
}
