/* Listening sockets: several on one port or path, one for each polling thread.
 * They are only opened here; who accepts from them is not its affair. */
#ifndef SERVER_LISTEN_H
#define SERVER_LISTEN_H

#include "address.h"

#include <stddef.h>

/* Opens count sockets on the address and sets its port to the real one. The file of a UNIX socket
 * gets the mode; one that is left over, with nobody listening, is replaced.
 * Returns 0, or an errno with no socket left open. */
int listen_open(struct address *address, unsigned unix_mode, int *sockets, size_t count);

/* Makes count descriptors of a socket that listens already. Returns 0 or an errno. */
int listen_share(int socket_fd, int *sockets, size_t count);

void listen_close(int *sockets, size_t count);

/* Closes sockets that listen_open made, and removes a UNIX socket's file unless another daemon has
 * put its own there. */
void listen_end(const struct address *address, int *sockets, size_t count);

#endif
