/* GET /readyz: whether new work should be sent here; 503 from the moment that a stop is asked for.
 * Open requests are still answered then. */
#include "handlers.h"

void handlers_ready(const struct handlers_request *request, struct api_reply *reply) {
    if (request->is_stopping) {
        api_reply_problem(reply, API_OVERLOADED, "The server is stopping.", request->request_id);
        return;
    }
    handlers_reply_init(reply);
    api_buffer_text(&reply->body, "{\"status\":\"ready\"}\n");
}
