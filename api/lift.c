/* The pre-pass: one walk over the body with a stack of at most API_MAX_DEPTH open containers.
 * What it does not understand it leaves in the text for jansson, which then reports it.
 *
 * A handle is a JSON string: the byte 0x7F and the span's number in hexadecimal. It cannot be
 * forged: when a string of the client's holds 0x7F, raw or as an escape, nothing is lifted. */
#include "lift.h"

#include "limits.h"
#include "numbers.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HANDLE_MARK '\x7F'
#define HANDLE_SIZE 12 /* quote, mark, up to 8 digits, quote, NUL for snprintf */

/* In the units of API_MAX_VALUES. */
enum { SPAN_COST = 2, ARRAY_COST = 2, OBJECT_COST = 4 };

enum expect { EXPECT_FIRST, EXPECT_VALUE, EXPECT_COMMA };

/* An open array or object. `uniform`: so far an array of spans that all have one shape. An object
 * expects a value only behind a colon. */
struct frame {
    bool is_array;
    bool uniform;
    enum expect expect;
    size_t start;
    size_t first_span;
};

struct scanner {
    const char *text;
    const char *at;
    const char *end;
    struct api_lifted *lifted;
    struct frame frames[API_MAX_DEPTH];
    size_t depth;
    size_t values;     /* in the units of API_MAX_VALUES, for what is left to jansson */
    size_t all_values; /* the same, if nothing were lifted */
    bool malformed;    /* for certain; the scan stopped at drop_end */
    size_t drop_start; /* numbers of a broken array that jansson need not see */
    size_t drop_end;
    enum api_code code;
};

static bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static void skip_space(struct scanner *scanner) {
    while (scanner->at < scanner->end && is_space(*scanner->at)) {
        ++scanner->at;
    }
}

static bool starts_number(char c) {
    return c == '-' || (c >= '0' && c <= '9');
}

/* ---- growing lists ------------------------------------------------------------------------ */

/* The list with room for more, perhaps elsewhere; NULL, and the list untouched, without memory. */
static void *grow(void *items, size_t *capacity, size_t item_size, size_t first) {
    const size_t wanted = *capacity == 0 ? first : *capacity * 2;
    void *grown = realloc(items, wanted * item_size);
    if (grown != NULL) {
        *capacity = wanted;
    }
    return grown;
}

static bool make_number_room(struct scanner *scanner) {
    struct api_lifted *lifted = scanner->lifted;
    if (lifted->number_count == API_MAX_NUMBERS) {
        scanner->code = API_PAYLOAD_TOO_LARGE;
        return false;
    }
    if (lifted->number_count < lifted->number_capacity) {
        return true;
    }
    /* first guess: 16 bytes of text a number; a short text must not claim much */
    const size_t first = (size_t)(scanner->end - scanner->text) / 16 + 16;
    double *grown = grow(lifted->numbers, &lifted->number_capacity, sizeof *lifted->numbers, first);
    if (grown == NULL) {
        scanner->code = API_OVERLOADED;
        return false;
    }
    lifted->numbers = grown;
    return true;
}

static struct api_span *add_span(struct scanner *scanner) {
    struct api_lifted *lifted = scanner->lifted;
    if (lifted->span_count == lifted->span_capacity) {
        struct api_span *grown =
            grow(lifted->spans, &lifted->span_capacity, sizeof *lifted->spans, 16);
        if (grown == NULL) {
            scanner->code = API_OVERLOADED;
            return NULL;
        }
        lifted->spans = grown;
    }
    return &lifted->spans[lifted->span_count++];
}

/* ---- what the enclosing array learns ------------------------------------------------------ */

static struct frame *top_frame(struct scanner *scanner) {
    return scanner->depth == 0 ? NULL : &scanner->frames[scanner->depth - 1];
}

static bool same_shape(const struct api_span *a, const struct api_span *b) {
    return a->rank == b->rank && memcmp(a->shape, b->shape, sizeof a->shape) == 0;
}

