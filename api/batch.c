/* Runs one item: reads its text, finds the operation, and writes the result or the problem.
 * An item that fails says so in its result and disturbs no other. */
#include "batch.h"

#include "arguments.h"
#include "json_write.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define POINTER_SIZE 48 /* "/requests/65535/request" */

static const struct api_member item_members[] = {
    {"id", false}, {"op", true}, {"request", true}, {NULL, false}};

/* What reads the item's own members; it is never run. */
static const struct api_operation item_reader = {.name = "item", .members = item_members};

struct item {
    const struct api_operation *operation;
    const json_t *request;
    const char *id;
};

static const char *item_text(struct api_call *call, const char *name, size_t maximum) {
    const json_t *value = api_argument(call, name);
    const enum api_kind kind = api_document_kind(call->document, value);
    if (kind == API_KIND_ABSENT) {
        return NULL;
    }
    if (kind != API_KIND_STRING) {
        api_call_find(call, API_WRONG_TYPE, name, "expected a string, found %s",
                      api_kind_text(kind));
        return NULL;
    }
    if (json_string_length(value) > maximum) {
        api_call_find(call, API_LIMIT_EXCEEDED, name, "at most %zu bytes", maximum);
        return NULL;
    }
    return json_string_value(value);
}

static const struct api_operation *item_operation(struct api_call *call) {
    const char *name = item_text(call, "op", API_MAX_ID_SIZE);
    if (name == NULL) {
        return NULL;
    }
    const struct api_operation *operation = api_operation_find(name);
    if (operation == NULL) {
        api_call_find(call, API_BAD_VALUE, "op", "no operation has this name");
    } else if (operation->run == NULL) {
        api_call_find(call, API_BAD_VALUE, "op", "%s cannot stand in a batch", operation->name);
        operation = NULL;
    }
    return operation;
}

/* Reads the item's members; false when the request cannot be run. */
static bool item_read(struct api_call *call, struct item *item) {
    api_arguments_check(call);
    item->id = item_text(call, "id", API_MAX_ID_SIZE);
    item->operation = item_operation(call);
    item->request = api_argument(call, "request");
    const enum api_kind kind = api_document_kind(call->document, item->request);
    if (kind != API_KIND_ABSENT && kind != API_KIND_OBJECT) {
        api_call_find(call, API_WRONG_TYPE, "request", "expected an object, found %s",
                      api_kind_text(kind));
    }
    return call->problem->code == API_OK;
}

static void write_begin(struct api_buffer *out, size_t index, const char *id, unsigned status) {
    api_buffer_text(out, "{\"index\":");
    api_write_number(out, (double)index);
    if (id != NULL) {
        api_write_key(out, "id");
        api_write_string(out, id);
    }
    api_write_key(out, "status");
    api_write_number(out, status);
}

/* The response follows its head straight; a problem takes the place of both. */
static void item_run(const struct api_document *document, const struct item *item, size_t index,
                     struct api_problem *problem, struct api_buffer *out) {
    const struct api_request request = {.content_type = API_MEDIA_JSON, .accept = API_MEDIA_JSON};
    struct api_call call = {.operation = item->operation,
                            .request = &request,
                            .document = document,
                            .arguments = item->request,
                            .problem = problem,
                            .out = out};
    write_begin(out, index, item->id, 200);
    api_write_key(out, "response");
    api_call_run(&call);
    api_buffer_text(out, "}");
    (void)api_call_check(&call);
    api_call_finish(&call);
}

static void write_problem(struct api_buffer *out, size_t start, size_t index, const char *id,
                          const struct api_problem *problem) {
    out->size = start;
    out->failed = out->full = false;
    write_begin(out, index, id, api_code_status(problem->code));
    api_write_key(out, "problem");
    api_problem_write(problem, NULL, out);
    api_buffer_text(out, "}");
}

static void tell(const struct api_problem *problem, struct api_batch_result *result) {
    result->code = problem->code;
    result->is_malformed = problem->has_position || problem->code == API_TOO_DEEP;
}

void api_batch_item(const char *text, size_t size, size_t index, const char *pointer,
                    struct api_buffer *out, struct api_batch_result *result) {
    struct api_document document;
    struct api_problem problem;
    struct item item = {.id = NULL};
    char prefix[POINTER_SIZE];
    const size_t start = out->size;
    api_problem_init(&problem);
    problem.prefix = pointer;
    if (api_document_read(&document, text, size, &problem)) {
        struct api_call call = {.operation = &item_reader,
                                .document = &document,
                                .arguments = document.root,
                                .problem = &problem,
                                .out = out};
        const enum api_kind kind = api_document_kind(&document, document.root);
        if (kind != API_KIND_OBJECT) {
            api_problem_set(&problem, API_WRONG_TYPE, "expected an object, found %s",
                            api_kind_text(kind));
        } else if (item_read(&call, &item)) {
            (void)snprintf(prefix, sizeof prefix, "%s/request", pointer);
            problem.prefix = prefix;
            item_run(&document, &item, index, &problem, out);
        }
    }
    if (problem.code != API_OK) {
        write_problem(out, start, index, item.id, &problem);
    }
    tell(&problem, result);
    api_document_finish(&document);
    api_problem_finish(&problem);
}
