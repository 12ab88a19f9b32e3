/* Stands in front of api_operation_run in a daemon built for tests: a request whose id names a FIFO
 * in SKIND_STALL_DIR waits there for the test. No part of the daemon that is installed.
 *
 * The test's opening of the FIFO for writing succeeds once a worker is there; its closing lets the
 * worker go on. */
#define _GNU_SOURCE
#include "api/operation.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void __real_api_operation_run(const struct api_operation *operation,
                              const struct api_request *request, struct api_reply *reply);
void __wrap_api_operation_run(const struct api_operation *operation,
                              const struct api_request *request, struct api_reply *reply);

static void stall(const char *directory, const char *name) {
    char path[512];
    char byte;
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    const int fifo = open(path, O_RDONLY | O_CLOEXEC);
    if (fifo >= 0) {
        (void)!read(fifo, &byte, 1); /* until the other end is closed */
        close(fifo);
    }
}

void __wrap_api_operation_run(const struct api_operation *operation,
                              const struct api_request *request, struct api_reply *reply) {
    const char *directory = getenv("SKIND_STALL_DIR");
    if (directory != NULL && request->request_id != NULL) {
        stall(directory, request->request_id);
    }
    __real_api_operation_run(operation, request, reply);
}
