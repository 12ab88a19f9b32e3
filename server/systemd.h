/* systemd's side of the daemon: a socket that it hands over, and what it is told in return.
 * Both are plain protocols of the environment (sd_listen_fds(3), sd_notify(3)); no library. */
#ifndef SERVER_SYSTEMD_H
#define SERVER_SYSTEMD_H

#include "address.h"

#define SYSTEMD_ERROR_SIZE 160

enum systemd_result {
    SYSTEMD_NONE,   /* no socket was handed over */
    SYSTEMD_SOCKET, /* descriptor and address are set */
    SYSTEMD_BAD,    /* the error's text is set */
};

/* The listening socket of LISTEN_FDS, when LISTEN_PID is this process. */
enum systemd_result systemd_socket(int *socket_fd, struct address *address,
                                   char error[SYSTEMD_ERROR_SIZE]);

/* Sends the text to NOTIFY_SOCKET. Does nothing where there is none. */
void systemd_notify(const char *text);

/* Tells that settings are read again; READY=1 must follow. */
void systemd_notify_reloading(void);

#endif
