/* The framing gate: whether a request's line and headers can be trusted to say where the request
 * ends, before anything else looks at them. A pure function; it knows no routes and no sockets. */
#ifndef SERVER_GATE_H
#define SERVER_GATE_H

#include "api/problem.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a request target, and of all headers together with 4 for ": " and the line's end. */
#define GATE_MAX_TARGET_SIZE 4096
#define GATE_MAX_HEADER_SIZE 16384
#define GATE_MAX_HEADERS 100

struct gate_header {
    const char *name;
    size_t name_size;
    const char *value;
    size_t value_size;
};

/* Texts are NUL-terminated; sizes tell of NUL bytes within. */
struct gate_request {
    const char *method;
    const char *target;  /* as sent */
    size_t target_size;  /* may be over the limit; target is then not looked at */
    const char *version; /* such as HTTP/1.1 */
    const struct gate_header *headers;
    size_t header_count; /* at most GATE_MAX_HEADERS */
    bool more_headers;   /* there were more than that */
};

enum gate_action {
    GATE_PASS,
    GATE_CLOSE, /* answer once the body is through, then close */
    GATE_CUT,   /* the body's end is unknown: answer at once, then close */
};

enum gate_body { GATE_BODY_NONE, GATE_BODY_SIZED, GATE_BODY_CHUNKED };

struct gate_verdict {
    enum gate_action action;
    enum api_code code;  /* API_OK under GATE_PASS */
    const char *detail;  /* a constant */
    enum gate_body body; /* NONE: neither Content-Length nor Transfer-Encoding */
    uint64_t body_size;  /* GATE_BODY_SIZED: as Content-Length says */
    bool expects_continue;
};

void gate_check(const struct gate_request *request, struct gate_verdict *verdict);

/* The value of the first header of that name, or NULL; *count is how many there are. */
const char *gate_header_find(const struct gate_request *request, const char *name, size_t *count);

/* Cuts a target that passed into a path, percent-decoded in place, and a query as sent, without
 * '?', "" when there is none. "%2F" stays as it is: it is not a separator. */
void gate_target_split(char *target, char **path, char **query);

#endif
