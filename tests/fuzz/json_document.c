/* The body's reading: pre-pass and jansson together must say what jansson alone says of the
 * untouched text: accept or refuse, the same values, the same place of the fault. */
#include "api/document.h"
#include "tests/fuzz/fuzz.h"

#include <jansson.h>
#include <math.h>

static bool same_number(double a, double b) {
    return a == b && signbit(a) == signbit(b);
}

static void check_span(const double *numbers, const size_t *shape, size_t rank, const json_t *value,
                       size_t *used) {
    fuzz_require(json_is_array(value) && json_array_size(value) == shape[0]);
    for (size_t i = 0; i < shape[0]; ++i) {
        const json_t *item = json_array_get(value, i);
        if (rank > 1) {
            check_span(numbers, shape + 1, rank - 1, item, used);
        } else {
            fuzz_require(json_is_number(item));
            fuzz_require(same_number(numbers[(*used)++], json_number_value(item)));
        }
    }
}

static void check_same(const struct api_document *document, const json_t *actual,
                       const json_t *expected);

static void check_members(const struct api_document *document, const json_t *actual,
                          const json_t *expected) {
    const char *name;
    json_t *value;
    fuzz_require(json_object_size(actual) == json_object_size(expected));
    json_object_foreach((json_t *)actual, name, value) {
        const json_t *wanted = json_object_get(expected, name);
        fuzz_require(wanted != NULL);
        check_same(document, value, wanted);
    }
}

static void check_items(const struct api_document *document, const json_t *actual,
                        const json_t *expected) {
    fuzz_require(json_array_size(actual) == json_array_size(expected));
    for (size_t i = 0; i < json_array_size(actual); ++i) {
        check_same(document, json_array_get(actual, i), json_array_get(expected, i));
    }
}

static void check_same(const struct api_document *document, const json_t *actual,
                       const json_t *expected) {
    const struct api_span *span = api_document_span(document, actual);
    if (span != NULL) {
        size_t used = 0;
        check_span(api_document_numbers(document, span), span->shape, span->rank, expected, &used);
        return;
    }
    fuzz_require(json_typeof(actual) == json_typeof(expected));
    if (json_is_object(actual)) {
        check_members(document, actual, expected);
    } else if (json_is_array(actual)) {
        check_items(document, actual, expected);
    } else if (json_is_real(actual)) {
        fuzz_require(same_number(json_real_value(actual), json_real_value(expected)));
    } else {
        fuzz_require(json_equal(actual, expected));
    }
}

/* The most arrays and objects that are open at a place of the text; strings are skipped. */
static size_t depth_of(const char *text, size_t size) {
    size_t depth = 0;
    size_t deepest = 0;
    bool in_string = false;
    for (size_t i = 0; i < size; ++i) {
        if (in_string) {
            in_string = text[i] != '"';
            i += text[i] == '\\' ? 1 : 0;
        } else if (text[i] == '"') {
            in_string = true;
        } else if (text[i] == '[' || text[i] == '{') {
            ++depth;
            deepest = depth > deepest ? depth : deepest;
        } else if ((text[i] == ']' || text[i] == '}') && depth > 0) {
            --depth;
        }
    }
    return deepest;
}

/* jansson quotes the token that cannot stand there, and gives the place behind it. */
static void check_fault(const struct api_problem *problem, const json_error_t *error, size_t size) {
    const bool is_duplicate = json_error_code(error) == json_error_duplicate_key;
    const char *quoted = strstr(error->text, " near '");
    fuzz_require(problem->code == (is_duplicate ? API_DUPLICATE_MEMBER : API_MALFORMED_JSON));
    fuzz_require(problem->has_position && problem->position.offset <= size);
    fuzz_require(problem->position.line >= 1 && problem->position.column >= 1);
    if (quoted != NULL && json_error_code(error) != json_error_invalid_utf8 &&
        json_error_code(error) != json_error_premature_end_of_input) {
        const size_t token_size = strlen(quoted + strlen(" near '")) - 1;
        fuzz_require(problem->position.offset == (size_t)error->position - token_size);
    }
}

/* Refused by our own limits, before jansson. The dearest byte is '{', which counts 4 values. */
static bool is_limit(const struct api_problem *problem, const char *text, size_t size) {
    if (problem->code == API_TOO_DEEP) {
        fuzz_require(depth_of(text, size) > API_MAX_DEPTH);
        return true;
    }
    if (problem->code == API_PAYLOAD_TOO_LARGE) {
        fuzz_require(4 * size > API_MAX_VALUES);
        return true;
    }
    return false;
}

/* jansson skips a zero byte behind a number; no JSON text has one, so it is refused, there or
 * before. */
static bool is_zero(bool is_read, const struct api_problem *problem, const char *text,
                    size_t size) {
    const char *zero = memchr(text, '\0', size);
    if (zero == NULL) {
        return false;
    }
    fuzz_require(!is_read && problem->has_position);
    fuzz_require(problem->position.offset <= (size_t)(zero - text));
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct api_document document;
    struct api_problem problem;
    json_error_t error;
    char *text = fuzz_copy(data, size);
    api_problem_init(&problem);
    const bool is_read = api_document_read(&document, text, size, &problem);
    fuzz_require(size == 0 || memcmp(text, data, size) == 0);
    if (!is_limit(&problem, text, size) && !is_zero(is_read, &problem, text, size)) {
        json_t *expected = json_loadb(
            text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, &error);
        fuzz_require(is_read == (expected != NULL));
        if (is_read) {
            fuzz_require(depth_of(text, size) <= API_MAX_DEPTH);
            check_same(&document, document.root, expected);
        } else {
            check_fault(&problem, &error, size);
        }
        json_decref(expected);
    }
    api_document_finish(&document);
    api_problem_finish(&problem);
    free(text);
    return 0;
}
