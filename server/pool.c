/* The pool: a ring of tasks under one lock, and workers that take items off it in turns.
 * The lock is held for a few pointer moves only; items run outside of it. */
#define _GNU_SOURCE
#include "pool.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* The deepest parse is API_MAX_DEPTH levels of jansson; glibc's default of 8 MiB is far more. */
#define POOL_STACK_SIZE ((size_t)2 << 20)

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t work; /* a task was queued, or the pool stops */
    struct pool_task *first;
    struct pool_task *last;
    bool closed;
    bool stopping;
    struct pool_load load;
    size_t started;
    pthread_t threads[];
};

static uint64_t pool_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void pool_append(struct pool *pool, struct pool_task *task) {
    task->next = NULL;
    if (pool->first == NULL) {
        pool->first = task;
    } else {
        pool->last->next = task;
    }
    pool->last = task;
}

/* The next item: of the task at the front, which goes to the back while it has more. */
static struct pool_task *pool_take(struct pool *pool, size_t *index) {
    struct pool_task *task = pool->first;
    pool->first = task->next;
    *index = task->item_next++;
    if (task->item_next < task->item_count) {
        pool_append(pool, task);
        pthread_cond_signal(&pool->work);
    }
    if (task->started_ns == 0) {
        task->started_ns = pool_now_ns();
        pool->load.wait_ns += task->started_ns - task->queued_ns;
        pool->load.waited += 1;
    }
    return task;
}

static void pool_queue(struct pool *pool, struct pool_task *task, size_t item_count) {
    task->item_count = item_count;
    task->item_next = 0;
    task->items_open = item_count;
    pool_append(pool, task);
    pthread_cond_signal(&pool->work);
}

/* Runs one item with the lock released, and what follows when it was the last. */
static void pool_run(struct pool *pool, struct pool_task *task, size_t index) {
    pool->load.busy += 1;
    pthread_mutex_unlock(&pool->lock);
    task->handler->run(task, index);
    pthread_mutex_lock(&pool->lock);
    pool->load.busy -= 1;
    pool->load.items += 1;
    if (--task->items_open > 0) {
        return;
    }
    pthread_mutex_unlock(&pool->lock);
    const bool is_in_place = task->is_in_place;
    const size_t more = task->handler->done(task);
    pthread_mutex_lock(&pool->lock);
    if (more > 0) {
        pool_queue(pool, task, more);
    } else if (!is_in_place) {
        pool->load.tasks -= 1;
        pthread_cond_broadcast(&pool->work); /* a stop may wait for this */
    }
}

static void *pool_work(void *context) {
    struct pool *pool = context;
    pthread_mutex_lock(&pool->lock);
    while (!pool->stopping || pool->load.tasks > 0) {
        if (pool->first == NULL) {
            pthread_cond_wait(&pool->work, &pool->lock);
            continue;
        }
        size_t index;
        struct pool_task *task = pool_take(pool, &index);
        pool_run(pool, task, index);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static bool pool_start(struct pool *pool, size_t worker_count) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    bool ok = pthread_attr_setstacksize(&attributes, POOL_STACK_SIZE) == 0;
    while (ok && pool->started < worker_count) {
        ok = pthread_create(&pool->threads[pool->started], &attributes, pool_work, pool) == 0;
        pool->started += ok ? 1 : 0;
    }
    pthread_attr_destroy(&attributes);
    return ok;
}

struct pool *pool_create(size_t worker_count, size_t capacity) {
    struct pool *pool = calloc(1, sizeof *pool + worker_count * sizeof pool->threads[0]);
    if (pool == NULL) {
        return NULL;
    }
    pool->load.workers = worker_count;
    pool->load.capacity = capacity;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    if (!pool_start(pool, worker_count)) {
        pool_destroy(pool);
        return NULL;
    }
    return pool;
}

bool pool_reserve(struct pool *pool) {
    pthread_mutex_lock(&pool->lock);
    const bool ok = !pool->closed && pool->load.tasks < pool->load.capacity;
    pool->load.tasks += ok ? 1 : 0;
    pthread_mutex_unlock(&pool->lock);
    return ok;
}

void pool_release(struct pool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->load.tasks -= 1;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

void pool_submit(struct pool *pool, struct pool_task *task, size_t item_count) {
    task->queued_ns = pool_now_ns();
    task->started_ns = 0;
    pthread_mutex_lock(&pool->lock);
    pool_queue(pool, task, item_count);
    pthread_mutex_unlock(&pool->lock);
}

struct pool_load pool_load(struct pool *pool) {
    pthread_mutex_lock(&pool->lock);
    const struct pool_load load = pool->load;
    pthread_mutex_unlock(&pool->lock);
    return load;
}

void pool_close(struct pool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->closed = true;
    pthread_mutex_unlock(&pool->lock);
}

void pool_destroy(struct pool *pool) {
    if (pool == NULL) {
        return;
    }
    pthread_mutex_lock(&pool->lock);
    pool->closed = pool->stopping = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (size_t i = 0; i < pool->started; ++i) {
        pthread_join(pool->threads[i], NULL);
    }
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}
