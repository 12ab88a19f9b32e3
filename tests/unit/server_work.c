/* A request's way through the pool: plain or fanned out, late, or with its client gone.
 * Operations here are made for the test; the pool's own order is server_pool.c's. */
#define _GNU_SOURCE
#include "server/work.h"
#include "tests/check.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define DEADLINE_S 60
#define FAR_NS ((uint64_t)DEADLINE_S * 1000000000U)

struct probe {
    struct work work;
    char id[8]; /* the request's: by its place in the probe an operation finds the probe */
    sem_t finished;
    /* how the operation behaves */
    size_t items;     /* of a fan */
    bool open_fails;  /* open sets a reply and returns NULL */
    bool passes_time; /* what runs stays until the deadline is over */
    /* what it saw */
    atomic_size_t opened;
    atomic_size_t ran;
    atomic_size_t closed;
    atomic_size_t destroyed;
};

static struct probe *probe_of(const char *request_id) {
    return (struct probe *)(void *)((char *)request_id - offsetof(struct probe, id));
}

static void pass_deadline(const struct probe *probe) {
    while (probe->passes_time && work_now_ns() <= probe->work.deadline_ns) {
        sched_yield();
    }
}

static void reply_with(struct api_reply *reply, const char *text) {
    *reply = (struct api_reply){.status = 200, .media_type = API_TYPE_JSON, .code = API_OK};
    api_buffer_init(&reply->body, 64);
    api_buffer_text(&reply->body, text);
}

static void run_plain(const struct handlers_request *request, struct api_reply *reply) {
    struct probe *probe = probe_of(request->request_id);
    atomic_fetch_add(&probe->ran, 1);
    pass_deadline(probe);
    reply_with(reply, "plain");
}

static void *fan_open(const struct api_request *request, size_t *item_count,
                      struct api_reply *reply) {
    struct probe *probe = probe_of(request->request_id);
    atomic_fetch_add(&probe->opened, 1);
    if (probe->open_fails) {
        reply_with(reply, "not opened");
        return NULL;
    }
    *item_count = probe->items;
    return probe;
}

static void fan_run(void *state, size_t index) {
    struct probe *probe = state;
    (void)index;
    atomic_fetch_add(&probe->ran, 1);
    pass_deadline(probe);
}

static void fan_close(void *state, struct api_reply *reply) {
    struct probe *probe = state;
    atomic_fetch_add(&probe->closed, 1);
    reply_with(reply, "closed");
}

static void fan_destroy(void *state) {
    struct probe *probe = state;
    atomic_fetch_add(&probe->destroyed, 1);
}

static const struct api_fan *fan_always(const struct api_request *request) {
    static const struct api_fan fan = {fan_open, fan_run, fan_close, fan_destroy};
    (void)request;
    return &fan;
}

static const struct api_fan *fan_never(const struct api_request *request) {
    (void)request;
    return NULL;
}

static const struct api_operation operation_fan = {.name = "fan", .fan = fan_always};
static const struct api_operation operation_no_fan = {.name = "plain", .fan = fan_never};
static const struct api_operation operation_plain = {.name = "plain"};

static void probe_finished(struct work *work) {
    sem_post(&((struct probe *)work)->finished);
}

static void probe_wait(struct probe *probe) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += DEADLINE_S;
    assert_int_equal(sem_timedwait(&probe->finished, &end), 0);
}

static void probe_submit(struct probe *probe, const struct api_operation *operation,
                         struct pool *pool, uint64_t deadline_ns) {
    sem_init(&probe->finished, 0, 0);
    probe->work.request =
        (struct handlers_request){.request_id = probe->id, .query = "", .operation = operation};
    probe->work.run = run_plain;
    probe->work.deadline_ns = deadline_ns;
    probe->work.finished = probe_finished;
    assert_true(pool_reserve(pool));
    work_submit(&probe->work, pool);
}

/* Runs it to its end, checks how it ended and what it says, and frees the reply. */
static void check_work(struct probe *probe, const struct api_operation *operation,
                       uint64_t deadline_ns, enum work_end end, const char *text) {
    struct pool *pool = pool_create(2, 1);
    probe_submit(probe, operation, pool, deadline_ns);
    probe_wait(probe);
    pool_destroy(pool);
    assert_int_equal(probe->work.end, end);
    if (text != NULL) {
        assert_int_equal(probe->work.reply.body.size, strlen(text));
        assert_memory_equal(probe->work.reply.body.data, text, strlen(text));
    }
    if (end == WORK_LATE) {
        assert_int_equal(probe->work.reply.code, API_DEADLINE_EXCEEDED);
        assert_int_equal(probe->work.reply.status, 504);
    }
    api_reply_finish(&probe->work.reply);
    sem_destroy(&probe->finished);
}

static uint64_t in_time(void) {
    return work_now_ns() + FAR_NS;
}

static void test_plain_request_runs_once(void **state) {
    static const struct api_operation *const operations[] = {&operation_plain, &operation_no_fan,
                                                             NULL};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct probe probe = {.work = {.socket_fd = -1}};
        check_work(&probe, operations[i], in_time(), WORK_DONE, "plain");
        assert_int_equal(atomic_load(&probe.ran), 1);
        assert_int_equal(probe.work.items, 1);
    }
}

