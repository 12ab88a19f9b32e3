/* The pool: order, capacity, rounds and its end, by tasks that note what they did.
 * Requests are server_work.c's affair. */
#define _GNU_SOURCE
#include "server/pool.h"
#include "tests/check.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DEADLINE_S 60

static void wait_for(sem_t *semaphore) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += DEADLINE_S;
    if (sem_timedwait(semaphore, &end) != 0) {
        (void)fprintf(stderr, "a worker did not get there within %d s\n", DEADLINE_S);
        abort(); /* may be on a worker, where cmocka cannot fail the test */
    }
}

static void post_many(sem_t *semaphore, int count) {
    for (int i = 0; i < count; i++) {
        sem_post(semaphore);
    }
}

/* What tasks did, in order; with more than one worker only the count tells anything. */
struct record {
    pthread_mutex_t lock;
    char text[4096];
    size_t size;
    sem_t entered; /* posted by a blocking item when it is run */
    sem_t leave;   /* what it then waits for */
    sem_t open;    /* what the gates of hold() wait for instead */
    sem_t done;    /* posted when a task is done */
};

static void record_init(struct record *record) {
    memset(record, 0, sizeof *record);
    pthread_mutex_init(&record->lock, NULL);
    sem_init(&record->entered, 0, 0);
    sem_init(&record->leave, 0, 0);
    sem_init(&record->open, 0, 0);
    sem_init(&record->done, 0, 0);
}

static void record_finish(struct record *record) {
    pthread_mutex_destroy(&record->lock);
    sem_destroy(&record->entered);
    sem_destroy(&record->leave);
    sem_destroy(&record->open);
    sem_destroy(&record->done);
}

/* What does not fit is left out: the first few tell the order. */
static void record_add(struct record *record, char name, size_t index) {
    pthread_mutex_lock(&record->lock);
    const size_t left = sizeof record->text - record->size;
    if (left > 24) {
        record->size += (size_t)snprintf(record->text + record->size, left, "%c%zu ", name, index);
    }
    pthread_mutex_unlock(&record->lock);
}

struct job {
    struct pool_task task;
    struct record *record;
    char name; /* 0: notes nothing */
    bool blocks;
    bool is_gate;
    const size_t *rounds; /* of the rounds behind the first; ends with 0 */
    atomic_size_t ran;
};

static void job_run(struct pool_task *task, size_t index) {
    struct job *job = (struct job *)task;
    atomic_fetch_add(&job->ran, 1);
    if (job->name != 0) {
        record_add(job->record, job->name, index);
    }
    if (job->blocks) {
        sem_post(&job->record->entered);
        wait_for(job->is_gate ? &job->record->open : &job->record->leave);
    }
}

static size_t job_done(struct pool_task *task) {
    struct job *job = (struct job *)task;
    const size_t more = job->rounds != NULL ? *job->rounds : 0;
    if (more > 0) {
        job->rounds++;
        return more;
    }
    sem_post(&job->record->done);
    return 0;
}

static const struct pool_handler handler = {job_run, job_done};

static void submit(struct pool *pool, struct job *job, struct record *record, size_t items) {
    job->task.handler = &handler;
    job->record = record;
    assert_true(pool_reserve(pool));
    pool_submit(pool, &job->task, items);
}

/* Keeps `count` workers busy until record->open is posted as often. */
static void hold(struct pool *pool, struct job *gates, struct record *record, int count) {
    for (int i = 0; i < count; i++) {
        gates[i] = (struct job){.blocks = true, .is_gate = true};
        submit(pool, &gates[i], record, 1);
    }
    for (int i = 0; i < count; i++) {
        wait_for(&record->entered);
    }
}

static void test_tasks_take_turns_item_by_item(void **state) {
    struct record record;
    struct job gate;
    struct job jobs[3] = {{.name = 'a'}, {.name = 'b'}, {.name = 'c'}};
    static const size_t items[] = {4, 2, 1};
    (void)state;
    record_init(&record);
    struct pool *pool = pool_create(1, 8);
    hold(pool, &gate, &record, 1);
    for (size_t i = 0; i < 3; i++) {
        submit(pool, &jobs[i], &record, items[i]);
    }
    sem_post(&record.open);
    pool_destroy(pool);
    assert_string_equal(record.text, "a0 b0 c0 a1 b1 a2 a3 ");
    record_finish(&record);
}

