/* POST /v1/batch: many requests in one body, as items that can run on several threads.
 * The body is cut first and its items are read where they run, so that reading scales too. */
#include "arguments.h"
#include "batch.h"
#include "json_write.h"
#include "split.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct batch_item {
    struct api_buffer out;
    enum api_code code;
    bool is_malformed;
};

struct batch {
    const struct api_request *request;
    bool strict;
    struct api_split split;
    struct batch_item *items;
    size_t count;
    atomic_size_t written; /* bytes of all results, against API_MAX_REPLY_SIZE */
};

/* ---- the envelope ------------------------------------------------------------------------- */

static void check_requests(struct api_call *call, const struct batch *batch) {
    const json_t *requests = api_argument(call, "requests");
    const enum api_kind kind = api_document_kind(call->document, requests);
    const struct api_span *span = api_document_span(call->document, requests);
    size_t count = 0;
    if (kind == API_KIND_ABSENT) {
        return; /* told by api_arguments_check */
    }
    if (kind == API_KIND_ARRAY) {
        count = json_array_size(requests);
    } else if (kind == API_KIND_SPAN) {
        count = span->shape[0]; /* the zeros that stand for the items */
    }
    if ((kind != API_KIND_ARRAY && kind != API_KIND_SPAN) || count != batch->count) {
        api_call_find(call, API_WRONG_TYPE, "requests", "expected an array of requests");
    }
}

static void read_strict(struct api_call *call, struct batch *batch) {
    const json_t *strict = api_argument(call, "strict");
    if (strict != NULL && !json_is_boolean(strict)) {
        api_call_find(call, API_WRONG_TYPE, "strict", "expected a boolean");
    }
    batch->strict = json_is_true(strict);
}

static void read_envelope(struct batch *batch, struct api_problem *problem) {
    const struct api_request *request = batch->request;
    const struct api_buffer *envelope = &batch->split.envelope;
    struct api_document document;
    if (!api_document_read(&document, envelope->data, envelope->size, problem)) {
        api_problem_place(problem, request->body, request->size,
                          api_split_offset(&batch->split, problem->position.offset));
        api_document_finish(&document);
        return;
    }
    struct api_call call = {.operation = api_operation_find("batch"),
                            .request = batch->request,
                            .document = &document,
                            .arguments = document.root,
                            .problem = problem};
    const enum api_kind kind = api_document_kind(&document, document.root);
    if (kind == API_KIND_OBJECT) {
        api_query_read(&call);
        api_arguments_check(&call);
        check_requests(&call, batch);
        read_strict(&call, batch);
    } else {
        api_problem_set(problem, API_WRONG_TYPE, "expected an object, found %s",
                        api_kind_text(kind));
    }
    api_document_finish(&document);
}

/* ---- the fan ------------------------------------------------------------------------------ */

static void batch_destroy(void *state) {
    struct batch *batch = state;
    if (batch == NULL) {
        return;
    }
    for (size_t i = 0; batch->items != NULL && i < batch->count; ++i) {
        api_buffer_finish(&batch->items[i].out);
    }
    free(batch->items);
    api_split_finish(&batch->split);
    free(batch);
}

static void split_body(struct batch *batch, struct api_problem *problem) {
    const struct api_request *request = batch->request;
    const enum api_code code =
        api_split(request->body, request->size, "requests", API_MAX_BATCH_ITEMS, &batch->split);
    batch->count = batch->split.count;
    if (code == API_LIMIT_EXCEEDED) {
        api_problem_set(problem, code, "more than %d requests", API_MAX_BATCH_ITEMS);
    } else if (code != API_OK) {
        api_problem_set(problem, code, "no memory for the batch");
    } else {
        read_envelope(batch, problem);
    }
}

static struct batch *batch_create(const struct api_request *request, struct api_problem *problem) {
    struct batch *batch = calloc(1, sizeof *batch);
    if (batch == NULL) {
        api_problem_set(problem, API_OVERLOADED, "no memory for the batch");
        return NULL;
    }
    batch->request = request;
    split_body(batch, problem);
    batch->items = calloc(batch->count + 1, sizeof *batch->items);
    if (batch->items == NULL) {
        api_problem_set(problem, API_OVERLOADED, "no memory for the batch");
    }
    return batch;
}

static void *batch_open(const struct api_request *request, size_t *item_count,
                        struct api_reply *reply) {
    struct api_problem problem;
    api_problem_init(&problem);
    api_reply_init(reply);
    struct batch *batch = batch_create(request, &problem);
    if (problem.code != API_OK || batch == NULL) {
        api_reply_set_problem(reply, &problem, request->request_id);
        batch_destroy(batch);
        batch = NULL;
    } else {
        *item_count = batch->count;
    }
    api_problem_finish(&problem);
    return batch;
}

