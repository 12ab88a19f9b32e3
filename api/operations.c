/* The table of operations and the one way to run them: read the body, run, or tell the problem.
 * What an operation does is in its own file. */
#include "operation.h"

#include "arguments.h"

#include <stdlib.h>
#include <string.h>

extern const struct api_operation api_op_batch;
extern const struct api_operation api_op_bind;
extern const struct api_operation api_op_palette;

const struct api_operation *const api_operations[] = {&api_op_batch, &api_op_bind, &api_op_palette,
                                                      NULL};

const struct api_operation *api_operation_find(const char *name) {
    for (size_t i = 0; api_operations[i] != NULL; ++i) {
        if (strcmp(api_operations[i]->name, name) == 0) {
            return api_operations[i];
        }
    }
    return NULL;
}

void api_reply_init(struct api_reply *reply) {
    *reply = (struct api_reply){.status = 200, .media_type = API_TYPE_JSON};
    api_buffer_init(&reply->body, API_MAX_REPLY_SIZE);
}

void api_reply_finish(struct api_reply *reply) {
    api_buffer_finish(&reply->body);
}

void api_reply_set_problem(struct api_reply *reply, const struct api_problem *problem,
                           const char *request_id) {
    api_buffer_finish(&reply->body);
    api_problem_write(problem, request_id, &reply->body);
    reply->code = reply->body.failed ? API_OVERLOADED : problem->code;
    reply->status = api_code_status(reply->code);
    reply->media_type = API_TYPE_PROBLEM;
    if (reply->body.failed) {
        api_buffer_finish(&reply->body);
    }
}

void api_reply_problem(struct api_reply *reply, enum api_code code, const char *detail,
                       const char *request_id) {
    struct api_problem problem;
    api_reply_init(reply);
    api_problem_init(&problem);
    api_problem_set(&problem, code, "%s", detail == NULL ? api_code_title(code) : detail);
    api_reply_set_problem(reply, &problem, request_id);
    api_problem_finish(&problem);
}

/* One line for the whole when there are several findings; a single one speaks for itself. */
static void summarise(const struct api_call *call) {
    struct api_problem *problem = call->problem;
    if (problem->count < 2 || problem->detail[0] != '\0') {
        return;
    }
    if (problem->count == call->matrix_faults && problem->count <= call->matrix_count) {
        api_text_format(problem->detail, sizeof problem->detail,
                        "%zu of %zu matrices cannot be used", problem->count, call->matrix_count);
    } else {
        api_text_format(problem->detail, sizeof problem->detail, "the request has %zu faults",
                        problem->count);
    }
}

void api_call_run(struct api_call *call) {
    api_query_read(call);
    api_arguments_check(call);
    api_options_read(call);
    call->operation->run(call);
}

void api_call_finish(struct api_call *call) {
    free((void *)call->names.items);
    call->names = (struct api_names){0};
    call->document = NULL;
    call->arguments = NULL;
}

static void run_json(struct api_call *call, struct api_document *document) {
    const struct api_request *request = call->request;
    if (api_document_read(document, request->body, request->size, call->problem)) {
        const enum api_kind kind = api_document_kind(document, document->root);
        call->document = document;
        if (kind == API_KIND_OBJECT) {
            call->arguments = document->root;
            api_call_run(call);
        } else {
            struct api_finding *finding = api_problem_add(call->problem, API_WRONG_TYPE);
            if (finding != NULL) { /* its pointer "" is the whole body */
                api_text_format(finding->detail, sizeof finding->detail,
                                "expected an object, found %s", api_kind_text(kind));
            }
        }
    }
    api_call_finish(call);
    api_document_finish(document);
}

static void run_octets(struct api_call *call) {
    if (call->operation->run_octets == NULL) {
        api_problem_set(call->problem, API_UNSUPPORTED_MEDIA_TYPE,
                        "the operation takes " API_TYPE_JSON);
        return;
    }
    api_query_read(call);
    api_options_read(call);
    if (call->problem->code == API_OK) {
        call->operation->run_octets(call);
    }
}

bool api_call_check(struct api_call *call) {
    if (call->out->failed && call->out->full) {
        api_problem_set(call->problem, API_LIMIT_EXCEEDED, "the reply would be over %zu bytes",
                        call->out->maximum);
    } else if (call->out->failed) {
        api_problem_set(call->problem, API_OVERLOADED, "no memory for the reply");
    }
    if (call->problem->code != API_OK) {
        summarise(call);
    }
    return call->problem->code == API_OK;
}

/* One thread does what a pool would do on several. */
static void run_fan(const struct api_fan *fan, const struct api_request *request,
                    struct api_reply *reply) {
    size_t count = 0;
    void *state = fan->open(request, &count, reply);
    if (state == NULL) {
        return;
    }
    for (size_t i = 0; i < count; ++i) {
        fan->run(state, i);
    }
    fan->close(state, reply);
}

static void run_whole(const struct api_operation *operation, const struct api_request *request,
                      struct api_reply *reply) {
    struct api_problem problem;
    struct api_document document;
    api_problem_init(&problem);
    api_reply_init(reply);
    struct api_call call = {
        .operation = operation, .request = request, .problem = &problem, .out = &reply->body};
    reply->media_type = request->accept == API_MEDIA_OCTETS ? API_TYPE_OCTETS : API_TYPE_JSON;
    if (request->content_type == API_MEDIA_OCTETS) {
        run_octets(&call);
    } else {
        run_json(&call, &document);
    }
    if (!api_call_check(&call)) {
        api_reply_set_problem(reply, &problem, request->request_id);
    }
    api_problem_finish(&problem);
}

void api_operation_run(const struct api_operation *operation, const struct api_request *request,
                       struct api_reply *reply) {
    const struct api_fan *fan = operation->fan == NULL ? NULL : operation->fan(request);
    if (fan != NULL) {
        run_fan(fan, request, reply);
    } else {
        run_whole(operation, request, reply);
    }
}
