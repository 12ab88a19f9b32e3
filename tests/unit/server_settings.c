/* Settings from flags and environment, and the addresses among them.
 * What the daemon does with them is tested over HTTP. */
#define _GNU_SOURCE
#include "server/settings.h"
#include "tests/check.h"

#include <stdbool.h>
#include <stdlib.h>

static const char *const variables[] = {
#define SETTING_ADDRESS(field, flag, environment, initial, help) environment,
#define SETTING_COUNT(field, flag, environment, minimum, maximum, initial, unit, help) environment,
#define SETTING_CHOICE(field, flag, environment, choices, initial, help) environment,
#define SETTING_TEXT(field, flag, environment, form, help) environment,
#define SETTING_LIST(field, flag, environment, form, help) environment,
#define SETTING_SWITCH(field, flag, environment, help) environment,
#define SETTING_MODE(field, flag, environment, initial, help) environment,
#include "server/settings.def"
#undef SETTING_ADDRESS
#undef SETTING_COUNT
#undef SETTING_TEXT
#undef SETTING_LIST
#undef SETTING_SWITCH
#undef SETTING_MODE
#undef SETTING_CHOICE
};

static int clear_environment(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        unsetenv(variables[i]);
    }
    return 0;
}

static enum settings_result load(struct settings *settings, const char *first, const char *second,
                                 char error[SETTINGS_ERROR_SIZE]) {
    char *const argv[] = {(char *)first, (char *)second, NULL};
    int argc = first == NULL ? 0 : second == NULL ? 1 : 2;
    return settings_load(settings, argc, argv, error);
}

static void test_defaults(void **state) {
    struct settings settings;
    char error[SETTINGS_ERROR_SIZE];
    char address[ADDRESS_TEXT_SIZE];
    (void)state;
    assert_int_equal(load(&settings, NULL, NULL, error), SETTINGS_OK);
    address_format(&settings.listen, address);
    assert_string_equal(address, "127.0.0.1:8080");
    assert_int_equal(settings.threads, 0);
    assert_int_equal(settings.max_body_bytes, 16 * 1024 * 1024);
}

static void test_flag_beats_environment_beats_default(void **state) {
    struct settings settings;
    char error[SETTINGS_ERROR_SIZE];
    (void)state;
    setenv("SKIND_THREADS", "3", 1);
    assert_int_equal(load(&settings, NULL, NULL, error), SETTINGS_OK);
    assert_int_equal(settings.threads, 3);
    assert_int_equal(load(&settings, "--threads", "4", error), SETTINGS_OK);
    assert_int_equal(settings.threads, 4);
    assert_int_equal(load(&settings, "--threads=5", "--threads=6", error), SETTINGS_OK);
    assert_int_equal(settings.threads, 6);
    setenv("SKIND_THREADS", "", 1);
    assert_int_equal(load(&settings, NULL, NULL, error), SETTINGS_OK);
    assert_int_equal(settings.threads, 0);
}

static void test_bounds_are_inclusive(void **state) {
    struct settings settings;
    char error[SETTINGS_ERROR_SIZE];
    (void)state;
    assert_int_equal(load(&settings, "--threads", "256", error), SETTINGS_OK);
    assert_int_equal(load(&settings, "--threads", "257", error), SETTINGS_BAD);
    assert_int_equal(load(&settings, "--max-body-bytes", "1", error), SETTINGS_OK);
    assert_int_equal(load(&settings, "--max-body-bytes", "0", error), SETTINGS_BAD);
    assert_int_equal(load(&settings, "--max-body-bytes", "1073741824", error), SETTINGS_OK);
    assert_int_equal(settings.max_body_bytes, 1073741824);
    assert_int_equal(load(&settings, "--max-body-bytes", "1073741825", error), SETTINGS_BAD);
}

static void test_choices_are_whole_words(void **state) {
    static const char *const bad[] = {"", "o", "of", "off|", "off|stderr", "|", "OFF", "stderr "};
    struct settings settings;
    char error[SETTINGS_ERROR_SIZE];
    (void)state;
    assert_int_equal(load(&settings, NULL, NULL, error), SETTINGS_OK);
    assert_int_equal(settings.log, 1);
    assert_int_equal(load(&settings, "--log", "off", error), SETTINGS_OK);
    assert_int_equal(settings.log, 0);
    assert_int_equal(load(&settings, "--log=stderr", NULL, error), SETTINGS_OK);
    assert_int_equal(settings.log, 1);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(load(&settings, "--log", bad[i], error), SETTINGS_BAD);
        assert_non_null(strstr(error, "off|stderr"));
    }
}

