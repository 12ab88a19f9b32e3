/* Affinity and cgroup quota, the smaller of the two. In a container sysconf tells the machine's
 * processors, of which a quota may leave a fraction. */
#define _GNU_SOURCE
#include "processors.h"

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROCESSORS_MAX 4096

size_t processors_of_quota(const char *text) {
    char *rest;
    const unsigned long long quota = strtoull(text, &rest, 10); /* 0 for "max 100000" */
    const unsigned long long period = strtoull(rest, NULL, 10);
    if (period == 0 || quota == 0) {
        return 0;
    }
    const unsigned long long count = quota / period + (quota % period > 0 ? 1 : 0);
    return count < PROCESSORS_MAX ? (size_t)count : PROCESSORS_MAX;
}

static size_t processors_of_file(const char *path) {
    char text[64] = "";
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    const size_t size = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[size] = '\0';
    return processors_of_quota(text);
}

/* The process's own cgroup, and above it the root that a container sees. */
static size_t processors_by_quota(void) {
    char line[512] = "";
    char path[640];
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (file != NULL) {
        const bool ok = fgets(line, sizeof line, file) != NULL;
        (void)fclose(file);
        line[strcspn(line, "\n")] = '\0';
        if (ok && strncmp(line, "0::/", 4) == 0) {
            (void)snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", line + 3);
            const size_t own = processors_of_file(path);
            if (own > 0) {
                return own;
            }
        }
    }
    return processors_of_file("/sys/fs/cgroup/cpu.max");
}

size_t processors_allowed(void) {
    cpu_set_t set;
    size_t count = 1; /* more than cpu_set_t holds: the operator sets the number */
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        count = (size_t)CPU_COUNT(&set);
    }
    const size_t quota = processors_by_quota();
    return quota > 0 && quota < count ? quota : count;
}
