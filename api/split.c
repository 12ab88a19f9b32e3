/* Walks over the top level of an object and skips everything below it eight bytes at a time.
 * It trusts nothing: a text that is no JSON gives some cut or none, and fails when it is read. */
#include "split.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct walk {
    const char *text;
    const char *at;
    const char *end;
};

static bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static void skip_space(struct walk *walk) {
    while (walk->at < walk->end && is_space(*walk->at)) {
        ++walk->at;
    }
}

/* walk->at is at a quote; goes behind the one that closes. */
static void skip_string(struct walk *walk) {
    const char *open = walk->at;
    const char *from = open + 1;
    for (;;) {
        const char *quote = from < walk->end ? memchr(from, '"', (size_t)(walk->end - from)) : NULL;
        if (quote == NULL) {
            walk->at = walk->end;
            return;
        }
        const char *escape = quote;
        while (escape - 1 > open && escape[-1] == '\\') {
            --escape;
        }
        from = quote + 1;
        if ((quote - escape) % 2 == 0) {
            walk->at = from;
            return;
        }
    }
}

#define EACH(byte) ((byte)*0x0101010101010101U)

static uint64_t zero_bytes(uint64_t word) {
    return (word - EACH(0x01)) & ~word & EACH(0x80);
}

/* Whether any of 8 bytes is a quote or a bracket. '[' and '{', ']' and '}' differ in one bit. */
static bool has_structure(const char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    const uint64_t folded = word | EACH(0x20);
    return (zero_bytes(word ^ EACH('"')) | zero_bytes(folded ^ EACH('{')) |
            zero_bytes(folded ^ EACH('}'))) != 0;
}

/* walk->at is at an opening bracket; goes behind the one that closes. */
static void skip_brackets(struct walk *walk) {
    size_t depth = 0;
    while (walk->at < walk->end) {
        if (walk->end - walk->at >= 8 && !has_structure(walk->at)) {
            walk->at += 8;
            continue;
        }
        const char c = *walk->at;
        if (c == '"') {
            skip_string(walk);
            continue;
        }
        ++walk->at;
        if (c == '[' || c == '{') {
            ++depth;
        } else if ((c == ']' || c == '}') && --depth == 0) {
            return;
        }
    }
}

static void skip_value(struct walk *walk) {
    const char c = *walk->at;
    if (c == '[' || c == '{') {
        skip_brackets(walk);
    } else if (c == '"') {
        skip_string(walk);
    } else {
        while (walk->at < walk->end && *walk->at != ',' && *walk->at != ']' && *walk->at != '}' &&
               !is_space(*walk->at)) {
            ++walk->at;
        }
    }
}

static enum api_code add_slice(struct api_split *split, size_t offset, size_t size,
                               size_t maximum) {
    if (split->count == maximum) {
        return API_LIMIT_EXCEEDED;
    }
    if (split->count == split->capacity) {
        const size_t capacity = split->capacity == 0 ? 16 : 2 * split->capacity;
        struct api_slice *slices = realloc(split->slices, capacity * sizeof *slices);
        if (slices == NULL) {
            return API_OVERLOADED;
        }
        split->slices = slices;
        split->capacity = capacity;
    }
    split->slices[split->count++] = (struct api_slice){offset, size};
    return API_OK;
}

/* walk->at is behind the array's opening bracket; *copied is the end of what the envelope has. */
static enum api_code cut_elements(struct walk *walk, struct api_split *split, size_t maximum,
                                  const char **copied) {
    for (;;) {
        skip_space(walk);
        if (walk->at == walk->end || *walk->at == ']' || *walk->at == ',' || *walk->at == '}') {
            return API_OK; /* the end, or what is no JSON */
        }
        const char *start = walk->at;
        skip_value(walk);
        const enum api_code code =
            add_slice(split, (size_t)(start - walk->text), (size_t)(walk->at - start), maximum);
        if (code != API_OK) {
            return code;
        }
        api_buffer_append(&split->envelope, *copied, (size_t)(start - *copied));
        api_buffer_append(&split->envelope, "0", 1);
        *copied = walk->at;
        skip_space(walk);
        if (walk->at == walk->end || *walk->at != ',') {
            return API_OK;
        }
        ++walk->at;
    }
}

/* walk->at is at the quote of a name; tells whether an array of that name follows. */
static bool enters_array(struct walk *walk, const char *name) {
    const char *quote = walk->at;
    const size_t size = strlen(name);
    skip_string(walk);
    const bool named =
        walk->at - quote == (ptrdiff_t)size + 2 && memcmp(quote + 1, name, size) == 0;
    skip_space(walk);
    if (walk->at == walk->end || *walk->at != ':') {
        return false;
    }
    ++walk->at;
    skip_space(walk);
    return named && walk->at < walk->end && *walk->at == '[';
}

enum api_code api_split(const char *text, size_t size, const char *name, size_t maximum,
                        struct api_split *split) {
    struct walk walk = {text, text, text + size};
    const char *copied = text;
    enum api_code code = API_OK;
    *split = (struct api_split){.slices = NULL};
    api_buffer_init(&split->envelope, SIZE_MAX / 2);
    skip_space(&walk);
    if (walk.at < walk.end && *walk.at == '{') {
        ++walk.at;
    }
    while (walk.at < walk.end && code == API_OK) {
        if (*walk.at != '"') {
            ++walk.at; /* commas, blanks, and what is no JSON */
        } else if (enters_array(&walk, name)) {
            ++walk.at;
            code = cut_elements(&walk, split, maximum, &copied);
        } else if (walk.at < walk.end) {
            skip_value(&walk);
        }
    }
    api_buffer_append(&split->envelope, copied, (size_t)(walk.end - copied));
    return code == API_OK && split->envelope.failed ? API_OVERLOADED : code;
}

size_t api_split_offset(const struct api_split *split, size_t envelope_offset) {
    size_t taken = 0; /* bytes that are in the text and not in the envelope */
    for (size_t i = 0; i < split->count; ++i) {
        if (split->slices[i].offset - taken >= envelope_offset) {
            break;
        }
        taken += split->slices[i].size - 1;
    }
    return envelope_offset + taken;
}

void api_split_finish(struct api_split *split) {
    free(split->slices);
    api_buffer_finish(&split->envelope);
    *split = (struct api_split){.slices = NULL};
}
