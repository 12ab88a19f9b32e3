/* The table of reaper.h: network threads write deadlines, the reaper's thread reads them ten times
 * a second and calls shutdown(), upon which the HTTP library closes the connection. */
#define _GNU_SOURCE
#include "reaper.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#define REAPER_TICK_MS 100

/* Only for a reply over this is it worth asking the kernel how much the client has taken. */
#define REAPER_LARGE_REPLY ((size_t)64 << 10)

#define REAPER_NEVER UINT64_MAX
#define REAPER_UNKNOWN UINT64_MAX

struct reaper_seat {
    struct reaper *reaper;
    struct reaper_seat *next_free;
    int socket_fd; /* under the reaper's lock; -1: free */
    bool is_fresh; /* no request has begun */
    atomic_bool is_closed;
    atomic_uint_least64_t deadline_ms;
    /* bytes of a large reply that the client had taken when last looked at, else REAPER_UNKNOWN */
    atomic_uint_least64_t taken;
};

struct reaper {
    struct reaper_limits limits;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t stop;
    bool stopping;
    atomic_size_t closed;
    struct reaper_seat *free;
    size_t used; /* seats that were ever taken: the first ones */
    size_t count;
    struct reaper_seat seats[];
};

static uint64_t reaper_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Bytes that the peer has acknowledged, or REAPER_UNKNOWN where there is no such count. */
static uint64_t reaper_acknowledged(int socket_fd) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    if (getsockopt(socket_fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
        size < offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked) {
        return REAPER_UNKNOWN;
    }
    return info.tcpi_bytes_acked;
}

/* ---- the reaper's thread ---- */

/* A large reply that is still read fast enough goes on. */
static bool reaper_is_reading(struct reaper_seat *seat, uint64_t now_ms) {
    const struct reaper_limits *limits = &seat->reaper->limits;
    const uint64_t before = atomic_load(&seat->taken);
    const uint64_t taken =
        before != REAPER_UNKNOWN ? reaper_acknowledged(seat->socket_fd) : REAPER_UNKNOWN;
    if (taken == REAPER_UNKNOWN ||
        taken - before < limits->bytes_per_s * limits->transfer_ms / 1000) {
        return false;
    }
    uint64_t deadline_ms = atomic_load(&seat->deadline_ms);
    atomic_store(&seat->taken, taken);
    /* unless the connection has gone on to something else meanwhile */
    if (deadline_ms <= now_ms) {
        atomic_compare_exchange_strong(&seat->deadline_ms, &deadline_ms,
                                       now_ms + limits->transfer_ms);
    }
    return true;
}

static void reaper_look(struct reaper *reaper) {
    const uint64_t now_ms = reaper_now_ms();
    for (size_t i = 0; i < reaper->used; i++) {
        struct reaper_seat *seat = &reaper->seats[i];
        if (seat->socket_fd < 0 || atomic_load(&seat->deadline_ms) > now_ms ||
            reaper_is_reading(seat, now_ms)) {
            continue;
        }
        shutdown(seat->socket_fd, SHUT_RDWR);
        atomic_store(&seat->deadline_ms, REAPER_NEVER);
        atomic_store(&seat->is_closed, true);
        atomic_fetch_add(&reaper->closed, 1);
    }
}

static void *reaper_run(void *context) {
    struct reaper *reaper = context;
    pthread_mutex_lock(&reaper->lock);
    while (!reaper->stopping) {
        struct timespec until;
        reaper_look(reaper);
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += REAPER_TICK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&reaper->stop, &reaper->lock, &until);
    }
    pthread_mutex_unlock(&reaper->lock);
    return NULL;
}

/* ---- life ---- */

static void reaper_init_stop(pthread_cond_t *stop) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(stop, &attributes);
    pthread_condattr_destroy(&attributes);
}

struct reaper *reaper_create(size_t seats, const struct reaper_limits *limits) {
    struct reaper *reaper = calloc(1, sizeof *reaper + seats * sizeof(struct reaper_seat));
    if (reaper == NULL) {
        return NULL;
    }
    reaper->limits = *limits;
    reaper->count = seats;
    pthread_mutex_init(&reaper->lock, NULL);
    reaper_init_stop(&reaper->stop);
    if (pthread_create(&reaper->thread, NULL, reaper_run, reaper) != 0) {
        pthread_cond_destroy(&reaper->stop);
        pthread_mutex_destroy(&reaper->lock);
        free(reaper);
        return NULL;
    }
    return reaper;
}

