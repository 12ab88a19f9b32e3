/* The HTTP side of the daemon: sockets in, handlers called, replies out.
 * http.c alone knows which library does it; routes, gate and handlers do not know of this. */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

#include "settings.h"
#include "state.h"

#include <stddef.h>

struct http_server;

#define HTTP_ERROR_SIZE 256

/* Listens and serves until http_destroy, on threads of its own; they inherit the signal mask.
 * settings and state must outlive it. NULL on failure; the error text then says why. */
struct http_server *http_create(const struct settings *settings, struct state *state,
                                char error[HTTP_ERROR_SIZE]);

/* Where it listens, with the real port. */
const struct address *http_address(const struct http_server *server);

/* Stops listening. What the kernel had accepted already is still served. */
void http_quiesce(struct http_server *server);

/* Ends what is open of streams of lines, which have no end of their own. */
void http_cut_streams(struct http_server *server);

struct http_load {
    size_t open_requests; /* begun and not yet answered in full */
    size_t requests;      /* ever begun */
};

struct http_load http_load(const struct http_server *server);

/* Closes every connection and frees the server. Accepts NULL. */
void http_destroy(struct http_server *server);

/* The version of the library that is running. */
const char *http_library_version(void);

#endif
