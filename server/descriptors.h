/* How many more files and sockets the process may open.
 * It changes no limit. */
#ifndef SERVER_DESCRIPTORS_H
#define SERVER_DESCRIPTORS_H

#include <stddef.h>

/* By the soft limit, less what is open now. */
size_t descriptors_left(void);

#endif
