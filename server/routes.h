/* Which handler serves which method and path: one table.
 * It looks at nothing else of a request; headers and bodies are judged in admit.c. */
#ifndef SERVER_ROUTES_H
#define SERVER_ROUTES_H

#include "handlers/handlers.h"

/* Bytes of an Allow header's value. */
#define ROUTES_ALLOW_SIZE 64

struct route {
    const char *method; /* GET serves HEAD too */
    const char *path;   /* may end in a name in braces, which stands for one segment */
    bool is_operation;  /* the name is one of api_operations; takes a body */
    handlers_run *run;
};

struct routes_match {
    const struct route *route;
    const char *name; /* points into the path; NULL when the route has none */
    const struct api_operation *operation;
    char allow[ROUTES_ALLOW_SIZE]; /* the path's methods, when this one is not among them */
};

/* The table's row of that index, NULL beyond its end. */
const struct route *routes_at(size_t index);

/* API_OK, API_NOT_FOUND or API_METHOD_NOT_ALLOWED. The path is decoded, and outlives the match. */
enum api_code routes_find(const char *method, const char *path, struct routes_match *match);

#endif
