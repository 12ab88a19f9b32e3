/* A JSON body that has been read: jansson's tree of names and structure, with the numeric arrays
 * beside it. It does not know what any member means. */
#ifndef API_DOCUMENT_H
#define API_DOCUMENT_H

#include "json_memory.h"
#include "lift.h"
#include "problem.h"

#include <stdbool.h>
#include <stddef.h>

struct json_t;

struct api_document {
    struct api_lifted lifted;
    struct api_json_memory memory;
    struct json_t *root; /* lives in the memory */
};

/* Reads the body. On failure sets the problem, with offset, line and column in the text as sent,
 * and returns false. api_document_finish is due either way. */
bool api_document_read(struct api_document *document, const char *body, size_t size,
                       struct api_problem *problem);
void api_document_finish(struct api_document *document);

/* Gives a fault that was found in a piece of a body its place in the whole body. */
void api_problem_place(struct api_problem *problem, const char *body, size_t size, size_t offset);

enum api_kind {
    API_KIND_ABSENT, /* no such member: a NULL value */
    API_KIND_NULL,
    API_KIND_BOOL,
    API_KIND_NUMBER,
    API_KIND_STRING,
    API_KIND_ARRAY, /* not lifted: mixed or empty */
    API_KIND_SPAN,  /* a lifted array of numbers */
    API_KIND_OBJECT,
};

/* Every look at a value goes through this, since a lifted array stands there as a string. */
enum api_kind api_document_kind(const struct api_document *document, const struct json_t *value);

/* The lifted array that a value stands for, or NULL; and its first number. */
const struct api_span *api_document_span(const struct api_document *document,
                                         const struct json_t *value);
double *api_document_numbers(const struct api_document *document, const struct api_span *span);

/* "an object", "a list of numbers" and so on, for details. */
const char *api_kind_text(enum api_kind kind);

#endif
