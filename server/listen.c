/* Opens the sockets of listen.h with SO_REUSEPORT, so that the kernel spreads connections.
 * The first is bound without it: another process's port must be reported busy, not shared. A UNIX
 * socket cannot be opened twice; there all threads accept from one. */
#define _GNU_SOURCE
#include "listen.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
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

/* ---- UNIX sockets ---- */

static bool listen_is_stale(const struct address *address) {
    struct stat status;
    if (lstat(address->socket.path.sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) {
        return false;
    }
    const int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool is_refused = socket_fd >= 0 &&
                            connect(socket_fd, &address->socket.any, address->size) != 0 &&
                            errno == ECONNREFUSED;
    if (socket_fd >= 0) {
        close(socket_fd);
    }
    return is_refused;
}

/* Removes the file unless somebody listens on it. */
static void listen_remove(const struct address *address) {
    if (listen_is_stale(address)) {
        unlink(address->socket.path.sun_path);
    }
}

/* Nobody can connect before it listens, so the mode is set in time. */
static int listen_start_unix(int socket_fd, const struct address *address, unsigned mode) {
    if (bind(socket_fd, &address->socket.any, address->size) != 0) {
        return errno;
    }
    if (chmod(address->socket.path.sun_path, (mode_t)mode) != 0 ||
        listen(socket_fd, SOMAXCONN) != 0) {
        const int error = errno;
        unlink(address->socket.path.sun_path);
        return error;
    }
    return 0;
}

static int listen_open_unix(const struct address *address, unsigned mode, int *sockets,
                            size_t count) {
    const int socket_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket_fd < 0) {
        return errno;
    }
    listen_remove(address);
    int error = listen_start_unix(socket_fd, address, mode);
    if (error == 0) {
        error = listen_share(socket_fd, sockets, count);
    }
    close(socket_fd);
    return error;
}

/* ---- either ---- */

int listen_share(int socket_fd, int *sockets, size_t count) {
    for (size_t i = 0; i < count; i++) {
        sockets[i] = fcntl(socket_fd, F_DUPFD_CLOEXEC, 0);
        if (sockets[i] < 0) {
            const int error = errno;
            listen_close(sockets, i);
            return error;
        }
    }
    return 0;
}

int listen_open(struct address *address, unsigned unix_mode, int *sockets, size_t count) {
    if (address_is_unix(address)) {
        return listen_open_unix(address, unix_mode, sockets, count);
    }
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

/* A thread that is still in poll() keeps a closed socket listening, so a UNIX socket is shut down
 * first: nobody shall be let in behind the last accept. */
void listen_end(const struct address *address, int *sockets, size_t count) {
    const bool is_unix = address_is_unix(address);
    for (size_t i = 0; is_unix && i < count; i++) {
        shutdown(sockets[i], SHUT_RDWR);
    }
    listen_close(sockets, count);
    if (is_unix) {
        listen_remove(address);
    }
}
