/* Worker threads and a bounded queue of tasks. It knows only tasks and their items: nothing of
 * requests, sockets or replies.
 *
 * A task is a number of items that any workers take in any order. Tasks take turns: a worker takes
 * one item of the task at the front and moves the task to the back, so that a batch of a thousand
 * items delays a task of one item by one item for each worker, not by a thousand. */
#ifndef SERVER_POOL_H
#define SERVER_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pool_task;

struct pool_handler {
    /* Runs item `index`. May run at the same time as other items of the task. */
    void (*run)(struct pool_task *task, size_t index);
    /* All items have run; called once, by the worker that ran the last one. It returns the number
     * of items of a next round (run is then called for each of them, and done again), or 0: the
     * pool never touches the task again, and done may already have freed it. */
    size_t (*done)(struct pool_task *task);
};

/* Embedded in the owner's own struct; the owner sets the handler and is_in_place. */
struct pool_task {
    const struct pool_handler *handler;
    bool is_in_place; /* runs in a place that the owner goes on holding */
    struct pool_task *next;
    size_t item_count;
    size_t item_next;    /* the first that no worker has taken */
    size_t items_open;   /* not yet run to the end */
    uint64_t queued_ns;  /* when it was submitted, CLOCK_MONOTONIC */
    uint64_t started_ns; /* when its first item was taken; 0 before */
};

struct pool;

struct pool_load {
    size_t tasks;    /* reserved, queued or running */
    size_t capacity; /* the most there may be */
    size_t busy;     /* workers that run an item now */
    size_t workers;
    uint64_t items;   /* ever run */
    uint64_t wait_ns; /* sum over tasks of the time before their first item was taken */
    uint64_t waited;  /* tasks in that sum */
};

/* NULL when there is no memory or no thread to be had. Threads inherit the signal mask. */
struct pool *pool_create(size_t worker_count, size_t capacity);

/* A place for one task, to be used by pool_submit or given back by pool_release. False when the
 * pool is full or closing: full is an answer. */
bool pool_reserve(struct pool *pool);
void pool_release(struct pool *pool);

/* Hands over a task of at least one item, in a reserved place. Never blocks for long, never fails.
 * The place is free again when the task's last round is done. */
void pool_submit(struct pool *pool, struct pool_task *task, size_t item_count);

struct pool_load pool_load(struct pool *pool);

/* Takes no more reservations. */
void pool_close(struct pool *pool);

/* Waits for what is reserved and queued to be done and joins the workers. Accepts NULL. */
void pool_destroy(struct pool *pool);

#endif
