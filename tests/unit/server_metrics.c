/* What is counted where: buckets, statuses, routes and reasons, read off the text that is served.
 * That the text is well formed, and that requests reach it, is tested over HTTP. */
#define _GNU_SOURCE
#include "server/log.h"
#include "server/metrics.h"
#include "tests/check.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct bench {
    struct state state;
    struct api_buffer text;
};

static void bench_init(struct bench *bench) {
    memset(bench, 0, sizeof *bench);
    bench->state.http_version = "1.2.3";
    bench->state.pool = pool_create(1, 5);
    bench->state.metrics = metrics_create();
    bench->state.log = log_create(LOG_OFF, -1);
    assert_non_null(bench->state.pool);
    assert_non_null(bench->state.metrics);
    assert_non_null(bench->state.log);
}

static void bench_finish(struct bench *bench) {
    api_buffer_finish(&bench->text);
    log_destroy(bench->state.log);
    metrics_destroy(bench->state.metrics);
    pool_destroy(bench->state.pool);
}

/* The value of a series, or -1 when it is not there. */
static double value_of(struct bench *bench, const char *series) {
    char wanted[256];
    (void)snprintf(wanted, sizeof wanted, "\n%s ", series);
    api_buffer_finish(&bench->text);
    api_buffer_init(&bench->text, (size_t)1 << 20);
    metrics_write(bench->state.metrics, &bench->state, &bench->text);
    api_buffer_append(&bench->text, "", 1);
    assert_false(bench->text.failed);
    const char *found = strstr(bench->text.data, wanted);
    return found != NULL ? strtod(found + strlen(wanted), NULL) : -1;
}

static void check_value(struct bench *bench, const char *series, double expected) {
    const double value = value_of(bench, series);
    if (value != expected) {
        fail_msg("%s: %.17g, expected %.17g", series, value, expected);
    }
}

static struct exchange exchange_of(const char *method, const char *path, unsigned status) {
    struct routes_match match;
    (void)routes_find(method, path, &match);
    return (struct exchange){.request_id = "",
                             .trace_id = "",
                             .route = match.route,
                             .operation = match.operation,
                             .status = status};
}

#define BUCKET(le) "skind_request_duration_seconds_bucket{route=\"/healthz\",le=\"" le "\"}"

static void test_buckets_count_up_to_and_with_their_bound(void **state) {
    static const uint64_t durations_ns[] = {0,        50000,       50001,          100000,
                                            30000000, 30000000000, 30000000001ULL, 90000000000ULL};
    struct bench bench;
    (void)state;
    bench_init(&bench);
    for (size_t i = 0; i < sizeof durations_ns / sizeof durations_ns[0]; i++) {
        struct exchange exchange = exchange_of("GET", "/healthz", 200);
        exchange.duration_ns = durations_ns[i];
        metrics_count(bench.state.metrics, &exchange);
    }
    check_value(&bench, BUCKET("0.00005"), 2);
    check_value(&bench, BUCKET("0.0001"), 4);
    check_value(&bench, BUCKET("0.025"), 4);
    check_value(&bench, BUCKET("0.05"), 5);
    check_value(&bench, BUCKET("10"), 5);
    check_value(&bench, BUCKET("30"), 6);
    check_value(&bench, BUCKET("+Inf"), 8);
    check_value(&bench, "skind_request_duration_seconds_count{route=\"/healthz\"}", 8);
    check_value(&bench, "skind_request_duration_seconds_sum{route=\"/healthz\"}", 150.030200002);
    bench_finish(&bench);
}

static void test_routes_and_statuses(void **state) {
    static const struct {
        const char *method;
        const char *path;
        unsigned status;
        const char *series;
    } rows[] = {
        {"GET", "/healthz", 200, "skind_requests_total{route=\"/healthz\",status=\"200\"}"},
        {"HEAD", "/version", 200, "skind_requests_total{route=\"/version\",status=\"200\"}"},
        {"POST", "/v1/bind", 422, "skind_requests_total{route=\"/v1/bind\",status=\"422\"}"},
        {"POST", "/v1/palette", 504, "skind_requests_total{route=\"/v1/palette\",status=\"504\"}"},
        {"POST", "/v1/palette", 0, "skind_requests_total{route=\"/v1/palette\",status=\"none\"}"},
        {"GET", "/problems/singular", 200,
         "skind_requests_total{route=\"/problems/{code}\",status=\"200\"}"},
        {"GET", "/problems/nothing", 404,
         "skind_requests_total{route=\"/problems/{code}\",status=\"404\"}"},
        {"GET", "/nowhere", 404, "skind_requests_total{route=\"other\",status=\"404\"}"},
        {"POST", "/v1/nothing", 404, "skind_requests_total{route=\"other\",status=\"404\"}"},
        {"PUT", "/healthz", 405, "skind_requests_total{route=\"other\",status=\"405\"}"},
        {"GET", "/nowhere", 299, "skind_requests_total{route=\"other\",status=\"other\"}"},
        {"GET", "/nowhere", 4711, "skind_requests_total{route=\"other\",status=\"other\"}"},
    };
    struct bench bench;
    (void)state;
    bench_init(&bench);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct exchange exchange = exchange_of(rows[i].method, rows[i].path, rows[i].status);
        const double before = value_of(&bench, rows[i].series);
        metrics_count(bench.state.metrics, &exchange);
        check_value(&bench, rows[i].series, before < 0 ? 1 : before + 1);
    }
    bench_finish(&bench);
}

