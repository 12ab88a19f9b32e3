/* Memory for one run of jansson: taken in blocks, capped, and given back all at once.
 * jansson checks few of its own allocations, so one that fails never returns to it: the parse is
 * left by a long jump. It is the one place that knows of that. */
#ifndef API_JSON_MEMORY_H
#define API_JSON_MEMORY_H

#include "problem.h"

#include <stddef.h>

struct json_t;
struct json_error_t;

struct api_json_memory {
    struct api_json_block *blocks; /* the newest first */
    size_t used;                   /* bytes of the newest block */
    size_t total;                  /* bytes of all blocks */
};

/* json_loadb within the memory, which starts empty (all zero). The tree lives until
 * api_json_memory_finish and must not be changed or released otherwise. On NULL *code is API_OK for
 * a fault of the text, told in *error; else API_PAYLOAD_TOO_LARGE for a tree over the cap, or
 * API_OVERLOADED. */
struct json_t *api_json_load(struct api_json_memory *memory, const char *text, size_t size,
                             size_t flags, struct json_error_t *error, enum api_code *code);
void api_json_memory_finish(struct api_json_memory *memory);

#endif
