/* Runs every folder of tests/golden as a test of its own: request in, reply or problem compared.
 * It knows no case by name; a new folder needs no code. */
#define _GNU_SOURCE
#include "api/operation.h"
#include "tests/check.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* A folder is named OPERATION-WHAT and holds
 *   request.json    the body; any bytes
 *   response.json   the whole reply: same members, in the same order, numbers within tolerance; or
 *   problem.json    a part of the problem document: each member given must be there and equal, null
 *                   means that there must be none; "errors" has the same length, in the same order;
 *                   "detail" and "hint" are parts of the text; "requestId" is not compared
 *   tolerance       optional: |a - b| <= tolerance * max(1, |b|) instead of 1e-12; 0 is bit for bit
 */
#define DEFAULT_TOLERANCE 1e-12
#define MAX_PATH 4096
#define REQUEST_ID "golden"

struct bytes {
    char *data; /* exactly size bytes, so that a read past the end is seen */
    size_t size;
};

/* One comparison; `path` is where it is, for the message. */
struct comparison {
    bool exact;
    bool subset;
    double tolerance;
    char path[512];
    size_t path_size;
};

/* ---- files -------------------------------------------------------------------------------- */

/* False when there is no such file; fails the test when it cannot be read. */
static bool read_file(const char *folder, const char *name, struct bytes *bytes) {
    char path[MAX_PATH];
    struct stat info;
    *bytes = (struct bytes){0};
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        assert_int_equal(errno, ENOENT);
        return false;
    }
    assert_int_equal(fstat(fileno(file), &info), 0);
    bytes->size = (size_t)info.st_size;
    bytes->data = malloc(bytes->size == 0 ? 1 : bytes->size);
    assert_non_null(bytes->data);
    assert_int_equal(fread(bytes->data, 1, bytes->size, file), bytes->size);
    (void)fclose(file);
    return true;
}

static double read_tolerance(const char *folder) {
    struct bytes bytes;
    char text[64] = "";
    char *end = text;
    if (!read_file(folder, "tolerance", &bytes)) {
        return DEFAULT_TOLERANCE;
    }
    memcpy(text, bytes.data, bytes.size < sizeof text - 1 ? bytes.size : sizeof text - 1);
    free(bytes.data);
    const double tolerance = strtod(text, &end);
    assert_true(end > text && tolerance >= 0);
    return tolerance;
}

