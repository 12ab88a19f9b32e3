/* One GET /healthz over a socket with a deadline, under TLS when the daemon's settings say so.
 * Not a client of anything else: no retries, no headers read, no certificate judged. */
#define _GNU_SOURCE
#include "probe.h"

#include <errno.h>
#include <gnutls/gnutls.h>
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

/* What the bytes go through. */
struct probe_stream {
    int socket_fd;
    gnutls_session_t session; /* NULL: plain */
    long deadline_ms;
};

/* The shape of send() and recv(): -1 with errno set. */
static ssize_t probe_result(ssize_t result) {
    if (result >= 0) {
        return result;
    }
    errno = result == GNUTLS_E_AGAIN || result == GNUTLS_E_INTERRUPTED ? EAGAIN : EPROTO;
    return -1;
}

static ssize_t probe_send(const struct probe_stream *stream, const char *data, size_t size) {
    if (stream->session == NULL) {
        return send(stream->socket_fd, data, size, MSG_NOSIGNAL);
    }
    return probe_result(gnutls_record_send(stream->session, data, size));
}

static ssize_t probe_receive(const struct probe_stream *stream, char *data, size_t room) {
    if (stream->session == NULL) {
        return recv(stream->socket_fd, data, room, 0);
    }
    return probe_result(gnutls_record_recv(stream->session, data, room));
}

/* Returns 0 or an errno. */
static int probe_handshake(const struct probe_stream *stream) {
    for (;;) {
        const int result = gnutls_handshake(stream->session);
        if (result == GNUTLS_E_SUCCESS) {
            return 0;
        }
        if (gnutls_error_is_fatal(result) != 0) {
            return EPROTO;
        }
        const bool is_sending = gnutls_record_get_direction(stream->session) == 1;
        const int error =
            probe_wait(stream->socket_fd, is_sending ? POLLOUT : POLLIN, stream->deadline_ms);
        if (error != 0) {
            return error;
        }
    }
}

/* Reads up to the end of the status line, or of the room. */
static int probe_read_status(const struct probe_stream *stream, char *line, size_t room) {
    size_t size = 0;
    while (size + 1 < room) {
        ssize_t got = probe_receive(stream, line + size, room - 1 - size);
        if (got < 0 && errno == EAGAIN) {
            int waited = probe_wait(stream->socket_fd, POLLIN, stream->deadline_ms);
            if (waited != 0) {
                return waited;
            }
        }
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

static int probe_exchange(const struct probe_stream *stream, char *line, size_t room) {
    static const char request[] =
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    const ssize_t size = sizeof request - 1;
    /* so few bytes always fit a fresh connection's buffer */
    if (probe_send(stream, request, (size_t)size) != size) {
        return errno;
    }
    return probe_read_status(stream, line, room);
}

/* As probe_exchange. It asks the daemon of its own settings, so it judges no certificate. */
static int probe_exchange_tls(struct probe_stream *stream, char *line, size_t room) {
    gnutls_certificate_credentials_t credentials;
    int error = ENOMEM;
    if (gnutls_certificate_allocate_credentials(&credentials) < 0) {
        return error;
    }
    if (gnutls_init(&stream->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK) < 0) {
        gnutls_certificate_free_credentials(credentials);
        return error;
    }
    if (gnutls_set_default_priority(stream->session) == 0 &&
        gnutls_credentials_set(stream->session, GNUTLS_CRD_CERTIFICATE, credentials) == 0) {
        gnutls_transport_set_int(stream->session, stream->socket_fd);
        error = probe_handshake(stream);
    }
    if (error == 0) {
        error = probe_exchange(stream, line, room);
    }
    gnutls_deinit(stream->session);
    gnutls_certificate_free_credentials(credentials);
    return error;
}

static int probe_ask(int socket_fd, const struct settings *settings, char *line, size_t room) {
    struct probe_stream stream = {.socket_fd = socket_fd,
                                  .deadline_ms = probe_now_ms() + PROBE_DEADLINE_MS};
    int error = probe_connect(socket_fd, &settings->listen, stream.deadline_ms);
    if (error != 0) {
        return error;
    }
    return settings->tls_cert != NULL ? probe_exchange_tls(&stream, line, room)
                                      : probe_exchange(&stream, line, room);
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
        error = probe_ask(socket_fd, settings, line, sizeof line);
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
