/* Puts lines together and writes each with one system call that does not block.
 * How a line is built and escaped stands in log_line.c. */
#define _GNU_SOURCE
#include "log.h"

#include "log_line.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum log_way {
    LOG_WAY_WRITE, /* a file, or a descriptor of ours that does not block */
    LOG_WAY_SEND,  /* a socket, such as journald's */
    LOG_WAY_POLL,  /* a pipe or terminal that could not be opened again */
};

struct log {
    enum log_target target;
    enum log_way way;
    int descriptor;
    int own_descriptor;  /* to be closed; -1 for none */
    atomic_bool is_torn; /* part of a line was written: the next one begins on a new line */
    atomic_uint_fast64_t dropped[LOG_DROP_COUNT];
    atomic_uint_fast64_t window_s; /* the second that the messages in window_count belong to */
    atomic_uint_fast64_t window_count;
};

/* O_NONBLOCK belongs to the open file, which others may share (a shell, the other end of a
 * terminal), so a pipe or terminal is opened a second time for us alone. */
static void log_open(struct log *log, int descriptor) {
    struct stat status;
    char path[32];
    log->descriptor = descriptor;
    log->own_descriptor = -1;
    log->way = LOG_WAY_WRITE;
    if (fstat(descriptor, &status) != 0 || S_ISREG(status.st_mode)) {
        return;
    }
    if (S_ISSOCK(status.st_mode)) {
        log->way = LOG_WAY_SEND;
        return;
    }
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    log->own_descriptor = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (log->own_descriptor >= 0) {
        log->descriptor = log->own_descriptor;
    } else {
        log->way = LOG_WAY_POLL; /* not ours to open: another user's */
    }
}

struct log *log_create(enum log_target target, int descriptor) {
    struct log *log = calloc(1, sizeof *log);
    if (log != NULL) {
        log->target = target;
        log_open(log, descriptor);
    }
    return log;
}

void log_destroy(struct log *log) {
    if (log != NULL && log->own_descriptor >= 0) {
        close(log->own_descriptor);
    }
    free(log);
}

uint64_t log_dropped(struct log *log, enum log_drop reason) {
    return atomic_load_explicit(&log->dropped[reason], memory_order_relaxed);
}

static void log_drop(struct log *log, enum log_drop reason) {
    atomic_fetch_add_explicit(&log->dropped[reason], 1, memory_order_relaxed);
}

