/* Lines of the log: what they hold, how they are escaped, and what becomes of them when nobody
 * reads. That each request has one is tested over HTTP. */
#define _GNU_SOURCE
#include "server/log.h"
#include "server/log_line.h"
#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* The line's text without the line's end in front of it. */
static void check_line(const struct log_line *line, const char *expected) {
    char text[LOG_LINE_SIZE];
    assert_true(line->size <= LOG_LINE_SIZE);
    assert_int_equal(line->text[0], '\n');
    memcpy(text, line->text + 1, line->size - 1);
    text[line->size - 1] = '\0';
    assert_string_equal(text, expected);
}

static void test_members(void **state) {
    struct log_line line;
    (void)state;
    log_line_begin(&line);
    log_line_end(&line);
    check_line(&line, "{}\n");
    log_line_begin(&line);
    log_line_text(&line, "a", "b");
    log_line_text(&line, "c", NULL);
    log_line_text(&line, "d", "");
    log_line_number(&line, "e", 0);
    log_line_number(&line, "f", UINT64_MAX);
    log_line_milliseconds(&line, "g", 0);
    log_line_milliseconds(&line, "h", 1234567);
    log_line_milliseconds(&line, "i", 1000999);
    log_line_milliseconds(&line, "j", UINT64_MAX);
    log_line_end(&line);
    check_line(&line, "{\"a\":\"b\",\"c\":null,\"d\":\"\",\"e\":0,\"f\":18446744073709551615,"
                      "\"g\":0.000,\"h\":1.234,\"i\":1.000,\"j\":18446744073709.551}\n");
}

