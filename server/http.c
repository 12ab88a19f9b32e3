/* Serves HTTP with libmicrohttpd: one daemon in poll mode for each thread, each with a listening
 * socket of its own. The only file that includes microhttpd.h; it decides nothing that gate.c,
 * admit.c or a handler could decide. */
#define _GNU_SOURCE
#include "http.h"

#include "admit.h"
#include "descriptors.h"
#include "front.h"
#include "gzip.h"
#include "listen.h"
#include "log.h"
#include "metrics.h"
#include "processors.h"
#include "reaper.h"
#include "stream.h"
#include "trace.h"
#include "work.h"

#include <errno.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* Bytes for one connection's headers and pieces of body. libmicrohttpd clears it at each request,
 * so more is slower: with 64 KiB, posts of 8 KB take 10 % more time. It must hold
 * GATE_MAX_HEADER_SIZE and a long target. */
#define HTTP_CONNECTION_MEMORY ((size_t)32 << 10)

/* A refused body is read and thrown away up to here, so that the client gets to the reply. */
#define HTTP_MAX_DRAIN ((uint64_t)64 << 20)

/* What a Content-Length alone may make us allocate. */
#define HTTP_FIRST_BODY_CAPACITY ((uint64_t)64 << 10)

/* A reply of fewer bytes is not worth packing. */
#define HTTP_MIN_PACKED 1024

/* Connections beyond max_connections that are still accepted, each to be told 503: at its own limit
 * libmicrohttpd would let them wait. */
#define HTTP_SPARE_CONNECTIONS 64

/* Descriptors of each thread that are still to be opened (a socket, two for its wake-up), and what
 * else may be needed: files of tokens, the library's own. */
#define HTTP_THREAD_DESCRIPTORS 3
#define HTTP_OTHER_DESCRIPTORS 8

/* One thread's listening side. */
struct http_door {
    struct http_server *server;
    atomic_size_t connections;
};

struct http_client {
    struct http_door *door;
    struct reaper_seat *seat;     /* NULL when there was none left */
    bool is_over;                 /* one connection too many: to be told so, and closed */
    struct http_request *request; /* the one under way, also before a handler has seen it */
};

struct http_server {
    const struct settings *settings;
    struct state *state;
    pthread_mutex_t stream_lock;
    struct http_request *streams; /* open ones, so that a stop can cut them */
    struct address address;
    struct reaper *reaper;
    size_t door_limit; /* connections of one thread that the library takes */
    size_t door_busy;  /* connections of one thread that are served; those behind are told 503 */
    atomic_size_t connections;
    struct http_door *doors;
    struct MHD_Daemon **daemons;
    int *sockets;
    size_t count;      /* of daemons and sockets */
    size_t started;    /* daemons that run */
    bool is_listening; /* the sockets are open */
    uint64_t request_id_seed;
    atomic_size_t open_requests;
    atomic_size_t requests;
};

struct http_request {
    struct work work; /* its way through the pool; the first member */
    struct http_server *server;
    struct MHD_Connection *connection;
    bool has_begun;
    struct stream *stream;            /* for lines; NULL until the first bytes */
    struct http_request *next_stream; /* in the server's list of them */
    bool is_paused;                   /* a stream that waited: its clock has to start anew */
    bool is_http_1_1;
    bool has_result;            /* back from the pool: work.reply is set */
    size_t held;                /* bytes counted in state.inflight_bytes */
    bool closes;                /* the connection must not serve another request */
    bool is_stopping;           /* as the daemon was when it answered: read once, for all parts */
    bool is_plain;              /* the body came packed and has been unpacked */
    bool may_vary;              /* the reply depends on Accept-Encoding */
    bool packs;                 /* the reply is packed */
    struct http_client *client; /* whose request it is */
    struct front_grant grant;
    char request_id[API_MAX_REQUEST_ID_SIZE + 1];
    enum api_code code; /* API_OK, or the problem to answer with once the body is through */
    const char *detail;
    struct admission admission;
    struct api_buffer body;
    uint64_t claimed;   /* bytes of body, as Content-Length says; 0 when chunked */
    uint64_t received;  /* bytes of body so far, kept or not */
    uint64_t start_ns;  /* CLOCK_MONOTONIC */
    unsigned status;    /* of the reply that was queued; 0 before */
    enum api_code told; /* its code */
    uint64_t sent;      /* bytes of its body */
    struct trace trace;
    char method[EXCHANGE_METHOD_SIZE];
    char *path; /* decoded; NULL until the gate has passed the target */
    char *query;
    size_t target_size; /* as sent; target is empty when it is over the limit */
    char target[];
};

