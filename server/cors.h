/* Which origins' scripts may call, and whether a request is a browser's question about that.
 * It compares texts; what headers follow is for the caller. */
#ifndef SERVER_CORS_H
#define SERVER_CORS_H

#include "gate.h"
#include "settings.h"

#include <stdbool.h>

#define CORS_MAX_ORIGINS 64

/* Bytes of a serialised origin with its end: scheme, host of 253 characters, port. */
#define CORS_ORIGIN_SIZE 280

struct cors {
    size_t count;
    char origins[CORS_MAX_ORIGINS][CORS_ORIGIN_SIZE];
};

#define CORS_ERROR_SIZE 400

/* Takes values with commas apart. An origin is scheme://host or scheme://host:port, in lower case
 * as browsers send it; neither "*" nor "null" is one. False with the error's text set. */
bool cors_init(struct cors *cors, const struct settings_list *values, char error[CORS_ERROR_SIZE]);

/* The listed origin that the request comes from, or NULL. */
const char *cors_origin(const struct cors *cors, const struct gate_request *request);

/* Whether it asks what a later request may do: OPTIONS that names a method. */
bool cors_is_preflight(const struct gate_request *request);

#endif
