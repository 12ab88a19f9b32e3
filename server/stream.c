/* The window of a stream: a ring of chunks, each some whole lines, that the pool works on in any
 * order and that are written out in theirs. Who waits for what is all under one lock. */
#define _GNU_SOURCE
#include "stream.h"

#include "api/batch.h"
#include "api/json_write.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

/* Chunks in work or waiting to be written: enough to keep some workers busy while one is slow. */
#define STREAM_WINDOW 16

/* "00000000\r\n" before a chunk's bytes: leading zeros are allowed (RFC 9112, section 7.1). */
#define STREAM_FRAME_SIZE 10

#define STREAM_HEAD_SIZE (512 + STREAM_MAX_HEADERS)

/* Bytes that a stream may hold, as far as more than one chunk is concerned: lines in work, counted
 * with the results that they will have, and results that the client has not taken. */
#define STREAM_MAX_HELD ((size_t)8 << 20)

/* A line of numbers gives about half its size; one of short objects some ten times. */
#define STREAM_RESULT_RATIO 8

enum stream_chunk_state { STREAM_FREE, STREAM_RUNNING, STREAM_READY };

struct stream_chunk {
    struct pool_task task; /* first */
    struct stream *stream;
    enum stream_chunk_state state;
    size_t first_line;       /* number of its first line, from 0 */
    bool first_is_too_long;  /* that line was not kept */
    struct api_buffer text;  /* whole lines; the last may lack its newline */
    struct api_buffer reply; /* framed */
    size_t sent;             /* bytes of reply */
    size_t held;             /* bytes counted for it */
    size_t lines;
    size_t failed;
};

struct stream {
    struct stream_watch watch; /* first */
    struct stream_options options;
    pthread_mutex_t lock;
    struct api_buffer line; /* an unfinished line */
    bool line_is_too_long;
    size_t line_number;     /* of the unfinished line */
    struct api_buffer edge; /* head before the first chunk, terminator behind the last */
    size_t edge_sent;
    bool is_edge_last;
    struct stream_chunk chunks[STREAM_WINDOW];
    size_t first; /* the oldest chunk */
    size_t count;
    size_t running;
    size_t held; /* by all chunks */
    bool is_ended;
    bool is_waiting;
    bool is_abandoned; /* the last worker frees it */
    struct stream_counts counts;
};

/* ---- writing ------------------------------------------------------------------------------ */

static void stream_break(struct stream *stream) {
    stream->counts.is_broken = true;
}