/* A lifted array stands as the next element of the enclosing one. */
static void note_span(struct scanner *scanner) {
    struct frame *frame = top_frame(scanner);
    const struct api_lifted *lifted = scanner->lifted;
    const struct api_span *span = &lifted->spans[lifted->span_count - 1];
    scanner->values += SPAN_COST;
    if (frame == NULL || !frame->uniform) {
        return;
    }
    if (frame->expect == EXPECT_COMMA || span->rank == API_SPAN_MAX_RANK ||
        (frame->expect == EXPECT_VALUE && !same_shape(&lifted->spans[frame->first_span], span))) {
        frame->uniform = false;
    }
    frame->expect = EXPECT_COMMA;
}

static void note_other(struct scanner *scanner, size_t cost) {
    struct frame *frame = top_frame(scanner);
    scanner->values += cost;
    scanner->all_values += cost;
    if (frame != NULL) {
        frame->uniform = false;
    }
}

/* ---- numeric arrays ----------------------------------------------------------------------- */

/* Certain breakage at or behind `last`: jansson needs only what stands there to report the same
 * fault, so the numbers from `first` up to it are dropped. */
static void stop_malformed(struct scanner *scanner, const char *first, const char *last) {
    scanner->malformed = true;
    scanner->lifted->malformed_offset = (size_t)(scanner->at - scanner->text);
    scanner->drop_start = (size_t)(first - scanner->text);
    scanner->drop_end = (size_t)(last - scanner->text);
}

static bool may_start_value(char c) {
    return c == '"' || c == '[' || c == '{' || c == 't' || c == 'f' || c == 'n';
}

static void push_frame(struct scanner *scanner, bool is_array, size_t start) {
    if (scanner->depth == API_MAX_DEPTH) {
        scanner->code = API_TOO_DEEP;
        return;
    }
    scanner->frames[scanner->depth++] = (struct frame){.is_array = is_array,
                                                       .uniform = is_array,
                                                       .expect = EXPECT_FIRST,
                                                       .start = start,
                                                       .first_span = scanner->lifted->span_count};
}

/* The array holds more than numbers: take back what was read of it and go on inside of it. */
static void leave_mixed(struct scanner *scanner, size_t start, size_t first_number) {
    struct api_lifted *lifted = scanner->lifted;
    note_other(scanner, ARRAY_COST + (lifted->number_count - first_number));
    lifted->number_count = first_number;
    push_frame(scanner, true, start);
    if (scanner->code == API_OK) {
        scanner->frames[scanner->depth - 1].uniform = false;
    }
}

static void close_numbers(struct scanner *scanner, size_t start, size_t first_number) {
    struct api_span *span = add_span(scanner);
    if (span == NULL) {
        return;
    }
    scanner->all_values += ARRAY_COST + (scanner->lifted->number_count - first_number);
    *span = (struct api_span){.first = first_number,
                              .rank = 1,
                              .shape = {scanner->lifted->number_count - first_number, 1, 1},
                              .start = start,
                              .end = (size_t)(scanner->at - scanner->text)};
    note_span(scanner);
}

/* scanner->at is at the first number of an array that starts at `start`. */
static void scan_numbers(struct scanner *scanner, size_t start) {
    struct api_lifted *lifted = scanner->lifted;
    const size_t first_number = lifted->number_count;
    const char *first = scanner->at;
    const char *last = scanner->at;
    if (scanner->depth == API_MAX_DEPTH) {
        scanner->code = API_TOO_DEEP;
        return;
    }
    for (;;) {
        if (!make_number_room(scanner)) {
            return;
        }
        const char *behind =
            api_number_read(scanner->at, scanner->end, &lifted->numbers[lifted->number_count]);
        if (behind == NULL) {
            const bool mixed = scanner->at < scanner->end && may_start_value(*scanner->at);
            if (mixed) {
                leave_mixed(scanner, start, first_number);
            } else {
                stop_malformed(scanner, first, last);
            }
            return;
        }
        last = scanner->at;
        scanner->at = behind;
        ++lifted->number_count;
        skip_space(scanner);
        if (scanner->at < scanner->end && *scanner->at == ']') {
            ++scanner->at;
            close_numbers(scanner, start, first_number);
            return;
        }
        if (scanner->at == scanner->end || *scanner->at != ',') {
            stop_malformed(scanner, first, last);
            return;
        }
        ++scanner->at;
        skip_space(scanner);
    }
}

