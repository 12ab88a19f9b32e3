/* Serves HTTP with libmicrohttpd: one daemon in poll mode for each thread, each with a listening
 * socket of its own. The only file that includes microhttpd.h; it decides nothing that gate.c,
 * admit.c or a handler could decide. */
#define _GNU_SOURCE
#include "http.h"

#include "admit.h"
#include "listen.h"

#include <errno.h>
#include <microhttpd.h>
#include <sched.h>
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

struct http_server {
    const struct settings *settings;
    const struct state *state;
    struct address address;
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
    struct http_server *server;
    struct http_request **place; /* where its connection keeps it */
    bool has_begun;
    bool closes;      /* the connection must not serve another request */
    bool is_stopping; /* as the daemon was when it answered: read once, so that all parts agree */
    char request_id[API_MAX_REQUEST_ID_SIZE + 1];
    enum api_code code; /* API_OK, or the problem to answer with once the body is through */
    const char *detail;
    struct admission admission;
    struct api_buffer body;
    uint64_t claimed;  /* bytes of body, as Content-Length says; 0 when chunked */
    uint64_t received; /* bytes of body so far, kept or not */
    char *query;
    size_t target_size; /* as sent; target is empty when it is over the limit */
    char target[];
};

static void http_log(void *context, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

static void http_log(void *context, const char *format, va_list arguments) {
    char line[512];
    (void)context;
    vsnprintf(line, sizeof line, format, arguments);
    for (char *at = line; *at != '\0'; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7f) {
            *at = ' ';
        }
    }
    fprintf(stderr, "skind: libmicrohttpd: %s\n", line);
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

/* ---- Replies ---- */

static enum MHD_Result http_respond(struct MHD_Connection *connection, unsigned status,
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
    return http_respond(connection, 503, response);
}

static void http_add_headers(const struct http_request *request, const struct api_reply *reply,
                             struct MHD_Response *response) {
    MHD_add_response_header(response, "Content-Type", reply->media_type);
    MHD_add_response_header(response, "X-Request-Id", request->request_id);
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
static enum MHD_Result http_respond_reply(const struct http_request *request,
                                          struct MHD_Connection *connection,
                                          struct api_reply *reply) {
    if (reply->body.failed) {
        api_reply_finish(reply);
        api_reply_problem(reply, API_OVERLOADED, "The server is out of memory.",
                          request->request_id);
    }
    struct MHD_Response *response =
        MHD_create_response_from_buffer(reply->body.size, reply->body.data, MHD_RESPMEM_MUST_FREE);
    unsigned status = reply->status;
    if (response != NULL) {
        http_add_headers(request, reply, response);
        api_buffer_init(&reply->body, 0); /* the response owns its bytes now */
    }
    api_reply_finish(reply);
    return http_respond(connection, status, response);
}

static enum MHD_Result http_respond_problem(const struct http_request *request,
                                            struct MHD_Connection *connection) {
    struct api_reply reply;
    api_reply_problem(&reply, request->code, request->detail, request->request_id);
    return http_respond_reply(request, connection, &reply);
}

static enum MHD_Result http_respond_handler(struct http_request *request,
                                            struct MHD_Connection *connection) {
    double nothing = 0; /* what the body of a request without one points to */
    struct api_reply reply;
    const struct admission *admission = &request->admission;
    const struct handlers_request handlers_request = {
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
    admission->match.route->run(&handlers_request, &reply);
    return http_respond_reply(request, connection, &reply);
}

/* ---- The way of a request ---- */

static void http_request_free(struct http_request *request) {
    if (request != NULL) {
        *request->place = NULL;
        api_buffer_finish(&request->body);
        atomic_fetch_sub(&request->server->open_requests, 1);
        free(request);
    }
}

/* The connection's place for the request that is under way on it. The library does not tell of the
 * end of a request that no handler saw, so what was left there is found by the next request of the
 * connection, or when it closes. */
static void http_notice_connection(void *context, struct MHD_Connection *connection, void **place,
                                   enum MHD_ConnectionNotificationCode code) {
    (void)context;
    (void)connection;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        *place = calloc(1, sizeof(struct http_request *));
        return;
    }
    struct http_request **request = *place;
    if (request != NULL) {
        http_request_free(*request);
        free((void *)request);
        *place = NULL;
    }
}

static struct http_request **http_connection_place(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

/* Called with the raw target as soon as the request line is read. What it returns becomes the
 * request's context. */
static void *http_request_start(void *context, const char *target,
                                struct MHD_Connection *connection) {
    struct http_server *server = context;
    struct http_request **place = http_connection_place(connection);
    size_t size = strlen(target);
    size_t kept = size <= GATE_MAX_TARGET_SIZE ? size : 0;
    if (place == NULL) {
        return NULL; /* there was no memory when the connection came */
    }
    http_request_free(*place);
    struct http_request *request = calloc(1, sizeof *request + kept + 1);
    if (request == NULL) {
        return NULL;
    }
    *place = request;
    request->place = place;
    request->server = server;
    request->detail = "";
    request->target_size = size;
    memcpy(request->target, target, kept);
    api_buffer_init(&request->body, 0);
    http_request_id_make(request, atomic_fetch_add(&server->requests, 1));
    atomic_fetch_add(&server->open_requests, 1);
    return request;
}

/* Called once for each request that a handler saw. */
static void http_request_finish(void *context, struct MHD_Connection *connection, void **place,
                                enum MHD_RequestTerminationCode reason) {
    (void)context;
    (void)connection;
    (void)reason;
    http_request_free(*place);
    *place = NULL;
}

static void http_request_refuse(struct http_request *request, enum api_code code,
                                const char *detail) {
    request->code = code;
    request->detail = detail;
    api_buffer_finish(&request->body);
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
}

static void http_request_admit(struct http_request *request, const struct gate_request *gate,
                               const struct gate_verdict *verdict) {
    char *path;
    struct admission *admission = &request->admission;
    gate_target_split(request->target, &path, &request->query);
    admit_request(gate, verdict, path, request->server->settings->max_body_bytes, admission);
    api_buffer_init(&request->body, admission->body_limit);
    if (admission->code != API_OK) {
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
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, http_collect_header, &gate);
    gate_check(&gate, &verdict);
    http_request_name(request, &gate);
    request->claimed = verdict.body_size;
    if (verdict.action == GATE_PASS) {
        http_request_admit(request, &gate, &verdict);
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
    if (*size > 0) {
        size_t taken = *size;
        *size = 0;
        return http_request_take(request, data, taken);
    }
    request->is_stopping = atomic_load(&request->server->state->stopping);
    if (request->code != API_OK) {
        return http_respond_problem(request, connection);
    }
    return http_respond_handler(request, connection);
}

/* ---- Start and stop ---- */

static size_t http_thread_count(const struct settings *settings) {
    cpu_set_t set;
    if (settings->threads > 0) {
        return settings->threads;
    }
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        return (size_t)CPU_COUNT(&set);
    }
    return 1; /* more processors than cpu_set_t holds: the operator sets --threads */
}

static struct MHD_Daemon *http_start_daemon(struct http_server *server, int socket_fd) {
    const struct settings *settings = server->settings;
    size_t connections = (settings->max_connections + server->count - 1) / server->count;
    unsigned flags = MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC | MHD_USE_ERROR_LOG;
    /* clang-format off */
    return MHD_start_daemon(
        flags, 0, NULL, NULL, http_handle, server,
        MHD_OPTION_EXTERNAL_LOGGER, http_log, NULL, /* first, so that it hears of the others */
        MHD_OPTION_LISTEN_SOCKET, socket_fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)connections,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)settings->idle_timeout_s,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, HTTP_CONNECTION_MEMORY,
        MHD_OPTION_URI_LOG_CALLBACK, http_request_start, server,
        MHD_OPTION_NOTIFY_COMPLETED, http_request_finish, server,
                            MHD_OPTION_NOTIFY_CONNECTION, http_notice_connection, server,
        MHD_OPTION_END);
    /* clang-format on */
}

static bool http_start(struct http_server *server, char error[HTTP_ERROR_SIZE]) {
    char text[ADDRESS_TEXT_SIZE];
    address_format(&server->address, text);
    int listen_error = listen_open(&server->address, server->sockets, server->count);
    if (listen_error != 0) {
        snprintf(error, HTTP_ERROR_SIZE, "cannot listen on %s: %s", text,
                 listen_error == EADDRINUSE ? "the port is in use" : strerror(listen_error));
        return false;
    }
    server->is_listening = true;
    while (server->started < server->count) {
        struct MHD_Daemon *daemon = http_start_daemon(server, server->sockets[server->started]);
        if (daemon == NULL) {
            snprintf(error, HTTP_ERROR_SIZE, "cannot start the HTTP server on %s", text);
            return false;
        }
        server->daemons[server->started++] = daemon;
    }
    return true;
}

struct http_server *http_create(const struct settings *settings, const struct state *state,
                                char error[HTTP_ERROR_SIZE]) {
    struct http_server *server = calloc(1, sizeof *server);
    size_t count = http_thread_count(settings);
    if (server != NULL) {
        server->settings = settings;
        server->state = state;
        server->address = settings->listen;
        server->count = count;
        server->daemons = calloc(count, sizeof(struct MHD_Daemon *));
        server->sockets = calloc(count, sizeof(int));
    }
    if (server == NULL || server->daemons == NULL || server->sockets == NULL) {
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

void http_quiesce(struct http_server *server) {
    for (size_t i = 0; i < server->started; i++) {
        MHD_quiesce_daemon(server->daemons[i]);
        http_accept_rest(server->daemons[i], server->sockets[i]);
    }
    listen_close(server->sockets, server->count);
    server->is_listening = false;
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
        listen_close(server->sockets + server->started, server->count - server->started);
    }
    free(server->daemons);
    free(server->sockets);
    free(server);
}

const char *http_library_version(void) {
    return MHD_get_version();
}
