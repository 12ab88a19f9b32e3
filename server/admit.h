/* Whether a well-framed request is let in: its route, its media types and its claimed size.
 * A pure function like the gate, so that every refusal is tested without a socket. */
#ifndef SERVER_ADMIT_H
#define SERVER_ADMIT_H

#include "gate.h"
#include "routes.h"

struct admission {
    enum api_code code; /* API_OK: let in */
    const char *detail; /* a constant */
    struct routes_match match;
    enum api_media content_type;
    enum api_media accept;
    bool is_stream;    /* lines in, lines out, without a limit on the whole */
    bool is_packed;    /* the body is in gzip */
    bool takes_packed; /* the reply may be */
    size_t body_limit; /* bytes; 0 for a path that takes no body */
};

/* The verdict passed; the path is decoded. */
void admit_request(const struct gate_request *request, const struct gate_verdict *verdict,
                   const char *path, size_t max_body_size, struct admission *admission);

#endif