static void http_log(void *context, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

static void http_log(void *context, const char *format, va_list arguments) {
    /* said whenever a handler closes a connection, which is how a stream of lines ends */
    static const char closing[] = "Application reported internal error, closing connection";
    char line[512];
    vsnprintf(line, sizeof line, format, arguments);
    line[strcspn(line, "\r\n")] = '\0';
    if (strncmp(line, closing, sizeof closing - 1) != 0) {
        log_library(context, line);
    }
}

/* ---- Request ids ---- */

static bool http_request_id_is_valid(const char *text) {
    size_t size = strspn(text, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-");
    return size > 0 && size <= API_MAX_REQUEST_ID_SIZE && text[size] == '\0';
}

/* The finaliser of splitmix64: one to one, so ids of one process never repeat. */
static uint64_t http_mix(uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

static void http_request_id_make(struct http_request *request, uint64_t number) {
    static const char digits[] = "0123456789abcdef";
    uint64_t id = http_mix(request->server->request_id_seed + number);
    for (size_t i = 0; i < 16; i++, id >>= 4) {
        request->request_id[i] = digits[id & 15];
    }
    request->request_id[16] = '\0';
}

static struct reaper_seat *http_seat(const struct http_request *request) {
    return request->client != NULL ? request->client->seat : NULL;
}

/* ---- Replies ---- */

static enum MHD_Result http_queue(struct MHD_Connection *connection, unsigned status,
                                  struct MHD_Response *response) {
    if (response == NULL) {
        return MHD_NO;
    }
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

/* The reply when there was no memory to remember the request by. */
static enum MHD_Result http_respond_exhausted(struct MHD_Connection *connection) {
    struct MHD_Response *response =
        MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
    if (response != NULL) {
        MHD_add_response_header(response, "Retry-After", "1");
        MHD_add_response_header(response, "Connection", "close");
    }
    return http_queue(connection, 503, response);
}

static void http_add_front_headers(const struct http_request *request,
                                   const struct api_reply *reply, struct MHD_Response *response) {
    const bool has_origins = front_has_origins(request->server->state->front);
    char seconds[16];
    if (reply->code == API_UNAUTHORIZED) {
        MHD_add_response_header(response, "WWW-Authenticate", "Bearer realm=\"skind\"");
    }
    if (reply->code == API_TOO_MANY_REQUESTS) {
        snprintf(seconds, sizeof seconds, "%u", request->grant.retry_after_s);
        MHD_add_response_header(response, "Retry-After", seconds);
    }
    if (has_origins || request->may_vary) {
        MHD_add_response_header(response, "Vary",
                                !request->may_vary ? "Origin"
                                : has_origins      ? "Origin, Accept-Encoding"
                                                   : "Accept-Encoding");
    }
    if (request->packs) {
        MHD_add_response_header(response, "Content-Encoding", "gzip");
    }
    if (request->grant.origin != NULL) {
        MHD_add_response_header(response, "Access-Control-Allow-Origin", request->grant.origin);
        MHD_add_response_header(response, "Access-Control-Expose-Headers",
                                "Retry-After, X-Request-Id");
    }
}

static void http_add_headers(const struct http_request *request, const struct api_reply *reply,
                             struct MHD_Response *response) {
    http_add_front_headers(request, reply, response);
    MHD_add_response_header(response, "Content-Type", reply->media_type);
    MHD_add_response_header(response, "X-Request-Id", request->request_id);
    if (request->trace.parent[0] != '\0') {
        MHD_add_response_header(response, "traceparent", request->trace.parent);
    }
    if (reply->code != API_OK) {
        MHD_add_response_header(response, "Cache-Control", "no-store");
    }
    if (reply->code == API_METHOD_NOT_ALLOWED) {
        MHD_add_response_header(response, "Allow", request->admission.match.allow);
    }
    if (reply->code == API_OVERLOADED) {
        MHD_add_response_header(response, "Retry-After", "1");
    }
    if (request->closes || request->is_stopping) {
        MHD_add_response_header(response, "Connection", "close");
    }
}

/* Hands the reply's bytes over without a copy. */
static enum MHD_Result http_respond_reply(struct http_request *request,
                                          struct MHD_Connection *connection,
                                          struct api_reply *reply) {
    if (reply->body.failed) {
        api_reply_finish(reply);
        api_reply_problem(reply, API_OVERLOADED, "The server is out of memory.",
                          request->request_id);
    }
    reaper_await_reading(http_seat(request), reply->body.size);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(reply->body.size, reply->body.data, MHD_RESPMEM_MUST_FREE);
    unsigned status = reply->status;
    if (response != NULL) {
        request->status = status;
        request->told = reply->code;
        request->sent = strcmp(request->method, "HEAD") == 0 ? 0 : reply->body.size;
        http_add_headers(request, reply, response);
        api_buffer_init(&reply->body, 0); /* the response owns its bytes now */
    }
    api_reply_finish(reply);
    return http_queue(connection, status, response);
}

/* What a browser asks before it lets a script call. */
static enum MHD_Result http_respond_preflight(const struct http_request *request,
                                              struct MHD_Connection *connection) {
    struct MHD_Response *response =
        MHD_create_response_from_buffer(0, (void *)"", MHD_RESPMEM_PERSISTENT);
    const struct api_reply reply = {.status = 204, .code = API_OK};
    if (response != NULL) {
        http_add_front_headers(request, &reply, response);
        MHD_add_response_header(response, "X-Request-Id", request->request_id);
        MHD_add_response_header(response, "Access-Control-Allow-Methods",
                                request->admission.match.allow);
        MHD_add_response_header(
            response, "Access-Control-Allow-Headers",
            "Authorization, Content-Encoding, Content-Type, traceparent, X-Request-Id");
        MHD_add_response_header(response, "Access-Control-Max-Age", "600");
        if (request->closes || atomic_load(&request->server->state->stopping)) {
            MHD_add_response_header(response, "Connection", "close");
        }
    }
    return http_queue(connection, reply.status, response);
}

static enum MHD_Result http_respond_problem(struct http_request *request,
                                            struct MHD_Connection *connection) {
    struct api_reply reply;
    api_reply_problem(&reply, request->code, request->detail, request->request_id);
    return http_respond_reply(request, connection, &reply);
}

static void http_request_release(struct http_request *request) {
    api_buffer_finish(&request->body);
    atomic_fetch_sub(&request->server->state->inflight_bytes, request->held);
    request->held = 0;
}

static void http_request_refuse(struct http_request *request, enum api_code code,
                                const char *detail) {
    request->code = code;
    request->detail = detail;
    http_request_release(request);
}

static void http_request_describe(const struct http_request *request,
                                  struct handlers_request *handlers_request) {
    static double nothing; /* what the body of a request without one points to; never written */
    const struct admission *admission = &request->admission;
    *handlers_request = (struct handlers_request){
        .state = request->server->state,
        .is_stopping = request->is_stopping,
        .name = admission->match.name,
        .query = request->query,
        .request_id = request->request_id,
        .operation = admission->match.operation,
        .content_type = admission->content_type,
        .accept = admission->accept,
        .body = request->body.size > 0 ? request->body.data : (char *)&nothing,
        .size = request->body.size,
    };
}

/* ---- Packed bodies ---- */

/* Counts bytes that are held on behalf of the request. */
static bool http_request_hold(struct http_request *request, size_t size) {
    request->held += size;
    return atomic_fetch_add(&request->server->state->inflight_bytes, size) + size <=
           request->server->settings->max_inflight_bytes;
}

/* Unpacks the body, up to the maximum. GZIP_FULL leaves it as it came. */
static enum gzip_result http_request_unpack(struct http_request *request, size_t maximum) {
    struct api_buffer plain;
    api_buffer_init(&plain, maximum);
    const enum gzip_result result = gzip_unpack(request->body.data, request->body.size, &plain);
    if (result != GZIP_OK) {
        api_buffer_finish(&plain);
        return result;
    }
    api_buffer_finish(&request->body);
    request->body = plain;
    request->is_plain = true;
    return http_request_hold(request, plain.size) ? GZIP_OK : GZIP_MEMORY;
}

static enum api_code http_unpack_code(enum gzip_result result, const char **detail) {
    *detail = "";
    switch (result) {
    case GZIP_OK:
        return API_OK;
    case GZIP_CUT:
        *detail = "The gzip body breaks off.";
        return API_BAD_REQUEST;
    case GZIP_BAD:
        *detail = "The body is not gzip, or is damaged.";
        return API_BAD_REQUEST;
    case GZIP_TRAILING:
        *detail = "Something follows the end of the gzip body.";
        return API_BAD_REQUEST;
    case GZIP_FULL:
        *detail = "The body is over the limit once unpacked.";
        return API_PAYLOAD_TOO_LARGE;
    case GZIP_MEMORY:
        break;
    }
    *detail = "The server has no memory for the body.";
    return API_OVERLOADED;
}

/* On the network thread: only so far as unpacking costs no more than a small request. */
static void http_request_unpack_small(struct http_request *request) {
    const size_t limit = request->admission.body_limit;
    const size_t most = request->server->settings->inline_max_bytes;
    const char *detail;
    if (request->body.size > most) {
        return;
    }
    const enum gzip_result result = http_request_unpack(request, most < limit ? most : limit);
    if (result == GZIP_FULL && most < limit) {
        return;
    }
    const enum api_code code = http_unpack_code(result, &detail);
    if (code != API_OK) {
        http_request_refuse(request, code, detail);
    }
}

/* On a worker. */
static bool http_work_unpack(struct work *work) {
    struct http_request *request = (struct http_request *)work;
    const char *detail;
    const enum gzip_result result = http_request_unpack(request, request->admission.body_limit);
    const enum api_code code = http_unpack_code(result, &detail);
    if (code != API_OK) {
        api_reply_problem(&work->reply, code, detail, request->request_id);
        return false;
    }
    http_request_describe(request, &work->request);
    return true;
}

/* Packs a reply of JSON for a client that takes it, on the thread that made it. */
static void http_request_pack(struct http_request *request, struct api_reply *reply) {
    struct api_buffer packed;
    request->may_vary = reply->body.size >= HTTP_MIN_PACKED && !reply->body.failed &&
                        (strcmp(reply->media_type, API_TYPE_JSON) == 0 ||
                         strcmp(reply->media_type, API_TYPE_PROBLEM) == 0);
    if (!request->may_vary || !request->admission.takes_packed) {
        return;
    }
    api_buffer_init(&packed, SIZE_MAX);
    if (gzip_pack(reply->body.data, reply->body.size, &packed) && packed.size < reply->body.size) {
        api_buffer_finish(&reply->body);
        reply->body = packed;
        request->packs = true;
    } else {
        api_buffer_finish(&packed);
    }
}

/* ---- Inline, or by way of the pool ---- */

static enum MHD_Result http_respond_inline(struct http_request *request,
                                           struct MHD_Connection *connection) {
    struct handlers_request handlers_request;
    struct api_reply reply;
    http_request_describe(request, &handlers_request);
    request->admission.match.route->run(&handlers_request, &reply);
    http_request_pack(request, &reply);
    return http_respond_reply(request, connection, &reply);
}

/* On a worker. Behind the resume the request may be answered and freed at any moment. */
static void http_work_finished(struct work *work) {
    struct http_request *request = (struct http_request *)work;
    http_request_pack(request, &work->reply);
    request->has_result = true;
    MHD_resume_connection(request->connection);
}

static int http_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info != NULL ? info->connect_fd : -1;
}

/* Suspends first: a worker may be done, and resume, before submit returns. */
static enum MHD_Result http_respond_later(struct http_request *request,
                                          struct MHD_Connection *connection) {
    const struct http_server *server = request->server;
    struct work *work = &request->work;
    if (!pool_reserve(server->state->pool)) {
        http_request_refuse(request, API_OVERLOADED, "The queue is full.");
        return http_respond_problem(request, connection);
    }
    request->connection = connection;
    http_request_describe(request, &work->request);
    work->run = request->admission.match.route->run;
    work->prepare = request->admission.is_packed && !request->is_plain ? http_work_unpack : NULL;
    work->socket_fd = http_socket(connection);
    work->deadline_ns = work_now_ns() + server->settings->deadline_ms * 1000000U;
    work->finished = http_work_finished;
    reaper_pause(http_seat(request));
    MHD_suspend_connection(connection);
    work_submit(work, server->state->pool);
    return MHD_YES;
}

static bool http_request_is_small(const struct http_request *request) {
    struct handlers_request handlers_request;
    const struct api_operation *operation = request->admission.match.operation;
    if (operation == NULL) {
        return true;
    }
    if (request->admission.is_packed && !request->is_plain) {
        return false;
    }
    if (request->body.size > request->server->settings->inline_max_bytes) {
        return false;
    }
    http_request_describe(request, &handlers_request);
    const struct api_request api_request = handlers_api_request(&handlers_request);
    return operation->fan == NULL || operation->fan(&api_request) == NULL;
}

static enum MHD_Result http_respond(struct http_request *request,
                                    struct MHD_Connection *connection) {
    if (request->has_result) {
        return http_respond_reply(request, connection, &request->work.reply);
    }
    if (request->admission.is_packed && request->code == API_OK) {
        http_request_unpack_small(request);
    }
    if (request->code != API_OK) {
        return http_respond_problem(request, connection);
    }
    if (request->grant.is_preflight) {
        return http_respond_preflight(request, connection);
    }
    return http_request_is_small(request) ? http_respond_inline(request, connection)
                                          : http_respond_later(request, connection);
}

/* ---- The way of a request ---- */

static enum exchange_end http_exchange_end(enum MHD_RequestTerminationCode reason) {
    switch (reason) {
    case MHD_REQUEST_TERMINATED_COMPLETED_OK:
        return EXCHANGE_ANSWERED;
    case MHD_REQUEST_TERMINATED_TIMEOUT_REACHED:
        return EXCHANGE_TIMED_OUT;
    case MHD_REQUEST_TERMINATED_DAEMON_SHUTDOWN:
        return EXCHANGE_STOPPED;
    case MHD_REQUEST_TERMINATED_CLIENT_ABORT:
        return EXCHANGE_CLIENT_GONE;
    case MHD_REQUEST_TERMINATED_WITH_ERROR:
    case MHD_REQUEST_TERMINATED_READ_ERROR:
        break;
    }
    return EXCHANGE_BROKEN;
}

/* False for a client without an internet address. */
static bool http_client(struct MHD_Connection *connection, struct address *client) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    if (info == NULL || info->client_addr == NULL) {
        return false;
    }
    const int family = info->client_addr->sa_family;
    client->size = family == AF_INET    ? sizeof client->socket.v4
                   : family == AF_INET6 ? sizeof client->socket.v6
                                        : 0;
    memcpy(&client->socket, info->client_addr, client->size);
    return client->size > 0;
}

/* The status of a reply that the library made itself, such as to a broken header; 0 for none. */
static unsigned http_library_status(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_HTTP_STATUS);
    return info != NULL ? info->http_status : 0;
}

static void http_request_record(const struct http_request *request,
                                struct MHD_Connection *connection,
                                enum MHD_RequestTerminationCode reason) {
    const struct state *state = request->server->state;
    const struct routes_match *match = &request->admission.match;
    const struct pool_task *task = &request->work.task;
    struct address client;
    struct exchange exchange = {
        .request_id = request->request_id,
        .trace_id = request->trace.id,
        .method = request->has_begun ? request->method : NULL,
        .path = request->path,
        .route = match->route,
        .operation = match->operation,
        .status = request->status > 0 ? request->status : http_library_status(connection),
        .code = request->told,
        .end = http_exchange_end(reason),
        .request_bytes = request->received,
        .reply_bytes = request->sent,
        .duration_ns = work_now_ns() - request->start_ns,
        .was_queued = request->has_result,
        .queue_wait_ns = request->has_result ? task->started_ns - task->queued_ns : 0,
        .items = request->work.items,
        .work_end = request->work.end,
        .client = http_client(connection, &client) ? &client : NULL,
    };
    if (request->stream != NULL) {
        const struct stream_counts counts = stream_counts(request->stream);
        exchange.status = 200;
        exchange.end = counts.is_broken                      ? EXCHANGE_CLIENT_GONE
                       : stream_is_finished(request->stream) ? EXCHANGE_ANSWERED
                       : exchange.end == EXCHANGE_ANSWERED   ? EXCHANGE_BROKEN
                                                             : exchange.end;
        exchange.reply_bytes = counts.reply_size;
        exchange.items = counts.lines;
    }
    const char *label = metrics_route_label(state->metrics, exchange.route, exchange.operation);
    metrics_count(state->metrics, &exchange);
    log_exchange(state->log, &exchange, label);
}

static void http_stream_unlist(struct http_request *request) {
    struct http_server *server = request->server;
    pthread_mutex_lock(&server->stream_lock);
    struct http_request **at = &server->streams;
    while (*at != NULL && *at != request) {
        at = &(*at)->next_stream;
    }
    if (*at != NULL) {
        *at = request->next_stream;
    }
    pthread_mutex_unlock(&server->stream_lock);
}

static void http_request_end(struct http_request *request, struct MHD_Connection *connection,
                             enum MHD_RequestTerminationCode reason) {
    if (request != NULL) {
        http_request_record(request, connection, reason);
        request->client->request = NULL;
        reaper_await_request(http_seat(request));
        http_request_release(request);
        if (request->stream != NULL) {
            http_stream_unlist(request);
            stream_abandon(request->stream);
        }
        if (request->has_result) {
            api_reply_finish(&request->work.reply);
        }
        atomic_fetch_sub(&request->server->open_requests, 1);
        free(request);
    }
}

static struct http_client *http_client_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

static void http_client_enter(struct http_door *door, int socket_fd, struct http_client *client) {
    struct http_server *server = door->server;
    const size_t of_door = atomic_fetch_add(&door->connections, 1) + 1;
    const size_t of_all = atomic_fetch_add(&server->connections, 1) + 1;
    atomic_fetch_add(&server->state->connections, 1);
    client->door = door;
    client->seat = reaper_enter(server->reaper, socket_fd);
    client->is_over = of_door > server->door_busy || of_all > server->settings->max_connections;
}

static void http_client_leave(struct http_client *client) {
    reaper_leave(client->seat);
    atomic_fetch_sub(&client->door->connections, 1);
    atomic_fetch_sub(&client->door->server->connections, 1);
    atomic_fetch_sub(&client->door->server->state->connections, 1);
    free(client);
}

/* A connection has begun, or is about to be closed. The library does not tell of the end of a
 * request that no handler saw, so what was left there is found by the next request of the
 * connection, or here. */
static void http_connection_notice(void *context, struct MHD_Connection *connection, void **place,
                                   enum MHD_ConnectionNotificationCode notice) {
    struct http_client *client;
    switch (notice) {
    case MHD_CONNECTION_NOTIFY_STARTED:
        client = calloc(1, sizeof *client);
        if (client != NULL) {
            http_client_enter(context, http_socket(connection), client);
        }
        if (client == NULL || client->seat == NULL) {
            shutdown(http_socket(connection), SHUT_RDWR); /* nobody would look after it */
        }
        *place = client;
        break;
    case MHD_CONNECTION_NOTIFY_CLOSED:
        client = *place;
        if (client != NULL) {
            http_request_end(client->request, connection, MHD_REQUEST_TERMINATED_WITH_ERROR);
            http_client_leave(client);
        }
        *place = NULL;
        break;
    }
}

/* Called with the raw target as soon as the request line is read. What it returns becomes the
 * request's context. */
static void *http_request_start(void *context, const char *target,
                                struct MHD_Connection *connection) {
    struct http_server *server = context;
    struct http_client *client = http_client_of(connection);
    size_t size = strlen(target);
    size_t kept = size <= GATE_MAX_TARGET_SIZE ? size : 0;
    if (client == NULL) {
        return NULL; /* there was no memory when the connection came */
    }
    http_request_end(client->request, connection, MHD_REQUEST_TERMINATED_WITH_ERROR);
    struct http_request *request = calloc(1, sizeof *request + kept + 1);
    if (request == NULL) {
        return NULL;
    }
    client->request = request;
    request->client = client;
    request->server = server;
    reaper_await_headers(http_seat(request));
    request->detail = "";
    request->start_ns = work_now_ns();
    request->target_size = size;
    memcpy(request->target, target, kept);
    api_buffer_init(&request->body, 0);
    http_request_id_make(request, atomic_fetch_add(&server->requests, 1));
    atomic_fetch_add(&server->open_requests, 1);
    return request;
}

/* ---- Streams ---- */

static void http_stream_resume(void *context) {
    struct http_request *request = context;
    MHD_resume_connection(request->connection);
}

/* The headers that depend on who asks, as http_add_front_headers gives them elsewhere. */
static void http_stream_headers(const struct http_request *request, char *text, size_t size) {
    const char *origin = request->grant.origin;
    snprintf(text, size, "%s%s%s%s%s%s%s",
             front_has_origins(request->server->state->front) ? "Vary: Origin\r\n" : "",
             origin != NULL ? "Access-Control-Allow-Origin: " : "", origin != NULL ? origin : "",
             origin != NULL ? "\r\nAccess-Control-Expose-Headers: Retry-After, X-Request-Id\r\n"
                            : "",
             request->trace.parent[0] != '\0' ? "traceparent: " : "", request->trace.parent,
             request->trace.parent[0] != '\0' ? "\r\n" : "");
}

static void http_stream_list(struct http_request *request) {
    struct http_server *server = request->server;
    pthread_mutex_lock(&server->stream_lock);
    request->next_stream = server->streams;
    server->streams = request;
    pthread_mutex_unlock(&server->stream_lock);
}

void http_cut_streams(struct http_server *server) {
    pthread_mutex_lock(&server->stream_lock);
    for (struct http_request *at = server->streams; at != NULL; at = at->next_stream) {
        shutdown(at->work.socket_fd, SHUT_RDWR);
    }
    pthread_mutex_unlock(&server->stream_lock);
}

static bool http_stream_start(struct http_request *request, struct MHD_Connection *connection) {
    const struct http_server *server = request->server;
    char headers[STREAM_MAX_HEADERS];
    http_stream_headers(request, headers, sizeof headers);
    if (server->settings->tls_cert != NULL) {
        http_request_refuse(request, API_NOT_IMPLEMENTED,
                            "A stream of lines needs a plain connection; end TLS at a proxy.");
        return false;
    }
    request->connection = connection;
    request->work.socket_fd = http_socket(connection);
    request->stream = stream_create(&(struct stream_options){
        .pool = server->state->pool,
        .writer = server->state->stream_writer,
        .socket_fd = request->work.socket_fd,
        .is_chunked = request->is_http_1_1,
        .request_id = request->request_id,
        .headers = headers,
        .inflight_bytes = &server->state->inflight_bytes,
        .max_line_size = server->settings->max_body_bytes,
        .max_reply_size = API_MAX_REPLY_SIZE,
        .resume = http_stream_resume,
        .context = request,
    });
    if (request->stream == NULL) {
        http_request_refuse(request, API_OVERLOADED, "The queue is full.");
        return false;
    }
    http_stream_list(request);
    return true;
}

/* Suspends first: progress may come before the wait is asked for. While it waits the client owes
 * nothing; how fast it takes its results is the stream writer's business. */
static void http_stream_wait(struct http_request *request) {
    reaper_pause(http_seat(request));
    request->is_paused = true;
    MHD_suspend_connection(request->connection);
    if (!stream_wait(request->stream)) {
        MHD_resume_connection(request->connection);
    }
}

static enum MHD_Result http_stream_take(struct http_request *request, const char *data,
                                        size_t *size) {
    if (request->is_paused) {
        reaper_await_body(http_seat(request));
        request->is_paused = false;
    }
    const size_t taken = stream_feed(request->stream, data, *size);
    reaper_progress(http_seat(request), taken);
    if (stream_counts(request->stream).is_broken) {
        return MHD_NO;
    }
    request->received += taken;
    *size -= taken;
    if (*size > 0) {
        http_stream_wait(request);
    }
    return MHD_YES;
}

/* The stream has written the reply itself, so at its end there is nothing to queue: MHD_NO closes
 * the connection. */
static enum MHD_Result http_stream_end(struct http_request *request) {
    stream_end(request->stream);
    if (stream_is_finished(request->stream)) {
        return MHD_NO;
    }
    http_stream_wait(request);
    return MHD_YES;
}

/* Called once for each request that a handler saw. */
static void http_request_finish(void *context, struct MHD_Connection *connection, void **place,
                                enum MHD_RequestTerminationCode reason) {
    (void)context;
    http_request_end(*place, connection, reason);
    *place = NULL;
}

static enum MHD_Result http_collect_header(void *context, enum MHD_ValueKind kind, const char *name,
                                           size_t name_size, const char *value, size_t value_size) {
    struct gate_request *gate = context;
    struct gate_header *headers = (struct gate_header *)gate->headers;
    (void)kind;
    if (gate->header_count == GATE_MAX_HEADERS) {
        gate->more_headers = true;
        return MHD_NO;
    }
    headers[gate->header_count++] = (struct gate_header){
        name, name_size, value != NULL ? value : "", value != NULL ? value_size : 0};
    return MHD_YES;
}

static void http_request_name(struct http_request *request, const struct gate_request *gate) {
    size_t count;
    const char *id = gate_header_find(gate, "X-Request-Id", &count);
    if (id != NULL && http_request_id_is_valid(id)) {
        memcpy(request->request_id, id, strlen(id) + 1);
    }
    const char *trace = gate_header_find(gate, "traceparent", &count);
    if (trace != NULL && count == 1) {
        trace_parse(trace, &request->trace);
    }
    strncpy(request->method, gate->method, sizeof request->method - 1);
}

static const struct sockaddr *http_peer(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info != NULL ? info->client_addr : NULL;
}

/* Whether the client may come in at all. */
static bool http_request_face(struct http_request *request, struct MHD_Connection *connection,
                              const struct gate_request *gate, const char *path) {
    struct front_grant *grant = &request->grant;
    front_judge(request->server->state->front, gate, path, http_peer(connection), grant);
    if (request->client != NULL && request->client->is_over) {
        request->closes = true;
        if (!grant->is_open) {
            http_request_refuse(request, API_OVERLOADED, "The server has too many connections.");
            return false;
        }
    }
    if (grant->code != API_OK) {
        http_request_refuse(request, grant->code, grant->detail);
    }
    return grant->code == API_OK;
}

static void http_request_admit(struct http_request *request, struct MHD_Connection *connection,
                               const struct gate_request *gate,
                               const struct gate_verdict *verdict) {
    char *path;
    struct admission *admission = &request->admission;
    gate_target_split(request->target, &path, &request->query);
    request->path = path;
    if (!http_request_face(request, connection, gate, path)) {
        return;
    }
    admit_request(gate, verdict, path, request->server->settings->max_body_bytes, admission);
    api_buffer_init(&request->body, admission->body_limit);
    /* a preflight asks about a path that has other methods; of any other path it is told the truth
     */
    request->grant.is_preflight &= admission->code == API_METHOD_NOT_ALLOWED;
    if (admission->code != API_OK && !request->grant.is_preflight) {
        http_request_refuse(request, admission->code, admission->detail);
        /* a body without a length would be taken for the next request */
        request->closes = admission->code == API_LENGTH_REQUIRED;
    }
}

/* The first call: line and headers are here, no body yet. A reply queued now would cost the
 * connection, and many clients the reply, if a body is on its way; so a problem waits for the last
 * call, unless the client waits for our word or the body is not worth draining. */
static enum MHD_Result http_request_begin(struct http_request *request,
                                          struct MHD_Connection *connection, const char *method,
                                          const char *version) {
    struct gate_header headers[GATE_MAX_HEADERS];
    struct gate_request gate = {.method = method,
                                .target = request->target,
                                .target_size = request->target_size,
                                .version = version,
                                .headers = headers};
    struct gate_verdict verdict;
    request->has_begun = true;
    request->is_http_1_1 = strcmp(version, "HTTP/1.1") == 0;
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, http_collect_header, &gate);
    gate_check(&gate, &verdict);
    http_request_name(request, &gate);
    request->claimed = verdict.body_size;
    reaper_await_body(http_seat(request));
    if (verdict.action == GATE_PASS) {
        http_request_admit(request, connection, &gate, &verdict);
    } else {
        http_request_refuse(request, verdict.code, verdict.detail);
        request->closes = true;
    }
    bool is_now =
        verdict.action == GATE_CUT || verdict.expects_continue || request->claimed > HTTP_MAX_DRAIN;
    if (request->code == API_OK || !is_now) {
        return MHD_YES;
    }
    request->closes = true;
    return http_respond_problem(request, connection);
}

