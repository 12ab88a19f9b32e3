/* Reads traceparent by the letter of https://www.w3.org/TR/trace-context/#traceparent-header.
 * What is not valid is as good as not sent: the header is no client's fault to be told of. */
#include "trace.h"

#include <string.h>

#define TRACE_DIGITS "0123456789abcdef" /* lower case only */

/* Where the parts of "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" begin. */
enum { TRACE_AT_ID = 3, TRACE_AT_SPAN = 36, TRACE_AT_FLAGS = 53, TRACE_END = 55 };

static bool trace_is_digits(const char *text, size_t size) {
    return strspn(text, TRACE_DIGITS) >= size;
}

static bool trace_is_zero(const char *text, size_t size) {
    return strspn(text, "0") >= size;
}

/* A version that is not known yet may have more behind a dash; it is then read as version 00. */
static bool trace_is_valid(const char *value) {
    const bool is_first = strncmp(value, "00", 2) == 0;
    return strlen(value) >= TRACE_END && trace_is_digits(value, 2) && value[2] == '-' &&
           strncmp(value, "ff", 2) != 0 && trace_is_digits(value + TRACE_AT_ID, 32) &&
           !trace_is_zero(value + TRACE_AT_ID, 32) && value[TRACE_AT_SPAN - 1] == '-' &&
           trace_is_digits(value + TRACE_AT_SPAN, 16) &&
           !trace_is_zero(value + TRACE_AT_SPAN, 16) && value[TRACE_AT_FLAGS - 1] == '-' &&
           trace_is_digits(value + TRACE_AT_FLAGS, 2) &&
           (value[TRACE_END] == '\0' || (!is_first && value[TRACE_END] == '-'));
}

bool trace_parse(const char *value, struct trace *trace) {
    trace->parent[0] = trace->id[0] = '\0';
    if (!trace_is_valid(value)) {
        return false;
    }
    memcpy(trace->parent, value, TRACE_END);
    trace->parent[0] = trace->parent[1] = '0';
    trace->parent[TRACE_END] = '\0';
    memcpy(trace->id, value + TRACE_AT_ID, TRACE_ID_SIZE - 1);
    trace->id[TRACE_ID_SIZE - 1] = '\0';
    return true;
}
