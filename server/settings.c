/* Reads settings by the table of settings.def. What is not in the table is refused, so that a
 * misspelt flag is never silently ignored; it does not print and does not exit. */
#define _GNU_SOURCE
#include "settings.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum setting_kind {
    SETTING_IS_ADDRESS,
    SETTING_IS_COUNT,
    SETTING_IS_CHOICE,
    SETTING_IS_TEXT,
    SETTING_IS_LIST,
    SETTING_IS_SWITCH,
    SETTING_IS_MODE,
};

struct setting {
    const char *flag;
    const char *environment;
    enum setting_kind kind;
    size_t offset; /* of the field in struct settings */
    uint64_t minimum;
    uint64_t maximum;
    const char *initial; /* NULL: not set */
    const char *unit;    /* of a choice: what may be chosen, between bars */
    const char *help;
};

static const struct setting settings_table[] = {
#define SETTING_ADDRESS(field, flag, environment, initial, help)                                   \
    {flag, environment, SETTING_IS_ADDRESS, offsetof(struct settings, field), 0, 0, initial,       \
     "",   help},
#define SETTING_COUNT(field, flag, environment, minimum, maximum, initial, unit, help)             \
    {flag,    environment, SETTING_IS_COUNT, offsetof(struct settings, field),                     \
     minimum, maximum,     #initial,         unit,                                                 \
     help},
#define SETTING_CHOICE(field, flag, environment, choices, initial, help)                           \
    {flag,    environment, SETTING_IS_CHOICE, offsetof(struct settings, field), 0, 0, initial,     \
     choices, help},
#define SETTING_TEXT(field, flag, environment, form, help)                                         \
    {flag, environment, SETTING_IS_TEXT, offsetof(struct settings, field), 0, 0, NULL, form, help},
#define SETTING_LIST(field, flag, environment, form, help)                                         \
    {flag, environment, SETTING_IS_LIST, offsetof(struct settings, field), 0, 0, NULL, form, help},
#define SETTING_SWITCH(field, flag, environment, help)                                             \
    {flag, environment, SETTING_IS_SWITCH, offsetof(struct settings, field), 0, 0, NULL, "", help},
#define SETTING_MODE(field, flag, environment, initial, help)                                      \
    {flag, environment, SETTING_IS_MODE, offsetof(struct settings, field), 0, 0777, initial,       \
     "",   help},
#include "settings.def"
#undef SETTING_ADDRESS
#undef SETTING_COUNT
#undef SETTING_TEXT
#undef SETTING_LIST
#undef SETTING_SWITCH
#undef SETTING_MODE
#undef SETTING_CHOICE
};

#define SETTINGS_COUNT (sizeof settings_table / sizeof settings_table[0])

static bool setting_parse_count(const struct setting *setting, const char *text, size_t *count) {
    uint64_t value = 0;
    if (*text == '\0') {
        return false;
    }
    for (const char *at = text; *at != '\0'; at++) {
        if (*at < '0' || *at > '9' || value > setting->maximum) {
            return false;
        }
        value = value * 10 + (uint64_t)(*at - '0');
    }
    if (value < setting->minimum || value > setting->maximum) {
        return false;
    }
    *count = (size_t)value;
    return true;
}

static bool setting_parse_choice(const struct setting *setting, const char *text, size_t *index) {
    const size_t size = strlen(text);
    size_t at = 0;
    for (const char *choice = setting->unit; *choice != '\0'; at++) {
        const size_t choice_size = strcspn(choice, "|");
        if (choice_size == size && memcmp(choice, text, size) == 0) {
            *index = at;
            return true;
        }
        choice += choice_size + (choice[choice_size] == '|' ? 1 : 0);
    }
    return false;
}

static bool setting_parse_switch(const char *text, bool *is_on) {
    *is_on = strcmp(text, "yes") == 0;
    return *is_on || strcmp(text, "no") == 0;
}

/* Octal, as chmod takes it. */
static bool setting_parse_mode(const struct setting *setting, const char *text, unsigned *mode) {
    unsigned value = 0;
    const size_t size = strlen(text);
    if (size == 0 || size > 4 || strspn(text, "01234567") != size) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        value = value * 8 + (unsigned)(text[i] - '0');
    }
    *mode = value;
    return value <= setting->maximum;
}