static json_t *parse(const char *what, const char *data, size_t size) {
    json_error_t error;
    json_t *value = json_loadb(data == NULL ? "" : data, size,
                               JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
    if (value == NULL) {
        fail_msg("%s is not JSON: %s: %.*s", what, error.text, (int)size, data);
    }
    return value;
}

/* ---- comparing ---------------------------------------------------------------------------- */

static void compare(struct comparison *at, const json_t *actual, const json_t *expected);

static size_t enter(struct comparison *at, const char *token) {
    const size_t before = at->path_size;
    (void)snprintf(at->path + before, sizeof at->path - before, "/%s", token);
    at->path_size = strlen(at->path);
    return before;
}

static void leave(struct comparison *at, size_t before) {
    at->path_size = before;
    at->path[before] = '\0';
}

static void compare_members(struct comparison *at, const json_t *actual, const json_t *expected) {
    const char *name;
    json_t *value;
    void *iter = json_object_iter((json_t *)actual);
    json_object_foreach((json_t *)expected, name, value) {
        const json_t *found = json_object_get(actual, name);
        const size_t before = enter(at, name);
        if (at->subset && json_is_null(value)) {
            if (found != NULL) {
                fail_msg("%s: is there, should not be", at->path);
            }
        } else if (found == NULL) {
            fail_msg("%s: is missing", at->path);
        } else if (!at->subset && strcmp(json_object_iter_key(iter), name) != 0) {
            fail_msg("%s: %s stands in its place", at->path, json_object_iter_key(iter));
        } else if (strcmp(name, "requestId") != 0) {
            compare(at, found, value);
        }
        leave(at, before);
        iter = iter == NULL ? NULL : json_object_iter_next((json_t *)actual, iter);
    }
    if (!at->subset && json_object_size(actual) != json_object_size(expected)) {
        fail_msg("%s: %zu members, expected %zu", at->path, json_object_size(actual),
                 json_object_size(expected));
    }
}

static void compare_elements(struct comparison *at, const json_t *actual, const json_t *expected) {
    if (json_array_size(actual) != json_array_size(expected)) {
        fail_msg("%s: %zu elements, expected %zu", at->path, json_array_size(actual),
                 json_array_size(expected));
    }
    for (size_t i = 0; i < json_array_size(expected); ++i) {
        char token[24];
        (void)snprintf(token, sizeof token, "%zu", i);
        const size_t before = enter(at, token);
        compare(at, json_array_get(actual, i), json_array_get(expected, i));
        leave(at, before);
    }
}

static bool is_prose(const struct comparison *at) {
    const char *name = strrchr(at->path, '/');
    return name != NULL && (strcmp(name, "/detail") == 0 || strcmp(name, "/hint") == 0);
}

static void compare_strings(const struct comparison *at, const json_t *actual,
                            const json_t *expected) {
    const char *text = json_string_value(actual);
    const char *wanted = json_string_value(expected);
    if (at->subset && is_prose(at)) {
        if (strstr(text, wanted) == NULL) {
            fail_msg("%s: got '%s', expected it to hold '%s'", at->path, text, wanted);
        }
    } else if (!json_equal(actual, expected)) {
        fail_msg("%s: got '%s', expected '%s'", at->path, text, wanted);
    }
}

static void compare_numbers(const struct comparison *at, double actual, double expected) {
    const double error = fabs(actual - expected);
    const bool same = actual == expected && !signbit(actual) == !signbit(expected);
    const bool near = error <= at->tolerance * fmax(1, fabs(expected));
    if (at->exact ? !same : !near) {
        fail_msg("%s: got %.17g, expected %.17g, off by %g", at->path, actual, expected, error);
    }
}

static void compare(struct comparison *at, const json_t *actual, const json_t *expected) {
    if (json_typeof(actual) != json_typeof(expected)) {
        fail_msg("%s: is of JSON type %d, expected %d", at->path, json_typeof(actual),
                 json_typeof(expected));
    }
    switch (json_typeof(expected)) {
    case JSON_OBJECT:
        compare_members(at, actual, expected);
        return;
    case JSON_ARRAY:
        compare_elements(at, actual, expected);
        return;
    case JSON_STRING:
        compare_strings(at, actual, expected);
        return;
    case JSON_INTEGER:
    case JSON_REAL:
        compare_numbers(at, json_number_value(actual), json_number_value(expected));
        return;
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NULL:
        return;
    }
}

/* ---- one case ----------------------------------------------------------------------------- */

/* What is true of every problem document. */
static void check_problem(const struct api_reply *reply, const json_t *problem) {
    const char *code = json_string_value(json_object_get(problem, "code"));
    const char *id = json_string_value(json_object_get(problem, "requestId"));
    const json_t *errors = json_object_get(problem, "errors");
    char type[128];
    assert_non_null(code);
    assert_non_null(id);
    (void)snprintf(type, sizeof type, "/problems/%s", code);
    assert_string_equal(json_string_value(json_object_get(problem, "type")), type);
    assert_string_equal(id, REQUEST_ID);
    assert_string_equal(reply->media_type, API_TYPE_PROBLEM);
    assert_true(json_number_value(json_object_get(problem, "status")) == reply->status);
    assert_true(json_string_length(json_object_get(problem, "title")) > 0);
    assert_true(json_string_length(json_object_get(problem, "detail")) > 0);
    for (size_t i = 0; i < json_array_size(errors); ++i) {
        const json_t *finding = json_array_get(errors, i);
        assert_true(json_string_length(json_object_get(finding, "code")) > 0);
        assert_true(json_string_length(json_object_get(finding, "detail")) > 0);
    }
}

static void check_reply(const char *folder, const struct api_reply *reply, bool is_problem,
                        const struct bytes *wanted) {
    struct comparison at = {.subset = is_problem, .tolerance = read_tolerance(folder)};
    at.exact = is_problem || at.tolerance == 0;
    if (is_problem != (reply->code != API_OK)) {
        fail_msg("expected a %s, got: %.*s", is_problem ? "problem" : "response",
                 (int)reply->body.size, reply->body.data);
    }
    json_t *expected = parse("the expected reply", wanted->data, wanted->size);
    json_t *actual = parse("the reply", reply->body.data, reply->body.size);
    if (is_problem) {
        check_problem(reply, actual);
        assert_true(json_is_number(json_object_get(expected, "status")));
    } else {
        assert_int_equal(reply->status, 200);
        assert_string_equal(reply->media_type, API_TYPE_JSON);
    }
    compare(&at, actual, expected);
    json_decref(expected);
    json_decref(actual);
}

static const struct api_operation *operation_of(const char *folder) {
    char name[64];
    const char *base = strrchr(folder, '/') + 1;
    const size_t size = strcspn(base, "-");
    assert_true(size < sizeof name && base[size] == '-');
    memcpy(name, base, size);
    name[size] = '\0';
    const struct api_operation *operation = api_operation_find(name);
    if (operation == NULL) {
        fail_msg("no operation is called %s", name);
    }
    return operation;
}

static void run_case(void **state) {
    const char *folder = *state;
    struct bytes body;
    struct bytes response;
    struct bytes problem;
    struct api_reply reply;
    const struct api_operation *operation = operation_of(folder);
    assert_true(read_file(folder, "request.json", &body));
    const bool has_response = read_file(folder, "response.json", &response);
    const bool has_problem = read_file(folder, "problem.json", &problem);
    if (has_response == has_problem) {
        fail_msg("needs exactly one of response.json and problem.json");
    }
    const struct bytes *wanted = has_problem ? &problem : &response;
    const struct api_request request = {.body = body.data,
                                        .size = body.size,
                                        .content_type = API_MEDIA_JSON,
                                        .accept = API_MEDIA_JSON,
                                        .request_id = REQUEST_ID};
    api_operation_run(operation, &request, &reply);
    check_reply(folder, &reply, has_problem, wanted);
    api_reply_finish(&reply);
    free(body.data);
    free(wanted->data);
}

/* ---- all cases ---------------------------------------------------------------------------- */

static int is_case(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

/* The folder beside this file's own, unless another is named. */
static const char *root_folder(int argc, char **argv, char path[MAX_PATH]) {
    const char *named = argc > 1 ? argv[1] : getenv("SKIND_GOLDEN");
    const char *slash = strrchr(__FILE__, '/');
    if (named != NULL) {
        return named;
    }
    (void)snprintf(path, MAX_PATH, "%.*s/../golden", (int)(slash - __FILE__), __FILE__);
    return path;
}

static bool make_test(const char *root, const char *name, struct CMUnitTest *test) {
    char *folder = NULL;
    char *label = strdup(name);
    if (label == NULL || asprintf(&folder, "%s/%s", root, name) < 0) {
        free(label);
        return false;
    }
    *test = (struct CMUnitTest){.name = label, .test_func = run_case, .initial_state = folder};
    return true;
}

static void free_tests(struct CMUnitTest *tests, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        free((void *)tests[i].name);
        free(tests[i].initial_state);
    }
    free(tests);
}

/* How many of them failed; a root without cases is a failure too. */
static int run_cases(const char *root, struct dirent **entries, size_t count) {
    struct CMUnitTest *tests = calloc(count + 1, sizeof *tests);
    size_t made = 0;
    int failed = 1;
    while (tests != NULL && made < count && make_test(root, entries[made]->d_name, &tests[made])) {
        ++made;
    }
    if (made == count && count > 0) {
        failed = _cmocka_run_group_tests("golden", tests, count, NULL, NULL);
    } else {
        (void)fprintf(stderr, "%s: %s\n", root, count == 0 ? "no cases" : "out of memory");
    }
    free_tests(tests, made);
    return failed;
}

int main(int argc, char **argv) {
    char path[MAX_PATH];
    struct dirent **entries = NULL;
    const char *root = root_folder(argc, argv, path);
    const int found = scandir(root, &entries, is_case, alphasort);
    const size_t count = found > 0 ? (size_t)found : 0;
    api_init();
    const int failed = run_cases(root, entries, count);
    for (size_t i = 0; i < count; ++i) {
        free(entries[i]);
    }
    free(entries);
    return failed;
}