/* ---- the rest of JSON --------------------------------------------------------------------- */

/* "\u007F", the other way to write the handle's mark. */
static bool escapes_mark(const char *at, const char *end) {
    return end - at >= 5 && memcmp(at, "u007", 4) == 0 && (at[4] == 'f' || at[4] == 'F');
}

static void scan_string(struct scanner *scanner) {
    const char *at = scanner->at + 1;
    while (at < scanner->end && *at != '"') {
        if (*at == HANDLE_MARK) {
            scanner->lifted->plain = true;
        } else if (*at == '\\') {
            ++at;
            scanner->lifted->plain |= escapes_mark(at, scanner->end);
            if (at == scanner->end) {
                break;
            }
        }
        ++at;
    }
    scanner->at = at < scanner->end ? at + 1 : at;
    note_other(scanner, 1);
}

/* A number outside of a numeric array, a literal, or anything that jansson will refuse. */
static void scan_token(struct scanner *scanner) {
    do {
        ++scanner->at;
    } while (scanner->at < scanner->end && strchr(" \t\r\n,:[]{}\"", *scanner->at) == NULL);
    note_other(scanner, 1);
}

static void open_array(struct scanner *scanner) {
    const size_t start = (size_t)(scanner->at - scanner->text);
    const struct frame *frame = top_frame(scanner);
    if (frame != NULL && !frame->is_array && frame->expect != EXPECT_VALUE) {
        /* in the place of a name, where a handle would pass for one */
        stop_malformed(scanner, scanner->at, scanner->at);
        return;
    }
    ++scanner->at;
    skip_space(scanner);
    if (scanner->at < scanner->end && starts_number(*scanner->at)) {
        scan_numbers(scanner, start);
        return;
    }
    scanner->values += ARRAY_COST;
    scanner->all_values += ARRAY_COST;
    push_frame(scanner, true, start);
}

/* All elements of a closed array were lifted and have one shape: they become one span. */
static void merge_spans(struct scanner *scanner, const struct frame *frame) {
    struct api_lifted *lifted = scanner->lifted;
    struct api_span *span = &lifted->spans[frame->first_span];
    const size_t count = lifted->span_count - frame->first_span;
    for (size_t k = span->rank; k > 0; --k) {
        span->shape[k] = span->shape[k - 1];
    }
    span->shape[0] = count;
    span->rank += 1;
    span->start = frame->start;
    span->end = (size_t)(scanner->at - scanner->text);
    lifted->span_count = frame->first_span + 1;
    scanner->values -= count * SPAN_COST + ARRAY_COST;
    note_span(scanner);
}

static void close_container(struct scanner *scanner, bool is_array) {
    ++scanner->at;
    if (scanner->depth == 0) {
        return;
    }
    const struct frame frame = scanner->frames[--scanner->depth];
    if (is_array && frame.is_array && frame.uniform && frame.expect == EXPECT_COMMA) {
        merge_spans(scanner, &frame);
    } else {
        note_other(scanner, 0);
    }
}

static void scan_comma(struct scanner *scanner) {
    struct frame *frame = top_frame(scanner);
    ++scanner->at;
    if (frame != NULL) {
        frame->uniform = frame->uniform && frame->expect == EXPECT_COMMA;
        frame->expect = frame->is_array ? EXPECT_VALUE : EXPECT_FIRST;
    }
}

static void scan_colon(struct scanner *scanner) {
    struct frame *frame = top_frame(scanner);
    ++scanner->at;
    if (frame != NULL) {
        frame->uniform = false;
        frame->expect = EXPECT_VALUE;
    }
}

static void scan_step(struct scanner *scanner) {
    switch (*scanner->at) {
    case ' ':
    case '\t':
    case '\r':
    case '\n':
        ++scanner->at;
        return;
    case ':':
        scan_colon(scanner);
        return;
    case '"':
        scan_string(scanner);
        return;
    case '[':
        open_array(scanner);
        return;
    case '{':
        note_other(scanner, OBJECT_COST);
        push_frame(scanner, false, (size_t)(scanner->at - scanner->text));
        ++scanner->at;
        return;
    case ']':
    case '}':
        close_container(scanner, *scanner->at == ']');
        return;
    case ',':
        scan_comma(scanner);
        return;
    default:
        scan_token(scanner);
    }
}

