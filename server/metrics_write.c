/* The text of GET /metrics: https://prometheus.io/docs/instrumenting/exposition_formats, version
 * 0.0.4. It counts nothing itself. */
#include "log.h"
#include "metrics_process.h"
#include "metrics_table.h"

#include <inttypes.h>
#include <stdio.h>

static void write_format(struct api_buffer *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void write_format(struct api_buffer *out, const char *format, ...) {
    char line[320];
    va_list arguments;
    va_start(arguments, format);
    const int size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    api_buffer_append(out, line, size < (int)sizeof line ? (size_t)size : sizeof line - 1);
}

static uint64_t write_load(const metrics_counter *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void write_head(struct api_buffer *out, const char *name, const char *type,
                       const char *help) {
    write_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void write_single(struct api_buffer *out, const char *name, const char *type,
                         const char *help, uint64_t value) {
    write_head(out, name, type, help);
    write_format(out, "%s %" PRIu64 "\n", name, value);
}

/* label is "" or such as route="/healthz". The count is made from the buckets, so that the two
 * never disagree while requests go on. */
static void write_histogram(struct api_buffer *out, const char *name, const char *label,
                            const struct metrics_histogram *histogram) {
    const char *comma = *label != '\0' ? "," : "";
    const char *open = *label != '\0' ? "{" : "";
    const char *close = *label != '\0' ? "}" : "";
    uint64_t count = 0;
    for (size_t i = 0; i <= METRICS_BOUNDS; i++) {
        count += write_load(&histogram->buckets[i]);
        write_format(out, "%s_bucket{%s%sle=\"%s\"} %" PRIu64 "\n", name, label, comma,
                     i < METRICS_BOUNDS ? metrics_bounds[i].text_s : "+Inf", count);
    }
    write_format(out, "%s_sum%s%s%s %.9f\n", name, open, label, close,
                 (double)write_load(&histogram->sum_ns) / 1e9);
    write_format(out, "%s_count%s%s%s %" PRIu64 "\n", name, open, label, close, count);
}

static void write_requests_of(struct api_buffer *out, const struct metrics *metrics,
                              const struct metrics_route *row) {
    for (size_t i = 0; i <= metrics->status_count; i++) {
        const uint64_t count = write_load(&row->requests[i]);
        if (count == 0) {
            continue; /* most pairs never occur */
        }
        if (i == metrics->status_count) {
            write_format(out, "skind_requests_total{route=\"%s\",status=\"other\"} %" PRIu64 "\n",
                         row->label, count);
        } else if (metrics->statuses[i] == 0) {
            write_format(out, "skind_requests_total{route=\"%s\",status=\"none\"} %" PRIu64 "\n",
                         row->label, count);
        } else {
            write_format(out, "skind_requests_total{route=\"%s\",status=\"%u\"} %" PRIu64 "\n",
                         row->label, metrics->statuses[i], count);
        }
    }
}

/* True when an earlier row has the label: it counts for this one too. */
static bool write_is_repeated(const struct metrics *metrics, const struct metrics_route *row) {
    return metrics_route_label(metrics, row->route, row->operation) != row->label;
}

static void write_routes(struct api_buffer *out, const struct metrics *metrics) {
    char label[METRICS_LABEL_SIZE + 16];
    write_head(out, "skind_requests_total", "counter",
               "Requests that are over, by route and status; none: no reply was begun.");
    for (size_t i = 0; i < metrics->route_count; i++) {
        write_requests_of(out, metrics, &metrics->routes[i]);
    }
    write_head(out, "skind_request_duration_seconds", "histogram",
               "From the request line to the last byte of the reply.");
    for (size_t i = 0; i < metrics->route_count; i++) {
        if (!write_is_repeated(metrics, &metrics->routes[i])) {
            (void)snprintf(label, sizeof label, "route=\"%s\"", metrics->routes[i].label);
            write_histogram(out, "skind_request_duration_seconds", label,
                            &metrics->routes[i].duration);
        }
    }
}

static void write_bytes(struct api_buffer *out, const struct metrics *metrics, bool is_reply) {
    const char *name = is_reply ? "skind_reply_bytes_total" : "skind_request_bytes_total";
    write_head(out, name, "counter",
               is_reply ? "Bytes of reply bodies." : "Bytes of request bodies.");
    for (size_t i = 0; i < metrics->route_count; i++) {
        const struct metrics_route *row = &metrics->routes[i];
        if (!write_is_repeated(metrics, row)) {
            write_format(out, "%s{route=\"%s\"} %" PRIu64 "\n", name, row->label,
                         write_load(is_reply ? &row->reply_bytes : &row->request_bytes));
        }
    }
}

static void write_refused(struct api_buffer *out, const struct metrics *metrics) {
    write_head(out, "skind_refused_total", "counter",
               "Requests answered with a problem, by its code.");
    for (int code = API_OK + 1; code < API_CODE_COUNT; code++) {
        write_format(out, "skind_refused_total{code=\"%s\"} %" PRIu64 "\n",
                     api_code_wire((enum api_code)code), write_load(&metrics->refused[code]));
    }
}

static void write_pool(struct api_buffer *out, const struct metrics *metrics, struct pool *pool) {
    const struct pool_load load = pool_load(pool);
    write_single(out, "skind_queue_depth", "gauge", "Requests on the pool, waiting or running.",
                 load.tasks);
    write_single(out, "skind_queue_capacity", "gauge", "Most requests that the pool takes.",
                 load.capacity);
    write_head(out, "skind_queue_wait_seconds", "histogram",
               "Time on the pool before a request's first item was begun.");
    write_histogram(out, "skind_queue_wait_seconds", "", &metrics->queue_wait);
    write_single(out, "skind_workers", "gauge", "Threads of the pool.", load.workers);
    write_single(out, "skind_workers_busy", "gauge", "Threads of the pool that run an item.",
                 load.busy);
    write_single(out, "skind_items_total", "counter", "Items that ran on the pool.", load.items);
    write_head(out, "skind_jobs_skipped_total", "counter",
               "Requests on the pool that were given up, by reason.");
    write_format(out, "skind_jobs_skipped_total{reason=\"client-gone\"} %" PRIu64 "\n",
                 write_load(&metrics->gone));
    write_format(out, "skind_jobs_skipped_total{reason=\"deadline\"} %" PRIu64 "\n",
                 write_load(&metrics->late));
}

static void write_log(struct api_buffer *out, struct log *log) {
    write_head(out, "skind_log_dropped_total", "counter",
               "Log lines that were not written, by reason.");
    write_format(out, "skind_log_dropped_total{reason=\"full\"} %" PRIu64 "\n",
                 log_dropped(log, LOG_DROP_FULL));
    write_format(out, "skind_log_dropped_total{reason=\"rate\"} %" PRIu64 "\n",
                 log_dropped(log, LOG_DROP_RATE));
}

static void write_process(struct api_buffer *out, const struct metrics *metrics) {
    const struct metrics_process process = metrics_process_read();
    write_head(out, "process_cpu_seconds_total", "counter", "Processor time, user and system.");
    write_format(out, "process_cpu_seconds_total %.6f\n", (double)process.cpu_us / 1e6);
    if (process.open_fds > 0) { /* /proc is there */
        write_single(out, "process_resident_memory_bytes", "gauge", "Resident memory.",
                     process.resident_bytes);
        write_single(out, "process_open_fds", "gauge", "Open file descriptors.", process.open_fds);
    }
    write_single(out, "process_max_fds", "gauge", "Most file descriptors that may be open.",
                 process.max_fds);
    write_head(out, "process_start_time_seconds", "gauge", "Start, since the Unix epoch.");
    write_format(out, "process_start_time_seconds %.3f\n", (double)metrics->start_unix_ms / 1e3);
}

void metrics_write(const struct metrics *metrics, const struct state *state,
                   struct api_buffer *out) {
    write_routes(out, metrics);
    write_bytes(out, metrics, false);
    write_bytes(out, metrics, true);
    write_refused(out, metrics);
    write_pool(out, metrics, state->pool);
    write_single(out, "skind_inflight_bytes", "gauge", "Bytes of request bodies held now.",
                 atomic_load_explicit(&state->inflight_bytes, memory_order_relaxed));
    write_single(out, "skind_connections", "gauge", "Connections open now.",
                 atomic_load_explicit(&state->connections, memory_order_relaxed));
    write_log(out, state->log);
    write_process(out, metrics);
    write_head(out, "skind_build_info", "gauge", "What is running; the value is always 1.");
    write_format(out,
                 "skind_build_info{version=\"" SKIND_VERSION
                 "\",libmicrohttpd=\"%s\",jansson=\"%s\"} 1\n",
                 state->http_version, api_json_version());
}