/* A piece of body. MHD_NO closes the connection. */
static enum MHD_Result http_request_take(struct http_request *request, const char *data,
                                         size_t size) {
    struct api_buffer *body = &request->body;
    request->received += size;
    reaper_progress(http_seat(request), size);
    if (request->code != API_OK) {
        return request->received <= HTTP_MAX_DRAIN ? MHD_YES : MHD_NO;
    }
    if (request->received > body->maximum) {
        http_request_refuse(request, API_PAYLOAD_TOO_LARGE,
                            body->maximum > 0 ? "The body is over the limit."
                                              : "This path takes no body.");
        return MHD_YES;
    }
    if (body->size == 0 && request->claimed > size) {
        uint64_t first = request->claimed;
        first = first < HTTP_FIRST_BODY_CAPACITY ? first : HTTP_FIRST_BODY_CAPACITY;
        api_buffer_reserve(body, (size_t)first);
    }
    if (!http_request_hold(request, size)) {
        http_request_refuse(request, API_OVERLOADED, "The server holds all the bytes it may.");
        return MHD_YES;
    }
    api_buffer_append(body, data, size);
    if (body->failed) {
        http_request_refuse(request, API_OVERLOADED, "The server is out of memory.");
    }
    return MHD_YES;
}

/* Called once when the headers are read, once for each piece of body, once when all is there. */
static enum MHD_Result http_handle(void *context, struct MHD_Connection *connection,
                                   const char *url, const char *method, const char *version,
                                   const char *data, size_t *size, void **place) {
    struct http_request *request = *place;
    (void)context;
    (void)url;
    if (request == NULL) {
        return http_respond_exhausted(connection);
    }
    if (!request->has_begun) {
        return http_request_begin(request, connection, method, version);
    }
    if (request->admission.is_stream && request->code == API_OK) {
        if (request->stream != NULL || http_stream_start(request, connection)) {
            return *size > 0 ? http_stream_take(request, data, size) : http_stream_end(request);
        }
    }
    if (*size > 0) {
        size_t taken = *size;
        *size = 0;
        return http_request_take(request, data, taken);
    }
    request->is_stopping = atomic_load(&request->server->state->stopping);
    return http_respond(request, connection);
}

