/* Command lines, an argument a line, through the settings and the address parser: what is taken is
 * within the table's ranges, what is refused says why. */
#include "server/settings.h"
#include "tests/fuzz/fuzz.h"

#include <stdbool.h>

#define MAX_ARGUMENTS 16

static void check_address(const char *text) {
    struct address address;
    struct address again;
    char formatted[ADDRESS_TEXT_SIZE];
    char twice[ADDRESS_TEXT_SIZE];
    if (!address_parse(text, &address)) {
        return;
    }
    address_format(&address, formatted);
    fuzz_require(address_port(&address) <= 65535);
    fuzz_require(address_parse(formatted, &again));
    address_format(&again, twice);
    fuzz_require(strcmp(formatted, twice) == 0);
    /* one text for one address, and the port as it was written */
    fuzz_require(strtoul(strrchr(text, ':') + 1, NULL, 10) == address_port(&again));
}

static size_t count_choices(const char *choices) {
    size_t count = 1;
    for (; *choices != '\0'; ++choices) {
        count += *choices == '|' ? 1 : 0;
    }
    return count;
}

static void check_taken(const struct settings *settings) {
#define SETTING_ADDRESS(field, flag, environment, initial, help)                                   \
    fuzz_require(address_port(&settings->field) <= 65535);
#define SETTING_COUNT(field, flag, environment, minimum, maximum, initial, unit, help)             \
    fuzz_require(settings->field + 1 > (minimum) && settings->field <= (maximum));
#define SETTING_CHOICE(field, flag, environment, choices, initial, help)                           \
    fuzz_require(settings->field < count_choices(choices));
#define SETTING_TEXT(field, flag, environment, form, help)
#define SETTING_LIST(field, flag, environment, form, help)                                         \
    fuzz_require(settings->field.count <= SETTINGS_MAX_VALUES);
#define SETTING_SWITCH(field, flag, environment, help)
#define SETTING_MODE(field, flag, environment, initial, help) fuzz_require(settings->field <= 0777);
#include "server/settings.def"
#undef SETTING_ADDRESS
#undef SETTING_COUNT
#undef SETTING_CHOICE
#undef SETTING_TEXT
#undef SETTING_LIST
#undef SETTING_SWITCH
#undef SETTING_MODE
}

static bool is_given(char *const *arguments, int count, const char *text) {
    for (int i = 0; i < count; ++i) {
        if (strcmp(arguments[i], text) == 0) {
            return true;
        }
    }
    return false;
}

static void check_arguments(char *const *arguments, int count) {
    struct settings settings;
    char error[SETTINGS_ERROR_SIZE];
    memset(error, 'x', sizeof error);
    switch (settings_load(&settings, count, arguments, error)) {
    case SETTINGS_OK:
        check_taken(&settings);
        break;
    case SETTINGS_HELP:
        fuzz_require(is_given(arguments, count, "--help") || is_given(arguments, count, "-h"));
        break;
    case SETTINGS_VERSION:
        fuzz_require(is_given(arguments, count, "--version"));
        break;
    case SETTINGS_BAD:
        fuzz_require(count > 0 && error[0] != '\0' && memchr(error, '\0', sizeof error) != NULL);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *arguments[MAX_ARGUMENTS + 1] = {NULL};
    int count = 0;
    const uint8_t *at = data;
    while (at < data + size && count < MAX_ARGUMENTS) {
        size_t line_size;
        const uint8_t *line = fuzz_piece(&at, data + size, '\n', &line_size);
        arguments[count++] = fuzz_text(line, line_size);
    }
    for (int i = 0; i < count; ++i) {
        check_address(arguments[i]);
    }
    check_arguments(arguments, count);
    for (int i = 0; i < count; ++i) {
        free(arguments[i]);
    }
    return 0;
}
