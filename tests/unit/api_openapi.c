/* Contract and code say the same, in both directions: openapi.json beside the tables of api/, and
 * its examples beside what the operations answer. The server's routes are server_routes.c's. */
#include "api/arguments.h"
#include "tests/check.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_TEXT 256

static json_t *parse(const char *text, size_t size) {
    json_error_t error;
    json_t *value =
        json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
    if (value == NULL) {
        fail_msg("line %d, column %d: %s", error.line, error.column, error.text);
    }
    return value;
}

static int load(void **state) {
    size_t size;
    const char *text = api_openapi_text(&size);
    *state = parse(text, size);
    return 0;
}

static int unload(void **state) {
    json_decref(*state);
    return 0;
}

/* ---- walking ------------------------------------------------------------------------------ */

/* The member, which must be there. */
static const json_t *get(const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    if (value == NULL) {
        fail_msg("%s is missing", name);
    }
    return value;
}

/* What "#/a/b/c" refers to, or NULL. No token here needs an escape. */
static const json_t *find_ref(const json_t *root, const char *ref) {
    const json_t *value = root;
    if (*ref++ != '#') {
        return NULL;
    }
    while (*ref == '/' && value != NULL) {
        const size_t size = strcspn(++ref, "/");
        value = json_object_getn(value, ref, size);
        ref += size;
    }
    return value;
}

/* The value itself, or what it refers to. */
static const json_t *follow(const json_t *root, const json_t *value) {
    const char *ref = json_string_value(json_object_get(value, "$ref"));
    if (ref == NULL) {
        return value;
    }
    const json_t *target = find_ref(root, ref);
    if (target == NULL) {
        fail_msg("%s refers to nothing", ref);
    }
    return target;
}

static const json_t *schema(const json_t *root, const char *name) {
    return get(get(get(root, "components"), "schemas"), name);
}

static const json_t *post_of(const json_t *root, const struct api_operation *operation) {
    char path[MAX_TEXT];
    (void)snprintf(path, sizeof path, "/v1/%s", operation->name);
    return get(get(get(root, "paths"), path), "post");
}

static const json_t *json_content(const json_t *body) {
    return get(get(body, "content"), API_TYPE_JSON);
}

static bool holds(const json_t *array, const char *text) {
    for (size_t i = 0; i < json_array_size(array); ++i) {
        const char *item = json_string_value(json_array_get(array, i));
        if (item != NULL && strcmp(item, text) == 0) {
            return true;
        }
    }
    return false;
}

/* The enum of a schema holds exactly these; `what` names it in the message. */
static void check_enum(const json_t *object, const char *what, const char *const *names,
                       size_t count) {
    const json_t *values = get(object, "enum");
    for (size_t i = 0; i < count; ++i) {
        if (!holds(values, names[i])) {
            fail_msg("%s: the contract does not know %s", what, names[i]);
        }
    }
    if (json_array_size(values) != count) {
        fail_msg("%s: the contract has %zu values, the code %zu", what, json_array_size(values),
                 count);
    }
}

static size_t count_texts(const char *const *texts) {
    size_t count = 0;
    while (texts[count] != NULL) {
        ++count;
    }
    return count;
}

/* ---- tests -------------------------------------------------------------------------------- */

static void test_paths_are_operations(void **state) {
    const char *path;
    json_t *item;
    size_t found = 0;
    size_t count = 0;
    json_object_foreach((json_t *)get(*state, "paths"), path, item) {
        const char *method;
        json_t *description;
        if (strncmp(path, "/v1/", 4) != 0) {
            continue;
        }
        ++found;
        if (api_operation_find(path + 4) == NULL) {
            fail_msg("there is no operation for %s", path);
        }
        json_object_foreach(item, method, description) {
            assert_string_equal(method, "post");
        }
    }
    while (api_operations[count] != NULL) {
        const json_t *post = post_of(*state, api_operations[count]);
        assert_string_equal(json_string_value(get(post, "operationId")),
                            api_operations[count]->name);
        ++count;
    }
    assert_int_equal(found, count);
    assert_true(count > 0);
}

static void check_members(const json_t *root, const struct api_operation *operation) {
    const json_t *body = get(post_of(root, operation), "requestBody");
    const json_t *request = follow(root, get(json_content(body), "schema"));
    const json_t *properties = get(request, "properties");
    const json_t *required = get(request, "required");
    size_t count = 0;
    size_t required_count = 0;
    for (const struct api_member *member = operation->members; member->name != NULL; ++member) {
        ++count;
        required_count += member->required ? 1 : 0;
        (void)get(properties, member->name);
        if (holds(required, member->name) != member->required) {
            fail_msg("%s: %s is%s required", operation->name, member->name,
                     member->required ? "" : " not");
        }
    }
    assert_int_equal(json_object_size(properties), count);
    assert_int_equal(json_array_size(required), required_count);
    assert_true(json_is_false(get(request, "additionalProperties")));
    assert_true(json_is_true(get(body, "required")));
}

