/* The thread of stream_writer.h: a table under one lock, and a poll over the sockets in it.
 * A socket is called for outside of the lock, so that the table can change meanwhile. */
#define _GNU_SOURCE
#include "stream_writer.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define WRITER_TICK_MS 250 /* how often stalls are looked for */

struct stream_writer {
    pthread_mutex_t lock;
    pthread_cond_t called; /* `current` changed */
    pthread_t thread;
    bool is_started;
    bool is_stopping;
    int wake_fd;
    uint64_t stall_ns;
    size_t capacity;
    size_t count;
    struct stream_watch **watches;
    struct stream_watch *current; /* being called now */
    struct pollfd *poll_fds;      /* the thread's own: wake_fd, then one for each of polled */
    struct stream_watch **polled;
};

static uint64_t writer_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static void writer_wake(const struct stream_writer *writer) {
    const uint64_t one = 1;
    (void)!write(writer->wake_fd, &one, sizeof one); /* fails only when it is awake already */
}

static void writer_remove(struct stream_writer *writer, struct stream_watch *watch) {
    if (watch->place == 0) {
        return;
    }
    struct stream_watch *last = writer->watches[--writer->count];
    writer->watches[watch->place - 1] = last;
    last->place = watch->place;
    watch->place = 0;
}

/* With the lock held; it is released while the watch is called. */
static void writer_call(struct stream_writer *writer, struct stream_watch *watch, bool stalled) {
    writer->current = watch;
    watch->again = false;
    pthread_mutex_unlock(&writer->lock);
    const bool goes_on = watch->ready(watch, stalled);
    pthread_mutex_lock(&writer->lock);
    watch->since_ns = writer_now_ns();
    if (!goes_on && !watch->again) { /* a worker may have found the socket full since */
        writer_remove(writer, watch);
    }
    writer->current = NULL;
    pthread_cond_broadcast(&writer->called);
}

static size_t writer_prepare(struct stream_writer *writer) {
    writer->poll_fds[0] = (struct pollfd){.fd = writer->wake_fd, .events = POLLIN};
    for (size_t i = 0; i < writer->count; ++i) {
        writer->polled[i] = writer->watches[i];
        writer->poll_fds[i + 1] = (struct pollfd){.fd = writer->watches[i]->fd, .events = POLLOUT};
    }
    return writer->count;
}

/* A watch that was forgotten while poll waited has no place any more, or another one's. */
static bool writer_has(const struct stream_writer *writer, const struct stream_watch *watch) {
    for (size_t i = 0; i < writer->count; ++i) {
        if (writer->watches[i] == watch) {
            return true;
        }
    }
    return false;
}

static void writer_serve(struct stream_writer *writer, size_t count) {
    uint64_t value;
    if (writer->poll_fds[0].revents != 0) {
        (void)!read(writer->wake_fd, &value, sizeof value);
    }
    const uint64_t now_ns = writer_now_ns();
    for (size_t i = 0; i < count; ++i) {
        struct stream_watch *watch = writer->polled[i];
        if (!writer_has(writer, watch)) {
            continue;
        }
        const bool is_ready = writer->poll_fds[i + 1].revents != 0;
        const bool is_stalled =
            now_ns > watch->since_ns && now_ns - watch->since_ns > writer->stall_ns;
        if (is_ready || is_stalled) {
            writer_call(writer, watch, !is_ready);
        }
    }
}

static void *writer_work(void *context) {
    struct stream_writer *writer = context;
    pthread_mutex_lock(&writer->lock);
    while (!writer->is_stopping) {
        const size_t count = writer_prepare(writer);
        pthread_mutex_unlock(&writer->lock);
        (void)poll(writer->poll_fds, count + 1, WRITER_TICK_MS);
        pthread_mutex_lock(&writer->lock);
        writer_serve(writer, count);
    }
    pthread_mutex_unlock(&writer->lock);
    return NULL;
}

struct stream_writer *stream_writer_create(size_t capacity, uint64_t stall_ms) {
    struct stream_writer *writer = calloc(1, sizeof *writer);
    if (writer == NULL) {
        return NULL;
    }
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->called, NULL);
    writer->capacity = capacity;
    writer->stall_ns = stall_ms * 1000000U;
    writer->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    writer->watches = calloc(capacity, sizeof(struct stream_watch *));
    writer->polled = calloc(capacity, sizeof(struct stream_watch *));
    writer->poll_fds = calloc(capacity + 1, sizeof *writer->poll_fds);
    if (writer->wake_fd >= 0 && writer->watches != NULL && writer->polled != NULL &&
        writer->poll_fds != NULL) {
        writer->is_started = pthread_create(&writer->thread, NULL, writer_work, writer) == 0;
    }
    if (!writer->is_started) {
        stream_writer_destroy(writer);
        return NULL;
    }
    return writer;
}

void stream_writer_destroy(struct stream_writer *writer) {
    if (writer == NULL) {
        return;
    }
    if (writer->is_started) {
        pthread_mutex_lock(&writer->lock);
        writer->is_stopping = true;
        pthread_mutex_unlock(&writer->lock);
        writer_wake(writer);
        pthread_join(writer->thread, NULL);
    }
    if (writer->wake_fd >= 0) {
        close(writer->wake_fd);
    }
    free((void *)writer->watches);
    free((void *)writer->polled);
    free(writer->poll_fds);
    pthread_cond_destroy(&writer->called);
    pthread_mutex_destroy(&writer->lock);
    free(writer);
}

bool stream_writer_watch(struct stream_writer *writer, struct stream_watch *watch) {
    pthread_mutex_lock(&writer->lock);
    bool ok = watch->place != 0;
    watch->again = true;
    if (!ok && writer->count < writer->capacity) {
        writer->watches[writer->count++] = watch;
        watch->place = writer->count;
        watch->since_ns = writer_now_ns();
        ok = true;
    }
    pthread_mutex_unlock(&writer->lock);
    writer_wake(writer);
    return ok;
}

void stream_writer_forget(struct stream_writer *writer, struct stream_watch *watch) {
    pthread_mutex_lock(&writer->lock);
    while (writer->current == watch) {
        pthread_cond_wait(&writer->called, &writer->lock);
    }
    writer_remove(writer, watch);
    pthread_mutex_unlock(&writer->lock);
}
