/* The framing gate, row by row, without a socket: also what libmicrohttpd would refuse by itself.
 * Codes are wire codes, as the contract names them. */
#include "server/gate.h"
#include "tests/check.h"

#include <stdlib.h>

#define MAX_HEADERS 6
#define NAMED(text) (text), sizeof(text) - 1
#define HEADER(name, value)                                                                        \
    { NAMED(name), NAMED(value) }
#define HOST HEADER("Host", "a")

struct row {
    const char *what;
    const char *method;
    const char *target;
    const char *version;
    struct gate_header headers[MAX_HEADERS]; /* ends with a NULL name */
    enum gate_action action;
    const char *code; /* NULL: passes */
};

static void check_row(const struct row *row) {
    struct gate_request request = {.method = row->method,
                                   .target = row->target,
                                   .target_size = strlen(row->target),
                                   .version = row->version,
                                   .headers = row->headers};
    struct gate_verdict verdict;
    while (request.header_count < MAX_HEADERS && row->headers[request.header_count].name != NULL) {
        request.header_count++;
    }
    gate_check(&request, &verdict);
    const char *code = verdict.code == API_OK ? "none" : api_code_wire(verdict.code);
    const char *expected = row->code == NULL ? "none" : row->code;
    if (verdict.action != row->action || strcmp(code, expected) != 0) {
        print_error("%s: got %s with action %d, expected %s with %d\n", row->what, code,
                    (int)verdict.action, expected, (int)row->action);
        fail();
    }
    assert_int_equal(verdict.detail[0] == '\0', verdict.action == GATE_PASS);
}

static void check_rows(const struct row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        check_row(&rows[i]);
    }
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof(rows)[0])

static void test_hosts(void **state) {
    static const char v10[] = "HTTP/1.0";
    static const char v11[] = "HTTP/1.1";
    static const struct row rows[] = {
        {"one", "GET", "/", v11, {HOST}, GATE_PASS, NULL},
        {"lower case", "GET", "/", v11, {HEADER("host", "a.b-c_d")}, GATE_PASS, NULL},
        {"port", "GET", "/", v11, {HEADER("Host", "a:80")}, GATE_PASS, NULL},
        {"empty port", "GET", "/", v11, {HEADER("Host", "a:")}, GATE_PASS, NULL},
        {"IPv6", "GET", "/", v11, {HEADER("Host", "[::1]:80")}, GATE_PASS, NULL},
        {"none on 1.0", "GET", "/", v10, {{0}}, GATE_PASS, NULL},
        {"none on 1.1", "GET", "/", v11, {{0}}, GATE_CLOSE, "bad-request"},
        {"two", "GET", "/", v11, {HOST, HOST}, GATE_CLOSE, "bad-request"},
        {"two on 1.0", "GET", "/", v10, {HOST, HOST}, GATE_CLOSE, "bad-request"},
        {"empty", "GET", "/", v11, {HEADER("Host", "")}, GATE_CLOSE, "bad-request"},
        {"user", "GET", "/", v11, {HEADER("Host", "u@a")}, GATE_CLOSE, "bad-request"},
        {"slash", "GET", "/", v11, {HEADER("Host", "a/b")}, GATE_CLOSE, "bad-request"},
        {"hash", "GET", "/", v11, {HEADER("Host", "a#b")}, GATE_CLOSE, "bad-request"},
        {"question", "GET", "/", v11, {HEADER("Host", "a?b")}, GATE_CLOSE, "bad-request"},
        {"blank", "GET", "/", v11, {HEADER("Host", "a b")}, GATE_CLOSE, "bad-request"},
        {"port of letters", "GET", "/", v11, {HEADER("Host", "a:b")}, GATE_CLOSE, "bad-request"},
        {"only a port", "GET", "/", v11, {HEADER("Host", ":80")}, GATE_CLOSE, "bad-request"},
        {"open bracket", "GET", "/", v11, {HEADER("Host", "[::1")}, GATE_CLOSE, "bad-request"},
        {"empty brackets", "GET", "/", v11, {HEADER("Host", "[]")}, GATE_CLOSE, "bad-request"},
        {"after brackets", "GET", "/", v11, {HEADER("Host", "[::1]a")}, GATE_CLOSE, "bad-request"},
    };
    (void)state;
    CHECK_ROWS(rows);
}