/* Writes as much as the socket takes; true when all of it is out. */
static bool stream_send(struct stream *stream, const struct api_buffer *bytes, size_t *sent) {
    while (*sent < bytes->size && !stream->counts.is_broken) {
        const ssize_t size = send(stream->options.socket_fd, bytes->data + *sent,
                                  bytes->size - *sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (size > 0) {
            *sent += (size_t)size;
            stream->counts.reply_size += (size_t)size;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (!stream_writer_watch(stream->options.writer, &stream->watch)) {
                stream_break(stream);
            }
            return false;
        } else if (errno != EINTR) {
            stream_break(stream);
        }
    }
    return !stream->counts.is_broken;
}

/* Counts `size` bytes for the chunk from now on, in place of what was counted. */
static void chunk_hold(struct stream *stream, struct stream_chunk *chunk, size_t size) {
    stream->held += size - chunk->held;
    atomic_fetch_add(stream->options.inflight_bytes, size - chunk->held);
    chunk->held = size;
}

static void chunk_free(struct stream *stream, struct stream_chunk *chunk) {
    chunk_hold(stream, chunk, 0);
    api_buffer_finish(&chunk->text);
    api_buffer_finish(&chunk->reply);
    chunk->state = STREAM_FREE;
    stream->first = (stream->first + 1) % STREAM_WINDOW;
    stream->count -= 1;
}

static bool stream_is_drained(const struct stream *stream) {
    return stream->is_ended && stream->count == 0;
}

static bool stream_is_done(const struct stream *stream) {
    if (stream->counts.is_broken) {
        return stream->running == 0;
    }
    return stream_is_drained(stream) && stream->is_edge_last &&
           stream->edge_sent == stream->edge.size;
}

static bool stream_has_room(const struct stream *stream) {
    const bool fits = stream->count == 0 || stream->held < STREAM_MAX_HELD;
    return (fits && stream->count < STREAM_WINDOW) || stream->counts.is_broken;
}

/* The head or the terminator, whichever is next; true when nothing of it is left. */
static bool stream_send_edge(struct stream *stream) {
    if (!stream->is_edge_last && stream_is_drained(stream) &&
        stream->edge_sent == stream->edge.size) {
        stream->is_edge_last = true;
        stream->edge.size = stream->edge_sent = 0;
        api_buffer_text(&stream->edge, stream->options.is_chunked ? "0\r\n\r\n" : "");
    }
    return stream_send(stream, &stream->edge, &stream->edge_sent);
}

/* With the lock held. */
static void stream_flush(struct stream *stream) {
    bool goes_on = stream_send_edge(stream);
    while (goes_on && stream->count > 0) {
        struct stream_chunk *chunk = &stream->chunks[stream->first];
        if (chunk->state != STREAM_READY) {
            break;
        }
        goes_on = stream_send(stream, &chunk->reply, &chunk->sent);
        if (goes_on) {
            chunk_free(stream, chunk);
        }
    }
    if (goes_on && stream_is_drained(stream)) {
        (void)stream_send_edge(stream);
    }
}

/* With the lock held, as the last thing: behind it the network thread may destroy the stream as
 * soon as the lock is free. */
static void stream_tell(struct stream *stream) {
    const bool input_can_go_on = !stream->is_ended && stream_has_room(stream);
    if (stream->is_waiting && (input_can_go_on || stream_is_done(stream))) {
        stream->is_waiting = false;
        stream->options.resume(stream->options.context);
    }
}

/* On the writer's thread. */
static bool stream_ready(struct stream_watch *watch, bool stalled) {
    struct stream *stream = (struct stream *)watch;
    pthread_mutex_lock(&stream->lock);
    if (stalled) {
        stream_break(stream);
    }
    stream_flush(stream);
    const bool is_blocked = !stream->counts.is_broken && stream->count > 0 &&
                            stream->chunks[stream->first].state == STREAM_READY;
    const bool has_edge = !stream->counts.is_broken && stream->edge_sent < stream->edge.size;
    stream_tell(stream);
    pthread_mutex_unlock(&stream->lock);
    return is_blocked || has_edge;
}

/* Nothing works on it any more. */
static void stream_free(struct stream *stream) {
    stream_writer_forget(stream->options.writer, &stream->watch);
    pthread_mutex_lock(&stream->lock); /* whoever told of the end has let go of it */
    pthread_mutex_unlock(&stream->lock);
    pool_release(stream->options.pool);
    atomic_fetch_sub(stream->options.inflight_bytes, stream->held);
    for (size_t i = 0; i < STREAM_WINDOW; ++i) {
        api_buffer_finish(&stream->chunks[i].text);
        api_buffer_finish(&stream->chunks[i].reply);
    }
    api_buffer_finish(&stream->line);
    api_buffer_finish(&stream->edge);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

/* ---- working ------------------------------------------------------------------------------ */

static bool is_blank(const char *line, size_t size) {
    for (size_t i = 0; i < size; ++i) {
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r') {
            return false;
        }
    }
    return true;
}

static void chunk_answer_too_long(struct stream_chunk *chunk, size_t number) {
    struct api_problem problem;
    struct api_buffer *reply = &chunk->reply;
    reply->maximum = reply->size + chunk->stream->options.max_reply_size;
    api_problem_init(&problem);
    api_problem_set(&problem, API_PAYLOAD_TOO_LARGE, "the line is over %zu bytes",
                    chunk->stream->options.max_line_size);
    api_buffer_text(reply, "{\"index\":");
    api_write_number(reply, (double)number);
    api_write_key(reply, "status");
    api_write_number(reply, api_code_status(problem.code));
    api_write_key(reply, "problem");
    api_problem_write(&problem, NULL, reply);
    api_buffer_text(reply, "}\n");
    api_problem_finish(&problem);
    chunk->lines += 1;
    chunk->failed += 1;
}

static void chunk_answer_line(struct stream_chunk *chunk, const char *line, size_t size,
                              size_t number) {
    struct api_batch_result result;
    if (is_blank(line, size)) {
        return;
    }
    if (size > chunk->stream->options.max_line_size) {
        chunk_answer_too_long(chunk, number);
        return;
    }
    chunk->reply.maximum = chunk->reply.size + chunk->stream->options.max_reply_size;
    api_batch_item(line, size, number, "", &chunk->reply, &result);
    api_buffer_text(&chunk->reply, "\n");
    chunk->lines += 1;
    chunk->failed += result.code != API_OK ? 1 : 0;
}

static void chunk_answer(struct stream_chunk *chunk) {
    const char *at = chunk->text.data;
    const char *end = at + chunk->text.size;
    size_t number = chunk->first_line;
    if (chunk->first_is_too_long) {
        chunk_answer_too_long(chunk, number++);
    }
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline != NULL ? newline : end;
        chunk_answer_line(chunk, at, (size_t)(stop - at), number++);
        at = stop + 1;
    }
}

