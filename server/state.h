/* What the whole daemon shares while it runs. main owns it; everyone else is handed it.
 * It holds no requests and no sockets. */
#ifndef SERVER_STATE_H
#define SERVER_STATE_H

#include <stdatomic.h>
#include <stdbool.h>

struct state {
    atomic_bool stopping;     /* a stop was asked for: no longer ready, connections close */
    const char *http_version; /* of the HTTP library that is running */
};

#endif