/* ---- Start and stop ---- */

/* Where descriptors are plenty, each thread may take all connections, since the kernel spreads them
 * unevenly. Where they are not, each gets its share: an accept that fails for want of one would be
 * tried again without end. */
static void http_limit_connections(struct http_server *server) {
    const size_t wanted = server->settings->max_connections + HTTP_SPARE_CONNECTIONS;
    const size_t others = HTTP_OTHER_DESCRIPTORS + server->count * HTTP_THREAD_DESCRIPTORS;
    const size_t left = descriptors_left();
    const size_t share = left > others ? (left - others) / server->count : 0;
    size_t spare = HTTP_SPARE_CONNECTIONS;
    server->door_limit = share < wanted ? share : wanted;
    server->door_limit = server->door_limit > 1 ? server->door_limit : 2;
    if (server->door_limit < wanted) {
        spare = (server->door_limit + 3) / 4;
        spare = spare < HTTP_SPARE_CONNECTIONS ? spare : HTTP_SPARE_CONNECTIONS;
    }
    server->door_busy = server->door_limit - spare;
}

static bool http_start_reaper(struct http_server *server) {
    const struct settings *settings = server->settings;
    const struct reaper_limits limits = {
        .header_ms = settings->header_timeout_ms,
        .idle_ms = settings->idle_timeout_s * UINT64_C(1000),
        .transfer_ms = settings->transfer_timeout_ms,
        .bytes_per_s = settings->min_rate_bytes_per_s,
    };
    const size_t connections = server->door_limit * server->count;
    const size_t descriptors = descriptors_left();
    server->reaper = reaper_create(connections < descriptors ? connections : descriptors, &limits);
    return server->reaper != NULL;
}

