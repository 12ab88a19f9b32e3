/* The start that all replies of plain endpoints share.
 * Problems and operations make their own: api_reply_problem, api_operation_run. */
#include "handlers.h"

void handlers_reply_init(struct api_reply *reply) {
    *reply = (struct api_reply){.status = 200, .media_type = API_TYPE_JSON, .code = API_OK};
    api_buffer_init(&reply->body, API_MAX_REPLY_SIZE);
}