/* On one worker, what came in behind a big task waits for one of its items. */
static void test_small_task_waits_for_one_item_of_a_big_one(void **state) {
    struct record record;
    struct job gate;
    struct job big = {.name = 'b'};
    struct job small = {.name = 's'};
    (void)state;
    record_init(&record);
    struct pool *pool = pool_create(1, 8);
    hold(pool, &gate, &record, 1);
    submit(pool, &big, &record, 1000);
    submit(pool, &small, &record, 1);
    sem_post(&record.open);
    pool_destroy(pool);
    assert_memory_equal(record.text, "b0 s0 b1 ", 9);
    assert_int_equal(atomic_load(&big.ran), 1000);
    record_finish(&record);
}

/* With several workers: the small task gets done while no item of the big one ever has, so at most
 * one for each worker was begun before it. */
static void test_small_task_passes_a_big_one_on_several_workers(void **state) {
    enum { WORKERS = 3, ITEMS = 100 };
    struct record record;
    struct job gates[WORKERS];
    struct job big = {.blocks = true};
    struct job small = {.name = 's'};
    (void)state;
    record_init(&record);
    struct pool *pool = pool_create(WORKERS, 8);
    hold(pool, gates, &record, WORKERS);
    submit(pool, &big, &record, ITEMS);
    submit(pool, &small, &record, 1);
    post_many(&record.open, WORKERS);
    for (int i = 0; i < WORKERS + 1; i++) {
        wait_for(&record.done); /* the gates and the small one; the big one cannot be done */
    }
    assert_string_equal(record.text, "s0 ");
    assert_true(atomic_load(&big.ran) <= WORKERS);
    post_many(&record.leave, ITEMS);
    pool_destroy(pool);
    assert_int_equal(atomic_load(&big.ran), ITEMS);
    record_finish(&record);
}

static void test_full_is_an_answer(void **state) {
    struct record record;
    struct job gate;
    struct job second = {.name = 's'};
    (void)state;
    record_init(&record);
    struct pool *pool = pool_create(1, 2);
    hold(pool, &gate, &record, 1);
    assert_true(pool_reserve(pool));
    assert_false(pool_reserve(pool));
    pool_release(pool);
    submit(pool, &second, &record, 1);
    assert_false(pool_reserve(pool));
    assert_int_equal(pool_load(pool).tasks, 2);
    sem_post(&record.open);
    wait_for(&record.done);
    wait_for(&record.done);
    while (pool_load(pool).tasks > 0) {
        sched_yield(); /* the place is given back right behind done */
    }
    assert_true(pool_reserve(pool));
    pool_release(pool);
    pool_destroy(pool);
    record_finish(&record);
}

static void test_rounds_keep_their_place(void **state) {
    static const size_t rounds[] = {3, 1, 2, 0};
    struct record record;
    struct job job = {.name = 'r', .blocks = true, .rounds = rounds};
    (void)state;
    record_init(&record);
    struct pool *pool = pool_create(1, 1);
    submit(pool, &job, &record, 2);
    for (int i = 0; i < 2 + 3 + 1 + 2; i++) {
        wait_for(&record.entered);
        assert_false(pool_reserve(pool));
        sem_post(&record.leave);
    }
    pool_destroy(pool);
    assert_string_equal(record.text, "r0 r1 r0 r1 r2 r0 r0 r1 ");
    record_finish(&record);
}

static void test_close_refuses_and_still_does_what_is_queued(void **state) {
    enum { TASKS = 20 };
    struct record record;
    struct job gate;
    struct job jobs[TASKS] = {{.name = 0}};
    (void)state;
    record_init(&record);
    struct pool *pool = pool_create(1, TASKS + 10);
    hold(pool, &gate, &record, 1);
    for (size_t i = 0; i < TASKS; i++) {
        submit(pool, &jobs[i], &record, i + 1);
    }
    pool_close(pool);
    assert_false(pool_reserve(pool));
    assert_int_equal(pool_load(pool).tasks, TASKS + 1);
    sem_post(&record.open);
    pool_destroy(pool);
    for (size_t i = 0; i < TASKS; i++) {
        assert_int_equal(atomic_load(&jobs[i].ran), i + 1);
    }
    record_finish(&record);
}

/* A place that was reserved before the end is waited for, and its task done. */
static void *submit_late(void *context) {
    struct job *job = context;
    struct pool *pool = (struct pool *)(void *)job->task.next; /* free until it is submitted */
    job->task.handler = &handler;
    wait_for(&job->record->leave);
    pool_submit(pool, &job->task, 5);
    return NULL;
}

