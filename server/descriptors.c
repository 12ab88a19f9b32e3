/* Counts what is open by /proc, or takes a guess where that is not mounted.
 * Connections beyond the limit would be refused by the kernel at each accept, again and again. */
#define _GNU_SOURCE
#include "descriptors.h"

#include <dirent.h>
#include <stdint.h>
#include <sys/resource.h>

#define DESCRIPTORS_GUESS 16

static size_t descriptors_open(void) {
    DIR *directory = opendir("/proc/self/fd");
    size_t count = 0;
    if (directory == NULL) {
        return DESCRIPTORS_GUESS;
    }
    while (readdir(directory) != NULL) {
        count++;
    }
    closedir(directory);
    return count - 3; /* ".", ".." and the directory itself */
}

size_t descriptors_left(void) {
    struct rlimit limit;
    const size_t open = descriptors_open();
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return 0;
    }
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > SIZE_MAX) {
        return SIZE_MAX;
    }
    return limit.rlim_cur > open ? (size_t)limit.rlim_cur - open : 0;
}
