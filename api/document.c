/* Body to document: the pre-pass, then jansson over the compact text, then faults translated back
 * to the text as sent. What members mean is the business of arguments.c and the operations. */
#include "document.h"

#include "operation.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ------------------------------------------------------------------------------- */

/* jansson reports many a failed allocation as a fault of grammar, and has no context to hand on:
 * so its allocator leaves word here, for the one parse that this thread is at. */
static _Thread_local bool allocation_failed;

static void *json_allocate(size_t size) {
    void *memory = malloc(size);
    allocation_failed |= memory == NULL;
    return memory;
}

void api_init(void) {
    json_set_alloc_funcs(json_allocate, free);
}

const char *api_json_version(void) {
    return jansson_version_str();
}

/* ---- where a fault is --------------------------------------------------------------------- */

struct text {
    const char *data;
    size_t size;
};

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
    if (near == NULL && stop_sent > 0 && text.data[stop_sent - 1] == '\0') {
        return stop_sent - 1; /* a zero byte looks like the end to jansson's messages */
    }
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

/* jansson skips a zero byte behind a number or a word, so it is found here: no JSON text has one.
 * Returns text.size when there is none. */
static size_t zero_offset(struct text text) {
    const char *zero = text.size > 0 ? memchr(text.data, '\0', text.size) : NULL;
    return zero != NULL ? (size_t)(zero - text.data) : text.size;
}

static void report_zero(struct text text, struct api_problem *problem) {
    const struct api_text_position position = text_position(text, zero_offset(text));
    api_problem_set(problem, API_MALFORMED_JSON, "zero byte at byte %zu (line %zu, column %zu)",
                    position.offset, position.line, position.column);
    problem->has_position = true;
    problem->position = position;
}

static void report_fault(const json_error_t *error, const struct api_lifted *lifted,
                         struct text text, struct api_problem *problem) {
    if (allocation_failed || error->text[0] == '\0') {
        api_problem_set(problem, API_OVERLOADED, "no memory to read the body");
        return;
    }
    const bool duplicate = json_error_code(error) == json_error_duplicate_key;
    const size_t offset = fault_offset(error, lifted, text);
    if (offset > zero_offset(text)) {
        report_zero(text, problem);
        return;
    }
    const struct api_text_position position = text_position(text, offset);
    const char *near = strstr(error->text, " near '");
    const int length = near == NULL ? (int)strlen(error->text) : (int)(near - error->text);
    api_problem_set(problem, duplicate ? API_DUPLICATE_MEMBER : API_MALFORMED_JSON,
                    "%.*s at byte %zu (line %zu, column %zu)", length, error->text, position.offset,
                    position.line, position.column);
    problem->has_position = true;
    problem->position = position;
}

static void report_refused(enum api_code code, struct api_problem *problem) {
    switch ((int)code) {
    case API_TOO_DEEP:
        api_problem_set(problem, code, "arrays and objects are nested deeper than %d levels",
                        API_MAX_DEPTH);
        return;
    case API_PAYLOAD_TOO_LARGE:
        api_problem_set(problem, code,
                        "more JSON than the server holds: at most %zu numbers in matrices and %zu "
                        "values (an object counts 4, an array 2) beside them",
                        API_MAX_NUMBERS, API_MAX_VALUES);
        return;
    default:
        api_problem_set(problem, code, "no memory to read the body");
    }
}

/* ---- reading ------------------------------------------------------------------------------ */

bool api_document_read(struct api_document *document, const char *body, size_t size,
                       struct api_problem *problem) {
    document->root = NULL;
    body = body == NULL ? "" : body;
    const enum api_code code = api_lift(body, size, &document->lifted);
    if (code != API_OK) {
        report_refused(code, problem);
        return false;
    }
    const struct api_lifted *lifted = &document->lifted;
    const char *text = lifted->plain ? body : lifted->compact.data;
    const size_t text_size = lifted->plain ? size : lifted->compact.size;
    json_error_t error;
    allocation_failed = false;
    document->root =
        json_loadb(text == NULL ? "" : text, text_size,
                   JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL, &error);
    if (document->root == NULL) {
        report_fault(&error, lifted, (struct text){body, size}, problem);
        return false;
    }
    if (zero_offset((struct text){body, size}) < size) {
        report_zero((struct text){body, size}, problem);
        return false;
    }
    return true;
}

void api_document_finish(struct api_document *document) {
    json_decref(document->root);
    document->root = NULL;
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
