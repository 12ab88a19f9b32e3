/* Reads everything of a request that is not a matrix, from the body's members or, for raw bodies,
 * from the query. Each fault becomes a finding; reading goes on, so that all are reported. */
#include "arguments.h"

#include "json_write.h"
#include "numbers.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORD 48                  /* longer words get no suggestion */
#define MAX_KNOWN 32                 /* members or parameters of one operation */
#define MAX_EXACT 9007199254740992.0 /* 2^53: integers up to here are exact in a double */

const struct api_convention api_conventions[] = {
    {"row-vector", false}, {"numerics", false}, {"directx", false},      {"unreal", false},
    {"usd", false},        {"gltf", false},     {"three", false},        {"opengl", false},
    {"glm", false},        {"unity", false},    {"column-vector", true}, {"numpy", true},
    {"blender", true},     {NULL, false},
};

#define CONVENTION_COUNT (sizeof api_conventions / sizeof api_conventions[0] - 1)

const char *const api_space_names[] = {"mesh", "world", NULL};
const char *const api_precision_names[] = {"f64", "f32", NULL};
const char *const api_shape_names[] = {"flat", "nested", "unity", NULL};

/* ---- findings ----------------------------------------------------------------------------- */

/* Appends a reference token, escaped as RFC 6901 says. */
static void pointer_append(struct api_finding *finding, const char *token) {
    size_t size = strlen(finding->pointer);
    finding->pointer[size++] = '/';
    for (; *token != '\0' && size + 3 < sizeof finding->pointer; ++token) {
        if (*token == '~' || *token == '/') {
            finding->pointer[size++] = '~';
            finding->pointer[size++] = *token == '~' ? '0' : '1';
        } else {
            finding->pointer[size++] = *token;
        }
    }
    finding->pointer[size] = '\0';
    api_text_trim(finding->pointer);
}

static struct api_finding *find(struct api_call *call, enum api_code code, const char *member,
                                const char *detail, va_list args) {
    struct api_finding *finding = api_problem_add(call->problem, code);
    if (finding == NULL) {
        return NULL;
    }
    if (call->document == NULL) {
        api_text_format(finding->parameter, sizeof finding->parameter, "%s", member);
    } else {
        pointer_append(finding, member);
    }
    api_text_vformat(finding->detail, sizeof finding->detail, detail, args);
    return finding;
}

struct api_finding *api_call_find(struct api_call *call, enum api_code code, const char *member,
                                  const char *detail, ...) {
    va_list args;
    va_start(args, detail);
    struct api_finding *finding = find(call, code, member, detail, args);
    va_end(args);
    return finding;
}

/* ---- spelling ----------------------------------------------------------------------------- */

static char fold(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Levenshtein distance, letter case aside. */
static size_t edit_distance(const char *a, const char *b) {
    size_t row[MAX_WORD + 1];
    const size_t b_size = strlen(b);
    for (size_t j = 0; j <= b_size; ++j) {
        row[j] = j;
    }
    for (size_t i = 1; a[i - 1] != '\0'; ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_size; ++j) {
            const size_t above = row[j];
            const size_t change = diagonal + (fold(a[i - 1]) == fold(b[j - 1]) ? 0 : 1);
            const size_t insert = (row[j - 1] < above ? row[j - 1] : above) + 1;
            row[j] = change < insert ? change : insert;
            diagonal = above;
        }
    }
    return row[b_size];
}

/* The nearest of `known`, if it is near enough to be what was meant. */
static const char *suggestion(const char *word, const char *const *known) {
    if (strlen(word) > MAX_WORD) {
        return NULL;
    }
    const char *nearest = NULL;
    size_t least = strlen(word) / 3 < 2 ? 2 : strlen(word) / 3;
    for (; *known != NULL; ++known) {
        const size_t distance = edit_distance(word, *known);
        if (distance < strlen(*known) && distance <= least) {
            least = distance - (distance > 0 ? 1 : 0);
            nearest = *known;
        }
    }
    return nearest;
}

static void suggest(struct api_finding *finding, const char *word, const char *const *known) {
    const char *nearest = suggestion(word, known);
    if (finding != NULL && nearest != NULL) {
        api_text_format(finding->hint, sizeof finding->hint, "did you mean %s", nearest);
    }
}

/* ---- the query ---------------------------------------------------------------------------- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = fold(c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent-decodes [at, end) into text; false when it does not fit or is no text. A '+' stays: no
 * value holds blanks, but numbers are written as 1e+6. */
