/* Reads /proc/self and getrusage; all on the thread that asks.
 * Nothing here is about requests. */
#define _GNU_SOURCE
#include "metrics_process.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t process_time_us(struct timeval time) {
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec;
}

static uint64_t process_cpu_us(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) {
        return 0;
    }
    return process_time_us(usage.ru_utime) + process_time_us(usage.ru_stime);
}

static uint64_t process_resident_bytes(void) {
    char text[128] = "";
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL) {
        return 0;
    }
    const size_t size = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[size] = '\0';
    const char *second = strchr(text, ' '); /* the first number is the size of address space */
    return second != NULL ? strtoull(second, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static uint64_t process_open_fds(void) {
    uint64_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    if (directory == NULL) {
        return 0;
    }
    const struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        count += entry->d_name[0] != '.' ? 1 : 0;
    }
    (void)closedir(directory);
    return count > 0 ? count - 1 : 0; /* not the one that lists them */
}

static uint64_t process_max_fds(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 0;
}

struct metrics_process metrics_process_read(void) {
    return (struct metrics_process){
        .cpu_us = process_cpu_us(),
        .resident_bytes = process_resident_bytes(),
        .open_fds = process_open_fds(),
        .max_fds = process_max_fds(),
    };
}