static void test_fan_runs_each_item_and_closes_once(void **state) {
    static const size_t counts[] = {0, 1, 2, 1000};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct probe probe = {.work = {.socket_fd = -1}, .items = counts[i]};
        check_work(&probe, &operation_fan, in_time(), WORK_DONE, "closed");
        assert_int_equal(atomic_load(&probe.opened), 1);
        assert_int_equal(atomic_load(&probe.ran), counts[i]);
        assert_int_equal(atomic_load(&probe.closed), 1);
        assert_int_equal(atomic_load(&probe.destroyed), 0);
        assert_int_equal(probe.work.items, counts[i]);
    }
}

static void test_fan_that_does_not_open_has_its_reply(void **state) {
    struct probe probe = {.work = {.socket_fd = -1}, .items = 5, .open_fails = true};
    (void)state;
    check_work(&probe, &operation_fan, in_time(), WORK_DONE, "not opened");
    assert_int_equal(atomic_load(&probe.ran), 0);
    assert_int_equal(atomic_load(&probe.closed), 0);
    assert_int_equal(atomic_load(&probe.destroyed), 0);
}

static void test_late_request_is_not_begun(void **state) {
    static const struct api_operation *const operations[] = {&operation_plain, &operation_fan};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct probe probe = {.work = {.socket_fd = -1}, .items = 5};
        check_work(&probe, operations[i], work_now_ns() - 1, WORK_LATE, NULL);
        assert_int_equal(atomic_load(&probe.ran), 0);
        assert_int_equal(atomic_load(&probe.opened), 0);
    }
}

static void test_request_that_gets_late_is_504(void **state) {
    struct probe probe = {.work = {.socket_fd = -1}, .passes_time = true};
    (void)state;
    check_work(&probe, &operation_plain, work_now_ns() + 50000000U, WORK_LATE, NULL);
    /* a machine that was busy for 50 ms did not begin it at all */
    assert_true(atomic_load(&probe.ran) <= 1);
}

/* The first items use up the time; at most one for each worker is then begun. */
static void test_fan_that_gets_late_is_given_up(void **state) {
    struct probe probe = {.work = {.socket_fd = -1}, .items = 1000, .passes_time = true};
    (void)state;
    check_work(&probe, &operation_fan, work_now_ns() + 50000000U, WORK_LATE, NULL);
    assert_true(atomic_load(&probe.ran) <= 2);
    assert_int_equal(atomic_load(&probe.closed), 0);
    assert_int_equal(atomic_load(&probe.destroyed), atomic_load(&probe.opened));
}

static void check_client(bool is_gone, const struct api_operation *operation) {
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    if (is_gone) {
        close(pair[1]);
    }
    struct probe probe = {.work = {.socket_fd = pair[0]}, .items = 3};
    check_work(&probe, operation, in_time(), is_gone ? WORK_GONE : WORK_DONE, NULL);
    const size_t ran = operation->fan != NULL ? 3 : 1;
    assert_int_equal(atomic_load(&probe.ran), is_gone ? 0 : ran);
    close(pair[0]);
    if (!is_gone) {
        close(pair[1]);
    }
}

static void test_request_is_skipped_when_its_client_is_gone(void **state) {
    (void)state;
    check_client(true, &operation_plain);
    check_client(true, &operation_fan);
    check_client(false, &operation_plain);
    check_client(false, &operation_fan);
}

/* ---- many threads at a time ---- */

static void *submit_many(void *context) {
    struct pool *pool = context;
    for (size_t i = 0; i < 50; i++) {
        struct probe probe = {.work = {.socket_fd = -1}, .items = i};
        probe_submit(&probe, i % 2 == 0 ? &operation_fan : &operation_plain, pool, in_time());
        probe_wait(&probe);
        const size_t expected = i % 2 == 0 ? i : 1;
        if (atomic_load(&probe.ran) != expected || probe.work.end != WORK_DONE) {
            abort(); /* not on the test's thread */
        }
        api_reply_finish(&probe.work.reply);
        sem_destroy(&probe.finished);
    }
    return NULL;
}

static void test_many_threads_get_their_own_replies(void **state) {
    /* a place is given back just behind finished: one for each thread, one for each worker */
    enum { THREADS = 4, WORKERS = 3, PLACES = THREADS + WORKERS };
    pthread_t threads[THREADS];
    (void)state;
    struct pool *pool = pool_create(WORKERS, PLACES);
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, submit_many, pool), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    pool_destroy(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_request_runs_once),
        cmocka_unit_test(test_fan_runs_each_item_and_closes_once),
        cmocka_unit_test(test_fan_that_does_not_open_has_its_reply),
        cmocka_unit_test(test_late_request_is_not_begun),
        cmocka_unit_test(test_request_that_gets_late_is_504),
        cmocka_unit_test(test_fan_that_gets_late_is_given_up),
        cmocka_unit_test(test_request_is_skipped_when_its_client_is_gone),
        cmocka_unit_test(test_many_threads_get_their_own_replies),
    };
    api_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
