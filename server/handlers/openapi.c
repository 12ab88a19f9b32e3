/* GET /openapi.json: the contract as it was compiled in.
 * The text itself is api/openapi.json. */
#include "handlers.h"

void handlers_openapi(const struct handlers_request *request, struct api_reply *reply) {
    size_t size;
    const char *text = api_openapi_text(&size);
    (void)request;
    handlers_reply_init(reply);
    api_buffer_append(&reply->body, text, size);
}
