/* GET /version: what is running here, down to the libraries found at run time.
 * It tells nothing of the machine or of settings. */
#include "handlers.h"

void handlers_version(const struct handlers_request *request, struct api_reply *reply) {
    struct api_buffer *body = &reply->body;
    handlers_reply_init(reply);
    api_buffer_text(body, "{\"name\":\"skind\",\"version\":\"" SKIND_VERSION "\",\"api\":\"v1\","
                          "\"libraries\":{\"libmicrohttpd\":\"");
    api_buffer_text(body, request->state->http_version);
    api_buffer_text(body, "\",\"jansson\":\"");
    api_buffer_text(body, api_json_version());
    api_buffer_text(body, "\"}}\n");
}