static struct MHD_Daemon *http_start_daemon(struct http_server *server, size_t index) {
    const struct tls *tls = front_tls(server->state->front);
    struct http_door *door = &server->doors[index];
    struct MHD_OptionItem https[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, tls != NULL ? tls->certificate.data : NULL},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, tls != NULL ? tls->key.data : NULL},
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)TLS_PRIORITIES},
        {MHD_OPTION_END, 0, NULL},
    };
    unsigned flags =
        MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_USE_ERROR_LOG | MHD_ALLOW_SUSPEND_RESUME;
    door->server = server;
    if (tls != NULL) {
        flags |= MHD_USE_TLS;
    } else {
        https[0].option = MHD_OPTION_END;
    }
    /* clang-format off */
    return MHD_start_daemon(
        flags, 0, NULL, NULL, http_handle, server,
        MHD_OPTION_EXTERNAL_LOGGER, http_log, server->state->log, /* first, so that it hears of the others */
        MHD_OPTION_LISTEN_SOCKET, server->sockets[index],
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)server->door_limit,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, HTTP_CONNECTION_MEMORY,
        MHD_OPTION_URI_LOG_CALLBACK, http_request_start, server,
        MHD_OPTION_NOTIFY_COMPLETED, http_request_finish, server,
        MHD_OPTION_NOTIFY_CONNECTION, http_connection_notice, door,
        MHD_OPTION_ARRAY, https,
        MHD_OPTION_END);
    /* clang-format on */
}

