/* GET /healthz: the process is alive and answers.
 * Whether it wants work is readiness: ready.c. */
#include "handlers.h"

void handlers_health(const struct handlers_request *request, struct api_reply *reply) {
    (void)request;
    handlers_reply_init(reply);
    api_buffer_text(&reply->body, "{\"status\":\"ok\"}\n");
}
