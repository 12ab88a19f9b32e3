/* One GET /healthz over a plain socket with a deadline.
 * Not a client of anything else: no retries, no headers read. */
#define _GNU_SOURCE
#include "probe.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Below the 3 s that an image's health check usually allows. */
#define PROBE_DEADLINE_MS 2000

static long probe_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits for the event. Returns 0 or an errno. */
static int probe_wait(int socket_fd, short event, long deadline_ms) {
    struct pollfd wanted = {.fd = socket_fd, .events = event};
    for (;;) {
        long left_ms = deadline_ms - probe_now_ms();
        int ready = poll(&wanted, 1, left_ms > 0 ? (int)left_ms : 0);
        if (ready > 0) {
            return 0;
        }
        if (ready == 0) {
            return ETIMEDOUT;
        }
        if (errno != EINTR) {
            return errno;
        }
    }
}

static int probe_connect(int socket_fd, const struct address *address, long deadline_ms) {
    int error = 0;
    socklen_t size = sizeof error;
    if (connect(socket_fd, &address->socket.any, address->size) == 0) {
        return 0;
    }
    if (errno != EINPROGRESS) {
        return errno;
    }
    int waited = probe_wait(socket_fd, POLLOUT, deadline_ms);
    if (waited != 0) {
        return waited;
    }
    return getsockopt(socket_fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

/* Reads up to the end of the status line, or of the room. */
static int probe_read_status(int socket_fd, char *line, size_t room, long deadline_ms) {
    size_t size = 0;
    while (size + 1 < room) {
        int waited = probe_wait(socket_fd, POLLIN, deadline_ms);
        if (waited != 0) {
            return waited;
        }
        ssize_t got = recv(socket_fd, line + size, room - 1 - size, 0);
        if (got < 0 && errno != EINTR && errno != EAGAIN) {
            return errno;
        }
        if (got == 0) {
            break;
        }
        size += got > 0 ? (size_t)got : 0;
        if (memchr(line, '\n', size) != NULL) {
            break;
        }
    }
    line[size] = '\0';
    return 0;
}

static int probe_ask(int socket_fd, const struct address *address, char *line, size_t room) {
    char host[ADDRESS_TEXT_SIZE];
    char request[128];
    long deadline_ms = probe_now_ms() + PROBE_DEADLINE_MS;
    int error = probe_connect(socket_fd, address, deadline_ms);
    if (error != 0) {
        return error;
    }
    address_format(address, host);
    int size = snprintf(request, sizeof request,
                        "GET /healthz HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host);
    /* so few bytes always fit a fresh connection's buffer */
    if (send(socket_fd, request, (size_t)size, MSG_NOSIGNAL) != size) {
        return errno;
    }
    return probe_read_status(socket_fd, line, room, deadline_ms);
}

int probe_main(const struct settings *settings) {
    char line[64] = "";
    char host[ADDRESS_TEXT_SIZE];
    const struct address *address = &settings->listen;
    int error = 0;
    int socket_fd =
        socket(address->socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket_fd < 0) {
        error = errno;
    } else {
        error = probe_ask(socket_fd, address, line, sizeof line);
        close(socket_fd);
    }
    if (error == 0 && strncmp(line, "HTTP/1.1 200", 12) == 0) {
        return 0;
    }
    address_format(address, host);
    line[strcspn(line, "\r\n")] = '\0';
    fprintf(stderr, "skind probe: %s: %s\n", host, error != 0 ? strerror(error) : line);
    return 1;
}