static bool http_start(struct http_server *server, char error[HTTP_ERROR_SIZE]) {
    char text[ADDRESS_TEXT_SIZE];
    address_format(&server->address, text);
    const int inherited = front_socket(server->state->front);
    int listen_error = inherited >= 0 ? listen_share(inherited, server->sockets, server->count)
                                      : listen_open(&server->address, server->settings->unix_mode,
                                                    server->sockets, server->count);
    if (listen_error != 0) {
        snprintf(error, HTTP_ERROR_SIZE, "cannot listen on %s: %s", text,
                 listen_error != EADDRINUSE          ? strerror(listen_error)
                 : address_is_unix(&server->address) ? "the path is in use"
                                                     : "the port is in use");
        return false;
    }
    server->is_listening = true;
    while (server->started < server->count) {
        struct MHD_Daemon *daemon = http_start_daemon(server, server->started);
        if (daemon == NULL) {
            snprintf(error, HTTP_ERROR_SIZE, "cannot start the HTTP server on %s", text);
            return false;
        }
        server->daemons[server->started++] = daemon;
    }
    return true;
}

struct http_server *http_create(const struct settings *settings, struct state *state,
                                char error[HTTP_ERROR_SIZE]) {
    struct http_server *server = calloc(1, sizeof *server);
    size_t count = settings->threads > 0 ? settings->threads : processors_allowed();
    if (server != NULL) {
        pthread_mutex_init(&server->stream_lock, NULL);
        server->settings = settings;
        server->state = state;
        server->address = *front_address(state->front);
        server->count = count;
        server->daemons = calloc(count, sizeof(struct MHD_Daemon *));
        server->sockets = calloc(count, sizeof(int));
        server->doors = calloc(count, sizeof(struct http_door));
        http_limit_connections(server);
    }
    if (server == NULL || server->daemons == NULL || server->sockets == NULL ||
        server->doors == NULL || !http_start_reaper(server)) {
        snprintf(error, HTTP_ERROR_SIZE, "out of memory");
        goto failed;
    }
    if (getrandom(&server->request_id_seed, sizeof server->request_id_seed, 0) !=
        (ssize_t)sizeof server->request_id_seed) {
        snprintf(error, HTTP_ERROR_SIZE, "no random bytes: %s", strerror(errno));
        goto failed;
    }
    if (http_start(server, error)) {
        return server;
    }
failed:
    http_destroy(server);
    return NULL;
}