/* Puts the frame around what was answered; nothing at all when no line needed an answer, since an
 * empty chunk would end the reply. */
static void chunk_frame(struct stream_chunk *chunk) {
    struct api_buffer *reply = &chunk->reply;
    if (!chunk->stream->options.is_chunked) {
        return;
    }
    const size_t size = reply->size - STREAM_FRAME_SIZE;
    if (size == 0) {
        reply->size = 0;
        return;
    }
    char frame[STREAM_FRAME_SIZE + 1];
    (void)snprintf(frame, sizeof frame, "%08x\r\n", (unsigned)size);
    memcpy(reply->data, frame, STREAM_FRAME_SIZE);
    reply->maximum = reply->size + 2;
    api_buffer_text(reply, "\r\n");
}

static void chunk_run(struct pool_task *task, size_t index) {
    struct stream_chunk *chunk = (struct stream_chunk *)task;
    (void)index;
    if (chunk->stream->options.is_chunked) {
        chunk->reply.maximum = STREAM_FRAME_SIZE;
        api_buffer_append(&chunk->reply, "0000000000", STREAM_FRAME_SIZE);
    }
    if (!chunk->reply.failed) {
        chunk_answer(chunk);
        chunk_frame(chunk);
    }
}

static size_t chunk_done(struct pool_task *task) {
    struct stream_chunk *chunk = (struct stream_chunk *)task;
    struct stream *stream = chunk->stream;
    pthread_mutex_lock(&stream->lock);
    chunk->state = STREAM_READY;
    api_buffer_finish(&chunk->text);
    chunk_hold(stream, chunk, chunk->reply.capacity);
    stream->running -= 1;
    stream->counts.lines += chunk->lines;
    stream->counts.failed += chunk->failed;
    if (chunk->reply.failed) {
        stream_break(stream); /* no memory: a reply with a hole must not look whole */
    }
    stream_flush(stream);
    stream_tell(stream);
    const bool is_mine = stream->is_abandoned && stream->running == 0;
    pthread_mutex_unlock(&stream->lock);
    if (is_mine) {
        stream_free(stream);
    }
    return 0;
}

/* ---- reading ------------------------------------------------------------------------------ */

static size_t count_lines(const char *text, size_t size) {
    size_t count = 0;
    const char *end = text + size;
    for (const char *at = text; at < end; ++at) {
        at = memchr(at, '\n', (size_t)(end - at));
        if (at == NULL) {
            break;
        }
        ++count;
    }
    return count;
}

/* Hands the unfinished line and `size` bytes behind it to the pool. There is room. */
static void stream_start_chunk(struct stream *stream, const char *data, size_t size) {
    static const struct pool_handler handler = {chunk_run, chunk_done};
    struct stream_chunk *chunk = &stream->chunks[(stream->first + stream->count) % STREAM_WINDOW];
    *chunk = (struct stream_chunk){.stream = stream,
                                   .state = STREAM_RUNNING,
                                   .first_line = stream->line_number,
                                   .first_is_too_long = stream->line_is_too_long,
                                   .text = stream->line};
    chunk->text.maximum = SIZE_MAX / 2;
    if (chunk->first_is_too_long) {
        const char *newline = memchr(data, '\n', size);
        const size_t skipped = newline == NULL ? size : (size_t)(newline - data) + 1;
        api_buffer_append(&chunk->text, data + skipped, size - skipped);
    } else {
        api_buffer_append(&chunk->text, data, size);
    }
    api_buffer_init(&stream->line, stream->options.max_line_size);
    api_buffer_init(&chunk->reply, 0);
    stream->line_is_too_long = false;
    stream->line_number += count_lines(data, size);
    chunk_hold(stream, chunk, STREAM_RESULT_RATIO * chunk->text.size);
    stream->count += 1;
    stream->running += 1;
    if (chunk->text.failed) {
        stream_break(stream);
    }
    chunk->task.handler = &handler;
    chunk->task.is_in_place = true;
    pool_submit(stream->options.pool, &chunk->task, 1);
}

