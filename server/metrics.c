/* Atomic counters, one set for each route; a request that ends adds to a handful of them.
 * How they are written out stands in metrics_write.c. */
#define _GNU_SOURCE
#include "metrics_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const struct metrics_bound metrics_bounds[METRICS_BOUNDS] = {
    {50000, "0.00005"},  {100000, "0.0001"},  {250000, "0.00025"}, {500000, "0.0005"},
    {1000000, "0.001"},  {2500000, "0.0025"}, {5000000, "0.005"},  {10000000, "0.01"},
    {25000000, "0.025"}, {50000000, "0.05"},  {100000000, "0.1"},  {250000000, "0.25"},
    {500000000, "0.5"},  {1000000000, "1"},   {2500000000, "2.5"}, {5000000000, "5"},
    {10000000000, "10"}, {30000000000, "30"},
};

static void metrics_add(metrics_counter *counter, uint64_t value) {
    atomic_fetch_add_explicit(counter, value, memory_order_relaxed);
}

static void metrics_observe(struct metrics_histogram *histogram, uint64_t value_ns) {
    size_t bucket = 0;
    while (bucket < METRICS_BOUNDS && value_ns > metrics_bounds[bucket].limit_ns) {
        bucket++;
    }
    metrics_add(&histogram->buckets[bucket], 1);
    metrics_add(&histogram->sum_ns, value_ns);
}

/* ---- the tables that bound the labels ---- */

static void metrics_status_add(struct metrics *metrics, unsigned status) {
    for (size_t i = 0; i < metrics->status_count; i++) {
        if (metrics->statuses[i] == status) {
            return;
        }
    }
    if (metrics->status_count < METRICS_MAX_STATUSES) {
        metrics->statuses[metrics->status_count++] = status;
    }
}

/* 0 is "no reply". The last few are the HTTP library's own, or of routes that are no operations. */
static void metrics_statuses_make(struct metrics *metrics) {
    static const unsigned more[] = {204, 304, 500, 505};
    metrics_status_add(metrics, 0);
    metrics_status_add(metrics, 200);
    for (int code = API_OK + 1; code < API_CODE_COUNT; code++) {
        metrics_status_add(metrics, api_code_status((enum api_code)code));
    }
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++) {
        metrics_status_add(metrics, more[i]);
    }
}

static size_t metrics_status_find(const struct metrics *metrics, unsigned status) {
    size_t i = 0;
    while (i < metrics->status_count && metrics->statuses[i] != status) {
        i++;
    }
    return i; /* status_count: another one */
}

/* Calls add for each route, once for each operation that the route stands for. */
static size_t metrics_routes_each(struct metrics *metrics,
                                  void (*add)(struct metrics *metrics, const struct route *route,
                                              const struct api_operation *operation)) {
    size_t count = 0;
    for (size_t i = 0; routes_at(i) != NULL; i++) {
        const struct route *route = routes_at(i);
        size_t k = 0;
        do {
            if (add != NULL) {
                add(metrics, route, route->is_operation ? api_operations[k] : NULL);
            }
            count++;
        } while (route->is_operation && api_operations[++k] != NULL);
    }
    return count;
}

static void metrics_route_add(struct metrics *metrics, const struct route *route,
                              const struct api_operation *operation) {
    struct metrics_route *row = &metrics->routes[metrics->route_count++];
    row->route = route;
    row->operation = operation;
    if (operation != NULL) {
        const int fixed = (int)strcspn(route->path, "{");
        (void)snprintf(row->label, sizeof row->label, "%.*s%s", fixed, route->path,
                       operation->name);
    } else {
        (void)snprintf(row->label, sizeof row->label, "%s", route->path);
    }
}

/* Routes that differ by method alone have one label, so the first of them counts for all. */
static size_t metrics_route_find(const struct metrics *metrics, const struct route *route,
                                 const struct api_operation *operation) {
    for (size_t i = 1; route != NULL && i < metrics->route_count; i++) {
        const struct metrics_route *row = &metrics->routes[i];
        if (row->operation == operation &&
            (row->route == route || strcmp(row->route->path, route->path) == 0)) {
            return i;
        }
    }
    return METRICS_OTHER;
}

struct metrics *metrics_create(void) {
    struct timespec now;
    const size_t route_count = 1 + metrics_routes_each(NULL, NULL);
    const size_t size = sizeof(struct metrics) + route_count * sizeof(struct metrics_route);
    /* a size that is a multiple of the alignment, as aligned_alloc asks */
    const size_t whole = (size + METRICS_LINE - 1) / METRICS_LINE * METRICS_LINE;
    struct metrics *metrics = aligned_alloc(METRICS_LINE, whole);
    if (metrics == NULL) {
        return NULL;
    }
    memset(metrics, 0, whole);
    clock_gettime(CLOCK_REALTIME, &now);
    metrics->start_unix_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    metrics_statuses_make(metrics);
    metrics->route_count = 1;
    (void)snprintf(metrics->routes[METRICS_OTHER].label, METRICS_LABEL_SIZE, "other");
    (void)metrics_routes_each(metrics, metrics_route_add);
    return metrics;
}

void metrics_destroy(struct metrics *metrics) {
    free(metrics);
}

const char *metrics_route_label(const struct metrics *metrics, const struct route *route,
                                const struct api_operation *operation) {
    return metrics->routes[metrics_route_find(metrics, route, operation)].label;
}

static void metrics_count_queued(struct metrics *metrics, const struct exchange *exchange) {
    metrics_observe(&metrics->queue_wait, exchange->queue_wait_ns);
    switch (exchange->work_end) {
    case WORK_DONE:
        break;
    case WORK_LATE:
        metrics_add(&metrics->late, 1);
        break;
    case WORK_GONE:
        metrics_add(&metrics->gone, 1);
        break;
    }
}

void metrics_count(struct metrics *metrics, const struct exchange *exchange) {
    struct metrics_route *row =
        &metrics->routes[metrics_route_find(metrics, exchange->route, exchange->operation)];
    metrics_add(&row->requests[metrics_status_find(metrics, exchange->status)], 1);
    metrics_observe(&row->duration, exchange->duration_ns);
    metrics_add(&row->request_bytes, exchange->request_bytes);
    metrics_add(&row->reply_bytes, exchange->reply_bytes);
    if (exchange->code != API_OK) {
        metrics_add(&metrics->refused[exchange->code], 1);
    }
    if (exchange->was_queued) {
        metrics_count_queued(metrics, exchange);
    }
}
