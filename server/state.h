/* What the whole daemon shares while it runs. main owns it; everyone else is handed it.
 * It holds no requests and no sockets. */
#ifndef SERVER_STATE_H
#define SERVER_STATE_H

#include "pool.h"

#include <stdatomic.h>
#include <stdbool.h>

struct front;
struct log;
struct metrics;
struct stream_writer;

struct state {
    struct front *front; /* who may come in, and where */
    struct pool *pool;   /* for what is not done where it came in */
    struct stream_writer *stream_writer;
    struct metrics *metrics;
    struct log *log;
    atomic_size_t inflight_bytes; /* of bodies, held now */
    atomic_size_t connections;    /* open now */
    atomic_bool stopping;         /* a stop was asked for: no longer ready, connections close */
    const char *http_version;     /* of the HTTP library that is running */
};

#endif
