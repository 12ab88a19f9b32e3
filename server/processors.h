/* How many processors this process may use. Nothing else of the machine. */
#ifndef SERVER_PROCESSORS_H
#define SERVER_PROCESSORS_H

#include <stddef.h>

/* By affinity and, rounded up, by the quota of its cgroup (version 2); at least 1. */
size_t processors_allowed(void);

/* The processors that the text of a cpu.max file allows, rounded up; 0 when it sets no limit or
 * cannot be read. */
size_t processors_of_quota(const char *text);

#endif
