/* RFC 9457 problem documents: what went wrong, with every finding and its JSON pointer.
 * Status, title and wire code come from errors.def alone. */
#ifndef API_PROBLEM_H
#define API_PROBLEM_H

#include "buffer.h"
#include "limits.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

enum api_code {
    API_OK = 0,
#define API_ERROR(symbol, wire, status, title, meaning, remedy) API_##symbol,
#include "errors.def"
#undef API_ERROR
    API_CODE_COUNT
};

const char *api_code_wire(enum api_code code);
unsigned api_code_status(enum api_code code);
const char *api_code_title(enum api_code code);

/* The code of that wire name, or API_OK when there is none. */
enum api_code api_code_find(const char *wire);

#define API_NO_INDEX ((size_t)-1)

/* One finding. Texts are UTF-8, cut at a character boundary where they would not fit. */
struct api_finding {
    enum api_code code;
    size_t index;                     /* of the matrix in its list, or API_NO_INDEX */
    char pointer[320];                /* JSON pointer (RFC 6901) into the request */
    char parameter[64];               /* query parameter, where the finding is about one */
    char name[API_MAX_NAME_SIZE + 1]; /* the bone's name, "" when it has none */
    char detail[320];
    char hint[200];
};

/* Where malformed text breaks off; line and column count from 1, the column in characters. */
struct api_text_position {
    size_t offset;
    size_t line;
    size_t column;
};

struct api_problem {
    enum api_code code; /* API_OK while nothing is wrong */
    char detail[320];   /* "": that of the first finding */
    bool has_position;  /* the detail is followed by the position */
    struct api_text_position position;
    const char *prefix;           /* put before each finding's pointer; NULL for none */
    struct api_finding *findings; /* owned */
    size_t stored;                /* in findings, at most API_MAX_FINDINGS */
    size_t count;                 /* found in all */
};

void api_problem_init(struct api_problem *problem);
void api_problem_finish(struct api_problem *problem);

/* A problem of the request as a whole; the first one stays. detail is printf-style. */
__attribute__((format(printf, 3, 4))) void
api_problem_set(struct api_problem *problem, enum api_code code, const char *detail, ...);

/* Counts one more finding and returns it, cleared but for its code and API_NO_INDEX, to be filled
 * in; past the limit it is a spare that is not shown. The first finding decides the problem's
 * code. NULL when memory is out: the problem is then API_OVERLOADED. */
struct api_finding *api_problem_add(struct api_problem *problem, enum api_code code);

/* Adds what another problem of the same request found, after what is there. */
void api_problem_merge(struct api_problem *problem, const struct api_problem *other);

/* Sets a text of a finding, printf-style, cut at a character boundary. */
__attribute__((format(printf, 3, 4))) void api_text_format(char *text, size_t size,
                                                           const char *format, ...);

__attribute__((format(printf, 3, 0))) void api_text_vformat(char *text, size_t size,
                                                            const char *format, va_list args);

/* Takes off what is left of a UTF-8 sequence that was cut at the end of the text. */
void api_text_trim(char *text);

/* Appends the problem document. request_id may be NULL. */
void api_problem_write(const struct api_problem *problem, const char *request_id,
                       struct api_buffer *out);

/* Appends the document served at /problems/CODE: code, title, status, meaning, remedy. */
void api_problem_page(enum api_code code, struct api_buffer *out);

#endif
