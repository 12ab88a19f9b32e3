/* Builds one line of the log: a flat JSON object of bounded size in a buffer of its own.
 * It writes nothing anywhere; log.c does. */
#ifndef SERVER_LOG_LINE_H
#define SERVER_LOG_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A write of up to PIPE_BUF (4,096 on Linux) to a pipe is whole or not at all. */
#define LOG_LINE_SIZE 4096

/* Bytes of a text from outside that are shown; each takes up to 6 when it is escaped. */
#define LOG_LINE_TEXT_SIZE 384

/* "2024-02-29T23:59:59.999Z" and the end. */
#define LOG_LINE_TIME_SIZE 25

struct log_line {
    size_t size; /* of the text, with the line's end in front of it */
    bool has_members;
    char text[LOG_LINE_SIZE]; /* the line begins at 1: 0 is '\n', to end what was torn before it */
};

void log_line_begin(struct log_line *line);

/* Members in the order in which they are added. Names need no escape. A member that would not fit
 * is left out whole. */
void log_line_text(struct log_line *line, const char *name, const char *value); /* NULL: null */
void log_line_number(struct log_line *line, const char *name, uint64_t value);
void log_line_milliseconds(struct log_line *line, const char *name, uint64_t value_ns);

/* Closes the object and ends the line. */
void log_line_end(struct log_line *line);

/* RFC 3339 in UTC, with milliseconds; for the years 1970 to 9999. */
void log_line_time(uint64_t unix_ms, char text[LOG_LINE_TIME_SIZE]);

#endif
