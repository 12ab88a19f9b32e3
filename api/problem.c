/* Problem documents: collects findings and writes them as RFC 9457 JSON.
 * It decides nothing about what is wrong; that is the callers' business. */
#include "problem.h"

#include "json_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct code_row {
    const char *wire;
    unsigned status;
    const char *title;
    const char *meaning;
    const char *remedy;
};

static const struct code_row code_rows[API_CODE_COUNT] = {
    [API_OK] = {"ok", 200, "OK", "", ""},
#define API_ERROR(symbol, wire, status, title, meaning, remedy)                                    \
    [API_##symbol] = {wire, status, title, meaning, remedy},
#include "errors.def"
#undef API_ERROR
};

const char *api_code_wire(enum api_code code) {
    return code_rows[code].wire;
}

unsigned api_code_status(enum api_code code) {
    return code_rows[code].status;
}

const char *api_code_title(enum api_code code) {
    return code_rows[code].title;
}

enum api_code api_code_find(const char *wire) {
    for (int code = API_OK + 1; code < API_CODE_COUNT; ++code) {
        if (strcmp(code_rows[code].wire, wire) == 0) {
            return (enum api_code)code;
        }
    }
    return API_OK;
}

void api_problem_init(struct api_problem *problem) {
    memset(problem, 0, sizeof *problem);
}

void api_problem_finish(struct api_problem *problem) {
    free(problem->findings);
    api_problem_init(problem);
}

void api_text_trim(char *text) {
    size_t end = strlen(text);
    size_t start = end;
    while (start > 0 && ((unsigned char)text[start - 1] & 0xC0) == 0x80) {
        --start;
    }
    if (start == 0 || ((unsigned char)text[start - 1] & 0x80) == 0) {
        return;
    }
    const unsigned char lead = (unsigned char)text[start - 1];
    const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (end - (start - 1) < length) {
        text[start - 1] = '\0';
    }
}

void api_text_vformat(char *text, size_t size, const char *format, va_list args) {
    const int length = vsnprintf(text, size, format, args);
    if (length >= 0 && (size_t)length >= size) {
        api_text_trim(text);
    }
}

void api_text_format(char *text, size_t size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    api_text_vformat(text, size, format, args);
    va_end(args);
}

void api_problem_set(struct api_problem *problem, enum api_code code, const char *detail, ...) {
    if (problem->code != API_OK) {
        return;
    }
    problem->code = code;
    va_list args;
    va_start(args, detail);
    api_text_vformat(problem->detail, sizeof problem->detail, detail, args);
    va_end(args);
}

static bool problem_make_room(struct api_problem *problem) {
    if (problem->findings == NULL) {
        /* one more than is shown: the spare that takes what is past the limit */
        problem->findings = calloc(API_MAX_FINDINGS + 1, sizeof *problem->findings);
    }
    return problem->findings != NULL;
}

struct api_finding *api_problem_add(struct api_problem *problem, enum api_code code) {
    if (!problem_make_room(problem)) {
        problem->code = API_OVERLOADED;
        api_text_format(problem->detail, sizeof problem->detail, "no memory for the findings");
        return NULL;
    }
    if (problem->code == API_OK) {
        problem->code = code;
    }
    ++problem->count;
    struct api_finding *finding = &problem->findings[problem->stored];
    if (problem->stored < API_MAX_FINDINGS) {
        ++problem->stored;
    }
    memset(finding, 0, sizeof *finding);
    finding->code = code;
    finding->index = API_NO_INDEX;
    return finding;
}

void api_problem_merge(struct api_problem *problem, const struct api_problem *other) {
    if (other->code == API_OVERLOADED || problem->code == API_OK) {
        problem->code = other->code;
        memcpy(problem->detail, other->detail, sizeof problem->detail);
    }
    for (size_t i = 0; i < other->stored; ++i) {
        struct api_finding *finding = api_problem_add(problem, other->findings[i].code);
        if (finding == NULL) {
            return;
        }
        *finding = other->findings[i];
    }
    problem->count += other->count - other->stored;
}

static void write_member(struct api_buffer *out, const char *name, const char *text) {
    api_write_key(out, name);
    api_write_string(out, text);
}

static void write_pointer(const char *prefix, const char *pointer, struct api_buffer *out) {
    char whole[2 * sizeof((struct api_finding *)0)->pointer];
    api_text_format(whole, sizeof whole, "%s%s", prefix == NULL ? "" : prefix, pointer);
    write_member(out, "pointer", whole);
}

static void write_finding(const struct api_finding *finding, const char *prefix,
                          struct api_buffer *out) {
    api_buffer_text(out, "{\"code\":");
    api_write_string(out, api_code_wire(finding->code));
    if (finding->parameter[0] != '\0') {
        write_member(out, "parameter", finding->parameter);
    } else {
        write_pointer(prefix, finding->pointer, out);
    }
    if (finding->index != API_NO_INDEX) {
        api_write_key(out, "index");
        api_write_integer(out, (double)finding->index);
    }
    if (finding->name[0] != '\0') {
        write_member(out, "name", finding->name);
    }
    write_member(out, "detail", finding->detail);
    if (finding->hint[0] != '\0') {
        write_member(out, "hint", finding->hint);
    }
    api_buffer_text(out, "}");
}

static void write_position(const struct api_text_position *position, struct api_buffer *out) {
    api_write_key(out, "offset");
    api_write_integer(out, (double)position->offset);
    api_write_key(out, "line");
    api_write_integer(out, (double)position->line);
    api_write_key(out, "column");
    api_write_integer(out, (double)position->column);
}

static void write_findings(const struct api_problem *problem, struct api_buffer *out) {
    api_write_key(out, "errors");
    api_buffer_text(out, "[");
    for (size_t i = 0; i < problem->stored; ++i) {
        if (i > 0) {
            api_buffer_text(out, ",");
        }
        write_finding(&problem->findings[i], problem->prefix, out);
    }
    api_buffer_text(out, "]");
    if (problem->count > problem->stored) {
        api_write_key(out, "errorsTruncated");
        api_buffer_text(out, "true");
    }
}

static void write_head(enum api_code code, struct api_buffer *out) {
    api_buffer_text(out, "{\"type\":\"/problems/");
    api_buffer_text(out, api_code_wire(code));
    api_buffer_text(out, "\"");
    write_member(out, "title", api_code_title(code));
    api_write_key(out, "status");
    api_write_number(out, api_code_status(code));
    write_member(out, "code", api_code_wire(code));
}

static void write_detail(const struct api_problem *problem, struct api_buffer *out) {
    const bool has_own = problem->detail[0] != '\0' || problem->stored == 0;
    const struct api_text_position *position = &problem->position;
    char placed[sizeof problem->detail + 80];
    if (problem->has_position) {
        api_text_format(placed, sizeof placed, "%s at byte %zu (line %zu, column %zu)",
                        problem->detail, position->offset, position->line, position->column);
        write_member(out, "detail", placed);
    } else {
        write_member(out, "detail", has_own ? problem->detail : problem->findings[0].detail);
    }
}

void api_problem_write(const struct api_problem *problem, const char *request_id,
                       struct api_buffer *out) {
    write_head(problem->code, out);
    write_detail(problem, out);
    if (request_id != NULL) {
        write_member(out, "requestId", request_id);
    }
    if (problem->has_position) {
        write_position(&problem->position, out);
    }
    if (problem->stored > 0) {
        write_findings(problem, out);
    }
    api_buffer_text(out, "}");
}

void api_problem_page(enum api_code code, struct api_buffer *out) {
    write_head(code, out);
    write_member(out, "meaning", code_rows[code].meaning);
    write_member(out, "remedy", code_rows[code].remedy);
    api_buffer_text(out, "}");
}
