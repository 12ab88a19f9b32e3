/* One item of many: {"id", "op", "request"} in, one result object out.
 * The batch operation and the line stream share it; it knows nothing of how items come together. */
#ifndef API_BATCH_H
#define API_BATCH_H

#include "buffer.h"
#include "problem.h"

#include <stdbool.h>
#include <stddef.h>

/* How an item went. The text of the result is in the buffer that was handed in. */
struct api_batch_result {
    enum api_code code; /* API_OK, or the code of the item's problem */
    /* The item's text is no JSON: in a batch the whole body is then malformed. */
    bool is_malformed;
};

/* Runs the item and appends {"index", "id", "status", "response" | "problem"}. pointer is put
 * before the pointers of its findings, such as "/requests/3"; "" for none. out->failed afterwards
 * means that there was no memory even for a problem. */
void api_batch_item(const char *text, size_t size, size_t index, const char *pointer,
                    struct api_buffer *out, struct api_batch_result *result);

#endif
