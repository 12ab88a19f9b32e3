/* What an operator may set, read from flags and from SKIND_* in the environment.
 * The table is settings.def; this knows nothing of what the settings are used for. */
#ifndef SERVER_SETTINGS_H
#define SERVER_SETTINGS_H

#include "address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Values of a setting that may be given more than once. */
#define SETTINGS_MAX_VALUES 64

struct settings_list {
    const char *values[SETTINGS_MAX_VALUES]; /* as given; may themselves be lists */
    size_t count;
};

/* Texts point into the arguments or the environment. */
struct settings {
#define SETTING_ADDRESS(field, flag, environment, initial, help) struct address field;
#define SETTING_COUNT(field, flag, environment, minimum, maximum, initial, unit, help) size_t field;
#define SETTING_CHOICE(field, flag, environment, choices, initial, help) size_t field;
#define SETTING_TEXT(field, flag, environment, form, help) const char *field;
#define SETTING_LIST(field, flag, environment, form, help) struct settings_list field;
#define SETTING_SWITCH(field, flag, environment, help) bool field;
#define SETTING_MODE(field, flag, environment, initial, help) unsigned field;
#include "settings.def"
#undef SETTING_ADDRESS
#undef SETTING_COUNT
#undef SETTING_TEXT
#undef SETTING_LIST
#undef SETTING_SWITCH
#undef SETTING_MODE
#undef SETTING_CHOICE
};

enum settings_result {
    SETTINGS_OK,
    SETTINGS_HELP,    /* --help was given */
    SETTINGS_VERSION, /* --version was given */
    SETTINGS_BAD,     /* the error text says what, and what is allowed */
};

#define SETTINGS_ERROR_SIZE 320

/* Defaults, then the environment, then the flags: argc of them, the program's name not among them.
 * An environment variable that is set but empty counts as not set. */
enum settings_result settings_load(struct settings *settings, int argc, char *const *argv,
                                   char error[SETTINGS_ERROR_SIZE]);

/* The lines of --help that the table makes. */
void settings_help(FILE *out);

#endif