static void test_bad_values_are_named_with_their_range(void **state) {
    static const char *const bad[] = {"",   "x",    "-1",  "+1",  "1 ",
                                      " 1", "0x10", "1e2", "3.0", "18446744073709551617"};
    struct settings settings;
    char error[SETTINGS_ERROR_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(load(&settings, "--threads", bad[i], error), SETTINGS_BAD);
        assert_non_null(strstr(error, "--threads"));
        assert_non_null(strstr(error, "from 0 to 256 (threads)"));
    }
    setenv("SKIND_IDLE_TIMEOUT_S", "3601", 1);
    assert_int_equal(load(&settings, NULL, NULL, error), SETTINGS_BAD);
    assert_non_null(strstr(error, "SKIND_IDLE_TIMEOUT_S"));
    assert_non_null(strstr(error, "from 1 to 3600 (seconds)"));
}

static void test_unknown_flags_are_refused(void **state) {
    static const char *const bad[] = {"--thread", "--threadss", "-threads", "threads",
                                      "--",       "",           "--listen-"};
    struct settings settings;
    char error[SETTINGS_ERROR_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(load(&settings, bad[i], "1", error), SETTINGS_BAD);
        assert_non_null(strstr(error, "is not known"));
    }
    assert_int_equal(load(&settings, "--threads", NULL, error), SETTINGS_BAD);
    assert_non_null(strstr(error, "a value must follow"));
}

static void test_help_and_version_come_before_faults(void **state) {
    struct settings settings;
    char error[SETTINGS_ERROR_SIZE];
    (void)state;
    setenv("SKIND_THREADS", "x", 1);
    assert_int_equal(load(&settings, "--help", NULL, error), SETTINGS_HELP);
    assert_int_equal(load(&settings, "--nonsense", "-h", error), SETTINGS_HELP);
    assert_int_equal(load(&settings, "--version", NULL, error), SETTINGS_VERSION);
}

static void test_texts_and_switches(void **state) {
    struct settings settings;
    char error[SETTINGS_ERROR_SIZE];
    (void)state;
    assert_int_equal(load(&settings, NULL, NULL, error), SETTINGS_OK);
    assert_null(settings.token_file);
    assert_false(settings.allow_anonymous);
    assert_int_equal(settings.unix_mode, 0660);
    setenv("SKIND_TOKEN_FILE", "/a", 1);
    setenv("SKIND_ALLOW_ANONYMOUS", "yes", 1);
    assert_int_equal(load(&settings, "--unix-mode=600", NULL, error), SETTINGS_OK);
    assert_string_equal(settings.token_file, "/a");
    assert_true(settings.allow_anonymous);
    assert_int_equal(settings.unix_mode, 0600);
    assert_int_equal(load(&settings, "--token-file=/b", "--allow-anonymous=no", error),
                     SETTINGS_OK);
    assert_string_equal(settings.token_file, "/b");
    assert_false(settings.allow_anonymous);
    unsetenv("SKIND_ALLOW_ANONYMOUS");
    /* alone it takes no value off what follows */
    assert_int_equal(load(&settings, "--allow-anonymous", "--threads=3", error), SETTINGS_OK);
    assert_true(settings.allow_anonymous);
    assert_int_equal(settings.threads, 3);
    assert_int_equal(load(&settings, "--allow-anonymous=1", NULL, error), SETTINGS_BAD);
    assert_non_null(strstr(error, "neither yes nor no"));
    assert_int_equal(load(&settings, "--unix-mode=8", NULL, error), SETTINGS_BAD);
    assert_int_equal(load(&settings, "--unix-mode=1000", NULL, error), SETTINGS_BAD);
    assert_non_null(strstr(error, "octal mode from 0 to 777"));
}

static void test_lists_of_flags_replace_the_environment(void **state) {
    struct settings settings;
    char error[SETTINGS_ERROR_SIZE];
    char *many[SETTINGS_MAX_VALUES + 1];
    (void)state;
    setenv("SKIND_CORS_ORIGIN", "e,f", 1);
    assert_int_equal(load(&settings, NULL, NULL, error), SETTINGS_OK);
    assert_int_equal(settings.cors_origin.count, 1);
    assert_string_equal(settings.cors_origin.values[0], "e,f");
    assert_int_equal(load(&settings, "--cors-origin=a", "--cors-origin=b", error), SETTINGS_OK);
    assert_int_equal(settings.cors_origin.count, 2);
    assert_string_equal(settings.cors_origin.values[0], "a");
    assert_string_equal(settings.cors_origin.values[1], "b");
    for (size_t i = 0; i <= SETTINGS_MAX_VALUES; i++) {
        many[i] = (char *)"--cors-origin=a";
    }
    assert_int_equal(settings_load(&settings, SETTINGS_MAX_VALUES, many, error), SETTINGS_OK);
    assert_int_equal(settings_load(&settings, SETTINGS_MAX_VALUES + 1, many, error), SETTINGS_BAD);
    assert_non_null(strstr(error, "more than 64 times"));
}

