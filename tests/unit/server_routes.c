/* Routes, media types and admission, without a socket.
 * That a route's handler does its work is tested over HTTP. */
#include "server/admit.h"
#include "server/media.h"
#include "server/routes.h"
#include "tests/check.h"

#include <jansson.h>
#include <stdio.h>

static void test_routes(void **state) {
    static const struct {
        const char *method;
        const char *path;
        enum api_code code;
        const char *detail; /* the name in the path, or what Allow says; NULL for neither */
    } rows[] = {
        {"GET", "/healthz", API_OK, NULL},
        {"HEAD", "/healthz", API_OK, NULL},
        {"GET", "/problems/singular", API_OK, "singular"},
        {"POST", "/v1/palette", API_OK, "palette"},
        {"POST", "/v1/bind", API_OK, "bind"},
        {"POST", "/healthz", API_METHOD_NOT_ALLOWED, "GET, HEAD"},
        {"GET", "/v1/bind", API_METHOD_NOT_ALLOWED, "POST"},
        {"HEAD", "/v1/bind", API_METHOD_NOT_ALLOWED, "POST"},
        {"OPTIONS", "/v1/bind", API_METHOD_NOT_ALLOWED, "POST"},
        {"GET", "/", API_NOT_FOUND, NULL},
        {"GET", "", API_NOT_FOUND, NULL},
        {"GET", "*", API_NOT_FOUND, NULL},
        {"GET", "/healthz/", API_NOT_FOUND, NULL},
        {"GET", "/health", API_NOT_FOUND, NULL},
        {"GET", "/problems/", API_NOT_FOUND, NULL},
        {"GET", "/problems/a/b", API_NOT_FOUND, NULL},
        {"GET", "/problems/{code}/", API_NOT_FOUND, NULL},
        {"POST", "/v1/", API_NOT_FOUND, NULL},
        {"POST", "/v1/nothing", API_NOT_FOUND, NULL},
        {"GET", "/v1/nothing", API_NOT_FOUND, NULL},
        {"POST", "/v1/bind/", API_NOT_FOUND, NULL},
        {"POST", "/v1/{operation}", API_NOT_FOUND, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct routes_match match;
        assert_int_equal(routes_find(rows[i].method, rows[i].path, &match), rows[i].code);
        if (rows[i].code == API_METHOD_NOT_ALLOWED) {
            assert_string_equal(match.allow, rows[i].detail);
        } else if (rows[i].detail != NULL) {
            assert_string_equal(match.name, rows[i].detail);
        }
        assert_int_equal(match.route != NULL, rows[i].code == API_OK);
    }
}

static void test_every_operation_has_its_route(void **state) {
    (void)state;
    for (size_t i = 0; api_operations[i] != NULL; i++) {
        char path[64];
        struct routes_match match;
        snprintf(path, sizeof path, "/v1/%s", api_operations[i]->name);
        assert_int_equal(routes_find("POST", path, &match), API_OK);
        assert_ptr_equal(match.operation, api_operations[i]);
    }
}

static json_t *load_openapi(void) {
    size_t size;
    const char *text = api_openapi_text(&size);
    json_t *document = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(document);
    return document;
}

/* "get" of "GET" */
static void method_key(const char *method, char key[16]) {
    size_t size = strlen(method);
    assert_true(size < 16);
    for (size_t i = 0; i <= size; i++) {
        key[i] = method[i] >= 'A' && method[i] <= 'Z' ? (char)(method[i] - 'A' + 'a') : method[i];
    }
}

/* The document says this of the path and method, and at least these statuses. */
static void check_is_documented(const json_t *paths, const char *method, const char *path) {
    static const char *const of_get[] = {"200", NULL};
    static const char *const of_post[] = {"200", "400", "406", "411", "413", "415", "422", NULL};
    char key[16];
    method_key(method, key);
    const json_t *about = json_object_get(json_object_get(paths, path), key);
    if (about == NULL) {
        print_error("openapi.json lacks %s %s\n", method, path);
        fail();
    }
    const json_t *responses = json_object_get(about, "responses");
    const char *const *statuses = strcmp(method, "POST") == 0 ? of_post : of_get;
    for (; *statuses != NULL; statuses++) {
        if (json_object_get(responses, *statuses) == NULL) {
            print_error("openapi.json lacks status %s of %s %s\n", *statuses, method, path);
            fail();
        }
    }
}

static void test_every_route_is_documented(void **state) {
    json_t *document = load_openapi();
    const json_t *paths = json_object_get(document, "paths");
    const struct route *route;
    (void)state;
    for (size_t i = 0; (route = routes_at(i)) != NULL; i++) {
        if (!route->is_operation) {
            check_is_documented(paths, route->method, route->path);
            continue;
        }
        for (size_t j = 0; api_operations[j] != NULL; j++) {
            char path[64];
            snprintf(path, sizeof path, "%.*s%s", (int)strcspn(route->path, "{"), route->path,
                     api_operations[j]->name);
            check_is_documented(paths, route->method, path);
        }
    }
    json_decref(document);
}

/* A path of the document is a route's own, or that of an operation. */
static bool has_route(const char *key, const char *path) {
    const struct route *route;
    for (size_t i = 0; (route = routes_at(i)) != NULL; i++) {
        char method[16];
        struct routes_match match;
        method_key(route->method, method);
        bool is_same = route->is_operation ? routes_find(route->method, path, &match) == API_OK &&
                                                 match.route == route
                                           : strcmp(route->path, path) == 0;
        if (is_same && strcmp(method, key) == 0) {
            return true;
        }
    }
    return false;
}

static void test_everything_documented_has_its_route(void **state) {
    json_t *document = load_openapi();
    json_t *paths = json_object_get(document, "paths");
    const char *path;
    json_t *methods;
    size_t count = 0;
    (void)state;
    json_object_foreach(paths, path, methods) {
        const char *key;
        json_t *about;
        json_object_foreach(methods, key, about) {
            if (!has_route(key, path)) {
                print_error("no route serves %s %s of openapi.json\n", key, path);
                fail();
            }
            count++;
        }
    }
    assert_true(count >= 7);
    json_decref(document);
}

static void test_content_types(void **state) {
    static const struct {
        const char *value;
        int media; /* -1: refused */
    } rows[] = {
        {"application/json", API_MEDIA_JSON},
        {"Application/JSON", API_MEDIA_JSON},
        {"  application/json\t", API_MEDIA_JSON},
        {"application/json;charset=utf-8", API_MEDIA_JSON},
        {"application/json ; charset=\"UTF-8\"", API_MEDIA_JSON},
        {"application/json; a=\"x;charset=latin1\"", API_MEDIA_JSON},
        {"application/json; a=\"\\\";charset=latin1\"", API_MEDIA_JSON},
        {"application/json;", API_MEDIA_JSON},
        {"application/octet-stream", API_MEDIA_OCTETS},
        {"application/json; charset=utf-16", -1},
        {"application/json; charset", -1},
        {"application/json; x", -1},
        {"application/json, application/json", -1},
        {"application/jsonp", -1},
        {"application/jso", -1},
        {"application /json", -1},
        {"text/json", -1},
        {"*/*", -1},
        {"", -1},
        {";", -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        enum api_media media;
        bool is_taken = media_type_parse(rows[i].value, &media);
        if (is_taken != (rows[i].media >= 0) || (is_taken && (int)media != rows[i].media)) {
            print_error("Content-Type '%s'\n", rows[i].value);
            fail();
        }
    }
}

static void test_accept(void **state) {
    enum { NONE = -1, JSON = API_MEDIA_JSON, OCTETS = API_MEDIA_OCTETS };
    static const struct {
        const char *value;
        int media;        /* both offered, JSON usual */
        int media_octets; /* both offered, octets usual */
        int media_json;   /* only JSON offered */
    } rows[] = {
        {"*/*", JSON, OCTETS, JSON},
        {"application/*", JSON, OCTETS, JSON},
        {"application/json", JSON, JSON, JSON},
        {"application/octet-stream", OCTETS, OCTETS, NONE},
        {"APPLICATION/JSON", JSON, JSON, JSON},
        {"application/json;q=0.5, application/octet-stream;q=0.4", JSON, JSON, JSON},
        {"application/json;q=0.4, application/octet-stream;q=0.5", OCTETS, OCTETS, JSON},
        {"application/json;q=0.5,*/*;q=0.9", OCTETS, OCTETS, JSON},
        {"*/*;q=0.9,application/json;q=0.5", OCTETS, OCTETS, JSON},
        {"application/json;q=0,*/*", OCTETS, OCTETS, NONE},
        {"application/*;q=0,*/*", NONE, NONE, NONE},
        {"application/*;q=0,application/json;q=0.001", JSON, JSON, JSON},
        {"*/*;q=0", NONE, NONE, NONE},
        {"*/*;q=0.000", NONE, NONE, NONE},
        {"*/*;q=1.000", JSON, OCTETS, JSON},
        {"*/*;q=1.", JSON, OCTETS, JSON},
        {"*/*;q=1.001", NONE, NONE, NONE},
        {"*/*;q=0.0001", NONE, NONE, NONE},
        {"*/*;q=2", NONE, NONE, NONE},
        {"*/*;q=", NONE, NONE, NONE},
        {"*/*;q=.5", NONE, NONE, NONE},
        {"*/*;q=-1", NONE, NONE, NONE},
        {"*/*;Q=0", NONE, NONE, NONE},
        {"application/json;charset=utf-8;q=0.5", JSON, JSON, JSON},
        {"text/html;x=\"a,*/*\"", NONE, NONE, NONE},
        {"text/html, application/xhtml+xml, */*;q=0.8", JSON, OCTETS, JSON},
        {", ,application/json,,", JSON, JSON, JSON},
        {"application/problem+json", NONE, NONE, NONE},
        {"*", NONE, NONE, NONE},
        {"*/json", NONE, NONE, NONE},
        {"application/", NONE, NONE, NONE},
        {"application", NONE, NONE, NONE},
        {"text/*", NONE, NONE, NONE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct media_preference preference = {{{0}}};
        enum api_media media;
        media_accept_add(&preference, rows[i].value);
        bool found = media_accept_choose(&preference, true, API_MEDIA_JSON, &media);
        int json_usual = found ? (int)media : NONE;
        found = media_accept_choose(&preference, true, API_MEDIA_OCTETS, &media);
        int octets_usual = found ? (int)media : NONE;
        found = media_accept_choose(&preference, false, API_MEDIA_JSON, &media);
        int json_only = found ? (int)media : NONE;
        if (json_usual != rows[i].media || octets_usual != rows[i].media_octets ||
            json_only != rows[i].media_json) {
            print_error("Accept '%s': %d %d %d\n", rows[i].value, json_usual, octets_usual,
                        json_only);
            fail();
        }
    }
}

#define NAMED(text) (text), sizeof(text) - 1
#define HEADER(name, value)                                                                        \
    { NAMED(name), NAMED(value) }
#define MAX_HEADERS 4

static void test_admission(void **state) {
    static const struct {
        const char *what;
        const char *method;
        const char *path;
        struct gate_header headers[MAX_HEADERS];
        enum api_code code;
    } rows[] = {
        {"plain", "GET", "/healthz", {{0}}, API_OK},
        {"JSON at the limit",
         "POST",
         "/v1/palette",
         {HEADER("Content-Type", "application/json"), HEADER("Content-Length", "100")},
         API_OK},
        {"over the limit",
         "POST",
         "/v1/palette",
         {HEADER("Content-Type", "application/json"), HEADER("Content-Length", "101")},
         API_PAYLOAD_TOO_LARGE},
        {"chunked",
         "POST",
         "/v1/palette",
         {HEADER("Content-Type", "application/json"), HEADER("Transfer-Encoding", "chunked")},
         API_OK},
        {"no length",
         "POST",
         "/v1/palette",
         {HEADER("Content-Type", "application/json")},
         API_LENGTH_REQUIRED},
        {"no type",
         "POST",
         "/v1/palette",
         {HEADER("Content-Length", "2")},
         API_UNSUPPORTED_MEDIA_TYPE},
        {"two types",
         "POST",
         "/v1/palette",
         {HEADER("Content-Type", "application/json"), HEADER("Content-Type", "application/json"),
          HEADER("Content-Length", "2")},
         API_BAD_REQUEST},
        {"encoded",
         "POST",
         "/v1/palette",
         {HEADER("Content-Type", "application/json"), HEADER("Content-Length", "2"),
          HEADER("Content-Encoding", "br")},
         API_UNSUPPORTED_MEDIA_TYPE},
        {"not acceptable",
         "POST",
         "/v1/palette",
         {HEADER("Content-Type", "application/json"), HEADER("Content-Length", "2"),
          HEADER("Accept", "text/html")},
         API_NOT_ACCEPTABLE},
        {"empty Accept is none",
         "POST",
         "/v1/palette",
         {HEADER("Content-Type", "application/json"), HEADER("Content-Length", "2"),
          HEADER("Accept", "")},
         API_OK},
        {"path before all else", "POST", "/nowhere", {HEADER("Accept", "x")}, API_NOT_FOUND},
        {"body for a plain path",
         "GET",
         "/healthz",
         {HEADER("Content-Length", "1")},
         API_PAYLOAD_TOO_LARGE},
        {"empty body for a plain path", "GET", "/healthz", {HEADER("Content-Length", "0")}, API_OK},
        {"raw floats from a plain path",
         "GET",
         "/healthz",
         {HEADER("Accept", "application/octet-stream")},
         API_NOT_ACCEPTABLE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct gate_header headers[MAX_HEADERS + 1] = {HEADER("Host", "a")};
        struct gate_request request = {.method = rows[i].method,
                                       .target = rows[i].path,
                                       .target_size = strlen(rows[i].path),
                                       .version = "HTTP/1.1",
                                       .headers = headers,
                                       .header_count = 1};
        struct gate_verdict verdict;
        struct admission admission;
        for (size_t j = 0; j < MAX_HEADERS && rows[i].headers[j].name != NULL; j++) {
            headers[request.header_count++] = rows[i].headers[j];
        }
        gate_check(&request, &verdict);
        assert_int_equal(verdict.action, GATE_PASS);
        admit_request(&request, &verdict, rows[i].path, 100, &admission);
        if (admission.code != rows[i].code) {
            print_error("%s: got %d, expected %d\n", rows[i].what, (int)admission.code,
                        (int)rows[i].code);
            fail();
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_routes),
        cmocka_unit_test(test_every_operation_has_its_route),
        cmocka_unit_test(test_every_route_is_documented),
        cmocka_unit_test(test_everything_documented_has_its_route),
        cmocka_unit_test(test_content_types),
        cmocka_unit_test(test_accept),
        cmocka_unit_test(test_admission),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