static void batch_run(void *state, size_t index) {
    struct batch *batch = state;
    struct batch_item *item = &batch->items[index];
    const struct api_slice *slice = &batch->split.slices[index];
    struct api_batch_result result;
    char pointer[32];
    (void)snprintf(pointer, sizeof pointer, "/requests/%zu", index);
    const size_t used = atomic_load(&batch->written);
    api_buffer_init(&item->out, used < API_MAX_REPLY_SIZE ? API_MAX_REPLY_SIZE - used : 0);
    api_batch_item(batch->request->body + slice->offset, slice->size, index, pointer, &item->out,
                   &result);
    item->code = item->out.failed ? API_LIMIT_EXCEEDED : result.code;
    item->is_malformed = result.is_malformed;
    atomic_fetch_add(&batch->written, item->out.size);
}

/* ---- the reply ---------------------------------------------------------------------------- */

static void write_failure(const struct batch *batch, size_t failed, enum api_code code,
                          struct api_buffer *out) {
    char detail[80];
    (void)snprintf(detail, sizeof detail, "%zu of %zu requests failed", failed, batch->count);
    api_buffer_text(out, "\"type\":\"/problems/");
    api_buffer_text(out, api_code_wire(code));
    api_buffer_text(out, "\"");
    api_write_key(out, "title");
    api_write_string(out, api_code_title(code));
    api_write_key(out, "status");
    api_write_number(out, 422);
    api_write_key(out, "code");
    api_write_string(out, api_code_wire(code));
    api_write_key(out, "detail");
    api_write_string(out, detail);
    if (batch->request->request_id != NULL) {
        api_write_key(out, "requestId");
        api_write_string(out, batch->request->request_id);
    }
    api_buffer_text(out, ",");
}

static void write_results(const struct batch *batch, size_t failed, struct api_buffer *out) {
    api_buffer_text(out, "\"results\":[");
    for (size_t i = 0; i < batch->count; ++i) {
        if (i > 0) {
            api_buffer_append(out, ",", 1);
        }
        api_buffer_append(out, batch->items[i].out.data, batch->items[i].out.size);
    }
    api_buffer_text(out, "]");
    api_write_key(out, "succeeded");
    api_write_number(out, (double)(batch->count - failed));
    api_write_key(out, "failed");
    api_write_number(out, (double)failed);
    api_buffer_text(out, "}");
}

/* An item that is no JSON spoils the whole body: its fault is told with its place in the whole. */
static void tell_malformed(const struct batch *batch, size_t index, struct api_problem *problem) {
    const struct api_request *request = batch->request;
    const struct api_slice *slice = &batch->split.slices[index];
    struct api_document document;
    (void)api_document_read(&document, request->body + slice->offset, slice->size, problem);
    api_problem_place(problem, request->body, request->size,
                      slice->offset + problem->position.offset);
    api_document_finish(&document);
}

/* What keeps the batch from having results at all. */
static void check_items(const struct batch *batch, struct api_problem *problem) {
    for (size_t i = 0; i < batch->count && problem->code == API_OK; ++i) {
        const struct batch_item *item = &batch->items[i];
        if (item->is_malformed) {
            tell_malformed(batch, i, problem);
        } else if (item->out.failed) {
            api_problem_set(problem, item->out.full ? API_LIMIT_EXCEEDED : API_OVERLOADED,
                            "the replies together would be over %zu bytes", API_MAX_REPLY_SIZE);
        }
    }
}

static void batch_reply(const struct batch *batch, struct api_reply *reply) {
    size_t failed = 0;
    enum api_code code = API_OK;
    for (size_t i = 0; i < batch->count; ++i) {
        failed += batch->items[i].code != API_OK ? 1 : 0;
        code = code == API_OK ? batch->items[i].code : code;
    }
    /* the results are within the maximum; what joins them comes on top */
    api_buffer_init(&reply->body, 2 * API_MAX_REPLY_SIZE);
    api_buffer_text(&reply->body, "{");
    if (batch->strict && failed > 0) {
        reply->status = 422;
        reply->code = code;
        reply->media_type = API_TYPE_PROBLEM;
        write_failure(batch, failed, code, &reply->body);
    }
    write_results(batch, failed, &reply->body);
}

static void batch_close(void *state, struct api_reply *reply) {
    struct batch *batch = state;
    struct api_problem problem;
    api_problem_init(&problem);
    api_reply_init(reply);
    check_items(batch, &problem);
    if (problem.code == API_OK) {
        batch_reply(batch, reply);
        if (reply->body.failed) {
            api_problem_set(&problem, API_OVERLOADED, "no memory for the reply");
        }
    }
    if (problem.code != API_OK) {
        api_reply_set_problem(reply, &problem, batch->request->request_id);
    }
    api_problem_finish(&problem);
    batch_destroy(batch);
}

static const struct api_fan *batch_fan(const struct api_request *request) {
    static const struct api_fan fan = {batch_open, batch_run, batch_close, batch_destroy};
    (void)request;
    return &fan;
}

static const struct api_member members[] = {{"requests", true}, {"strict", false}, {NULL, false}};
static const char *const parameters[] = {NULL};

const struct api_operation api_op_batch = {
    .name = "batch",
    .summary = "many requests in one, worked on at the same time",
    .members = members,
    .parameters = parameters,
    .takes_lines = true,
    .fan = batch_fan,
};
