/* What a handler gets and gives: one request as texts and bytes, one reply.
 * Nothing here knows how a request came in; no name of the HTTP library is seen. */
#ifndef SERVER_HANDLERS_H
#define SERVER_HANDLERS_H

#include "api/operation.h"
#include "server/state.h"

struct handlers_request {
    const struct state *state;
    bool is_stopping;  /* a stop was asked for before the answer */
    const char *name;  /* what stands for {...} in the route's path, NULL when nothing does */
    const char *query; /* as sent, "" for none */
    const char *request_id;
    const struct api_operation *operation; /* of an operation's route, else NULL */
    enum api_media content_type;
    enum api_media accept;
    char *body; /* may be overwritten */
    size_t size;
};

/* A handler fills in a reply that holds nothing yet; api_reply_finish frees it. */
typedef void handlers_run(const struct handlers_request *request, struct api_reply *reply);

handlers_run handlers_operation; /* POST /v1/{operation} */
handlers_run handlers_health;    /* GET /healthz */
handlers_run handlers_ready;     /* GET /readyz */
handlers_run handlers_version;   /* GET /version */
handlers_run handlers_openapi;   /* GET /openapi.json */
handlers_run handlers_problem;   /* GET /problems/{code} */
handlers_run handlers_metrics;   /* GET /metrics */

/* What an operation sees of the request. */
struct api_request handlers_api_request(const struct handlers_request *request);

/* Starts a reply of 200 with an empty body of JSON. */
void handlers_reply_init(struct api_reply *reply);

#endif