static void test_codes_reasons_and_gauges(void **state) {
    struct bench bench;
    (void)state;
    bench_init(&bench);
    for (int code = API_OK; code < API_CODE_COUNT; code++) {
        struct exchange exchange = exchange_of("POST", "/v1/bind", 400);
        exchange.code = (enum api_code)code;
        exchange.request_bytes = 10;
        exchange.reply_bytes = 3;
        metrics_count(bench.state.metrics, &exchange);
    }
    for (int code = API_OK + 1; code < API_CODE_COUNT; code++) {
        char series[128];
        (void)snprintf(series, sizeof series, "skind_refused_total{code=\"%s\"}",
                       api_code_wire((enum api_code)code));
        check_value(&bench, series, 1);
    }
    check_value(&bench, "skind_refused_total{code=\"ok\"}", -1);
    check_value(&bench, "skind_request_bytes_total{route=\"/v1/bind\"}", 10.0 * API_CODE_COUNT);
    check_value(&bench, "skind_reply_bytes_total{route=\"/v1/bind\"}", 3.0 * API_CODE_COUNT);
    check_value(&bench, "skind_queue_wait_seconds_count", 0);
    static const enum work_end ends[] = {WORK_DONE, WORK_LATE, WORK_LATE, WORK_GONE};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct exchange exchange = exchange_of("POST", "/v1/bind", 200);
        exchange.was_queued = true;
        exchange.queue_wait_ns = 250000000;
        exchange.work_end = ends[i];
        metrics_count(bench.state.metrics, &exchange);
    }
    check_value(&bench, "skind_queue_wait_seconds_count", 4);
    check_value(&bench, "skind_queue_wait_seconds_sum", 1);
    check_value(&bench, "skind_queue_wait_seconds_bucket{le=\"0.1\"}", 0);
    check_value(&bench, "skind_queue_wait_seconds_bucket{le=\"0.25\"}", 4);
    check_value(&bench, "skind_jobs_skipped_total{reason=\"deadline\"}", 2);
    check_value(&bench, "skind_jobs_skipped_total{reason=\"client-gone\"}", 1);
    atomic_store(&bench.state.inflight_bytes, 77);
    atomic_store(&bench.state.connections, 8);
    assert_true(pool_reserve(bench.state.pool));
    check_value(&bench, "skind_inflight_bytes", 77);
    check_value(&bench, "skind_connections", 8);
    check_value(&bench, "skind_queue_depth", 1);
    check_value(&bench, "skind_queue_capacity", 5);
    check_value(&bench, "skind_workers", 1);
    pool_release(bench.state.pool);
    bench_finish(&bench);
}

static void *count_many(void *context) {
    struct exchange exchange = exchange_of("GET", "/healthz", 200);
    exchange.duration_ns = 1000;
    for (int i = 0; i < 20000; i++) {
        metrics_count(context, &exchange);
    }
    return NULL;
}

static void test_threads_lose_no_count(void **state) {
    struct bench bench;
    pthread_t threads[4];
    (void)state;
    bench_init(&bench);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, count_many, bench.state.metrics), 0);
    }
    assert_true(value_of(&bench, BUCKET("+Inf")) >= 0); /* reading meanwhile is allowed */
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    check_value(&bench, BUCKET("+Inf"), 80000);
    check_value(&bench, "skind_requests_total{route=\"/healthz\",status=\"200\"}", 80000);
    check_value(&bench, "skind_request_duration_seconds_sum{route=\"/healthz\"}", 0.08);
    bench_finish(&bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buckets_count_up_to_and_with_their_bound),
        cmocka_unit_test(test_routes_and_statuses),
        cmocka_unit_test(test_codes_reasons_and_gauges),
        cmocka_unit_test(test_threads_lose_no_count),
    };
    api_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