static void scan_text(struct scanner *scanner) {
    while (scanner->at < scanner->end && !scanner->malformed && scanner->code == API_OK) {
        scan_step(scanner);
        if (scanner->values > API_MAX_VALUES) {
            scanner->code = API_PAYLOAD_TOO_LARGE;
        }
    }
}

/* ---- the compact text --------------------------------------------------------------------- */

static void copy_with_handles(const struct scanner *scanner, size_t end) {
    struct api_lifted *lifted = scanner->lifted;
    struct api_buffer *compact = &lifted->compact;
    size_t from = 0;
    for (size_t i = 0; i < lifted->span_count; ++i) {
        struct api_span *span = &lifted->spans[i];
        char handle[HANDLE_SIZE];
        const int size = snprintf(handle, sizeof handle, "\"%c%zx\"", HANDLE_MARK, i);
        api_buffer_append(compact, scanner->text + from, span->start - from);
        api_buffer_append(compact, handle, (size_t)size);
        span->compact_end = compact->size;
        from = span->end;
    }
    api_buffer_append(compact, scanner->text + from, end - from);
}

/* A dropped run of numbers is kept as one more span, without numbers, for the offsets' sake. */
static bool copy_dropped(struct scanner *scanner, size_t size) {
    struct api_span *span = add_span(scanner);
    if (span == NULL) {
        return false;
    }
    *span = (struct api_span){.start = scanner->drop_start,
                              .end = scanner->drop_end,
                              .compact_end = scanner->lifted->compact.size};
    api_buffer_append(&scanner->lifted->compact, scanner->text + scanner->drop_end,
                      size - scanner->drop_end);
    return true;
}

static enum api_code build_compact(struct scanner *scanner, size_t size) {
    struct api_lifted *lifted = scanner->lifted;
    api_buffer_init(&lifted->compact, SIZE_MAX / 2);
    copy_with_handles(scanner, scanner->malformed ? scanner->drop_start : size);
    if (scanner->malformed && !copy_dropped(scanner, size)) {
        return API_OVERLOADED;
    }
    return lifted->compact.failed ? API_OVERLOADED : API_OK;
}

enum api_code api_lift(const char *text, size_t size, struct api_lifted *lifted) {
    *lifted = (struct api_lifted){.malformed_offset = SIZE_MAX};
    struct scanner scanner = {
        .text = text, .at = text, .end = text + size, .lifted = lifted, .code = API_OK};
    scan_text(&scanner);
    if (scanner.code != API_OK) {
        return scanner.code;
    }
    if (!lifted->plain) {
        return build_compact(&scanner, size);
    }
    lifted->span_count = 0;
    return scanner.all_values <= API_MAX_VALUES ? API_OK : API_PAYLOAD_TOO_LARGE;
}

void api_lifted_finish(struct api_lifted *lifted) {
    free(lifted->numbers);
    free(lifted->spans);
    api_buffer_finish(&lifted->compact);
    *lifted = (struct api_lifted){0};
}

const struct api_span *api_lifted_span(const struct api_lifted *lifted, const char *string) {
    if (lifted->plain || string[0] != HANDLE_MARK) {
        return NULL;
    }
    const unsigned long number = strtoul(string + 1, NULL, 16);
    return number < lifted->span_count ? &lifted->spans[number] : NULL;
}

size_t api_lifted_offset(const struct api_lifted *lifted, size_t compact_offset) {
    size_t low = 0; /* how many spans end at or before the offset */
    size_t high = lifted->span_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (lifted->spans[middle].compact_end <= compact_offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    size_t offset = compact_offset;
    if (low > 0) {
        const struct api_span *span = &lifted->spans[low - 1];
        offset = span->end + (compact_offset - span->compact_end);
    }
    const bool inside_handle = low < lifted->span_count && offset > lifted->spans[low].start;
    return inside_handle ? lifted->spans[low].start : offset;
}
