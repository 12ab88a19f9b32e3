/* Counters and histograms of the requests served: counted without a lock, told in Prometheus's text
 * format. Every set of labels is bounded by our own tables; nothing a client sends becomes one. */
#ifndef SERVER_METRICS_H
#define SERVER_METRICS_H

#include "exchange.h"

struct metrics;

/* NULL when memory is out. */
struct metrics *metrics_create(void);
void metrics_destroy(struct metrics *metrics);

/* Counts a request that is over. */
void metrics_count(struct metrics *metrics, const struct exchange *exchange);

/* How a route is named in labels and in the log: its pattern, with an operation's name filled in;
 * "other" for no route. */
const char *metrics_route_label(const struct metrics *metrics, const struct route *route,
                                const struct api_operation *operation);

/* Appends all of it, with what the state tells besides. */
void metrics_write(const struct metrics *metrics, const struct state *state,
                   struct api_buffer *out);

#endif
