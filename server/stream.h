/* A stream of lines: requests in, results out, at the same time and in bounded memory.
 * Lines are worked on by the pool and answered in order, on the client's socket itself, since the
 * HTTP library can answer only behind the whole upload. It knows nothing of that library.
 *
 * The network thread feeds what has come in. Behind a full window, or at the end, it waits: it
 * suspends the connection, and `resume` is called when there is progress. */
#ifndef SERVER_STREAM_H
#define SERVER_STREAM_H

#include "pool.h"
#include "stream_writer.h"

#include "api/buffer.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct stream;

#define STREAM_MAX_HEADERS 1024

struct stream_options {
    struct pool *pool;
    struct stream_writer *writer;
    int socket_fd;                 /* the client's; not closed here */
    bool is_chunked;               /* HTTP/1.1; else the end of the connection ends the reply */
    const char *request_id;        /* copied */
    const char *headers;           /* more lines for the head, each with its end; copied */
    atomic_size_t *inflight_bytes; /* counts lines in work and results not yet taken */
    size_t max_line_size;          /* a longer line is answered with a problem */
    size_t max_reply_size;         /* of one line */
    void (*resume)(void *context);
    void *context;
};

/* Takes a place on the pool that it holds until it is freed. NULL: no place or no memory. */
struct stream *stream_create(const struct stream_options *options);

/* Lets go of the stream: no more calls of resume, no more bytes to the socket. It is freed now, or
 * by the last worker that is still at one of its lines. Accepts NULL. */
void stream_abandon(struct stream *stream);

/* Takes some or all of the bytes; fewer when the window is full, or all, unread, once it failed. */
size_t stream_feed(struct stream *stream, const char *data, size_t size);

/* There is no more input. */
void stream_end(struct stream *stream);

/* All is answered, or the client is gone, and no thread works on it any more. */
bool stream_is_finished(struct stream *stream);

/* Asks for one call of resume when more can be fed or the stream is finished. False when that is so
 * already: resume will not be called. */
bool stream_wait(struct stream *stream);

struct stream_counts {
    size_t lines;
    size_t failed; /* of the lines */
    size_t reply_size;
    bool is_broken; /* the client went away or read too slowly */
};

struct stream_counts stream_counts(struct stream *stream);

#endif
