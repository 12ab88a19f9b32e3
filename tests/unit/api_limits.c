/* Limits of JSON requests, each from both of its sides, and the pages that explain problems.
 * The texts are too long for golden files. */
#include "api/json_memory.h"
#include "api/operation.h"
#include "tests/check.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define MATRIX "[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]"
#define NUMBERS_15 "[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0]"
#define NUMBERS_16 "1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1"

/* before [piece,piece,...] behind */
static char *list_text(const char *before, const char *piece, size_t count, const char *behind) {
    const size_t step = strlen(piece) + 1;
    const size_t start = strlen(before);
    char *text = malloc(start + step * count + strlen(behind) + 3);
    assert_non_null(text);
    memcpy(text, before, start);
    text[start] = '[';
    char *at = text + start + 1;
    for (size_t i = 0; i < count; ++i) {
        memcpy(at, piece, step - 1);
        at[step - 1] = ',';
        at += step;
    }
    at[-1] = ']'; /* in the place of the last comma */
    memcpy(at, behind, strlen(behind) + 1);
    return text;
}

/* The reply to a bind request. */
static json_t *bind(const char *before, const char *piece, size_t count, const char *behind) {
    struct api_reply reply;
    char *text = list_text(before, piece, count, behind);
    const struct api_request request = {.body = text, .size = strlen(text)};
    api_operation_run(api_operation_find("bind"), &request, &reply);
    json_t *root = json_loadb(reply.body.data, reply.body.size, 0, NULL);
    assert_non_null(root);
    assert_true((reply.status == 200) == (json_object_get(root, "inverseBind") != NULL));
    api_reply_finish(&reply);
    free(text);
    return root;
}

/* One finding and no more, however many matrices there are. */
static void check_limit(json_t *root, const char *pointer) {
    const json_t *errors = json_object_get(root, "errors");
    const json_t *finding = json_array_get(errors, 0);
    assert_int_equal(json_array_size(errors), 1);
    assert_string_equal(json_string_value(json_object_get(finding, "code")), "limit-exceeded");
    assert_string_equal(json_string_value(json_object_get(finding, "pointer")), pointer);
    assert_non_null(strstr(json_string_value(json_object_get(finding, "detail")), "65537"));
    json_decref(root);
}

static void check_bones(const char *piece) {
    static const char before[] = "{\"meshBindWorld\":{},\"boneBindWorld\":";
    json_t *root = bind(before, piece, 65536, "}");
    assert_int_equal(json_array_size(json_object_get(root, "inverseBind")), 65536);
    json_decref(root);
    check_limit(bind(before, piece, 65537, "}"), "/boneBindWorld");
}

static void test_bones(void **state) {
    (void)state;
    check_bones(MATRIX);
    check_bones(NUMBERS_16); /* one flat list */
    check_bones("{}");
}

/* That there are too many is told, not what is wrong with each. */
static void test_too_many_of_the_wrong_shape(void **state) {
    (void)state;
    static const char before[] = "{\"meshBindWorld\":{},\"boneBindWorld\":";
    check_limit(bind(before, NUMBERS_15, 65537, "}"), "/boneBindWorld");
    check_limit(bind(before, "null", 65537, "}"), "/boneBindWorld");
}

static void test_names(void **state) {
    (void)state;
    static const char before[] = "{\"meshBindWorld\":{},\"boneBindWorld\":[],\"names\":";
    check_limit(bind(before, "\"\"", 65537, "}"), "/names");
    json_t *root = bind(before, "\"\"", 65536, "}");
    assert_string_equal(json_string_value(json_object_get(root, "code")), "count-mismatch");
    json_decref(root);
}

/* The cap behind the budget of values, which keeps every request from it. */
static void test_json_memory(void **state) {
    (void)state;
    struct api_json_memory memory = {.blocks = NULL};
    json_error_t error;
    enum api_code code;
    char *text = list_text("", "{}", 1000000, "");
    assert_null(api_json_load(&memory, text, strlen(text), 0, &error, &code));
    assert_int_equal(code, API_PAYLOAD_TOO_LARGE);
    assert_in_range(memory.total, API_MAX_JSON_MEMORY / 2, API_MAX_JSON_MEMORY);
    api_json_memory_finish(&memory);
    assert_int_equal(memory.total, 0);
    assert_non_null(api_json_load(&memory, "[{}]", 4, 0, &error, &code));
    assert_int_equal(code, API_OK);
    api_json_memory_finish(&memory);
    free(text);
}

static void test_problem_pages(void **state) {
    (void)state;
    static const char *const names[] = {"type", "title", "status", "code", "meaning", "remedy"};
    for (int code = API_OK + 1; code < API_CODE_COUNT; ++code) {
        struct api_buffer page;
        char type[64];
        api_buffer_init(&page, 4096);
        api_problem_page((enum api_code)code, &page);
        json_t *root = json_loadb(page.data, page.size, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(root);
        size_t count = 0;
        const char *name;
        json_t *value;
        json_object_foreach(root, name, value) {
            assert_in_range(count, 0, 5);
            assert_string_equal(name, names[count++]);
            assert_true(json_is_integer(value) || json_string_length(value) > 0);
        }
        assert_int_equal(count, 6);
        (void)snprintf(type, sizeof type, "/problems/%s", api_code_wire((enum api_code)code));
        assert_string_equal(json_string_value(json_object_get(root, "type")), type);
        assert_string_equal(json_string_value(json_object_get(root, "code")),
                            api_code_wire((enum api_code)code));
        assert_int_equal(json_integer_value(json_object_get(root, "status")),
                         api_code_status((enum api_code)code));
        json_decref(root);
        api_buffer_finish(&page);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bones),         cmocka_unit_test(test_too_many_of_the_wrong_shape),
        cmocka_unit_test(test_names),         cmocka_unit_test(test_json_memory),
        cmocka_unit_test(test_problem_pages),
    };
    api_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