static void test_escapes(void **state) {
    static const struct {
        const char *text;
        const char *escaped;
    } rows[] = {
        {"a\nb\r\t", "a\\u000ab\\u000d\\u0009"},
        {"\"\\/", "\\\"\\\\/"},
        {"\x01\x1b\x1f\x7f", "\\u0001\\u001b\\u001f\\u007f"},
        {"\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0", "\\u0080\\u009b\\u009f\xc2\xa0"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"\x80|\xbf|\xff|\xfe", "\\ufffd|\\ufffd|\\ufffd|\\ufffd"},
        {"\xc3", "\\ufffd"},
        {"\xc3(", "\\ufffd("},
        {"\xe2\x82", "\\ufffd\\ufffd"},
        {"\xc0\xaf", "\\ufffd\\ufffd"},                       /* overlong */
        {"\xe0\x80\xaf", "\\ufffd\\ufffd\\ufffd"},            /* overlong */
        {"\xf0\x80\x80\xaf", "\\ufffd\\ufffd\\ufffd\\ufffd"}, /* overlong */
        {"\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"},            /* surrogate */
        {"\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"}, /* over U+10FFFF */
        {"\xf4\x8f\xbf\xbf\xed\x9f\xbf", "\xf4\x8f\xbf\xbf\xed\x9f\xbf"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct log_line line;
        char expected[256];
        log_line_begin(&line);
        log_line_text(&line, "t", rows[i].text);
        log_line_end(&line);
        (void)snprintf(expected, sizeof expected, "{\"t\":\"%s\"}\n", rows[i].escaped);
        check_line(&line, expected);
    }
}

/* However long and however bad the texts, the line stays whole and within its size. */
static void test_size_is_bounded(void **state) {
    struct log_line line;
    char text[5000];
    (void)state;
    memset(text, '\n', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    log_line_begin(&line);
    for (int i = 0; i < 5; i++) {
        log_line_text(&line, "t", text);
    }
    const size_t one = strlen("\n{\"t\":\"\"") + 6 * (size_t)LOG_LINE_TEXT_SIZE;
    assert_int_equal(line.size, one);
    for (int i = 0; i < 500; i++) {
        log_line_number(&line, "number", UINT64_MAX);
        log_line_milliseconds(&line, "milliseconds", UINT64_MAX);
    }
    assert_true(line.size > LOG_LINE_SIZE - 64);
    log_line_end(&line);
    assert_true(line.size <= LOG_LINE_SIZE);
    assert_memory_equal(line.text + line.size - 2, "}\n", 2);
    assert_int_equal(line.text[line.size - 3] >= '0' && line.text[line.size - 3] <= '9', 1);
}

/* The C library's calendar is the measure. */
static void test_times(void **state) {
    char text[LOG_LINE_TIME_SIZE];
    (void)state;
    log_line_time(1709251199999U, text);
    assert_string_equal(text, "2024-02-29T23:59:59.999Z");
    for (uint64_t second = 0; second < 253402300800U; second += 40000003) {
        char expected[64];
        const time_t time = (time_t)second;
        struct tm parts;
        assert_non_null(gmtime_r(&time, &parts));
        (void)strftime(expected, sizeof expected, "%Y-%m-%dT%H:%M:%S.007Z", &parts);
        log_line_time(second * 1000 + 7, text);
        assert_string_equal(text, expected);
    }
}

static const struct exchange answered = {
    .request_id = "r",
    .trace_id = "",
    .method = "GET",
    .path = "/x",
    .status = 200,
    .end = EXCHANGE_ANSWERED,
    .request_bytes = 1,
    .reply_bytes = 2,
    .duration_ns = 3000000,
};

/* What log_exchange writes for it, behind the time. */
static void check_exchange(const struct exchange *exchange, const char *expected) {
    char text[LOG_LINE_SIZE] = "";
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct log *log = log_create(LOG_STDERR, ends[1]);
    log_exchange(log, exchange, "/route");
    log_destroy(log);
    assert_true(read(ends[0], text, sizeof text - 1) > 0);
    assert_memory_equal(text, "{\"ts\":\"", 7);
    assert_string_equal(text + 7 + LOG_LINE_TIME_SIZE - 1, expected);
    close(ends[0]);
    close(ends[1]);
}

static void test_exchanges(void **state) {
    struct address client;
    struct exchange exchange = answered;
    (void)state;
    check_exchange(&exchange,
                   "\",\"level\":\"info\",\"requestId\":\"r\",\"method\":\"GET\","
                   "\"route\":\"/route\",\"path\":\"/x\",\"status\":200,\"code\":\"ok\","
                   "\"bytesIn\":1,\"bytesOut\":2,\"durationMs\":3.000,\"client\":null}\n");
    assert_true(address_parse("[::1]:80", &client));
    exchange.client = &client;
    exchange.trace_id = "t";
    exchange.status = 503;
    exchange.code = API_OVERLOADED;
    exchange.was_queued = true;
    exchange.queue_wait_ns = 2500000;
    exchange.items = 7;
    check_exchange(&exchange,
                   "\",\"level\":\"error\",\"requestId\":\"r\",\"traceId\":\"t\","
                   "\"method\":\"GET\",\"route\":\"/route\",\"path\":\"/x\",\"status\":503,"
                   "\"code\":\"overloaded\",\"bytesIn\":1,\"bytesOut\":2,\"durationMs\":3.000,"
                   "\"queueWaitMs\":2.500,\"items\":7,\"client\":\"[::1]:80\"}\n");
    exchange = answered;
    exchange.status = 0;
    exchange.path = exchange.method = NULL;
    exchange.end = EXCHANGE_TIMED_OUT;
    check_exchange(&exchange, "\",\"level\":\"warn\",\"requestId\":\"r\",\"method\":null,"
                              "\"route\":\"/route\",\"path\":null,\"status\":null,"
                              "\"end\":\"timeout\",\"bytesIn\":1,\"bytesOut\":2,"
                              "\"durationMs\":3.000,\"client\":null}\n");
    exchange = answered;
    exchange.status = 431; /* the HTTP library's own reply has no code */
    exchange.end = EXCHANGE_BROKEN;
    check_exchange(&exchange, "\",\"level\":\"warn\",\"requestId\":\"r\",\"method\":\"GET\","
                              "\"route\":\"/route\",\"path\":\"/x\",\"status\":431,\"code\":null,"
                              "\"end\":\"broken\",\"bytesIn\":1,\"bytesOut\":2,"
                              "\"durationMs\":3.000,\"client\":null}\n");
}

/* Reads all that is in the pipe now. */
static char *drain(int descriptor) {
    static char text[1 << 20];
    size_t size = 0;
    ssize_t got;
    assert_int_equal(fcntl(descriptor, F_SETFL, O_NONBLOCK), 0);
    while ((got = read(descriptor, text + size, sizeof text - 1 - size)) > 0) {
        size += (size_t)got;
    }
    text[size] = '\0';
    return text;
}

/* The same for each kind of descriptor whose reader may be slow. */
static void check_nobody_reads(int reading, int writing) {
    struct log *log = log_create(LOG_STDERR, writing);
    size_t lines = 0;
    alarm(60); /* a write that blocks never returns */
    while (log_dropped(log, LOG_DROP_FULL) < 10) {
        log_exchange(log, &answered, "/route");
        lines++;
    }
    alarm(0);
    assert_int_equal(fcntl(writing, F_GETFL) & O_NONBLOCK, 0); /* others' view is left alone */
    const char *text = drain(reading);
    size_t seen = 0;
    for (const char *at = text; *at != '\0'; at = strchr(at, '\n') + 1) {
        assert_int_equal(*at, '{');
        assert_int_equal(strchr(at, '\n')[-1], '}');
        seen++;
    }
    assert_int_equal(seen, lines - 10);
    log_exchange(log, &answered, "/again");
    assert_non_null(strstr(drain(reading), "\"/again\""));
    log_destroy(log);
}

static void test_full_pipe_and_socket_drop_whole_lines(void **state) {
    int ends[2];
    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    check_nobody_reads(ends[0], ends[1]);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    check_nobody_reads(ends[0], ends[1]);
    close(ends[0]);
    close(ends[1]);
}

static void test_file_is_appended_to_by_one_and_all(void **state) {
    char path[] = "/tmp/skind-log-XXXXXX";
    char text[1024] = "";
    (void)state;
    const int file = mkstemp(path);
    assert_true(file >= 0);
    unlink(path);
    struct log *log = log_create(LOG_STDERR, file);
    log_message(log, LOG_WARN, "one %d\n", 1);
    assert_int_equal(write(file, "two\n", 4), 4); /* another holder of the same descriptor */
    log_message(log, LOG_INFO, "three");
    log_destroy(log);
    assert_true(pread(file, text, sizeof text - 1, 0) > 0);
    close(file);
    const char *second = strchr(text, '\n') + 1;
    assert_non_null(strstr(text, "\"level\":\"warn\",\"message\":\"one 1\\u000a\"}\ntwo\n{"));
    assert_memory_equal(second, "two\n{", 5);
    assert_non_null(strstr(second, "\"message\":\"three\"}\n"));
}

static void test_off_tells_messages_only_and_plainly(void **state) {
    int ends[2];
    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct log *log = log_create(LOG_OFF, ends[1]);
    log_exchange(log, &answered, "/route");
    log_message(log, LOG_ERROR, "a\nb %s", "c");
    log_destroy(log);
    assert_string_equal(drain(ends[0]), "skind: a b c\n");
    close(ends[0]);
    close(ends[1]);
}

static void test_messages_of_the_library_are_limited(void **state) {
    int ends[2];
    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct log *log = log_create(LOG_STDERR, ends[1]);
    const time_t start = time(NULL);
    for (int i = 0; i < 10000; i++) {
        log_library(log, "x");
    }
    const size_t seconds = (size_t)(time(NULL) - start) + 2; /* that were begun, at most */
    size_t lines = 0;
    for (const char *at = drain(ends[0]); *at != '\0'; at = strchr(at, '\n') + 1) {
        lines++;
    }
    assert_true(lines >= LOG_MAX_RATE && lines <= LOG_MAX_RATE * seconds);
    assert_int_equal(log_dropped(log, LOG_DROP_RATE), 10000 - lines);
    assert_int_equal(log_dropped(log, LOG_DROP_FULL), 0);
    log_destroy(log);
    close(ends[0]);
    close(ends[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_size_is_bounded),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_exchanges),
        cmocka_unit_test(test_full_pipe_and_socket_drop_whole_lines),
        cmocka_unit_test(test_file_is_appended_to_by_one_and_all),
        cmocka_unit_test(test_off_tells_messages_only_and_plainly),
        cmocka_unit_test(test_messages_of_the_library_are_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
