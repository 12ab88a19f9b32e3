/* One run of an operation: where its arguments come from and where its reply goes.
 * Internal to api/; an operation's file needs this header, arguments.h and matrix.h. */
#ifndef API_CALL_H
#define API_CALL_H

#include "document.h"
#include "operation.h"

#include "lib/skin.h"

#include <stdbool.h>
#include <stddef.h>

#define API_MAX_PARAMETERS 8

/* A decoded query string. */
struct api_query {
    size_t count;
    struct {
        char name[32];
        char value[API_MAX_QUERY_VALUE_SIZE + 1];
    } items[API_MAX_PARAMETERS];
};

enum api_shape { API_SHAPE_FLAT, API_SHAPE_NESTED, API_SHAPE_UNITY };

/* What the caller chose, in the body (JSON) or in the query (octets). */
struct api_options {
    const char *convention; /* a name out of api_conventions, echoed as the caller wrote it */
    bool column_vector;     /* the 16 numbers are the transpose of ours */
    enum api_shape shape;
    struct skin_options skin;
};

/* The bones' names as sent; they live in the document. */
struct api_names {
    const char **items; /* owned by the call */
    size_t count;
    bool present;
};

struct api_call {
    const struct api_operation *operation;
    const struct api_request *request;
    const struct api_document *document; /* NULL for an octet body */
    const struct json_t *arguments;      /* the request's object; NULL for an octet body */
    struct api_query query;              /* empty for a JSON body */
    struct api_options options;
    struct api_names names;
    size_t matrix_count;  /* matrices taken in so far */
    size_t matrix_faults; /* findings so far that are about one of them */
    struct api_problem *problem;
    struct api_buffer *out;
};

/* Adds a finding about a member of the request (or, for an octet body, a query parameter). The
 * detail is printf-style. NULL when memory is out. */
__attribute__((format(printf, 4, 5))) struct api_finding *api_call_find(struct api_call *call,
                                                                        enum api_code code,
                                                                        const char *member,
                                                                        const char *detail, ...);

/* Reads the options and runs the operation on arguments that are read already: call->document and
 * call->arguments are set. Leaves the findings in call->problem, the reply in call->out. */
void api_call_run(struct api_call *call);

/* Turns output that did not fit into a problem; returns whether the call went well. When it did
 * not, the problem is ready to be written. */
bool api_call_check(struct api_call *call);

/* Frees what the call holds of the document. */
void api_call_finish(struct api_call *call);

/* A reply of 200 with an empty body of JSON; and the one that tells the problem. */
void api_reply_init(struct api_reply *reply);
void api_reply_set_problem(struct api_reply *reply, const struct api_problem *problem,
                           const char *request_id);

#endif
