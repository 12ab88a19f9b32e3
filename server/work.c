/* Runs a request on the pool in one round, or in two when its operation fans out: first open, then
 * the items, and the worker of the last item closes. */
#define _GNU_SOURCE
#include "work.h"

#include <poll.h>
#include <time.h>

uint64_t work_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static struct work *work_of(struct pool_task *task) {
    return (struct work *)task; /* its first member */
}

/* A suspended connection gets no notice of a client that went away, so the socket is asked. */
static bool work_client_is_gone(const struct work *work) {
    struct pollfd poll_fd = {.fd = work->socket_fd, .events = POLLRDHUP};
    return work->socket_fd >= 0 && poll(&poll_fd, 1, 0) > 0 &&
           (poll_fd.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

static bool work_is_late(const struct work *work) {
    return work_now_ns() > work->deadline_ns;
}

static void work_set_late(struct work *work) {
    work->end = WORK_LATE;
    api_reply_problem(&work->reply, API_DEADLINE_EXCEEDED,
                      "The request was not done within the server's deadline.",
                      work->request.request_id);
}

static void work_set_gone(struct work *work) {
    work->end = WORK_GONE;
    api_reply_problem(&work->reply, API_OVERLOADED, "The client had gone.",
                      work->request.request_id);
}

static void work_open(struct work *work) {
    const struct handlers_request *request = &work->request;
    if (work->prepare != NULL && !work->prepare(work)) {
        return;
    }
    work->api_request = handlers_api_request(request);
    if (request->operation != NULL && request->operation->fan != NULL) {
        work->fan = request->operation->fan(&work->api_request);
    }
    if (work->fan == NULL) {
        work->run(request, &work->reply);
        return;
    }
    work->items = 0;
    work->fan_state = work->fan->open(&work->api_request, &work->items, &work->reply);
}

static void work_run_item(struct pool_task *task, size_t index) {
    struct work *work = work_of(task);
    if (work->fan_state != NULL) {
        if (atomic_load_explicit(&work->late, memory_order_relaxed) || work_is_late(work)) {
            atomic_store_explicit(&work->late, true, memory_order_relaxed);
        } else {
            work->fan->run(work->fan_state, index);
        }
    } else if (work_client_is_gone(work)) {
        work_set_gone(work);
    } else if (work_is_late(work)) {
        work_set_late(work);
    } else {
        work_open(work);
    }
}

static void work_close(struct work *work) {
    if (atomic_load_explicit(&work->late, memory_order_relaxed)) {
        work->fan->destroy(work->fan_state);
        work_set_late(work);
    } else {
        work->fan->close(work->fan_state, &work->reply);
    }
    work->fan_state = NULL;
}

static size_t work_done(struct pool_task *task) {
    struct work *work = work_of(task);
    if (work->fan_state != NULL && !work->fan_started && work->items > 0) {
        work->fan_started = true;
        return work->items;
    }
    if (work->fan_state != NULL) {
        work_close(work);
    }
    if (work->end == WORK_DONE && work_is_late(work)) {
        api_reply_finish(&work->reply);
        work_set_late(work);
    }
    work->finished(work);
    return 0;
}

void work_submit(struct work *work, struct pool *pool) {
    static const struct pool_handler handler = {work_run_item, work_done};
    work->task.handler = &handler;
    work->end = WORK_DONE;
    work->items = 1;
    work->fan = NULL;
    work->fan_state = NULL;
    work->fan_started = false;
    atomic_init(&work->late, false);
    pool_submit(pool, &work->task, 1);
}