static void test_addresses_read_back(void **state) {
    static const struct {
        const char *text;
        const char *back;
    } rows[] = {
        {"127.0.0.1:8080", "127.0.0.1:8080"}, {"0.0.0.0:0", "0.0.0.0:0"},
        {"localhost:1", "127.0.0.1:1"},       {"255.255.255.255:65535", "255.255.255.255:65535"},
        {"[::1]:8080", "[::1]:8080"},         {"[::]:0", "[::]:0"},
        {"[0:0:0:0:0:0:0:1]:80", "[::1]:80"}, {"[fe80::ABCD]:9", "[fe80::abcd]:9"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct address address;
        char text[ADDRESS_TEXT_SIZE];
        assert_true(address_parse(rows[i].text, &address));
        address_format(&address, text);
        assert_string_equal(text, rows[i].back);
        address_port_set(&address, 1234);
        assert_int_equal(address_port(&address), 1234);
    }
}

static void test_unix_addresses(void **state) {
    struct address address;
    char text[ADDRESS_TEXT_SIZE];
    char most[5 + sizeof address.socket.path.sun_path + 1] = "unix:/";
    (void)state;
    assert_true(address_parse("unix:/run/skind.sock", &address));
    assert_true(address_is_unix(&address));
    assert_int_equal(address_port(&address), 0);
    address_port_set(&address, 1234);
    address_format(&address, text);
    assert_string_equal(text, "unix:/run/skind.sock");
    assert_true(address_parse("unix:/a:1", &address));
    memset(most + 6, 'a', sizeof address.socket.path.sun_path - 2);
    assert_true(address_parse(most, &address));
    address_format(&address, text);
    assert_string_equal(text, most);
    most[strlen(most)] = 'a';
    assert_false(address_parse(most, &address));
    assert_false(address_parse("unix:", &address));
    assert_false(address_parse("unix:/", &address));
    assert_false(address_parse("unix:skind.sock", &address));
    assert_false(address_parse("unix:@skind", &address));
}

static void test_what_only_this_machine_reaches(void **state) {
    static const struct {
        const char *text;
        bool is_local;
    } rows[] = {
        {"127.0.0.1:1", true},
        {"127.255.0.9:1", true},
        {"localhost:1", true},
        {"[::1]:1", true},
        {"unix:/a", true},
        {"[::ffff:127.0.0.1]:1", true},
        {"0.0.0.0:1", false},
        {"[::]:1", false},
        {"10.0.0.1:1", false},
        {"128.0.0.1:1", false},
        {"[::ffff:10.0.0.1]:1", false},
        {"[fe80::1]:1", false},
        {"[::2]:1", false},
        {"126.255.255.255:1", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct address address;
        assert_true(address_parse(rows[i].text, &address));
        if (address_is_local(&address) != rows[i].is_local) {
            fail_msg("%s", rows[i].text);
        }
    }
}

static void test_bad_addresses_are_refused(void **state) {
    static const char *const bad[] = {
        "",
        "8080",
        ":8080",
        "localhost",
        "127.0.0.1",
        "127.1:80",
        "1.2.3.4:",
        "1.2.3.4:a",
        "1.2.3.4:65536",
        "1.2.3.4:100000",
        "1.2.3.4:-1",
        "1.2.3.4: 1",
        "1.2.3.256:1",
        "::1:80",
        "[::1]",
        "[::1:80",
        "::1]:80",
        "[]:80",
        "[1.2.3.4]:80",
        "example.org:80",
        "[::g]:80",
        "1.2.3.4:080808",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa:1"};
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct address address = {.size = 77};
        if (address_parse(bad[i], &address)) {
            print_error("taken: '%s'\n", bad[i]);
            fail();
        }
        assert_int_equal(address.size, 77);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_defaults, clear_environment),
        cmocka_unit_test_setup(test_flag_beats_environment_beats_default, clear_environment),
        cmocka_unit_test_setup(test_bounds_are_inclusive, clear_environment),
        cmocka_unit_test_setup(test_choices_are_whole_words, clear_environment),
        cmocka_unit_test_setup(test_bad_values_are_named_with_their_range, clear_environment),
        cmocka_unit_test_setup(test_unknown_flags_are_refused, clear_environment),
        cmocka_unit_test_setup(test_help_and_version_come_before_faults, clear_environment),
        cmocka_unit_test_setup(test_texts_and_switches, clear_environment),
        cmocka_unit_test_setup(test_lists_of_flags_replace_the_environment, clear_environment),
        cmocka_unit_test_setup(test_addresses_read_back, clear_environment),
        cmocka_unit_test_setup(test_unix_addresses, clear_environment),
        cmocka_unit_test_setup(test_what_only_this_machine_reaches, clear_environment),
        cmocka_unit_test_setup(test_bad_addresses_are_refused, clear_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