static bool percent_decode(const char *at, const char *end, char *text, size_t size) {
    size_t used = 0;
    while (at < end) {
        char c = *at++;
        if (c == '%') {
            const int high = end - at >= 2 ? hex_digit(at[0]) : -1;
            const int low = high >= 0 ? hex_digit(at[1]) : -1;
            if (low < 0) {
                return false;
            }
            c = (char)(high * 16 + low);
            at += 2;
        }
        if ((unsigned char)c < 0x20 || (unsigned char)c >= 0x7F || used + 1 >= size) {
            return false;
        }
        text[used++] = c;
    }
    text[used] = '\0';
    return true;
}

static const char *query_value(const struct api_call *call, const char *name) {
    for (size_t i = 0; i < call->query.count; ++i) {
        if (strcmp(call->query.items[i].name, name) == 0) {
            return call->query.items[i].value;
        }
    }
    return NULL;
}

static bool is_known(const char *word, const char *const *known) {
    for (; *known != NULL; ++known) {
        if (strcmp(word, *known) == 0) {
            return true;
        }
    }
    return false;
}

static void query_add(struct api_call *call, const char *at, const char *end) {
    struct api_query *query = &call->query;
    const char *equals = memchr(at, '=', (size_t)(end - at));
    const char *name_end = equals == NULL ? end : equals;
    const char *value = equals == NULL ? end : equals + 1;
    char name[sizeof query->items[0].name];
    if (query->count == API_MAX_PARAMETERS || !percent_decode(at, name_end, name, sizeof name) ||
        !percent_decode(value, end, query->items[query->count].value,
                        sizeof query->items[0].value)) {
        api_problem_set(call->problem, API_BAD_REQUEST,
                        "the query holds a parameter that is too long, not plain text, or one of "
                        "more than %d",
                        API_MAX_PARAMETERS);
        return;
    }
    if (query_value(call, name) != NULL) {
        api_call_find(call, API_BAD_VALUE, name, "the parameter is given twice");
        return;
    }
    memcpy(query->items[query->count++].name, name, sizeof name);
}

static void query_check(struct api_call *call) {
    static const char *const none[] = {NULL};
    const char *const *known = call->document == NULL ? call->operation->parameters : none;
    for (size_t i = 0; i < call->query.count; ++i) {
        const char *name = call->query.items[i].name;
        if (is_known(name, known)) {
            continue;
        }
        struct api_finding *finding = api_problem_add(call->problem, API_UNKNOWN_MEMBER);
        if (finding != NULL) {
            api_text_format(finding->parameter, sizeof finding->parameter, "%s", name);
            api_text_format(finding->detail, sizeof finding->detail, "%s",
                            known == none ? "a JSON request takes its options in the body"
                                          : "the operation knows no parameter of this name");
            suggest(finding, name, known);
        }
    }
}

void api_query_read(struct api_call *call) {
    const char *at = call->request->query;
    while (at != NULL && *at != '\0') {
        const size_t size = strcspn(at, "&");
        if (size > 0) {
            query_add(call, at, at + size);
        }
        at += size + (at[size] == '&' ? 1 : 0);
    }
    query_check(call);
}

bool api_query_has(const char *query, const char *name) {
    const size_t name_size = strlen(name);
    while (query != NULL && *query != '\0') {
        const size_t size = strcspn(query, "&");
        if (strncmp(query, name, name_size) == 0 &&
            (query[name_size] == '=' || query[name_size] == '&' || query[name_size] == '\0')) {
            return true;
        }
        query += size + (query[size] == '&' ? 1 : 0);
    }
    return false;
}

size_t api_query_count(struct api_call *call, const char *name, size_t maximum) {
    const char *text = query_value(call, name);
    size_t count = 0;
    for (const char *at = text; at != NULL && *at != '\0'; ++at) {
        const size_t digit = (size_t)(*at - '0');
        if (*at < '0' || *at > '9' || count > (maximum - digit) / 10) {
            count = 0;
            break;
        }
        count = 10 * count + digit;
    }
    if (count == 0) {
        api_call_find(call, API_BAD_VALUE, name, "must be a whole number from 1 to %zu", maximum);
    }
    return count;
}

/* ---- members ------------------------------------------------------------------------------ */

void api_members_check(struct api_call *call, const struct json_t *object, const char *pointer,
                       const char *const *known) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value) {
        if (is_known(name, known)) {
            continue;
        }
        struct api_finding *finding = api_problem_add(call->problem, API_UNKNOWN_MEMBER);
        const bool is_shown = call->problem->count <= API_MAX_FINDINGS;
        if (finding != NULL && is_shown) { /* a suggestion is work */
            api_text_format(finding->pointer, sizeof finding->pointer, "%s", pointer);
            pointer_append(finding, name);
            api_text_format(finding->detail, sizeof finding->detail,
                            "no such member is known here");
            suggest(finding, name, known);
        }
    }
}

