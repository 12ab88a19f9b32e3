/* GET /problems/{code}: what the type of a problem document refers to.
 * The words stand in api/errors.def. */
#include "handlers.h"

void handlers_problem(const struct handlers_request *request, struct api_reply *reply) {
    enum api_code code = api_code_find(request->name);
    if (code == API_OK) {
        api_reply_problem(reply, API_NOT_FOUND, "No problem has this code.", request->request_id);
        return;
    }
    handlers_reply_init(reply);
    api_problem_page(code, &reply->body);
}
