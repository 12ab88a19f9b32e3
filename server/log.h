/* The log: one JSON line for each request and for each message of the daemon, on one descriptor.
 * It never waits for whoever reads: what cannot be written at once is dropped and counted. */
#ifndef SERVER_LOG_H
#define SERVER_LOG_H

#include "exchange.h"

#include <stdint.h>

enum log_target { LOG_OFF, LOG_STDERR };

enum log_level { LOG_INFO, LOG_WARN, LOG_ERROR };

enum log_drop {
    LOG_DROP_FULL, /* the descriptor would not take the line at once */
    LOG_DROP_RATE, /* too many messages of the HTTP library within a second */
    LOG_DROP_COUNT
};

struct log;

/* Writes to the descriptor, which stays the caller's. NULL when memory is out. */
struct log *log_create(enum log_target target, int descriptor);
void log_destroy(struct log *log);

/* Nothing under LOG_OFF. `route` is its label. */
void log_exchange(struct log *log, const struct exchange *exchange, const char *route);

/* A message of the daemon's own life; under LOG_OFF as plain text, since it is never many. */
__attribute__((format(printf, 3, 4))) void log_message(struct log *log, enum log_level level,
                                                       const char *format, ...);

/* A message of the HTTP library; a client can cause any number of them, so past LOG_MAX_RATE a
 * second they are only counted. */
#define LOG_MAX_RATE 10
void log_library(struct log *log, const char *text);

uint64_t log_dropped(struct log *log, enum log_drop reason);

#endif
