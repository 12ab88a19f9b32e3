/* POST /v1/{operation}: hands the body to the operation of that name.
 * What an operation means stands in api/; this only passes on. */
#include "handlers.h"

struct api_request handlers_api_request(const struct handlers_request *request) {
    return (struct api_request){
        .body = request->body,
        .size = request->size,
        .content_type = request->content_type,
        .accept = request->accept,
        .query = request->query,
        .request_id = request->request_id,
    };
}

void handlers_operation(const struct handlers_request *request, struct api_reply *reply) {
    const struct api_request api_request = handlers_api_request(request);
    api_operation_run(request->operation, &api_request, reply);
}
