/* What is told of one request when it is over: the record that log and metrics are made from.
 * It owns nothing, and holds no body and no header but those named here. */
#ifndef SERVER_EXCHANGE_H
#define SERVER_EXCHANGE_H

#include "address.h"
#include "routes.h"
#include "work.h"

/* Bytes of a method's text; a longer one is cut. */
#define EXCHANGE_METHOD_SIZE 16

enum exchange_end {
    EXCHANGE_ANSWERED,    /* the reply was sent in full */
    EXCHANGE_CLIENT_GONE, /* the client closed before that */
    EXCHANGE_TIMED_OUT,   /* the client was silent for too long */
    EXCHANGE_STOPPED,     /* the daemon stopped first */
    EXCHANGE_BROKEN,      /* the connection failed, or was cut for what was sent */
};

struct exchange {
    const char *request_id;
    const char *trace_id; /* "" for none */
    const char *method;   /* NULL when the library refused the request before it was read */
    const char *path; /* as the client sent it, decoded or not, without a query; NULL for none */
    const struct route *route;             /* NULL: no route was found, or none looked for */
    const struct api_operation *operation; /* of an operation's route */
    unsigned status;                       /* 0: no reply was begun */
    enum api_code code;
    enum exchange_end end;
    uint64_t request_bytes; /* of the body */
    uint64_t reply_bytes;   /* of the body */
    uint64_t duration_ns;   /* from the request line to the reply's last byte */
    bool was_queued;        /* went by way of the pool; what follows is set only then */
    uint64_t queue_wait_ns;
    size_t items;
    enum work_end work_end;
    const struct address *client; /* NULL when it has none */
};

#endif
