/* How the counters lie in memory, for the two files that count and write them.
 * Nobody else includes this. */
#ifndef SERVER_METRICS_TABLE_H
#define SERVER_METRICS_TABLE_H

#include "metrics.h"

#include <stdalign.h>
#include <stdatomic.h>

typedef atomic_uint_fast64_t metrics_counter;

#define METRICS_BOUNDS 18
#define METRICS_MAX_STATUSES 40
#define METRICS_LABEL_SIZE 64
#define METRICS_LINE 64 /* bytes of a cache line: the routes do not share any */

/* Index of the route that counts what has none. */
#define METRICS_OTHER 0

struct metrics_bound {
    uint64_t limit_ns;  /* the bucket counts up to and with it */
    const char *text_s; /* the same in seconds */
};

extern const struct metrics_bound metrics_bounds[METRICS_BOUNDS];

struct metrics_histogram {
    metrics_counter buckets[METRICS_BOUNDS + 1]; /* each for itself; the last is above all bounds */
    metrics_counter sum_ns;
};

struct metrics_route {
    alignas(METRICS_LINE) const struct route *route;
    const struct api_operation *operation;
    char label[METRICS_LABEL_SIZE];
    metrics_counter requests[METRICS_MAX_STATUSES + 1]; /* by index of statuses; then any other */
    struct metrics_histogram duration;
    metrics_counter request_bytes;
    metrics_counter reply_bytes;
};

struct metrics {
    uint64_t start_unix_ms;
    unsigned statuses[METRICS_MAX_STATUSES];
    size_t status_count;
    metrics_counter refused[API_CODE_COUNT];
    struct metrics_histogram queue_wait;
    metrics_counter late; /* jobs that ran out of time */
    metrics_counter gone; /* jobs whose client went away */
    size_t route_count;
    struct metrics_route routes[];
};

#endif