void reaper_destroy(struct reaper *reaper) {
    if (reaper == NULL) {
        return;
    }
    pthread_mutex_lock(&reaper->lock);
    reaper->stopping = true;
    pthread_cond_signal(&reaper->stop);
    pthread_mutex_unlock(&reaper->lock);
    pthread_join(reaper->thread, NULL);
    pthread_cond_destroy(&reaper->stop);
    pthread_mutex_destroy(&reaper->lock);
    free(reaper);
}

size_t reaper_closed(const struct reaper *reaper) {
    return atomic_load(&reaper->closed);
}

static void reaper_set(struct reaper_seat *seat, uint64_t ms) {
    atomic_store(&seat->deadline_ms, reaper_now_ms() + ms);
}

struct reaper_seat *reaper_enter(struct reaper *reaper, int socket_fd) {
    pthread_mutex_lock(&reaper->lock);
    struct reaper_seat *seat = reaper->free;
    if (seat != NULL) {
        reaper->free = seat->next_free;
    } else if (reaper->used < reaper->count) {
        seat = &reaper->seats[reaper->used++];
    }
    if (seat != NULL) {
        seat->reaper = reaper;
        seat->socket_fd = socket_fd;
        seat->is_fresh = true;
        atomic_store(&seat->is_closed, false);
        atomic_store(&seat->taken, REAPER_UNKNOWN);
        reaper_set(seat, reaper->limits.header_ms);
    }
    pthread_mutex_unlock(&reaper->lock);
    return seat;
}

bool reaper_has_closed(const struct reaper_seat *seat) {
    return seat != NULL && atomic_load(&seat->is_closed);
}

void reaper_leave(struct reaper_seat *seat) {
    if (seat == NULL) {
        return;
    }
    struct reaper *reaper = seat->reaper;
    pthread_mutex_lock(&reaper->lock);
    seat->socket_fd = -1;
    seat->next_free = reaper->free;
    reaper->free = seat;
    pthread_mutex_unlock(&reaper->lock);
}

/* ---- what a connection does ---- */

void reaper_await_headers(struct reaper_seat *seat) {
    if (seat != NULL && !seat->is_fresh) {
        reaper_set(seat, seat->reaper->limits.header_ms);
    }
    if (seat != NULL) {
        seat->is_fresh = false;
    }
}

void reaper_await_body(struct reaper_seat *seat) {
    if (seat != NULL) {
        reaper_set(seat, seat->reaper->limits.transfer_ms);
    }
}

/* Bytes buy time at the rate, but never more than transfer_ms ahead: a fast beginning is no licence
 * for a slow end. */
void reaper_progress(struct reaper_seat *seat, size_t size) {
    if (seat == NULL) {
        return;
    }
    const struct reaper_limits *limits = &seat->reaper->limits;
    const uint64_t most_ms = reaper_now_ms() + limits->transfer_ms;
    const uint64_t bought_ms =
        atomic_load(&seat->deadline_ms) + size * UINT64_C(1000) / limits->bytes_per_s;
    atomic_store(&seat->deadline_ms, bought_ms < most_ms ? bought_ms : most_ms);
}

void reaper_await_reading(struct reaper_seat *seat, size_t size) {
    if (seat == NULL) {
        return;
    }
    const struct reaper_limits *limits = &seat->reaper->limits;
    const bool is_large = size > REAPER_LARGE_REPLY;
    const uint64_t taken = is_large ? reaper_acknowledged(seat->socket_fd) : REAPER_UNKNOWN;
    const bool is_untold = is_large && taken == REAPER_UNKNOWN; /* a UNIX socket */
    atomic_store(&seat->taken, taken);
    reaper_set(seat,
               limits->transfer_ms + (is_untold ? size * UINT64_C(1000) / limits->bytes_per_s : 0));
}

void reaper_await_request(struct reaper_seat *seat) {
    if (seat != NULL) {
        atomic_store(&seat->taken, REAPER_UNKNOWN);
        reaper_set(seat, seat->reaper->limits.idle_ms);
    }
}

void reaper_pause(struct reaper_seat *seat) {
    if (seat != NULL) {
        atomic_store(&seat->deadline_ms, REAPER_NEVER);
    }
}
