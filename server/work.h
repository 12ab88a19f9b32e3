/* One request's way through the pool: its handler, or the items that its operation fans out into,
 * with a deadline and a look at whether the client is still there. It knows no HTTP. */
#ifndef SERVER_WORK_H
#define SERVER_WORK_H

#include "handlers/handlers.h"
#include "pool.h"

#include <stdatomic.h>
#include <stdint.h>

enum work_end {
    WORK_DONE, /* ran to its end */
    WORK_LATE, /* the deadline passed first: 504 */
    WORK_GONE, /* the client had gone: skipped */
};

struct work {
    struct pool_task task;
    /* set by the owner */
    struct handlers_request request;
    handlers_run *run;
    /* Called by a worker before run, to make the request's body ready; NULL when it is. False: the
     * reply is set, and run is not called. */
    bool (*prepare)(struct work *work);
    int socket_fd;        /* of the client; -1 for none */
    uint64_t deadline_ns; /* CLOCK_MONOTONIC */
    /* Called once by a worker, which does not touch the work again: it may be freed. */
    void (*finished)(struct work *work);
    /* set by the time finished is called */
    struct api_reply reply;
    enum work_end end;
    size_t items; /* that the request fanned out into; 1 when it did not */
    /* between open and close of a fan */
    struct api_request api_request; /* stays as long as the fan's state */
    const struct api_fan *fan;
    void *fan_state;
    bool fan_started; /* the second round is on */
    atomic_bool late;
};

/* In a place that pool_reserve gave. */
void work_submit(struct work *work, struct pool *pool);

uint64_t work_now_ns(void);

#endif