const struct address *http_address(const struct http_server *server) {
    return &server->address;
}

/* Gives the daemon what still waits in the socket's queue, which closing it would reset. */
static void http_accept_rest(struct MHD_Daemon *daemon, int socket_fd) {
    for (;;) {
        struct address peer;
        peer.size = sizeof peer.socket;
        int accepted =
            accept4(socket_fd, &peer.socket.any, &peer.size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (accepted < 0) {
            return;
        }
        MHD_add_connection(daemon, accepted, &peer.socket.any,
                           peer.size); /* closes it on failure */
    }
}

/* The file of a UNIX socket goes with it, unless the socket is another's. */
static void http_stop_listening(struct http_server *server, size_t closed) {
    int *sockets = server->sockets + closed;
    const size_t count = server->count - closed;
    if (front_socket(server->state->front) >= 0) {
        listen_close(sockets, count);
    } else {
        listen_end(&server->address, sockets, count);
    }
    server->is_listening = false;
}

void http_quiesce(struct http_server *server) {
    for (size_t i = 0; i < server->started; i++) {
        MHD_quiesce_daemon(server->daemons[i]);
        if (front_socket(server->state->front) < 0) {
            /* an inherited socket stays open elsewhere: its queue waits for the next daemon */
            http_accept_rest(server->daemons[i], server->sockets[i]);
        }
    }
    http_stop_listening(server, 0);
}

struct http_load http_load(const struct http_server *server) {
    return (struct http_load){.open_requests = atomic_load(&server->open_requests),
                              .requests = atomic_load(&server->requests)};
}

void http_destroy(struct http_server *server) {
    if (server == NULL) {
        return;
    }
    for (size_t i = 0; i < server->started; i++) {
        MHD_stop_daemon(server->daemons[i]); /* closes its socket unless it was quiesced */
    }
    if (server->is_listening) {
        http_stop_listening(server, server->started);
    }
    reaper_destroy(server->reaper);
    free(server->doors);
    free(server->daemons);
    free(server->sockets);
    pthread_mutex_destroy(&server->stream_lock);
    free(server);
}

const char *http_library_version(void) {
    return MHD_get_version();
}
