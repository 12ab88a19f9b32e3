/* Checks of replies: a 200 parses and holds only finite numbers, a problem is one of the contract's
 * and points into the body, and JSON and octets say the same. */
#include "tests/fuzz/fuzz.h"

#include "reply.h"

#include <jansson.h>
#include <math.h>

static bool is_status_of_operations(unsigned status) {
    return status == 400 || status == 413 || status == 415 || status == 422 || status == 503;
}

/* jansson reads no NaN and nothing beyond double's range, so what it has read is finite. */
static json_t *parse(const struct api_buffer *body) {
    json_error_t error;
    json_t *root = json_loadb(body->data == NULL ? "" : body->data, body->size,
                              JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error);
    if (root == NULL) {
        (void)fprintf(stderr, "%s: %.*s\n", error.text, (int)body->size, body->data);
    }
    fuzz_require(json_is_object(root));
    return root;
}

static const char *text_of(const json_t *object, const char *name) {
    const char *text = json_string_value(json_object_get(object, name));
    fuzz_require(text != NULL);
    return text;
}

static void check_finding(const json_t *finding) {
    const json_t *pointer = json_object_get(finding, "pointer");
    const enum api_code code = api_code_find(text_of(finding, "code"));
    fuzz_require(code != API_OK);
    fuzz_require(text_of(finding, "detail")[0] != '\0');
    if (pointer != NULL) {
        const char *text = json_string_value(pointer);
        fuzz_require(text != NULL && (text[0] == '\0' || text[0] == '/'));
    }
}

static void check_problem(const struct api_reply *reply, size_t body_size) {
    json_t *problem = parse(&reply->body);
    const char *code = text_of(problem, "code");
    const json_t *offset = json_object_get(problem, "offset");
    const json_t *errors = json_object_get(problem, "errors");
    fuzz_require(is_status_of_operations(reply->status));
    fuzz_require(strcmp(reply->media_type, API_TYPE_PROBLEM) == 0);
    fuzz_require(reply->code != API_OK && strcmp(api_code_wire(reply->code), code) == 0);
    fuzz_require(api_code_status(reply->code) == reply->status);
    fuzz_require(json_number_value(json_object_get(problem, "status")) == reply->status);
    fuzz_require(text_of(problem, "detail")[0] != '\0');
    if (offset != NULL) {
        const double value = json_number_value(offset);
        fuzz_require(value >= 0 && value <= (double)body_size);
        fuzz_require(json_number_value(json_object_get(problem, "line")) >= 1);
        fuzz_require(json_number_value(json_object_get(problem, "column")) >= 1);
    }
    fuzz_require(json_array_size(errors) <= API_MAX_FINDINGS);
    for (size_t i = 0; i < json_array_size(errors); ++i) {
        check_finding(json_array_get(errors, i));
    }
    json_decref(problem);
}

/* ---- the numbers of a reply, in both its forms ---- */

/* Appends the numbers of a flat or nested list; returns how many there are then. */
static size_t flatten(const json_t *value, double *numbers, size_t count, size_t capacity) {
    if (json_is_number(value)) {
        fuzz_require(count < capacity);
        numbers[count] = json_number_value(value);
        return count + 1;
    }
    fuzz_require(json_is_array(value));
    for (size_t i = 0; i < json_array_size(value); ++i) {
        count = flatten(json_array_get(value, i), numbers, count, capacity);
    }
    return count;
}

static const json_t *matrices_of(const json_t *reply) {
    const json_t *list = json_object_get(reply, "palette");
    return list != NULL ? list : json_object_get(reply, "inverseBind");
}

static void check_octets(const struct api_buffer *octets, const json_t *list) {
    const size_t count = json_array_size(list);
    const bool is_unity = json_is_object(json_array_get(list, 0));
    const size_t element = count == 0 ? 4 : octets->size / (16 * count);
    double *numbers = calloc(16 * count + 1, sizeof *numbers);
    fuzz_require(numbers != NULL && (element == 4 || element == 8));
    fuzz_require(octets->size == 16 * count * element);
    if (!is_unity) {
        fuzz_require(flatten(list, numbers, 0, 16 * count) == 16 * count);
    }
    for (size_t i = 0; i < 16 * count; ++i) {
        double sent = 0;
        float narrow = 0;
        if (element == 8) {
            memcpy(&sent, octets->data + 8 * i, sizeof sent);
        } else {
            memcpy(&narrow, octets->data + 4 * i, sizeof narrow);
            sent = (double)narrow;
        }
        fuzz_require(isfinite(sent));
        /* a float's shortest text is another double, which rounds to the same float */
        const bool same = element == 8 ? numbers[i] == sent : (float)numbers[i] == narrow;
        fuzz_require(is_unity || (same && signbit(numbers[i]) == signbit(sent)));
    }
    free(numbers);
}

/* ---- running ---- */

static void run(const struct api_operation *operation, const struct api_request *like,
                enum api_media accept, const uint8_t *body, struct api_reply *reply) {
    struct api_request request = *like;
    request.accept = accept;
    request.body = fuzz_copy(body, like->size); /* malloc'ed, so aligned for double */
    api_operation_run(operation, &request, reply);
    free(request.body);
    if (reply->status == 200) {
        fuzz_require(reply->code == API_OK && !reply->body.failed);
    } else {
        check_problem(reply, like->size);
    }
}

void reply_check_both(const struct api_operation *operation, enum api_media content_type,
                      const char *query, const uint8_t *body, size_t size) {
    const struct api_request request = {
        .size = size, .content_type = content_type, .query = query, .request_id = "fuzz"};
    struct api_reply text;
    struct api_reply octets;
    run(operation, &request, API_MEDIA_JSON, body, &text);
    json_t *reply = parse(&text.body);
    if (operation->run_octets != NULL) {
        run(operation, &request, API_MEDIA_OCTETS, body, &octets);
        fuzz_require(octets.status == text.status && octets.code == text.code);
        if (octets.status == 200) {
            fuzz_require(strcmp(octets.media_type, API_TYPE_OCTETS) == 0);
            check_octets(&octets.body, matrices_of(reply));
        }
        api_reply_finish(&octets);
    }
    if (text.status == 200) {
        fuzz_require(strcmp(text.media_type, API_TYPE_JSON) == 0);
    }
    json_decref(reply);
    api_reply_finish(&text);
}
