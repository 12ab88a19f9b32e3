/* Body to document: the pre-pass, then jansson over the compact text, then faults translated back
 * to the text as sent. What members mean is the business of arguments.c and the operations. */
#include "document.h"

#include "operation.h"

#include <jansson.h>
#include <stdint.h>
#include <string.h>

const char *api_json_version(void) {
    return jansson_version_str();
}

/* ---- where a fault is --------------------------------------------------------------------- */

struct text {
    const char *data;
    size_t size;
};

static struct text text_of(const char *string) {
    return (struct text){string, strlen(string)};
}

/* The start of the token that ends at or spans `stop`; for tokens too long for jansson to quote. */
static size_t token_start(struct text text, size_t stop) {
    for (size_t i = 0; i < text.size && i < stop; ++i) {
        if (text.data[i] != '"') {
            continue;
        }
        size_t end = i + 1;
        while (end < text.size && text.data[end] != '"') {
            end += text.data[end] == '\\' ? 2 : 1;
        }
        if (stop <= end + 1) {
            return i;
        }
        i = end;
    }
    size_t start = stop;
    while (start > 0 && strchr(" \t\r\n,:[]{}\"", text.data[start - 1]) == NULL) {
        --start;
    }
    return start;
}

/* The byte offset of the first byte of the token that cannot stand there. jansson gives the place
 * behind the token and quotes it when it is short. */
static size_t fault_offset(const json_error_t *error, const struct api_lifted *lifted,
                           struct text text) {
    const enum json_error_code code = json_error_code(error);
    const size_t stop = (size_t)error->position;
    const size_t stop_sent = api_lifted_offset(lifted, stop);
    const char *near = strstr(error->text, " near '");
    if (code == json_error_premature_end_of_input) {
        return text.size;
    }
    if (code == json_error_invalid_utf8) {
        return stop_sent;
    }
    if (near == NULL) {
        return token_start(text, stop_sent);
    }
    const size_t quoted = strlen(near + strlen(" near '")) - 1;
    return api_lifted_offset(lifted, stop > quoted ? stop - quoted : 0);
}

static struct api_text_position text_position(struct text text, size_t offset) {
    struct api_text_position position = {.offset = offset, .line = 1, .column = 1};
    for (size_t i = 0; i < offset && i < text.size; ++i) {
        if (text.data[i] == '\n') {
            ++position.line;
            position.column = 1;
        } else if (((unsigned char)text.data[i] & 0xC0) != 0x80) {
            ++position.column;
        }
    }
    return position;
}

static void report_at(enum api_code code, struct text message, struct text text, size_t offset,
                      struct api_problem *problem) {
    api_problem_set(problem, code, "%.*s", (int)message.size, message.data);
    problem->has_position = true;
    problem->position = text_position(text, offset);
}

void api_problem_place(struct api_problem *problem, const char *body, size_t size, size_t offset) {
    if (problem->has_position) {
        problem->position = text_position((struct text){body, size}, offset);
    }
}

static void report_fault(const json_error_t *error, size_t offset, struct text text,
                         struct api_problem *problem) {
    const bool duplicate = json_error_code(error) == json_error_duplicate_key;
    const char *near = strstr(error->text, " near '");
    const size_t size = near == NULL ? strlen(error->text) : (size_t)(near - error->text);
    report_at(duplicate ? API_DUPLICATE_MEMBER : API_MALFORMED_JSON,
              (struct text){error->text, size}, text, offset, problem);
}

static void report_refused(enum api_code code, struct api_problem *problem) {
    if (code == API_TOO_DEEP) {
        api_problem_set(problem, code, "arrays and objects are nested deeper than %d levels",
                        API_MAX_DEPTH);
    } else if (code == API_PAYLOAD_TOO_LARGE) {
        api_problem_set(problem, code,
                        "more JSON than the server holds: at most %zu numbers in matrices and %zu "
                        "values (an object counts 4, an array 2) beside them",
                        API_MAX_NUMBERS, API_MAX_VALUES);
    } else {
        api_problem_set(problem, code, "no memory to read the body");
    }
}