static ssize_t log_put(struct log *log, const char *text, size_t size) {
    struct pollfd poll_fd = {.fd = log->descriptor, .events = POLLOUT};
    switch (log->way) {
    case LOG_WAY_SEND:
        return send(log->descriptor, text, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    case LOG_WAY_POLL:
        if (poll(&poll_fd, 1, 0) <= 0 || (poll_fd.revents & POLLOUT) == 0) {
            return -1;
        }
        break;
    case LOG_WAY_WRITE:
        break;
    }
    return write(log->descriptor, text, size);
}

/* The text begins with a line's end, which is left out unless the last line was torn. */
static void log_write(struct log *log, const char *text, size_t size) {
    const bool was_torn = atomic_load_explicit(&log->is_torn, memory_order_relaxed) &&
                          atomic_exchange(&log->is_torn, false);
    const size_t skipped = was_torn ? 0 : 1;
    const ssize_t written = log_put(log, text + skipped, size - skipped);
    if (written == (ssize_t)(size - skipped)) {
        return;
    }
    log_drop(log, LOG_DROP_FULL);
    if (written > 0 || was_torn) {
        atomic_store(&log->is_torn, true);
    }
}

static uint64_t log_unix_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static const char *log_level_text(enum log_level level) {
    switch (level) {
    case LOG_INFO:
        return "info";
    case LOG_WARN:
        return "warn";
    case LOG_ERROR:
        return "error";
    }
    return NULL;
}

static const char *log_end_text(enum exchange_end end) {
    switch (end) {
    case EXCHANGE_ANSWERED:
        return "answered";
    case EXCHANGE_CLIENT_GONE:
        return "client-gone";
    case EXCHANGE_TIMED_OUT:
        return "timeout";
    case EXCHANGE_STOPPED:
        return "stopped";
    case EXCHANGE_BROKEN:
        return "broken";
    }
    return NULL;
}

static void log_begin(struct log_line *line, enum log_level level) {
    char time[LOG_LINE_TIME_SIZE];
    log_line_begin(line);
    log_line_time(log_unix_ms(), time);
    log_line_text(line, "ts", time);
    log_line_text(line, "level", log_level_text(level));
}

static void log_end(struct log *log, struct log_line *line) {
    log_line_end(line);
    log_write(log, line->text, line->size);
}

static void log_add_result(struct log_line *line, const struct exchange *exchange) {
    if (exchange->status > 0) {
        log_line_number(line, "status", exchange->status);
        const bool is_ours = exchange->code != API_OK || exchange->status < 400;
        log_line_text(line, "code", is_ours ? api_code_wire(exchange->code) : NULL);
    } else {
        log_line_text(line, "status", NULL);
    }
    if (exchange->end != EXCHANGE_ANSWERED) {
        log_line_text(line, "end", log_end_text(exchange->end));
    }
    log_line_number(line, "bytesIn", exchange->request_bytes);
    log_line_number(line, "bytesOut", exchange->reply_bytes);
    log_line_milliseconds(line, "durationMs", exchange->duration_ns);
    if (exchange->was_queued) {
        log_line_milliseconds(line, "queueWaitMs", exchange->queue_wait_ns);
        log_line_number(line, "items", exchange->items);
    }
}

static enum log_level log_level_of(const struct exchange *exchange) {
    if (exchange->status >= 500) {
        return LOG_ERROR;
    }
    return exchange->end == EXCHANGE_ANSWERED ? LOG_INFO : LOG_WARN;
}

static void log_add_client(struct log_line *line, const struct address *client) {
    char text[ADDRESS_TEXT_SIZE];
    if (client == NULL) {
        log_line_text(line, "client", NULL);
        return;
    }
    address_format(client, text);
    log_line_text(line, "client", text);
}

void log_exchange(struct log *log, const struct exchange *exchange, const char *route) {
    struct log_line line;
    if (log->target == LOG_OFF) {
        return;
    }
    log_begin(&line, log_level_of(exchange));
    log_line_text(&line, "requestId", exchange->request_id);
    if (exchange->trace_id[0] != '\0') {
        log_line_text(&line, "traceId", exchange->trace_id);
    }
    log_line_text(&line, "method", exchange->method);
    log_line_text(&line, "route", route);
    log_line_text(&line, "path", exchange->path);
    log_add_result(&line, exchange);
    log_add_client(&line, exchange->client);
    log_end(log, &line);
}

/* Control characters become blanks, so that a plain message stays one line. */
static void log_write_plain(struct log *log, const char *text) {
    char line[1024];
    const int size = snprintf(line, sizeof line, "\nskind: %s", text);
    size_t end = size < (int)sizeof line ? (size_t)size : sizeof line - 1;
    for (size_t i = 1; i < end; i++) {
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7F) {
            line[i] = ' ';
        }
    }
    line[end] = '\n';
    log_write(log, line, end + 1);
}

static void log_tell(struct log *log, enum log_level level, const char *text) {
    struct log_line line;
    if (log->target == LOG_OFF) {
        log_write_plain(log, text);
        return;
    }
    log_begin(&line, level);
    log_line_text(&line, "message", text);
    log_end(log, &line);
}

void log_message(struct log *log, enum log_level level, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    log_tell(log, level, text);
}

/* Two threads at the turn of a second may let a few more through; nobody counts on the number. */
static bool log_is_in_rate(struct log *log) {
    const uint64_t now_s = work_now_ns() / 1000000000U;
    if (atomic_exchange_explicit(&log->window_s, now_s, memory_order_relaxed) != now_s) {
        atomic_store_explicit(&log->window_count, 0, memory_order_relaxed);
    }
    return atomic_fetch_add_explicit(&log->window_count, 1, memory_order_relaxed) < LOG_MAX_RATE;
}

void log_library(struct log *log, const char *text) {
    if (!log_is_in_rate(log)) {
        log_drop(log, LOG_DROP_RATE);
        return;
    }
    log_message(log, LOG_WARN, "libmicrohttpd: %s", text);
}
