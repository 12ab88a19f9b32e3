/* The traceparent header, by the letter of W3C Trace Context.
 * That the daemon passes it on is tested over HTTP. */
#include "server/trace.h"
#include "tests/check.h"

#define ID "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN "00f067aa0ba902b7"

static void test_valid_headers(void **state) {
    static const struct {
        const char *value;
        const char *parent;
    } rows[] = {
        {"00-" ID "-" SPAN "-01", "00-" ID "-" SPAN "-01"},
        {"00-" ID "-" SPAN "-00", "00-" ID "-" SPAN "-00"},
        {"00-" ID "-" SPAN "-ff", "00-" ID "-" SPAN "-ff"},
        {"01-" ID "-" SPAN "-01", "00-" ID "-" SPAN "-01"},
        {"cc-" ID "-" SPAN "-01-what-comes", "00-" ID "-" SPAN "-01"},
        {"fe-" ID "-" SPAN "-01-", "00-" ID "-" SPAN "-01"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct trace trace;
        assert_true(trace_parse(rows[i].value, &trace));
        assert_string_equal(trace.parent, rows[i].parent);
        assert_string_equal(trace.id, ID);
    }
}

static void test_invalid_headers(void **state) {
    static const char *const bad[] = {
        "",
        "0",
        "00",
        "00-",
        "00-" ID "-" SPAN,
        "00-" ID "-" SPAN "-",
        "00-" ID "-" SPAN "-0",
        "00-" ID "-" SPAN "-0g",
        "00-" ID "-" SPAN "-011",
        "00-" ID "-" SPAN "-01-",
        "00-" ID "-" SPAN "-01-more",
        "01-" ID "-" SPAN "-01.more",
        "01-" ID "-" SPAN "-011",
        "ff-" ID "-" SPAN "-01",
        "FF-" ID "-" SPAN "-01",
        "0g-" ID "-" SPAN "-01",
        " 00-" ID "-" SPAN "-01",
        "00-" ID "-" SPAN "-01 ",
        "00_" ID "-" SPAN "-01",
        "00-" ID "_" SPAN "-01",
        "00-" ID "-" SPAN "_01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01",
        "00-" ID "-00F067AA0BA902B7-01",
        "00-00000000000000000000000000000000-" SPAN "-01",
        "00-" ID "-0000000000000000-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7a-01",
        "00-4bf92f3577b34da6a3ce929d0e0e473\n-" SPAN "-01",
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct trace trace;
        memset(&trace, 'x', sizeof trace);
        if (trace_parse(bad[i], &trace)) {
            fail_msg("taken: '%s'", bad[i]);
        }
        assert_string_equal(trace.parent, "");
        assert_string_equal(trace.id, "");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid_headers),
        cmocka_unit_test(test_invalid_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
