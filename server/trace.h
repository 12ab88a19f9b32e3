/* The traceparent header of W3C Trace Context: read, checked, and written again to be passed on.
 * It makes no spans of its own and samples nothing. */
#ifndef SERVER_TRACE_H
#define SERVER_TRACE_H

#include <stdbool.h>

/* Bytes of "00-", 32 digits, "-", 16 digits, "-", 2 digits, and the end. */
#define TRACE_PARENT_SIZE 56
#define TRACE_ID_SIZE 33

struct trace {
    char parent[TRACE_PARENT_SIZE]; /* as version 00; "" when there is no valid one */
    char id[TRACE_ID_SIZE];         /* its trace-id; "" likewise */
};

/* False, with both texts empty, when the header's value is not valid. */
bool trace_parse(const char *value, struct trace *trace);

#endif