static void test_members(void **state) {
    for (size_t i = 0; api_operations[i] != NULL; ++i) {
        check_members(*state, api_operations[i]);
    }
}

static void check_parameters(const json_t *root, const struct api_operation *operation) {
    const json_t *listed = get(post_of(root, operation), "parameters");
    for (size_t i = 0; i < json_array_size(listed); ++i) {
        const json_t *parameter = follow(root, json_array_get(listed, i));
        const char *name = json_string_value(get(parameter, "name"));
        size_t k = 0;
        assert_string_equal(json_string_value(get(parameter, "in")), "query");
        while (operation->parameters[k] != NULL && strcmp(operation->parameters[k], name) != 0) {
            ++k;
        }
        if (operation->parameters[k] == NULL) {
            fail_msg("%s: the code does not know the parameter %s", operation->name, name);
        }
    }
    assert_int_equal(json_array_size(listed), count_texts(operation->parameters));
}

static void test_parameters(void **state) {
    for (size_t i = 0; api_operations[i] != NULL; ++i) {
        check_parameters(*state, api_operations[i]);
    }
}

/* Raw bodies are in the contract exactly where the operation takes them. */
static void test_media_types(void **state) {
    for (size_t i = 0; api_operations[i] != NULL; ++i) {
        const json_t *post = post_of(*state, api_operations[i]);
        const json_t *request = get(get(post, "requestBody"), "content");
        const json_t *reply = get(get(get(post, "responses"), "200"), "content");
        const bool octets = api_operations[i]->run_octets != NULL;
        assert_int_equal(json_object_get(request, API_TYPE_OCTETS) != NULL, octets);
        assert_int_equal(json_object_get(reply, API_TYPE_OCTETS) != NULL, octets);
        const bool lines = api_operations[i]->takes_lines;
        assert_int_equal(json_object_get(request, API_TYPE_LINES) != NULL, lines);
        assert_int_equal(json_object_get(reply, API_TYPE_LINES) != NULL, lines);
        const size_t count = 1 + (octets ? 1U : 0U) + (lines ? 1U : 0U);
        assert_int_equal(json_object_size(request), count);
        assert_int_equal(json_object_size(reply), count);
        (void)json_content(get(get(post, "responses"), "200"));
    }
}

static void test_choices(void **state) {
    const char *conventions[64];
    size_t count = 0;
    while (api_conventions[count].name != NULL) {
        assert_true(count < 64);
        conventions[count] = api_conventions[count].name;
        ++count;
    }
    check_enum(schema(*state, "Convention"), "Convention", conventions, count);
    check_enum(schema(*state, "Space"), "Space", api_space_names, count_texts(api_space_names));
    check_enum(schema(*state, "Precision"), "Precision", api_precision_names,
               count_texts(api_precision_names));
    check_enum(schema(*state, "MatrixShape"), "MatrixShape", api_shape_names,
               count_texts(api_shape_names));
    const json_t *dtype = get(get(get(*state, "components"), "parameters"), "dtype");
    check_enum(get(dtype, "schema"), "dtype", api_precision_names,
               count_texts(api_precision_names));
}

static void test_problem_codes(void **state) {
    const char *wires[API_CODE_COUNT];
    size_t count = 0;
    for (int code = API_OK + 1; code < API_CODE_COUNT; ++code) {
        wires[count++] = api_code_wire((enum api_code)code);
    }
    check_enum(schema(*state, "ProblemCode"), "ProblemCode", wires, count);
}

static bool is_status_of_a_code(long status) {
    for (int code = API_OK + 1; code < API_CODE_COUNT; ++code) {
        if (api_code_status((enum api_code)code) == (unsigned long)status) {
            return true;
        }
    }
    return false;
}

static void check_responses(const json_t *root, const char *path, const json_t *responses) {
    const char *status;
    json_t *response;
    assert_non_null(json_object_get(responses, "200"));
    json_object_foreach((json_t *)responses, status, response) {
        const json_t *content = json_object_get(follow(root, response), "content");
        const bool is_problem = strcmp(status, "200") != 0;
        if (is_problem && !is_status_of_a_code(strtol(status, NULL, 10))) {
            fail_msg("%s: no code has status %s", path, status);
        }
        if (is_problem != (json_object_get(content, API_TYPE_PROBLEM) != NULL)) {
            fail_msg("%s: %s: problems, and they alone, are " API_TYPE_PROBLEM, path, status);
        }
    }
}

