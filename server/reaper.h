/* Closes connections whose client is too slow: in its headers, its body, in taking its reply, or
 * idle in between. It knows descriptors and deadlines, nothing of what goes over them. */
#ifndef SERVER_REAPER_H
#define SERVER_REAPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reaper_limits {
    uint64_t header_ms;   /* for a request's line and headers, from accept or the first line on */
    uint64_t idle_ms;     /* between two requests */
    uint64_t transfer_ms; /* how far a transfer may fall behind the rate */
    uint64_t bytes_per_s; /* the rate; over 0 */
};

struct reaper;
struct reaper_seat; /* one connection's */

/* Starts a thread that looks after at most `seats` connections. NULL: no memory or no thread. */
struct reaper *reaper_create(size_t seats, const struct reaper_limits *limits);
void reaper_destroy(struct reaper *reaper);

/* Connections that it has closed so far. */
size_t reaper_closed(const struct reaper *reaper);

/* A fresh connection: its first headers are due. NULL when all seats are taken. */
struct reaper_seat *reaper_enter(struct reaper *reaper, int socket_fd);

/* Whether it was the reaper that closed it. */
bool reaper_has_closed(const struct reaper_seat *seat);

/* To be called before the descriptor is closed. */
void reaper_leave(struct reaper_seat *seat);

/* What the connection does from now on; called by one thread at a time. Each accepts NULL. */
void reaper_await_headers(struct reaper_seat *seat);
void reaper_await_body(struct reaper_seat *seat);
void reaper_progress(struct reaper_seat *seat, size_t size);      /* bytes of the body came in */
void reaper_await_reading(struct reaper_seat *seat, size_t size); /* of a reply of that size */
void reaper_await_request(struct reaper_seat *seat);
void reaper_pause(struct reaper_seat *seat); /* we work: the client owes nothing */

#endif