static bool setting_add(const char *text, struct settings_list *list) {
    if (list->count == SETTINGS_MAX_VALUES) {
        return false;
    }
    list->values[list->count++] = text;
    return true;
}

/* source is the flag or the variable that the text came from. */
static enum settings_result setting_store(const struct setting *setting, struct settings *settings,
                                          const char *source, const char *text,
                                          char error[SETTINGS_ERROR_SIZE]) {
    char *field = (char *)settings + setting->offset;
    switch (setting->kind) {
    case SETTING_IS_ADDRESS:
        if (address_parse(text, (struct address *)(void *)field)) {
            return SETTINGS_OK;
        }
        snprintf(error, SETTINGS_ERROR_SIZE, "%s: '%.80s' is not " ADDRESS_FORM, source, text);
        break;
    case SETTING_IS_COUNT:
        if (setting_parse_count(setting, text, (size_t *)(void *)field)) {
            return SETTINGS_OK;
        }
        snprintf(error, SETTINGS_ERROR_SIZE,
                 "%s: '%.80s' is not a number from %" PRIu64 " to %" PRIu64 " (%s)", source, text,
                 setting->minimum, setting->maximum, setting->unit);
        break;
    case SETTING_IS_CHOICE:
        if (setting_parse_choice(setting, text, (size_t *)(void *)field)) {
            return SETTINGS_OK;
        }
        snprintf(error, SETTINGS_ERROR_SIZE, "%s: '%.80s' is not one of %s", source, text,
                 setting->unit);
        break;
    case SETTING_IS_TEXT:
        *(const char **)(void *)field = text;
        return SETTINGS_OK;
    case SETTING_IS_LIST:
        if (setting_add(text, (struct settings_list *)(void *)field)) {
            return SETTINGS_OK;
        }
        snprintf(error, SETTINGS_ERROR_SIZE, "%s: is given more than %d times", source,
                 SETTINGS_MAX_VALUES);
        break;
    case SETTING_IS_SWITCH:
        if (setting_parse_switch(text, (bool *)field)) {
            return SETTINGS_OK;
        }
        snprintf(error, SETTINGS_ERROR_SIZE, "%s: '%.80s' is neither yes nor no", source, text);
        break;
    case SETTING_IS_MODE:
        if (setting_parse_mode(setting, text, (unsigned *)(void *)field)) {
            return SETTINGS_OK;
        }
        snprintf(error, SETTINGS_ERROR_SIZE, "%s: '%.80s' is not an octal mode from 0 to 777",
                 source, text);
        break;
    }
    return SETTINGS_BAD;
}

static enum settings_result settings_load_environment(struct settings *settings,
                                                      char error[SETTINGS_ERROR_SIZE]) {
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const struct setting *setting = &settings_table[i];
        const char *text = getenv(setting->environment);
        if (text != NULL && *text != '\0' &&
            setting_store(setting, settings, setting->environment, text, error) != SETTINGS_OK) {
            return SETTINGS_BAD;
        }
    }
    return SETTINGS_OK;
}

/* The row of the flag that the argument begins with; *value is what follows '=', else NULL. */
static const struct setting *settings_find(const char *argument, const char **value) {
    size_t size = strcspn(argument, "=");
    *value = argument[size] == '=' ? argument + size + 1 : NULL;
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const char *flag = settings_table[i].flag;
        if (strlen(flag) == size && memcmp(flag, argument, size) == 0) {
            return &settings_table[i];
        }
    }
    return NULL;
}

/* A list given by flags replaces the one of the environment. */
static void settings_clear_list(const struct setting *setting, struct settings *settings,
                                bool seen[SETTINGS_COUNT]) {
    const size_t index = (size_t)(setting - settings_table);
    if (setting->kind == SETTING_IS_LIST && !seen[index]) {
        ((struct settings_list *)(void *)((char *)settings + setting->offset))->count = 0;
    }
    seen[index] = true;
}