#define LENGTH(value) HEADER("Content-Length", value)
#define CODING(value) HEADER("Transfer-Encoding", value)
#define POST_ROW(what, action, code, ...)                                                          \
    { what, "POST", "/", "HTTP/1.1", {HOST, __VA_ARGS__}, action, code }

static void test_body_framing(void **state) {
    static const struct row rows[] = {
        POST_ROW("length", GATE_PASS, NULL, LENGTH("5")),
        POST_ROW("leading zeros", GATE_PASS, NULL, LENGTH("005")),
        POST_ROW("chunked", GATE_PASS, NULL, CODING("chunked")),
        POST_ROW("capitals", GATE_PASS, NULL, CODING("Chunked")),
        POST_ROW("two lengths", GATE_CUT, "bad-request", LENGTH("5"), LENGTH("5")),
        POST_ROW("two that differ", GATE_CUT, "bad-request", LENGTH("5"), LENGTH("6")),
        POST_ROW("three", GATE_CUT, "bad-request", LENGTH("5"), LENGTH("5"), LENGTH("5")),
        POST_ROW("other case", GATE_CUT, "bad-request", LENGTH("5"), HEADER("content-length", "5")),
        POST_ROW("length, coding", GATE_CUT, "bad-request", LENGTH("5"), CODING("chunked")),
        POST_ROW("coding, length", GATE_CUT, "bad-request", CODING("chunked"), LENGTH("5")),
        POST_ROW("length, gzip", GATE_CUT, "bad-request", LENGTH("5"), CODING("gzip")),
        POST_ROW("below zero", GATE_CUT, "bad-request", LENGTH("-1")),
        POST_ROW("plus", GATE_CUT, "bad-request", LENGTH("+5")),
        POST_ROW("hexadecimal", GATE_CUT, "bad-request", LENGTH("0x5")),
        POST_ROW("empty", GATE_CUT, "bad-request", LENGTH("")),
        POST_ROW("blank", GATE_CUT, "bad-request", LENGTH("5 5")),
        POST_ROW("list", GATE_CUT, "bad-request", LENGTH("5, 5")),
        POST_ROW("fraction", GATE_CUT, "bad-request", LENGTH("5.0")),
        POST_ROW("2^64 + 5", GATE_CUT, "bad-request", LENGTH("18446744073709551621")),
        POST_ROW("two codings", GATE_CUT, "not-implemented", CODING("chunked"), CODING("chunked")),
        POST_ROW("gzip", GATE_CUT, "not-implemented", CODING("gzip")),
        POST_ROW("gzip, chunked", GATE_CUT, "not-implemented", CODING("gzip, chunked")),
        POST_ROW("chunked, identity", GATE_CUT, "not-implemented", CODING("chunked, identity")),
        POST_ROW("xchunked", GATE_CUT, "not-implemented", CODING("xchunked")),
        POST_ROW("quoted", GATE_CUT, "not-implemented", CODING("\"chunked\"")),
        POST_ROW("parameter", GATE_CUT, "not-implemented", CODING("chunked;q=1")),
        POST_ROW("no coding", GATE_CUT, "not-implemented", CODING("")),
        {"on 1.0", "POST", "/", "HTTP/1.0", {HOST, CODING("chunked")}, GATE_CUT, "bad-request"},
    };
    (void)state;
    CHECK_ROWS(rows);
}

static void test_body_is_measured(void **state) {
    struct gate_header headers[] = {HOST, LENGTH("123456789012345678"),
                                    HEADER("Expect", "100-Continue")};
    struct gate_request request = {.method = "POST",
                                   .target = "/",
                                   .target_size = 1,
                                   .version = "HTTP/1.1",
                                   .headers = headers,
                                   .header_count = 3};
    struct gate_verdict verdict;
    (void)state;
    gate_check(&request, &verdict);
    assert_int_equal(verdict.body, GATE_BODY_SIZED);
    assert_true(verdict.body_size == 123456789012345678U);
    assert_true(verdict.expects_continue);
    request.header_count = 1;
    gate_check(&request, &verdict);
    assert_int_equal(verdict.body, GATE_BODY_NONE);
    assert_false(verdict.expects_continue);
    headers[1] = (struct gate_header)CODING("chunked");
    request.header_count = 2;
    gate_check(&request, &verdict);
    assert_int_equal(verdict.body, GATE_BODY_CHUNKED);
    assert_int_equal(verdict.body_size, 0);
}

