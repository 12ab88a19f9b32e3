/* The decisions of cors.h, after the Fetch standard's CORS protocol.
 * An origin that is not listed is told nothing, so that its browser refuses by itself. */
#define _GNU_SOURCE
#include "cors.h"

#include <stdio.h>
#include <string.h>

static const char cors_host_characters[] = "0123456789abcdefghijklmnopqrstuvwxyz.-_[]:";

static bool cors_is_origin(const char *text, size_t size) {
    const char *mark = memmem(text, size, "://", 3);
    if (mark == NULL || mark == text || size >= CORS_ORIGIN_SIZE) {
        return false;
    }
    const size_t scheme = (size_t)(mark - text);
    const size_t host = size - scheme - 3;
    return strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz+-.") == scheme && host > 0 &&
           strspn(mark + 3, cors_host_characters) >= host;
}

static bool cors_add(struct cors *cors, const char *text, size_t size,
                     char error[CORS_ERROR_SIZE]) {
    while (size > 0 && text[0] == ' ') {
        text++;
        size--;
    }
    while (size > 0 && text[size - 1] == ' ') {
        size--;
    }
    if (!cors_is_origin(text, size)) {
        snprintf(error, CORS_ERROR_SIZE,
                 "'%.*s' is not an origin such as https://example.org or http://localhost:3000",
                 size < 200 ? (int)size : 200, text);
        return false;
    }
    if (cors->count == CORS_MAX_ORIGINS) {
        snprintf(error, CORS_ERROR_SIZE, "more than %d origins", CORS_MAX_ORIGINS);
        return false;
    }
    memcpy(cors->origins[cors->count], text, size);
    cors->origins[cors->count++][size] = '\0';
    return true;
}

bool cors_init(struct cors *cors, const struct settings_list *values, char error[CORS_ERROR_SIZE]) {
    *cors = (struct cors){.count = 0};
    for (size_t i = 0; i < values->count; i++) {
        const char *at = values->values[i];
        for (;;) {
            const size_t size = strcspn(at, ",");
            if (!cors_add(cors, at, size, error)) {
                return false;
            }
            if (at[size] == '\0') {
                break;
            }
            at += size + 1;
        }
    }
    return true;
}

const char *cors_origin(const struct cors *cors, const struct gate_request *request) {
    size_t count;
    const char *origin = cors->count > 0 ? gate_header_find(request, "Origin", &count) : NULL;
    if (origin == NULL || count > 1) {
        return NULL;
    }
    for (size_t i = 0; i < cors->count; i++) {
        if (strcmp(cors->origins[i], origin) == 0) {
            return cors->origins[i];
        }
    }
    return NULL;
}

bool cors_is_preflight(const struct gate_request *request) {
    size_t count;
    return strcmp(request->method, "OPTIONS") == 0 &&
           gate_header_find(request, "Access-Control-Request-Method", &count) != NULL;
}