void api_arguments_check(struct api_call *call) {
    const char *known[MAX_KNOWN + 1] = {NULL};
    const struct api_member *members = call->operation->members;
    for (size_t i = 0; i < MAX_KNOWN && members[i].name != NULL; ++i) {
        known[i] = members[i].name;
    }
    api_members_check(call, call->arguments, "", known);
    for (; members->name != NULL; ++members) {
        if (members->required && api_argument(call, members->name) == NULL) {
            api_call_find(call, API_MISSING_MEMBER, members->name, "%s is required", members->name);
        }
    }
}

void api_argument_missing(struct api_call *call, const char *name) {
    for (const struct api_member *member = call->operation->members; member->name != NULL;
         ++member) {
        if (member->required && strcmp(member->name, name) == 0) {
            return;
        }
    }
    api_call_find(call, API_MISSING_MEMBER, name, "%s is required", name);
}

const struct json_t *api_argument(const struct api_call *call, const char *name) {
    return call->arguments == NULL ? NULL : json_object_get(call->arguments, name);
}

bool api_argument_given(const struct api_call *call, const char *name) {
    return api_argument(call, name) != NULL || query_value(call, name) != NULL;
}

/* The text of an option, or NULL when it is not given or is no text (then a finding). */
static const char *option_text(struct api_call *call, const char *name) {
    const struct json_t *value = api_argument(call, name);
    const char *text = query_value(call, name);
    if (value == NULL) {
        return text;
    }
    const enum api_kind kind = api_document_kind(call->document, value);
    if (kind != API_KIND_STRING) {
        api_call_find(call, API_WRONG_TYPE, name, "expected a string, found %s",
                      api_kind_text(kind));
        return NULL;
    }
    return json_string_value(value);
}

/* The number of an option; false when it is not given or is no number (then a finding). */
static bool option_number(struct api_call *call, const char *name, double *number) {
    const struct json_t *value = api_argument(call, name);
    const char *text = query_value(call, name);
    if (value != NULL) {
        const enum api_kind kind = api_document_kind(call->document, value);
        if (kind != API_KIND_NUMBER) {
            api_call_find(call, API_WRONG_TYPE, name, "expected a number, found %s",
                          api_kind_text(kind));
            return false;
        }
        *number = json_number_value(value);
        return true;
    }
    if (text == NULL) {
        return false;
    }
    const char *end = text + strlen(text);
    if (api_number_read(text, end, number) != end) {
        api_call_find(call, API_WRONG_TYPE, name, "expected a number");
        return false;
    }
    return true;
}

static void choices_text(const char *const *choices, char *text, size_t size) {
    size_t used = 0;
    for (size_t i = 0; choices[i] != NULL && used < size; ++i) {
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", choices[i]);
    }
}

unsigned api_argument_choice(struct api_call *call, const char *name, const char *const *choices,
                             unsigned fallback) {
    const char *text = option_text(call, name);
    if (text == NULL) {
        return fallback;
    }
    for (unsigned i = 0; choices[i] != NULL; ++i) {
        if (strcmp(text, choices[i]) == 0) {
            return i;
        }
    }
    char allowed[256];
    choices_text(choices, allowed, sizeof allowed);
    suggest(api_call_find(call, API_BAD_VALUE, name, "must be one of %s", allowed), text, choices);
    return fallback;
}

/* ---- options common to all operations ----------------------------------------------------- */

static void read_convention(struct api_call *call) {
    const char *names[CONVENTION_COUNT + 1] = {NULL};
    for (size_t i = 0; i < CONVENTION_COUNT; ++i) {
        names[i] = api_conventions[i].name;
    }
    const unsigned chosen = api_argument_choice(call, "convention", names, 0);
    call->options.convention = api_conventions[chosen].name;
    call->options.column_vector = api_conventions[chosen].column_vector;
}

static void read_guards(struct api_call *call) {
    struct skin_options *skin = &call->options.skin;
    double number;
    if (option_number(call, "affineTolerance", &number)) {
        if (number >= 0 && number <= SKIN_MAX_AFFINE_TOLERANCE) {
            skin->affine_tolerance = number;
        } else {
            api_call_find(call, API_BAD_VALUE, "affineTolerance", "must be from 0 to 0.001");
        }
    }
    if (option_number(call, "maxCondition", &number)) {
        if (number > 1 && number <= API_MAX_CONDITION) {
            skin->max_condition = number;
        } else {
            api_call_find(call, API_BAD_VALUE, "maxCondition", "must be over 1, at most 1e15");
        }
    }
}

