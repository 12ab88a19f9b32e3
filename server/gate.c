/* The framing checks of gate.h, after RFC 9110 and RFC 9112, stricter where those leave a choice.
 * Two readers that disagree about a request's end let one request hide in another. Other versions
 * than HTTP/1.x never come here: libmicrohttpd answers those itself (505). */
#define _GNU_SOURCE
#include "gate.h"

#include <string.h>
#include <strings.h>

static bool gate_is_alnum(unsigned char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* tchar of RFC 9110, section 5.6.2 */
static bool gate_is_token(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (!gate_is_alnum(c) && (c == '\0' || strchr("!#$%&'*+-.^_`|~", c) == NULL)) {
            return false;
        }
    }
    return size > 0;
}

static bool gate_has_control(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < 0x20 && c != '\t') || c == 0x7f) {
            return true;
        }
    }
    return false;
}

/* 0 to 15, or -1. */
static int gate_hex(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

const char *gate_header_find(const struct gate_request *request, const char *name, size_t *count) {
    const char *value = NULL;
    size_t size = strlen(name);
    *count = 0;
    for (size_t i = 0; i < request->header_count; i++) {
        const struct gate_header *header = &request->headers[i];
        if (header->name_size == size && strncasecmp(header->name, name, size) == 0) {
            value = *count == 0 ? header->value : value;
            ++*count;
        }
    }
    return value;
}

/* Each check returns true when the request may go on; otherwise the verdict is set. */
static bool gate_refuse(struct gate_verdict *verdict, enum gate_action action, enum api_code code,
                        const char *detail) {
    verdict->action = action;
    verdict->code = code;
    verdict->detail = detail;
    return false;
}

static bool gate_check_headers(const struct gate_request *request, struct gate_verdict *verdict) {
    size_t size = 0;
    for (size_t i = 0; i < request->header_count; i++) {
        const struct gate_header *header = &request->headers[i];
        if (!gate_is_token(header->name, header->name_size)) {
            return gate_refuse(verdict, GATE_CUT, API_BAD_REQUEST,
                               "A header's name has a character that names cannot have.");
        }
        if (gate_has_control(header->value, header->value_size)) {
            return gate_refuse(verdict, GATE_CUT, API_BAD_REQUEST,
                               "A header's value has a control character.");
        }
        size += header->name_size + header->value_size + 4;
    }
    if (size > GATE_MAX_HEADER_SIZE || request->more_headers) {
        return gate_refuse(verdict, GATE_CLOSE, API_HEADER_TOO_LARGE,
                           "The headers are over 16384 bytes, or more than 100.");
    }
    return true;
}

static bool gate_check_length(const char *text, struct gate_verdict *verdict) {
    uint64_t value = 0;
    size_t size = strlen(text);
    bool is_valid = size > 0 && size <= 18; /* 18 digits always fit */
    for (size_t i = 0; is_valid && i < size; i++) {
        is_valid = text[i] >= '0' && text[i] <= '9';
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    if (!is_valid) {
        return gate_refuse(verdict, GATE_CUT, API_BAD_REQUEST,
                           "Content-Length is not a plain number of bytes.");
    }
    verdict->body = GATE_BODY_SIZED;
    verdict->body_size = value;
    return true;
}

/* libmicrohttpd 0.9.75 glues a folded line to the header's name, so that "Content-Length:" with its
 * value on the next line comes here as the name "Content-Length39": a body that it does not see. */
static bool gate_has_glued_framing(const struct gate_request *request) {
    static const char *const names[] = {"Content-Length", "Transfer-Encoding"};
    for (size_t i = 0; i < request->header_count; i++) {
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
            const size_t size = strlen(names[k]);
            if (request->headers[i].name_size > size &&
                strncasecmp(request->headers[i].name, names[k], size) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Where the body ends: RFC 9112, section 6.3. */
static bool gate_check_framing(const struct gate_request *request, struct gate_verdict *verdict) {
    size_t lengths;
    size_t codings;
    const char *length = gate_header_find(request, "Content-Length", &lengths);
    const char *coding = gate_header_find(request, "Transfer-Encoding", &codings);
    if (gate_has_glued_framing(request)) {
        return gate_refuse(verdict, GATE_CUT, API_BAD_REQUEST, "A header of framing is folded.");
    }
    if (lengths > 1) {
        return gate_refuse(verdict, GATE_CUT, API_BAD_REQUEST, "Content-Length stands twice.");
    }
    if (length != NULL && coding != NULL) {
        return gate_refuse(verdict, GATE_CUT, API_BAD_REQUEST,
                           "Content-Length and Transfer-Encoding exclude each other.");
    }
    if (length != NULL) {
        return gate_check_length(length, verdict);
    }
    if (coding == NULL) {
        return true;
    }
    if (strcmp(request->version, "HTTP/1.0") == 0) {
        return gate_refuse(verdict, GATE_CUT, API_BAD_REQUEST,
                           "HTTP/1.0 does not have Transfer-Encoding.");
    }
    if (codings > 1 || strcasecmp(coding, "chunked") != 0) {
        return gate_refuse(verdict, GATE_CUT, API_NOT_IMPLEMENTED,
                           "The only transfer coding is chunked, once.");
    }
    verdict->body = GATE_BODY_CHUNKED;
    return true;
}

/* host [":" port] of RFC 3986, section 3.2, without user information. */
static bool gate_is_host(const char *text) {
    size_t size;
    if (*text == '[') {
        size = 1 + strspn(text + 1, "0123456789abcdefABCDEF:.");
        if (size < 3 || text[size] != ']') {
            return false;
        }
        size++;
    } else {
        for (size = 0; gate_is_alnum((unsigned char)text[size]) ||
                       (text[size] != '\0' && strchr("-._~!$&'()*+,;=%", text[size]) != NULL);
             size++) {
        }
    }
    if (size == 0) {
        return false;
    }
    if (text[size] == ':') {
        size += 1 + strspn(text + size + 1, "0123456789");
    }
    return text[size] == '\0';
}

static bool gate_check_host(const struct gate_request *request, struct gate_verdict *verdict) {
    size_t hosts;
    const char *host = gate_header_find(request, "Host", &hosts);
    if (hosts > 1) {
        return gate_refuse(verdict, GATE_CLOSE, API_BAD_REQUEST, "Host stands twice.");
    }
    if (host == NULL && strcmp(request->version, "HTTP/1.0") != 0) {
        return gate_refuse(verdict, GATE_CLOSE, API_BAD_REQUEST, "Host is missing.");
    }
    if (host != NULL && !gate_is_host(host)) {
        return gate_refuse(verdict, GATE_CLOSE, API_BAD_REQUEST,
                           "Host is not a host with an optional port.");
    }
    return true;
}

static bool gate_check_method(const struct gate_request *request, struct gate_verdict *verdict) {
    static const char *const known[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(request->method, known[i]) == 0) {
            return true;
        }
    }
    return gate_refuse(verdict, GATE_CLOSE, API_NOT_IMPLEMENTED,
                       "The method is not one that this server knows.");
}

/* The size of "http://" with the authority after it, 0 for a target in origin form. */
static size_t gate_authority_end(const char *target) {
    if (strncasecmp(target, "http://", 7) != 0) {
        return 0;
    }
    return 7 + strcspn(target + 7, "/?");
}

static bool gate_check_escapes(const char *target, struct gate_verdict *verdict) {
    for (const char *at = target; *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at;
        if (c <= 0x20 || c >= 0x7f || strchr("#\"<>\\", c) != NULL) {
            return gate_refuse(verdict, GATE_CLOSE, API_BAD_REQUEST,
                               "The request target has a character that must be escaped.");
        }
        if (c == '%' && (gate_hex(at[1]) < 0 || gate_hex(at[2]) < 0)) {
            return gate_refuse(verdict, GATE_CLOSE, API_BAD_REQUEST,
                               "The request target has a '%' without two hexadecimal digits.");
        }
        if (c == '%' && at[1] == '0' && at[2] == '0') {
            return gate_refuse(verdict, GATE_CLOSE, API_BAD_REQUEST,
                               "The request target has an escaped NUL.");
        }
    }
    return true;
}

static bool gate_check_target(const struct gate_request *request, struct gate_verdict *verdict) {
    const char *target = request->target;
    if (request->target_size > GATE_MAX_TARGET_SIZE) {
        return gate_refuse(verdict, GATE_CLOSE, API_URI_TOO_LONG,
                           "The request target is over 4096 bytes.");
    }
    if (!gate_check_escapes(target, verdict)) {
        return false;
    }
    size_t authority_end = gate_authority_end(target);
    if (authority_end > 0) {
        size_t hosts;
        const char *host = gate_header_find(request, "Host", &hosts);
        if (host == NULL || strlen(host) != authority_end - 7 ||
            strncasecmp(target + 7, host, authority_end - 7) != 0) {
            return gate_refuse(verdict, GATE_CLOSE, API_BAD_REQUEST,
                               "The request target names another host than Host.");
        }
    } else if (target[0] != '/' && strcmp(target, "*") != 0) {
        return gate_refuse(verdict, GATE_CLOSE, API_BAD_REQUEST,
                           "The request target does not begin with '/'.");
    }
    return true;
}

void gate_check(const struct gate_request *request, struct gate_verdict *verdict) {
    *verdict = (struct gate_verdict){.action = GATE_PASS, .code = API_OK, .detail = ""};
    bool passed = gate_check_headers(request, verdict) && gate_check_framing(request, verdict) &&
                  gate_check_host(request, verdict) && gate_check_method(request, verdict) &&
                  gate_check_target(request, verdict);
    if (passed || verdict->action != GATE_CUT) {
        size_t count;
        const char *expect = gate_header_find(request, "Expect", &count);
        verdict->expects_continue = expect != NULL && strcasecmp(expect, "100-continue") == 0;
    }
}

static void gate_decode(char *text) {
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        if (*from == '%' && !(from[1] == '2' && (from[2] | 0x20) == 'f')) {
            *to++ = (char)(gate_hex(from[1]) * 16 + gate_hex(from[2]));
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
}

void gate_target_split(char *target, char **path, char **query) {
    char *mark = strchr(target, '?');
    *query = mark != NULL ? mark + 1 : target + strlen(target);
    if (mark != NULL) {
        *mark = '\0';
    }
    char *from = target + gate_authority_end(target);
    if (*from == '\0') {
        *--from = '/'; /* "http://host" asks for the root; the host is no longer needed */
    }
    gate_decode(from);
    *path = from;
}