static void test_statuses(void **state) {
    const char *path;
    json_t *item;
    json_object_foreach((json_t *)get(*state, "paths"), path, item) {
        const char *method;
        json_t *description;
        json_object_foreach(item, method, description) {
            check_responses(*state, path, get(description, "responses"));
        }
    }
}

static double number_at(const json_t *root, const char *ref) {
    const json_t *value = find_ref(root, ref);
    if (!json_is_number(value)) {
        fail_msg("%s is no number", ref);
    }
    return json_number_value(value);
}

static void test_limits(void **state) {
    static const struct {
        const char *ref;
        double limit;
    } rows[] = {
        {"#/components/schemas/Names/maxItems", API_MAX_BONES},
        {"#/components/schemas/Names/items/maxLength", API_MAX_NAME_SIZE},
        {"#/components/schemas/ReplyMatrixList/maxItems", API_MAX_BONES},
        {"#/components/schemas/BatchRequest/properties/requests/maxItems", API_MAX_BATCH_ITEMS},
        {"#/components/schemas/BatchItem/properties/id/maxLength", API_MAX_ID_SIZE},
        {"#/components/parameters/frames/schema/maximum", API_MAX_FRAMES},
        {"#/components/schemas/Problem/properties/errors/maxItems", API_MAX_FINDINGS},
        {"#/components/schemas/MaxCondition/maximum", API_MAX_CONDITION},
        {"#/components/schemas/AffineTolerance/maximum", SKIN_MAX_AFFINE_TOLERANCE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        const double actual = number_at(*state, rows[i].ref);
        if (actual != rows[i].limit) {
            fail_msg("%s: %.17g, the code says %.17g", rows[i].ref, actual, rows[i].limit);
        }
    }
    const json_t *lists = get(schema(*state, "MatrixList"), "anyOf");
    const json_t *matrices = get(json_array_get(lists, 0), "maxItems");
    const json_t *numbers = get(json_array_get(lists, 1), "maxItems");
    assert_true(json_number_value(matrices) == API_MAX_BONES);
    assert_true(json_number_value(numbers) == 16.0 * API_MAX_BONES);
}

/* An item of a batch may name each operation that can stand in one, and no other. */
static void test_batch_items(void **state) {
    const json_t *names = get(get(get(schema(*state, "BatchItem"), "properties"), "op"), "enum");
    size_t count = 0;
    for (size_t i = 0; api_operations[i] != NULL; ++i) {
        const bool may = api_operations[i]->run != NULL;
        assert_int_equal(holds(names, api_operations[i]->name), may);
        count += may ? 1 : 0;
    }
    assert_int_equal(json_array_size(names), count);
}

/* Every $ref leads somewhere. Names of members that are called "$ref" do not occur. */
static void check_refs(const json_t *root, const json_t *value) {
    const char *name;
    json_t *member;
    (void)follow(root, value);
    json_object_foreach((json_t *)value, name, member) {
        check_refs(root, member);
    }
    for (size_t i = 0; i < json_array_size(value); ++i) {
        check_refs(root, json_array_get(value, i));
    }
}

static void test_refs(void **state) {
    check_refs(*state, *state);
}

/* ---- examples ----------------------------------------------------------------------------- */

static void check_example(const struct api_operation *operation, const json_t *request,
                          const json_t *expected) {
    struct api_reply reply;
    char *body = json_dumps(request, JSON_COMPACT);
    assert_non_null(body);
    const struct api_request call = {.body = body, .size = strlen(body)};
    api_operation_run(operation, &call, &reply);
    json_t *actual = parse(reply.body.data, reply.body.size);
    if (!json_equal(actual, expected)) {
        fail_msg("%s answers %.*s", operation->name, (int)reply.body.size, reply.body.data);
    }
    json_decref(actual);
    api_reply_finish(&reply);
    free(body);
}

/* Each example of a request has the reply of the same name, which is what comes out. */
static void test_examples(void **state) {
    for (size_t i = 0; api_operations[i] != NULL; ++i) {
        const json_t *post = post_of(*state, api_operations[i]);
        const json_t *requests = get(json_content(get(post, "requestBody")), "examples");
        const json_t *replies = get(json_content(get(get(post, "responses"), "200")), "examples");
        const char *name;
        json_t *request;
        json_object_foreach((json_t *)requests, name, request) {
            check_example(api_operations[i], get(request, "value"),
                          get(get(replies, name), "value"));
        }
        assert_true(json_object_size(requests) > 0);
        assert_int_equal(json_object_size(requests), json_object_size(replies));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths_are_operations),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_media_types),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_problem_codes),
        cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_batch_items),
        cmocka_unit_test(test_refs),
        cmocka_unit_test(test_examples),
    };
    api_init();
    return cmocka_run_group_tests_name("openapi", tests, load, unload);
}