void api_options_read(struct api_call *call) {
    const bool octets = call->document == NULL;
    const enum skin_precision precision = (enum skin_precision)api_argument_choice(
        call, octets ? "dtype" : "precision", api_precision_names, octets ? SKIN_F32 : SKIN_F64);
    call->options.skin = skin_options_default(precision);
    call->options.shape =
        (enum api_shape)api_argument_choice(call, "matrixShape", api_shape_names, API_SHAPE_FLAT);
    read_convention(call);
    read_guards(call);
}

void api_reply_begin(const struct api_call *call) {
    api_buffer_text(call->out, "{\"convention\":");
    api_write_string(call->out, call->options.convention);
}

/* ---- names -------------------------------------------------------------------------------- */

static bool read_name(struct api_call *call, const struct json_t *value, size_t index) {
    const enum api_kind kind = api_document_kind(call->document, value);
    const bool is_text = kind == API_KIND_STRING;
    if (is_text && json_string_length(value) <= API_MAX_NAME_SIZE) {
        call->names.items[index] = json_string_value(value);
        return true;
    }
    struct api_finding *finding =
        api_problem_add(call->problem, is_text ? API_LIMIT_EXCEEDED : API_WRONG_TYPE);
    if (finding != NULL) {
        finding->index = index;
        api_text_format(finding->pointer, sizeof finding->pointer, "/names/%zu", index);
        if (is_text) {
            api_text_format(finding->detail, sizeof finding->detail,
                            "a name may have at most %d bytes", API_MAX_NAME_SIZE);
        } else {
            api_text_format(finding->detail, sizeof finding->detail, "expected a string, found %s",
                            api_kind_text(kind));
        }
    }
    return false;
}

void api_names_read(struct api_call *call) {
    const struct json_t *list = api_argument(call, "names");
    if (list == NULL) {
        return;
    }
    const enum api_kind kind = api_document_kind(call->document, list);
    if (kind != API_KIND_ARRAY) {
        api_call_find(call, API_WRONG_TYPE, "names", "expected an array of strings, found %s",
                      api_kind_text(kind));
        return;
    }
    const size_t count = json_array_size(list);
    if (count > API_MAX_BONES) {
        api_call_find(call, API_LIMIT_EXCEEDED, "names", "%zu names, at most %d", count,
                      API_MAX_BONES);
        return;
    }
    call->names.items = calloc(count + 1, sizeof *call->names.items);
    if (call->names.items == NULL) {
        api_problem_set(call->problem, API_OVERLOADED, "no memory for the names");
        return;
    }
    call->names.count = count;
    call->names.present = true;
    for (size_t i = 0; i < count; ++i) {
        if (!read_name(call, json_array_get(list, i), i)) {
            call->names.items[i] = "";
        }
    }
}

void api_names_check(struct api_call *call, size_t bone_count) {
    if (call->names.present && call->names.count != bone_count) {
        api_call_find(call, API_COUNT_MISMATCH, "names", "%zu names for %zu bones",
                      call->names.count, bone_count);
    }
}

void api_names_write(const struct api_call *call) {
    if (!call->names.present) {
        return;
    }
    api_write_key(call->out, "names");
    api_buffer_text(call->out, "[");
    for (size_t i = 0; i < call->names.count; ++i) {
        if (i > 0) {
            api_buffer_text(call->out, ",");
        }
        api_write_string(call->out, call->names.items[i]);
    }
    api_buffer_text(call->out, "]");
}

bool api_integer_read(struct api_call *call, const struct json_t *object, const char *outer,
                      const char *name, double *value) {
    const struct json_t *member = json_object_get(object, name);
    const enum api_kind kind = api_document_kind(call->document, member);
    enum api_code code = API_OK;
    const char *wanted = "expected an integer";
    if (kind == API_KIND_ABSENT) {
        code = API_MISSING_MEMBER;
        wanted = "is required";
    } else if (kind != API_KIND_NUMBER) {
        code = API_WRONG_TYPE;
    } else {
        *value = json_number_value(member);
        const bool fits = fabs(*value) <= MAX_EXACT && *value == floor(*value);
        code = fits ? API_OK : API_BAD_VALUE;
        wanted = "must be an integer of at most 53 bits";
    }
    if (code == API_OK) {
        return true;
    }
    struct api_finding *finding = api_problem_add(call->problem, code);
    if (finding != NULL) {
        api_text_format(finding->pointer, sizeof finding->pointer, "/%s/%s", outer, name);
        api_text_format(finding->detail, sizeof finding->detail, "%s", wanted);
    }
    return false;
}