#define GET_ROW(what, action, code, ...)                                                           \
    { what, "GET", "/", "HTTP/1.1", {HOST, __VA_ARGS__}, action, code }

static void test_header_lines(void **state) {
    static const struct row rows[] = {
        GET_ROW("every token character", GATE_PASS, NULL, HEADER("!#$%&'*+-.^_`|~09azAZ", "x")),
        GET_ROW("tab and high bytes", GATE_PASS, NULL, HEADER("X", "a\tb\xe4\xff")),
        GET_ROW("empty value", GATE_PASS, NULL, HEADER("X", "")),
        GET_ROW("empty name", GATE_CUT, "bad-request", HEADER("", "x")),
        GET_ROW("blank before colon", GATE_CUT, "bad-request", HEADER("Content-Length ", "5")),
        GET_ROW("tab before colon", GATE_CUT, "bad-request", HEADER("X\t", "x")),
        GET_ROW("control in name", GATE_CUT, "bad-request", HEADER("X\x01", "x")),
        GET_ROW("NUL in name", GATE_CUT, "bad-request", HEADER("X\0Y", "x")),
        GET_ROW("high byte in name", GATE_CUT, "bad-request", HEADER("X\xe4", "x")),
        GET_ROW("colon in name", GATE_CUT, "bad-request", HEADER("X:Y", "x")),
        GET_ROW("control in value", GATE_CUT, "bad-request", HEADER("X", "a\x01")),
        GET_ROW("CR in value", GATE_CUT, "bad-request", HEADER("X", "a\rb")),
        GET_ROW("LF in value", GATE_CUT, "bad-request", HEADER("X", "a\nb")),
        GET_ROW("NUL in value", GATE_CUT, "bad-request", HEADER("X", "a\0b")),
        GET_ROW("DEL in value", GATE_CUT, "bad-request", HEADER("X", "a\x7f")),
    };
    (void)state;
    CHECK_ROWS(rows);
}

static void test_header_sizes(void **state) {
    static char value[GATE_MAX_HEADER_SIZE + 1];
    struct gate_header headers[] = {HOST, {"X", 1, value, 0}};
    struct gate_request request = {.method = "GET",
                                   .target = "/",
                                   .target_size = 1,
                                   .version = "HTTP/1.1",
                                   .headers = headers,
                                   .header_count = 2};
    struct gate_verdict verdict;
    (void)state;
    memset(value, 'a', GATE_MAX_HEADER_SIZE);
    headers[1].value_size = GATE_MAX_HEADER_SIZE - (4 + 1 + 4) - (1 + 4);
    gate_check(&request, &verdict);
    assert_int_equal(verdict.action, GATE_PASS);
    headers[1].value_size++;
    gate_check(&request, &verdict);
    assert_int_equal(verdict.action, GATE_CLOSE);
    assert_int_equal(verdict.code, API_HEADER_TOO_LARGE);
    request.header_count = 1;
    request.more_headers = true;
    gate_check(&request, &verdict);
    assert_int_equal(verdict.code, API_HEADER_TOO_LARGE);
}

static void test_methods(void **state) {
    static const struct row rows[] = {
        {"GET", "GET", "/", "HTTP/1.1", {HOST}, GATE_PASS, NULL},
        {"HEAD", "HEAD", "/", "HTTP/1.1", {HOST}, GATE_PASS, NULL},
        {"POST", "POST", "/", "HTTP/1.1", {HOST}, GATE_PASS, NULL},
        {"PUT", "PUT", "/", "HTTP/1.1", {HOST}, GATE_PASS, NULL},
        {"PATCH", "PATCH", "/", "HTTP/1.1", {HOST}, GATE_PASS, NULL},
        {"DELETE", "DELETE", "/", "HTTP/1.1", {HOST}, GATE_PASS, NULL},
        {"OPTIONS", "OPTIONS", "/", "HTTP/1.1", {HOST}, GATE_PASS, NULL},
        {"TRACE", "TRACE", "/", "HTTP/1.1", {HOST}, GATE_CLOSE, "not-implemented"},
        {"CONNECT", "CONNECT", "a:80", "HTTP/1.1", {HOST}, GATE_CLOSE, "not-implemented"},
        {"lower case", "get", "/", "HTTP/1.1", {HOST}, GATE_CLOSE, "not-implemented"},
        {"empty", "", "/", "HTTP/1.1", {HOST}, GATE_CLOSE, "not-implemented"},
    };
    (void)state;
    CHECK_ROWS(rows);
}

