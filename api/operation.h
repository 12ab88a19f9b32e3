/* What the service can do: bytes in, bytes out. An operation has no idea of sockets, threads or
 * settings; the daemon, a batch item and the command line all call the same one. */
#ifndef API_OPERATION_H
#define API_OPERATION_H

#include "buffer.h"
#include "problem.h"

#include <stdbool.h>
#include <stddef.h>

enum api_media { API_MEDIA_JSON, API_MEDIA_OCTETS };

struct api_request {
    char *body; /* malloc'ed or aligned for double; its contents are overwritten by the reading */
    size_t size;
    enum api_media content_type;
    enum api_media accept;  /* the media type of the reply; problems are always JSON */
    const char *query;      /* as sent, without '?'; NULL or "" for none */
    const char *request_id; /* shown in problems; NULL for none */
};

struct api_reply {
    unsigned status;        /* HTTP status: 200, or that of the problem */
    const char *media_type; /* a constant */
    struct api_buffer body; /* owned by the caller: api_reply_finish */
    enum api_code code;     /* API_OK, or the problem's code */
};

struct api_call; /* one run of an operation: call.h */

/* A member of an operation's JSON request. The table is the list of what is known; every other
 * member is refused. openapi.json says the same, which a test checks. */
struct api_member {
    const char *name;
    bool required;
};

/* A request that falls into items which can run at the same time, on any threads and in any order:
 * open on one thread, run once for each item, close on one thread. */
struct api_fan {
    /* Reads as much of the request as it takes to know its items. NULL: the reply is set, and
     * nothing else is due. The request must stay until close or destroy. */
    void *(*open)(const struct api_request *request, size_t *item_count, struct api_reply *reply);
    void (*run)(void *state, size_t index);
    /* All items have run: sets the reply and frees the state. */
    void (*close)(void *state, struct api_reply *reply);
    /* Frees the state, whichever items have run. */
    void (*destroy)(void *state);
};

struct api_operation {
    const char *name; /* also the path: POST /v1/NAME */
    const char *summary;
    const struct api_member *members; /* ends with a NULL name */
    const char *const *parameters;    /* of the query, ends with NULL; for octet bodies */
    void (*run)(struct api_call *call);
    void (*run_octets)(struct api_call *call); /* NULL: takes and gives JSON only */
    bool takes_lines; /* also as a stream of lines, an item each: batch.h */
    /* How a request falls into items, or NULL when this one does not; may itself be NULL. */
    const struct api_fan *(*fan)(const struct api_request *request);
};

/* Once, before anything else here and before there are threads. */
void api_init(void);

/* The version of jansson that is running. */
const char *api_json_version(void);

/* Ends with a NULL. */
extern const struct api_operation *const api_operations[];

/* NULL when there is none of that name. */
const struct api_operation *api_operation_find(const char *name);

/* Runs the operation and fills in the reply, also when it fails: the reply is then a problem
 * document. Never fails otherwise; when memory is out the reply is 503 with an empty body at
 * worst. The reply needs no init. */
void api_operation_run(const struct api_operation *operation, const struct api_request *request,
                       struct api_reply *reply);

/* A reply that is a problem with one code and a detail, for errors outside of operations. */
void api_reply_problem(struct api_reply *reply, enum api_code code, const char *detail,
                       const char *request_id);

void api_reply_finish(struct api_reply *reply);

/* The text of openapi.json, as compiled in. Not NUL-terminated. */
const char *api_openapi_text(size_t *size);

#define API_TYPE_JSON "application/json"
#define API_TYPE_OCTETS "application/octet-stream"
#define API_TYPE_LINES "application/x-ndjson"
#define API_TYPE_PROBLEM "application/problem+json"

#endif