static enum settings_result settings_load_flags(struct settings *settings, int argc,
                                                char *const *argv,
                                                char error[SETTINGS_ERROR_SIZE]) {
    bool seen[SETTINGS_COUNT] = {false};
    for (int i = 0; i < argc; i++) {
        const char *value;
        const struct setting *setting = settings_find(argv[i], &value);
        if (setting == NULL) {
            snprintf(error, SETTINGS_ERROR_SIZE, "'%.80s' is not known; see skind --help", argv[i]);
            return SETTINGS_BAD;
        }
        settings_clear_list(setting, settings, seen);
        if (value == NULL && setting->kind == SETTING_IS_SWITCH) {
            value = "yes";
        }
        if (value == NULL && i + 1 == argc) {
            snprintf(error, SETTINGS_ERROR_SIZE, "%s: a value must follow", setting->flag);
            return SETTINGS_BAD;
        }
        value = value != NULL ? value : argv[++i];
        if (setting_store(setting, settings, setting->flag, value, error) != SETTINGS_OK) {
            return SETTINGS_BAD;
        }
    }
    return SETTINGS_OK;
}

/* Help comes before all else: it is what one asks for when a setting is wrong. */
static enum settings_result settings_asked_only(int argc, char *const *argv) {
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return SETTINGS_HELP;
        }
        if (strcmp(argv[i], "--version") == 0) {
            return SETTINGS_VERSION;
        }
    }
    return SETTINGS_OK;
}

enum settings_result settings_load(struct settings *settings, int argc, char *const *argv,
                                   char error[SETTINGS_ERROR_SIZE]) {
    memset(settings, 0, sizeof *settings);
    error[0] = '\0';
    enum settings_result result = settings_asked_only(argc, argv);
    if (result != SETTINGS_OK) {
        return result;
    }
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        const struct setting *setting = &settings_table[i];
        if (setting->initial != NULL && setting_store(setting, settings, setting->flag,
                                                      setting->initial, error) != SETTINGS_OK) {
            return SETTINGS_BAD;
        }
    }
    result = settings_load_environment(settings, error);
    if (result != SETTINGS_OK) {
        return result;
    }
    return settings_load_flags(settings, argc, argv, error);
}

static void setting_help(const struct setting *setting, FILE *out) {
    char left[64] = "";
    switch (setting->kind) {
    case SETTING_IS_ADDRESS:
        snprintf(left, sizeof left, "%s ADDRESS:PORT", setting->flag);
        fprintf(out, "  %-28s %s\n  %-28s %s; default %s\n", left, setting->help, "",
                setting->environment, setting->initial);
        break;
    case SETTING_IS_COUNT:
        snprintf(left, sizeof left, "%s N", setting->flag);
        fprintf(out, "  %-28s %s\n  %-28s %s; %" PRIu64 " to %" PRIu64 " %s, default %s\n", left,
                setting->help, "", setting->environment, setting->minimum, setting->maximum,
                setting->unit, setting->initial);
        break;
    case SETTING_IS_CHOICE:
        snprintf(left, sizeof left, "%s %s", setting->flag, setting->unit);
        fprintf(out, "  %-28s %s\n  %-28s %s; default %s\n", left, setting->help, "",
                setting->environment, setting->initial);
        break;
    case SETTING_IS_TEXT:
    case SETTING_IS_LIST:
        snprintf(left, sizeof left, "%s %s", setting->flag, setting->unit);
        fprintf(out, "  %-28s %s\n  %-28s %s\n", left, setting->help, "", setting->environment);
        break;
    case SETTING_IS_SWITCH:
        fprintf(out, "  %-28s %s\n  %-28s %s; yes or no, default no\n", setting->flag,
                setting->help, "", setting->environment);
        break;
    case SETTING_IS_MODE:
        snprintf(left, sizeof left, "%s MODE", setting->flag);
        fprintf(out, "  %-28s %s\n  %-28s %s; octal, default %s\n", left, setting->help, "",
                setting->environment, setting->initial);
        break;
    }
}

void settings_help(FILE *out) {
    for (size_t i = 0; i < SETTINGS_COUNT; i++) {
        setting_help(&settings_table[i], out);
    }
}
