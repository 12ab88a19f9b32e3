/* How often each client may ask: a token bucket for each address, in a table of bounded size.
 * It takes the time from its caller and sends nothing. */
#ifndef SERVER_RATE_H
#define SERVER_RATE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Clients remembered at a time. A client that is forgotten to make room begins with a full bucket:
 * whoever has many addresses is not held by a limit for each address anyway. */
#define RATE_MAX_CLIENTS ((size_t)1 << 14)

struct rate;

/* A bucket of `burst` requests that fills by per_s a second; both are over 0. NULL: no memory, or
 * no random bytes. */
struct rate *rate_create(size_t per_s, size_t burst);
void rate_destroy(struct rate *rate);

/* Takes one request from the client's bucket. 0, or, when it was empty, the whole seconds until
 * there is one. An IPv6 client is its first 64 bits; an address of another family is never limited.
 * Callable from any thread. */
unsigned rate_take(struct rate *rate, const struct sockaddr *client, uint64_t now_ns);

#endif
