/* Listening sockets: several on one port, one for each polling thread.
 * They are only opened here; who accepts from them is not its affair. */
#ifndef SERVER_LISTEN_H
#define SERVER_LISTEN_H

#include "address.h"

#include <stddef.h>

/* Opens count sockets on the address and sets its port to the real one.
 * Returns 0, or an errno with no socket left open. */
int listen_open(struct address *address, int *sockets, size_t count);

void listen_close(int *sockets, size_t count);

#endif
