/* What the kernel tells of this process: processor time, memory, descriptors.
 * It keeps nothing; each call looks again. */
#ifndef SERVER_METRICS_PROCESS_H
#define SERVER_METRICS_PROCESS_H

#include <stdint.h>

struct metrics_process {
    uint64_t cpu_us;
    uint64_t resident_bytes; /* 0 when /proc is not there; likewise open_fds */
    uint64_t open_fds;
    uint64_t max_fds;
};

struct metrics_process metrics_process_read(void);

#endif