static void stream_keep(struct stream *stream, const char *data, size_t size) {
    if (stream->line_is_too_long || size == 0) {
        return;
    }
    api_buffer_append(&stream->line, data, size);
    if (stream->line.failed) {
        stream->line_is_too_long = true;
        api_buffer_finish(&stream->line);
    }
}

size_t stream_feed(struct stream *stream, const char *data, size_t size) {
    pthread_mutex_lock(&stream->lock);
    const char *newline = memrchr(data, '\n', size);
    size_t taken = size;
    if (!stream->counts.is_broken) {
        if (newline == NULL) {
            stream_keep(stream, data, size);
        } else if (!stream_has_room(stream)) {
            taken = 0;
        } else {
            const size_t whole = (size_t)(newline - data) + 1;
            stream_start_chunk(stream, data, whole);
            stream_keep(stream, data + whole, size - whole);
        }
    }
    pthread_mutex_unlock(&stream->lock);
    return taken;
}

void stream_end(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    const bool has_line = stream->line.size > 0 || stream->line_is_too_long;
    if (!stream->is_ended && has_line && !stream->counts.is_broken && stream_has_room(stream)) {
        stream_start_chunk(stream, "", 0);
    }
    const bool is_all_started = stream->line.size == 0 && !stream->line_is_too_long;
    if (!stream->is_ended && (is_all_started || stream->counts.is_broken)) {
        stream->is_ended = true;
        stream_flush(stream);
    }
    pthread_mutex_unlock(&stream->lock);
}

/* ---- life --------------------------------------------------------------------------------- */

static void write_head(struct stream *stream) {
    const struct stream_options *options = &stream->options;
    char date[64];
    char head[STREAM_HEAD_SIZE];
    struct tm parts;
    const time_t now = time(NULL);
    gmtime_r(&now, &parts);
    (void)strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    (void)snprintf(head, sizeof head,
                   "HTTP/1.1 200 OK\r\nDate: %s\r\nConnection: close\r\n"
                   "Content-Type: application/x-ndjson\r\n%s%sX-Request-Id: %s\r\n\r\n",
                   date, options->is_chunked ? "Transfer-Encoding: chunked\r\n" : "",
                   options->headers, options->request_id);
    api_buffer_init(&stream->edge, STREAM_HEAD_SIZE);
    api_buffer_text(&stream->edge, head);
}

struct stream *stream_create(const struct stream_options *options) {
    struct stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL || !pool_reserve(options->pool)) {
        free(stream);
        return NULL;
    }
    pthread_mutex_init(&stream->lock, NULL);
    stream->options = *options;
    stream->watch.fd = options->socket_fd;
    stream->watch.ready = stream_ready;
    api_buffer_init(&stream->line, options->max_line_size);
    write_head(stream);
    stream->options.request_id = stream->options.headers = NULL;
    if (stream->edge.failed) {
        stream_free(stream);
        return NULL;
    }
    return stream;
}

void stream_abandon(struct stream *stream) {
    if (stream == NULL) {
        return;
    }
    pthread_mutex_lock(&stream->lock);
    stream_break(stream);
    stream->is_waiting = false;
    stream->is_abandoned = true;
    const bool is_mine = stream->running == 0;
    pthread_mutex_unlock(&stream->lock);
    if (is_mine) {
        stream_free(stream);
    }
}

bool stream_is_finished(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    const bool is_finished = stream_is_done(stream);
    pthread_mutex_unlock(&stream->lock);
    return is_finished;
}

bool stream_wait(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    const bool input_can_go_on = !stream->is_ended && stream_has_room(stream);
    stream->is_waiting = !input_can_go_on && !stream_is_done(stream);
    const bool is_waiting = stream->is_waiting;
    pthread_mutex_unlock(&stream->lock);
    return is_waiting;
}

struct stream_counts stream_counts(struct stream *stream) {
    pthread_mutex_lock(&stream->lock);
    const struct stream_counts counts = stream->counts;
    pthread_mutex_unlock(&stream->lock);
    return counts;
}