#define TARGET_ROW(target, action, code)                                                           \
    { target, "GET", target, "HTTP/1.1", {HOST}, action, code }

static void test_targets(void **state) {
    static const struct row rows[] = {
        TARGET_ROW("/a/b?c=d&e=%20f", GATE_PASS, NULL),
        TARGET_ROW("/%41%c3%a4", GATE_PASS, NULL),
        TARGET_ROW("*", GATE_PASS, NULL),
        TARGET_ROW("http://a", GATE_PASS, NULL),
        TARGET_ROW("HTTP://A/x", GATE_PASS, NULL),
        TARGET_ROW("http://a?x", GATE_PASS, NULL),
        TARGET_ROW("", GATE_CLOSE, "bad-request"),
        TARGET_ROW("a", GATE_CLOSE, "bad-request"),
        TARGET_ROW("*a", GATE_CLOSE, "bad-request"),
        TARGET_ROW("http://b/x", GATE_CLOSE, "bad-request"),
        TARGET_ROW("http://aa/x", GATE_CLOSE, "bad-request"),
        TARGET_ROW("http:///x", GATE_CLOSE, "bad-request"),
        TARGET_ROW("http://a@b/x", GATE_CLOSE, "bad-request"),
        TARGET_ROW("https://a/x", GATE_CLOSE, "bad-request"),
        TARGET_ROW("/%00", GATE_CLOSE, "bad-request"),
        TARGET_ROW("/?x=%00", GATE_CLOSE, "bad-request"),
        TARGET_ROW("/%", GATE_CLOSE, "bad-request"),
        TARGET_ROW("/%4", GATE_CLOSE, "bad-request"),
        TARGET_ROW("/%zz", GATE_CLOSE, "bad-request"),
        TARGET_ROW("/%4g", GATE_CLOSE, "bad-request"),
        TARGET_ROW("/a b", GATE_CLOSE, "bad-request"),
        TARGET_ROW("/a#b", GATE_CLOSE, "bad-request"),
        TARGET_ROW("/a\\b", GATE_CLOSE, "bad-request"),
        TARGET_ROW("/\x01", GATE_CLOSE, "bad-request"),
        TARGET_ROW("/\xe4", GATE_CLOSE, "bad-request"),
    };
    (void)state;
    CHECK_ROWS(rows);
}

static void test_target_size(void **state) {
    static const struct gate_header headers[] = {HOST};
    struct gate_request request = {.method = "GET",
                                   .target = "", /* not looked at */
                                   .target_size = GATE_MAX_TARGET_SIZE + 1,
                                   .version = "HTTP/1.1",
                                   .headers = headers,
                                   .header_count = 1};
    struct gate_verdict verdict;
    (void)state;
    gate_check(&request, &verdict);
    assert_int_equal(verdict.action, GATE_CLOSE);
    assert_int_equal(verdict.code, API_URI_TOO_LONG);
}

static void test_targets_are_split(void **state) {
    static const struct {
        const char *target;
        const char *path;
        const char *query;
    } rows[] = {
        {"/", "/", ""},
        {"/a?b", "/a", "b"},
        {"/a?", "/a", ""},
        {"/a?b?c", "/a", "b?c"},
        {"/%61%2F%2f?%61", "/a%2F%2f", "%61"},
        {"/%3Fa", "/?a", ""},
        {"/a%25b", "/a%b", ""},
        {"/%2561", "/%61", ""},
        {"http://host/a?b", "/a", "b"},
        {"http://host", "/", ""},
        {"http://host?b", "/", "b"},
        {"*", "*", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        /* to the byte, so that a sanitizer sees a step beyond it */
        size_t size = strlen(rows[i].target) + 1;
        char *target = malloc(size);
        char *path;
        char *query;
        assert_non_null(target);
        memcpy(target, rows[i].target, size);
        gate_target_split(target, &path, &query);
        assert_string_equal(path, rows[i].path);
        assert_string_equal(query, rows[i].query);
        free(target);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_body_framing),
        cmocka_unit_test(test_body_is_measured),
        cmocka_unit_test(test_header_lines),
        cmocka_unit_test(test_header_sizes),
        cmocka_unit_test(test_methods),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_target_size),
        cmocka_unit_test(test_targets_are_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
