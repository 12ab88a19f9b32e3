/* The two protocols of systemd.h, for one socket and for datagrams.
 * What cannot be told is not worth failing for: whoever waits for it has a time limit. */
#define _GNU_SOURCE
#include "systemd.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* SD_LISTEN_FDS_START */
#define SYSTEMD_FIRST_FD 3

static enum systemd_result systemd_fail(const char *why, char error[SYSTEMD_ERROR_SIZE]) {
    snprintf(error, SYSTEMD_ERROR_SIZE, "LISTEN_FDS: %s", why);
    return SYSTEMD_BAD;
}

static int systemd_option(int socket_fd, int option) {
    int value = -1;
    socklen_t size = sizeof value;
    return getsockopt(socket_fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

static enum systemd_result systemd_take(int socket_fd, struct address *address,
                                        char error[SYSTEMD_ERROR_SIZE]) {
    address->size = sizeof address->socket;
    if (systemd_option(socket_fd, SO_TYPE) != SOCK_STREAM ||
        systemd_option(socket_fd, SO_ACCEPTCONN) != 1) {
        return systemd_fail("descriptor 3 is not a stream socket that listens", error);
    }
    if (getsockname(socket_fd, &address->socket.any, &address->size) != 0 ||
        !address_is_known(address)) {
        return systemd_fail("descriptor 3 is neither an internet nor a UNIX socket", error);
    }
    if (fcntl(socket_fd, F_SETFL, fcntl(socket_fd, F_GETFL) | O_NONBLOCK) != 0 ||
        fcntl(socket_fd, F_SETFD, FD_CLOEXEC) != 0) {
        return systemd_fail(strerror(errno), error);
    }
    return SYSTEMD_SOCKET;
}

enum systemd_result systemd_socket(int *socket_fd, struct address *address,
                                   char error[SYSTEMD_ERROR_SIZE]) {
    const char *process = getenv("LISTEN_PID");
    const char *count = getenv("LISTEN_FDS");
    if (process == NULL || count == NULL || strtol(process, NULL, 10) != (long)getpid()) {
        return SYSTEMD_NONE; /* meant for another process, as a wrapper's would be */
    }
    if (strcmp(count, "1") != 0) {
        return systemd_fail("exactly one socket is taken", error);
    }
    *socket_fd = SYSTEMD_FIRST_FD;
    return systemd_take(SYSTEMD_FIRST_FD, address, error);
}

void systemd_notify(const char *text) {
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t size = path != NULL ? strlen(path) : 0;
    if (size < 2 || size >= sizeof address.sun_path || (path[0] != '/' && path[0] != '@')) {
        return;
    }
    memcpy(address.sun_path, path, size);
    if (path[0] == '@') {
        address.sun_path[0] = '\0'; /* an abstract name, which has no end but its size */
    }
    const int sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (sender < 0) {
        return;
    }
    (void)sendto(sender, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT,
                 (const struct sockaddr *)&address,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size));
    close(sender);
}

void systemd_notify_reloading(void) {
    char text[80];
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64,
             (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
    systemd_notify(text);
}