/* ---- reading ------------------------------------------------------------------------------ */

/* jansson over the compact text. What the pre-pass knows to be malformed is never taken for JSON,
 * since behind that place it has looked at nothing. */
static bool load(struct api_document *document, struct text text, struct api_problem *problem,
                 size_t *fault) {
    const struct api_lifted *lifted = &document->lifted;
    const char *data = lifted->plain ? text.data : lifted->compact.data;
    const size_t size = lifted->plain ? text.size : lifted->compact.size;
    json_error_t error;
    enum api_code code;
    document->root = api_json_load(
        &document->memory, data == NULL ? "" : data, size,
        JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, &error, &code);
    *fault = text.size;
    if (code != API_OK) {
        report_refused(code, problem);
    } else if (document->root == NULL) {
        *fault = fault_offset(&error, lifted, text);
        report_fault(&error, *fault, text, problem);
    } else if (lifted->malformed_offset != SIZE_MAX) {
        *fault = lifted->malformed_offset;
        report_at(API_MALFORMED_JSON, text_of("unexpected byte"), text, *fault, problem);
    }
    return problem->code == API_OK;
}

/* A zero byte cannot stand in JSON, and jansson passes over some: the text is read up to it, and
 * then it is the fault unless there is one before it. */
bool api_document_read(struct api_document *document, const char *body, size_t size,
                       struct api_problem *problem) {
    const char *zero = size == 0 ? NULL : memchr(body, '\0', size);
    const struct text text = {body == NULL ? "" : body,
                              zero == NULL ? size : (size_t)(zero - body)};
    size_t fault = 0;
    document->root = NULL;
    document->memory = (struct api_json_memory){.blocks = NULL};
    const enum api_code code = api_lift(text.data, text.size, &document->lifted);
    if (code != API_OK) {
        report_refused(code, problem);
        return false;
    }
    const bool ok = load(document, text, problem, &fault);
    if (zero != NULL && fault == text.size && (ok || problem->has_position)) {
        api_problem_finish(problem);
        report_at(API_MALFORMED_JSON, text_of("zero byte"), text, text.size, problem);
        return false;
    }
    return ok;
}

void api_document_finish(struct api_document *document) {
    if (document->memory.blocks == NULL) {
        json_decref(document->root); /* without api_init it lives on the heap */
    }
    document->root = NULL;
    api_json_memory_finish(&document->memory);
    api_lifted_finish(&document->lifted);
}

const struct api_span *api_document_span(const struct api_document *document,
                                         const struct json_t *value) {
    return json_is_string(value) ? api_lifted_span(&document->lifted, json_string_value(value))
                                 : NULL;
}

double *api_document_numbers(const struct api_document *document, const struct api_span *span) {
    return document->lifted.numbers + span->first;
}

enum api_kind api_document_kind(const struct api_document *document, const struct json_t *value) {
    if (value == NULL) {
        return API_KIND_ABSENT;
    }
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return API_KIND_OBJECT;
    case JSON_ARRAY:
        return API_KIND_ARRAY;
    case JSON_STRING:
        return api_document_span(document, value) != NULL ? API_KIND_SPAN : API_KIND_STRING;
    case JSON_INTEGER:
    case JSON_REAL:
        return API_KIND_NUMBER;
    case JSON_TRUE:
    case JSON_FALSE:
        return API_KIND_BOOL;
    case JSON_NULL:
        break;
    }
    return API_KIND_NULL;
}

const char *api_kind_text(enum api_kind kind) {
    switch (kind) {
    case API_KIND_ABSENT:
        return "nothing";
    case API_KIND_NULL:
        return "null";
    case API_KIND_BOOL:
        return "a boolean";
    case API_KIND_NUMBER:
        return "a number";
    case API_KIND_STRING:
        return "a string";
    case API_KIND_ARRAY:
        return "an array";
    case API_KIND_SPAN:
        return "an array of numbers";
    case API_KIND_OBJECT:
        return "an object";
    }
    return "something else";
}
