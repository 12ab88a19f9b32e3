/* Puts the parts of front.h together; each has a file of its own and does not know the others.
 * The order is that of cost to the client: rate, then what a browser asks, then credentials. */
#define _GNU_SOURCE
#include "front.h"

#include "cors.h"
#include "rate.h"
#include "systemd.h"
#include "tokens.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct front {
    const char *token_path; /* NULL: nobody is asked */
    pthread_rwlock_t lock;  /* of tokens */
    struct tokens *tokens;
    struct rate *rate; /* NULL: no limit */
    struct cors cors;
    bool has_tls;
    struct tls tls;
    struct address address;
    int socket_fd;
};

/* ---- making ---- */

static struct tokens *front_read_tokens(const char *path, char error[FRONT_ERROR_SIZE]) {
    char why[TOKENS_ERROR_SIZE];
    char file_error[PRIVATE_FILE_ERROR_SIZE];
    struct api_buffer text;
    if (!private_file_read(path, true, &text, file_error)) {
        snprintf(error, FRONT_ERROR_SIZE, "--token-file: %s", file_error);
        return NULL;
    }
    struct tokens *tokens = tokens_parse(text.data, why);
    if (tokens == NULL) {
        snprintf(error, FRONT_ERROR_SIZE, "--token-file: %.200s: %s", path, why);
    }
    private_file_finish(&text);
    return tokens;
}

static bool front_init_address(struct front *front, const struct settings *settings,
                               char error[FRONT_ERROR_SIZE]) {
    front->address = settings->listen;
    front->socket_fd = -1;
    return systemd_socket(&front->socket_fd, &front->address, error) != SYSTEMD_BAD;
}

static bool front_init_tokens(struct front *front, const struct settings *settings,
                              char error[FRONT_ERROR_SIZE]) {
    char address[ADDRESS_TEXT_SIZE];
    front->token_path = settings->token_file;
    if (front->token_path != NULL) {
        front->tokens = front_read_tokens(front->token_path, error);
        return front->tokens != NULL;
    }
    if (settings->allow_anonymous || address_is_local(&front->address)) {
        return true;
    }
    address_format(&front->address, address);
    snprintf(error, FRONT_ERROR_SIZE,
             "%s can be reached from other machines: give --token-file, or --allow-anonymous to "
             "serve everybody",
             address);
    return false;
}

static bool front_init_rate(struct front *front, const struct settings *settings,
                            char error[FRONT_ERROR_SIZE]) {
    const size_t burst = settings->burst > 0 ? settings->burst : settings->rate_per_s;
    if (settings->rate_per_s > 0) {
        front->rate = rate_create(settings->rate_per_s, burst);
    } else if (settings->burst > 0) {
        snprintf(error, FRONT_ERROR_SIZE, "--burst: is nothing without --rate-per-s");
        return false;
    }
    snprintf(error, FRONT_ERROR_SIZE, "out of memory");
    return settings->rate_per_s == 0 || front->rate != NULL;
}

static bool front_init_cors(struct front *front, const struct settings *settings,
                            char error[FRONT_ERROR_SIZE]) {
    char why[CORS_ERROR_SIZE];
    if (cors_init(&front->cors, &settings->cors_origin, why)) {
        return true;
    }
    snprintf(error, FRONT_ERROR_SIZE, "--cors-origin: %s", why);
    return false;
}

static bool front_init_tls(struct front *front, const struct settings *settings,
                           char error[FRONT_ERROR_SIZE]) {
    char why[TLS_ERROR_SIZE];
    if ((settings->tls_cert == NULL) != (settings->tls_key == NULL)) {
        snprintf(error, FRONT_ERROR_SIZE, "--tls-cert and --tls-key: the one needs the other");
        return false;
    }
    if (settings->tls_cert == NULL) {
        return true;
    }
    front->has_tls = tls_init(&front->tls, settings->tls_cert, settings->tls_key, why);
    snprintf(error, FRONT_ERROR_SIZE, "--tls-cert, --tls-key: %s", why);
    return front->has_tls;
}

