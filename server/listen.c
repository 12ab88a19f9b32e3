/* Opens the sockets of listen.h with SO_REUSEPORT, so that the kernel spreads connections.
 * The first is bound without it: another process's port must be reported busy, not shared. */
#define _GNU_SOURCE
#include "listen.h"

#include <errno.h>
#include <unistd.h>

static int listen_option(int socket_fd, int option) {
    const int on = 1;
    return setsockopt(socket_fd, SOL_SOCKET, option, &on, sizeof on) == 0 ? 0 : errno;
}

static int listen_bind(int socket_fd, const struct address *address, bool is_first) {
    int error = listen_option(socket_fd, SO_REUSEADDR);
    if (error == 0 && !is_first) {
        error = listen_option(socket_fd, SO_REUSEPORT);
    }
    if (error == 0 && bind(socket_fd, &address->socket.any, address->size) != 0) {
        error = errno;
    }
    if (error == 0 && is_first) {
        error = listen_option(socket_fd, SO_REUSEPORT);
    }
    return error;
}

/* Opens one; the first fills in the address's real port. */
static int listen_open_one(struct address *address, bool is_first, int *opened) {
    socklen_t size = sizeof address->socket;
    int socket_fd =
        socket(address->socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket_fd < 0) {
        return errno;
    }
    int error = listen_bind(socket_fd, address, is_first);
    if (error == 0 && listen(socket_fd, SOMAXCONN) != 0) {
        error = errno;
    }
    if (error == 0 && getsockname(socket_fd, &address->socket.any, &size) != 0) {
        error = errno;
    }
    if (error != 0) {
        close(socket_fd);
        return error;
    }
    *opened = socket_fd;
    return 0;
}

int listen_open(struct address *address, int *sockets, size_t count) {
    for (size_t i = 0; i < count; i++) {
        int error = listen_open_one(address, i == 0, &sockets[i]);
        if (error != 0) {
            listen_close(sockets, i);
            return error;
        }
    }
    return 0;
}

void listen_close(int *sockets, size_t count) {
    for (size_t i = 0; i < count; i++) {
        close(sockets[i]);
    }
}