static void test_destroy_waits_for_a_reserved_place(void **state) {
    struct record record;
    pthread_t thread;
    (void)state;
    record_init(&record);
    struct pool *pool = pool_create(2, 4);
    struct job job = {.record = &record, .task = {.next = (struct pool_task *)(void *)pool}};
    assert_true(pool_reserve(pool));
    assert_int_equal(pthread_create(&thread, NULL, submit_late, &job), 0);
    sem_post(&record.leave);
    pool_destroy(pool);
    assert_int_equal(atomic_load(&job.ran), 5);
    pthread_join(thread, NULL);
    record_finish(&record);
}

static void test_load_tells_what_is_going_on(void **state) {
    struct record record;
    struct job gates[2];
    struct job job = {.name = 'j'};
    (void)state;
    record_init(&record);
    struct pool *pool = pool_create(2, 7);
    hold(pool, gates, &record, 2);
    submit(pool, &job, &record, 10);
    struct pool_load load = pool_load(pool);
    assert_int_equal(load.tasks, 3);
    assert_int_equal(load.capacity, 7);
    assert_int_equal(load.busy, 2);
    assert_int_equal(load.workers, 2);
    assert_int_equal(load.items, 0);
    assert_int_equal(load.waited, 2);
    post_many(&record.open, 2);
    do {
        sched_yield();
        load = pool_load(pool);
    } while (load.tasks > 0);
    assert_int_equal(load.busy, 0);
    assert_int_equal(load.items, 12);
    assert_int_equal(load.waited, 3);
    assert_true(load.wait_ns > 0);
    assert_true(job.task.started_ns >= job.task.queued_ns);
    pool_destroy(pool);
    record_finish(&record);
}

/* ---- many threads at a time ---- */

struct heap_task {
    struct pool_task task;
    atomic_size_t *ran;
    atomic_size_t *finished;
    size_t rounds;
};

static void heap_run(struct pool_task *task, size_t index) {
    (void)index;
    atomic_fetch_add(((struct heap_task *)task)->ran, 1);
}

/* Frees the task, as the contract allows. */
static size_t heap_done(struct pool_task *task) {
    struct heap_task *heap = (struct heap_task *)task;
    if (heap->rounds-- > 0) {
        return 3;
    }
    atomic_fetch_add(heap->finished, 1);
    free(heap);
    return 0;
}

struct submitter {
    struct pool *pool;
    atomic_size_t ran;
    atomic_size_t finished;
    size_t expected;
    size_t refused;
};

static void *submit_many(void *context) {
    static const struct pool_handler heap_handler = {heap_run, heap_done};
    struct submitter *submitter = context;
    for (size_t i = 0; i < 500;) {
        if (!pool_reserve(submitter->pool)) {
            submitter->refused++;
            sched_yield();
            continue;
        }
        struct heap_task *heap = calloc(1, sizeof *heap);
        if (heap == NULL) {
            abort();
        }
        heap->task.handler = &heap_handler;
        heap->ran = &submitter->ran;
        heap->finished = &submitter->finished;
        heap->rounds = i % 3;
        submitter->expected += 1 + i % 7 + 3 * (i % 3);
        pool_submit(submitter->pool, &heap->task, 1 + i % 7);
        i++;
    }
    return NULL;
}

static void test_many_threads_lose_nothing(void **state) {
    enum { THREADS = 4 };
    struct submitter submitters[THREADS] = {{NULL}};
    pthread_t threads[THREADS];
    (void)state;
    struct pool *pool = pool_create(4, 16);
    for (size_t i = 0; i < THREADS; i++) {
        submitters[i].pool = pool;
        assert_int_equal(pthread_create(&threads[i], NULL, submit_many, &submitters[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    pool_destroy(pool);
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(atomic_load(&submitters[i].finished), 500);
        assert_int_equal(atomic_load(&submitters[i].ran), submitters[i].expected);
    }
}

static void test_unused_pool_ends(void **state) {
    (void)state;
    pool_destroy(NULL);
    for (size_t workers = 1; workers <= 8; workers++) {
        struct pool *pool = pool_create(workers, 1);
        assert_non_null(pool);
        assert_int_equal(pool_load(pool).workers, workers);
        pool_destroy(pool);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tasks_take_turns_item_by_item),
        cmocka_unit_test(test_small_task_waits_for_one_item_of_a_big_one),
        cmocka_unit_test(test_small_task_passes_a_big_one_on_several_workers),
        cmocka_unit_test(test_full_is_an_answer),
        cmocka_unit_test(test_rounds_keep_their_place),
        cmocka_unit_test(test_close_refuses_and_still_does_what_is_queued),
        cmocka_unit_test(test_destroy_waits_for_a_reserved_place),
        cmocka_unit_test(test_load_tells_what_is_going_on),
        cmocka_unit_test(test_many_threads_lose_nothing),
        cmocka_unit_test(test_unused_pool_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
