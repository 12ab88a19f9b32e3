/* The reader of media types and Accept ranges of media.h.
 * It does not judge media parameters other than charset and q: the contract has none. */
#define _GNU_SOURCE
#include "media.h"

#include <string.h>
#include <strings.h>

/* A slice of a header's value. */
struct media_text {
    const char *at;
    size_t size;
};

static const char *const media_names[2] = {
    [API_MEDIA_JSON] = API_TYPE_JSON, [API_MEDIA_OCTETS] = API_TYPE_OCTETS};

static bool media_text_is(struct media_text text, const char *word) {
    return text.size == strlen(word) && strncasecmp(text.at, word, text.size) == 0;
}

static bool media_is_blank(char c) {
    return c == ' ' || c == '\t';
}

static struct media_text media_trim(struct media_text text) {
    while (text.size > 0 && media_is_blank(text.at[0])) {
        text.at++;
        text.size--;
    }
    while (text.size > 0 && media_is_blank(text.at[text.size - 1])) {
        text.size--;
    }
    return text;
}

/* Takes what stands before the separator off *rest, trimmed; quoted strings hide separators.
 * False when nothing is left. */
static bool media_next(struct media_text *rest, char separator, struct media_text *part) {
    if (rest->at == NULL) {
        return false;
    }
    bool is_quoted = false;
    size_t i = 0;
    for (; i < rest->size && (is_quoted || rest->at[i] != separator); i++) {
        if (is_quoted && rest->at[i] == '\\' && i + 1 < rest->size) {
            i++;
        } else if (rest->at[i] == '"') {
            is_quoted = !is_quoted;
        }
    }
    *part = media_trim((struct media_text){rest->at, i});
    if (i < rest->size) {
        rest->at += i + 1;
        rest->size -= i + 1;
    } else {
        rest->at = NULL;
    }
    return true;
}

/* Cuts "name=value" in two; a quoted value loses its quotes. False when there is no '='. */
static bool media_parameter(struct media_text text, struct media_text *name,
                            struct media_text *value) {
    const char *equals = text.size > 0 ? memchr(text.at, '=', text.size) : NULL;
    if (equals == NULL) {
        return false;
    }
    *name = (struct media_text){text.at, (size_t)(equals - text.at)};
    *value = (struct media_text){equals + 1, text.size - name->size - 1};
    if (value->size >= 2 && value->at[0] == '"' && value->at[value->size - 1] == '"') {
        value->at++;
        value->size -= 2;
    }
    return true;
}

bool media_type_is_lines(const char *value) {
    struct media_text rest = {value, strlen(value)};
    struct media_text part;
    media_next(&rest, ';', &part);
    return media_text_is(part, API_TYPE_LINES);
}

bool media_type_parse(const char *value, enum api_media *media) {
    struct media_text rest = {value, strlen(value)};
    struct media_text part;
    struct media_text name;
    struct media_text text;
    media_next(&rest, ';', &part);
    if (media_text_is(part, API_TYPE_JSON)) {
        *media = API_MEDIA_JSON;
    } else if (media_text_is(part, API_TYPE_OCTETS)) {
        *media = API_MEDIA_OCTETS;
    } else {
        return false;
    }
    while (media_next(&rest, ';', &part)) {
        if (part.size == 0) {
            continue;
        }
        if (!media_parameter(part, &name, &text) ||
            (media_text_is(name, "charset") && !media_text_is(text, "utf-8"))) {
            return false;
        }
    }
    return true;
}

/* qvalue of RFC 9110, section 12.4.2, in thousandths; -1 when it is not one. */
static int media_quality(struct media_text text) {
    if (text.size == 0 || text.size > 5 || (text.at[0] != '0' && text.at[0] != '1') ||
        (text.size > 1 && text.at[1] != '.')) {
        return -1;
    }
    int quality = (text.at[0] - '0') * 1000;
    for (size_t i = 2, place = 100; i < text.size; i++, place /= 10) {
        if (text.at[i] < '0' || text.at[i] > '9') {
            return -1;
        }
        quality += (text.at[i] - '0') * (int)place;
    }
    return quality <= 1000 ? quality : -1;
}

static int media_specificity(struct media_text range, const char *name) {
    size_t type_size = strcspn(name, "/") + 1;
    if (media_text_is(range, name)) {
        return 3;
    }
    if (range.size == type_size + 1 && range.at[type_size] == '*' &&
        strncasecmp(range.at, name, type_size) == 0) {
        return 2;
    }
    return media_text_is(range, "*/*") ? 1 : 0;
}

/* The weight of an element, 1000 when it names none; leaves the element without its parameters. */
static int media_cut_quality(struct media_text *range) {
    struct media_text part;
    struct media_text name;
    struct media_text value;
    struct media_text rest = *range;
    int quality = 1000;
    media_next(&rest, ';', range);
    while (media_next(&rest, ';', &part)) {
        if (media_parameter(part, &name, &value) && media_text_is(name, "q")) {
            quality = media_quality(value);
        }
    }
    return quality;
}

static void media_range_add(struct media_preference *preference, struct media_text range) {
    const int quality = media_cut_quality(&range);
    for (int media = 0; quality >= 0 && media < 2; media++) {
        int specificity = media_specificity(range, media_names[media]);
        if (specificity > preference->of[media].specificity) {
            preference->of[media].specificity = specificity;
            preference->of[media].quality = quality;
        }
    }
}

void media_accept_add(struct media_preference *preference, const char *value) {
    struct media_text rest = {value, strlen(value)};
    struct media_text range;
    while (media_next(&rest, ',', &range)) {
        media_range_add(preference, range);
    }
}

bool media_accept_choose(const struct media_preference *preference, bool octets_offered,
                         enum api_media usual, enum api_media *media) {
    int json = preference->of[API_MEDIA_JSON].quality;
    int octets = octets_offered ? preference->of[API_MEDIA_OCTETS].quality : 0;
    if (json == 0 && octets == 0) {
        return false;
    }
    if (json == octets) {
        *media = usual;
    } else {
        *media = json > octets ? API_MEDIA_JSON : API_MEDIA_OCTETS;
    }
    return true;
}

static void media_coding_add(struct media_codings *codings, struct media_text range) {
    const int quality = media_cut_quality(&range);
    if (quality < 0) {
        return;
    }
    if (media_text_is(range, "gzip") || media_text_is(range, "x-gzip")) {
        codings->gzip = quality;
    } else if (media_text_is(range, "identity")) {
        codings->identity = quality;
    } else if (media_text_is(range, "*")) {
        codings->any = quality;
    }
}

void media_codings_add(struct media_codings *codings, const char *value) {
    struct media_text rest = {value, strlen(value)};
    struct media_text range;
    while (media_next(&rest, ',', &range)) {
        media_coding_add(codings, range);
    }
}

bool media_codings_want_gzip(const struct media_codings *codings) {
    const int gzip = codings->gzip >= 0 ? codings->gzip : codings->any;
    return gzip > 0 && gzip >= codings->identity;
}
