/* The checks of admit.h, in the order in which a client would want to hear of them:
 * path, method, length, types, size. It reads no body. */
#define _GNU_SOURCE
#include "admit.h"

#include "media.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

static bool admit_refuse(struct admission *admission, enum api_code code, const char *detail) {
    admission->code = code;
    admission->detail = detail;
    return false;
}

static bool admit_route(const struct gate_request *request, const char *path, size_t max_body_size,
                        struct admission *admission) {
    enum api_code code = routes_find(request->method, path, &admission->match);
    if (code == API_NOT_FOUND) {
        return admit_refuse(admission, code, "Nothing has this path; see /openapi.json.");
    }
    if (code == API_METHOD_NOT_ALLOWED) {
        return admit_refuse(admission, code, "The path does not have this method; see Allow.");
    }
    admission->body_limit = admission->match.route->is_operation ? max_body_size : 0;
    return true;
}

static bool admit_takes_octets(const struct admission *admission) {
    const struct api_operation *operation = admission->match.operation;
    return operation != NULL && operation->run_octets != NULL;
}

static bool admit_content_type(const struct gate_request *request, struct admission *admission) {
    size_t count;
    const char *type = gate_header_find(request, "Content-Type", &count);
    const char *detail = admit_takes_octets(admission)
                             ? "Content-Type must be application/json (in UTF-8) or "
                               "application/octet-stream."
                             : "Content-Type must be application/json (in UTF-8).";
    if (count > 1) {
        return admit_refuse(admission, API_BAD_REQUEST, "Content-Type stands twice.");
    }
    if (type != NULL && media_type_is_lines(type) && admission->match.operation->takes_lines) {
        admission->is_stream = true;
        admission->body_limit = SIZE_MAX;
        return true;
    }
    if (type == NULL || !media_type_parse(type, &admission->content_type) ||
        (admission->content_type == API_MEDIA_OCTETS && !admit_takes_octets(admission))) {
        return admit_refuse(admission, API_UNSUPPORTED_MEDIA_TYPE, detail);
    }
    return true;
}

static bool admit_content_encoding(const struct gate_request *request,
                                   struct admission *admission) {
    size_t count;
    const char *encoding = gate_header_find(request, "Content-Encoding", &count);
    if (count > 1) {
        return admit_refuse(admission, API_BAD_REQUEST, "Content-Encoding stands twice.");
    }
    if (encoding != NULL &&
        (strcasecmp(encoding, "gzip") == 0 || strcasecmp(encoding, "x-gzip") == 0)) {
        if (admission->is_stream) {
            return admit_refuse(admission, API_UNSUPPORTED_MEDIA_TYPE,
                                "A stream of lines is not taken in gzip.");
        }
        admission->is_packed = true;
        return true;
    }
    if (encoding != NULL && strcasecmp(encoding, "identity") != 0) {
        return admit_refuse(admission, API_UNSUPPORTED_MEDIA_TYPE,
                            "Content-Encoding must be gzip or identity, or be left out.");
    }
    return true;
}

/* What of a body can be judged before it comes. */
static bool admit_body(const struct gate_request *request, const struct gate_verdict *verdict,
                       struct admission *admission) {
    if (admission->body_limit > 0) {
        if (verdict->body == GATE_BODY_NONE) {
            return admit_refuse(admission, API_LENGTH_REQUIRED,
                                "Send Content-Length, or Transfer-Encoding: chunked.");
        }
        if (!admit_content_type(request, admission) ||
            !admit_content_encoding(request, admission)) {
            return false;
        }
    }
    if (verdict->body == GATE_BODY_SIZED && verdict->body_size > admission->body_limit) {
        return admit_refuse(admission, API_PAYLOAD_TOO_LARGE,
                            admission->body_limit > 0 ? "Content-Length is over the limit."
                                                      : "This path takes no body.");
    }
    return true;
}

static bool admit_accept_lines(const struct gate_request *request, struct admission *admission) {
    static const char *const ranges[] = {API_TYPE_LINES, "application/*", "*/*"};
    bool is_limited = false;
    for (size_t i = 0; i < request->header_count; i++) {
        const struct gate_header *header = &request->headers[i];
        if (strcasecmp(header->name, "Accept") != 0) {
            continue;
        }
        is_limited = true;
        for (size_t k = 0; k < sizeof ranges / sizeof ranges[0]; k++) {
            if (strcasestr(header->value, ranges[k]) != NULL) {
                return true;
            }
        }
    }
    return !is_limited || admit_refuse(admission, API_NOT_ACCEPTABLE,
                                       "A stream of lines is answered in application/x-ndjson.");
}

static bool admit_accept(const struct gate_request *request, struct admission *admission) {
    struct media_preference preference = {{{0}}};
    bool is_limited = false;
    if (admission->is_stream) {
        return admit_accept_lines(request, admission);
    }
    for (size_t i = 0; i < request->header_count; i++) {
        const struct gate_header *header = &request->headers[i];
        if (strcasecmp(header->name, "Accept") == 0 && header->value_size > 0) {
            media_accept_add(&preference, header->value);
            is_limited = true;
        }
    }
    if (!is_limited) {
        media_accept_add(&preference, "*/*");
    }
    if (!media_accept_choose(&preference, admit_takes_octets(admission), admission->content_type,
                             &admission->accept)) {
        return admit_refuse(admission, API_NOT_ACCEPTABLE,
                            admit_takes_octets(admission)
                                ? "This path answers in application/json or "
                                  "application/octet-stream."
                                : "This path answers in application/json.");
    }
    return true;
}

static void admit_codings(const struct gate_request *request, struct admission *admission) {
    struct media_codings codings = MEDIA_CODINGS_NONE;
    for (size_t i = 0; i < request->header_count; i++) {
        const struct gate_header *header = &request->headers[i];
        if (strcasecmp(header->name, "Accept-Encoding") == 0) {
            media_codings_add(&codings, header->value);
        }
    }
    admission->takes_packed = media_codings_want_gzip(&codings);
}

void admit_request(const struct gate_request *request, const struct gate_verdict *verdict,
                   const char *path, size_t max_body_size, struct admission *admission) {
    *admission = (struct admission){
        .code = API_OK, .detail = "", .content_type = API_MEDIA_JSON, .accept = API_MEDIA_JSON};
    admit_codings(request, admission);
    (void)(admit_route(request, path, max_body_size, admission) &&
           admit_body(request, verdict, admission) &&
           (routes_is_text(admission->match.route) || admit_accept(request, admission)));
}
