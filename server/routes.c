/* The route table, and the walk over it.
 * A new endpoint is one row here, one handler, and one path of openapi.json. */
#include "routes.h"

#include <stdio.h>
#include <string.h>

static const struct route routes_table[] = {
    {"GET", "/healthz", false, handlers_health},
    {"GET", "/readyz", false, handlers_ready},
    {"GET", "/version", false, handlers_version},
    {"GET", "/openapi.json", false, handlers_openapi},
    {"GET", "/problems/{code}", false, handlers_problem},
    {"POST", "/v1/{operation}", true, handlers_operation},
};

#define ROUTES_COUNT (sizeof routes_table / sizeof routes_table[0])

const struct route *routes_at(size_t index) {
    return index < ROUTES_COUNT ? &routes_table[index] : NULL;
}

/* Fills in match->name and match->operation. */
static bool route_has_path(const struct route *route, const char *path,
                           struct routes_match *match) {
    size_t fixed = strcspn(route->path, "{");
    match->name = NULL;
    match->operation = NULL;
    if (route->path[fixed] == '\0') {
        return strcmp(route->path, path) == 0;
    }
    if (strncmp(route->path, path, fixed) != 0 || path[fixed] == '\0' ||
        strchr(path + fixed, '/') != NULL) {
        return false;
    }
    match->name = path + fixed;
    if (route->is_operation) {
        match->operation = api_operation_find(match->name);
        return match->operation != NULL;
    }
    return true;
}

static bool route_has_method(const struct route *route, const char *method) {
    return strcmp(route->method, method) == 0 ||
           (strcmp(route->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

static void route_allow(const struct route *route, char allow[ROUTES_ALLOW_SIZE]) {
    size_t size = strlen(allow);
    snprintf(allow + size, ROUTES_ALLOW_SIZE - size, "%s%s%s", size > 0 ? ", " : "", route->method,
             strcmp(route->method, "GET") == 0 ? ", HEAD" : "");
}

enum api_code routes_find(const char *method, const char *path, struct routes_match *match) {
    *match = (struct routes_match){.route = NULL};
    for (size_t i = 0; i < ROUTES_COUNT; i++) {
        const struct route *route = &routes_table[i];
        if (!route_has_path(route, path, match)) {
            continue;
        }
        if (route_has_method(route, method)) {
            match->route = route;
            return API_OK;
        }
        route_allow(route, match->allow);
    }
    return match->allow[0] != '\0' ? API_METHOD_NOT_ALLOWED : API_NOT_FOUND;
}