struct front *front_create(const struct settings *settings, char error[FRONT_ERROR_SIZE]) {
    struct front *front = calloc(1, sizeof *front);
    if (front == NULL) {
        snprintf(error, FRONT_ERROR_SIZE, "out of memory");
        return NULL;
    }
    pthread_rwlock_init(&front->lock, NULL);
    if (front_init_address(front, settings, error) && front_init_tokens(front, settings, error) &&
        front_init_rate(front, settings, error) && front_init_cors(front, settings, error) &&
        front_init_tls(front, settings, error)) {
        return front;
    }
    front_destroy(front);
    return NULL;
}

void front_destroy(struct front *front) {
    if (front == NULL) {
        return;
    }
    pthread_rwlock_destroy(&front->lock);
    tokens_destroy(front->tokens);
    rate_destroy(front->rate);
    tls_finish(&front->tls);
    free(front);
}

bool front_reload(struct front *front, size_t *count, char error[FRONT_ERROR_SIZE]) {
    *count = 0;
    if (front->token_path == NULL) {
        return true;
    }
    struct tokens *tokens = front_read_tokens(front->token_path, error);
    pthread_rwlock_wrlock(&front->lock);
    struct tokens *unused = tokens;
    if (tokens != NULL) {
        unused = front->tokens;
        front->tokens = tokens;
    }
    *count = tokens_count(front->tokens);
    pthread_rwlock_unlock(&front->lock);
    tokens_destroy(unused);
    return tokens != NULL;
}

const struct address *front_address(const struct front *front) {
    return &front->address;
}

int front_socket(const struct front *front) {
    return front->socket_fd;
}

const struct tls *front_tls(const struct front *front) {
    return front->has_tls ? &front->tls : NULL;
}

bool front_has_origins(const struct front *front) {
    return front->cors.count > 0;
}

/* ---- judging ---- */

static uint64_t front_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static bool front_refuse(struct front_grant *grant, enum api_code code, const char *detail) {
    grant->code = code;
    grant->detail = detail;
    return false;
}

/* What an orchestrator asks, without credentials and as often as it likes. */
static bool front_is_open(const char *path) {
    return strcmp(path, "/healthz") == 0 || strcmp(path, "/readyz") == 0;
}

static bool front_judge_rate(struct front *front, const struct sockaddr *client,
                             struct front_grant *grant) {
    if (front->rate != NULL && client != NULL) {
        grant->retry_after_s = rate_take(front->rate, client, front_now_ns());
    }
    return grant->retry_after_s == 0 ||
           front_refuse(grant, API_TOO_MANY_REQUESTS, "This client asks too often.");
}

/* One text for all that is wrong with a credential, or that it is not there. */
static bool front_judge_token(struct front *front, const struct gate_request *request,
                              struct front_grant *grant) {
    size_t count;
    const char *authorization = gate_header_find(request, "Authorization", &count);
    if (front->token_path == NULL) {
        return true;
    }
    if (count > 1) {
        return front_refuse(grant, API_BAD_REQUEST, "Authorization stands twice.");
    }
    pthread_rwlock_rdlock(&front->lock);
    const bool is_admitted = tokens_admit(front->tokens, authorization);
    pthread_rwlock_unlock(&front->lock);
    return is_admitted ||
           front_refuse(grant, API_UNAUTHORIZED, "A valid bearer token is required.");
}

void front_judge(struct front *front, const struct gate_request *request, const char *path,
                 const struct sockaddr *client, struct front_grant *grant) {
    *grant = (struct front_grant){
        .code = API_OK,
        .detail = "",
        .origin = cors_origin(&front->cors, request),
        .is_open = front_is_open(path),
    };
    grant->is_preflight = grant->origin != NULL && cors_is_preflight(request);
    if (!grant->is_open && front_judge_rate(front, client, grant) && !grant->is_preflight) {
        (void)front_judge_token(front, request, grant);
    }
}
