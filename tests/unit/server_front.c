/* The parts of the front that are pure: the token file's reader, the buckets, the origins.
 * How they act together is tested over HTTP, in access.sh. */
#define _GNU_SOURCE
#include "server/cors.h"
#include "server/rate.h"
#include "server/tokens.h"
#include "tests/check.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

/* SHA-256 of "abc" (FIPS 180-2, appendix B.1) and of "" */
#define HASH_ABC "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define HASH_NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* ---- tokens ---- */

static void test_token_files_that_are_taken(void **state) {
    static const struct {
        const char *text;
        size_t count;
    } rows[] = {
        {"a " HASH_ABC, 1},
        {"a " HASH_ABC "\n", 1},
        {"  a\t \t" HASH_ABC " \t\r\n", 1},
        {"# nothing\n\n   \n \t# nor this\na " HASH_ABC "\n#a " HASH_ABC, 1},
        {"a " HASH_ABC "\nb " HASH_ABC "\n", 2},
        {"A.b_c-9 BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char error[TOKENS_ERROR_SIZE] = "";
        struct tokens *tokens = tokens_parse(rows[i].text, error);
        if (tokens == NULL) {
            fail_msg("row %zu: %s", i, error);
        }
        assert_int_equal(tokens_count(tokens), rows[i].count);
        assert_true(tokens_admit(tokens, "Bearer abc"));
        assert_false(tokens_admit(tokens, "Bearer abd"));
        tokens_destroy(tokens);
    }
}

static void test_token_files_that_are_refused(void **state) {
    static const struct {
        const char *text;
        const char *error;
    } rows[] = {
        {"", "no token"},
        {"# a " HASH_ABC "\n", "no token"},
        {"a", "line 1: not a name"},
        {HASH_ABC, "line 1: not a name"},
        {" " HASH_ABC "\n", "line 1: not a name"},
        {"a:" HASH_ABC, "line 1: no SHA-256"},
        {"\xc3\xa4 " HASH_ABC, "line 1: not a name"},
        {"a " HASH_ABC "\n\na " HASH_ABC, "line 3: the name stands"},
        {"a " HASH_ABC "0", "line 1: no SHA-256"},
        {"a " HASH_ABC " b", "line 1: no SHA-256"},
        {"a " HASH_ABC " # comment", "line 1: no SHA-256"},
        {"a \n" HASH_ABC, "line 1: no SHA-256"},
        {"a a7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "no SHA-256"},
        {"a ga7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "no SHA-256"},
        {"a @a7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "no SHA-256"},
        {"a1234567890123456789012345678901234567890123456789012345678901234 " HASH_ABC,
         "line 1: not a name"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char error[TOKENS_ERROR_SIZE] = "";
        struct tokens *tokens = tokens_parse(rows[i].text, error);
        if (tokens != NULL || strstr(error, rows[i].error) == NULL) {
            tokens_destroy(tokens);
            fail_msg("row %zu: '%s'", i, error);
        }
    }
}

static void test_token_files_have_a_maximum(void **state) {
    const size_t line_size = 80;
    char error[TOKENS_ERROR_SIZE] = "";
    char *text = calloc(TOKENS_MAX + 1, line_size);
    char *end = text;
    (void)state;
    assert_non_null(text);
    for (int i = 0; i < TOKENS_MAX; i++) {
        end += snprintf(end, line_size, "n%d " HASH_ABC "\n", i);
    }
    struct tokens *tokens = tokens_parse(text, error);
    assert_non_null(tokens);
    assert_int_equal(tokens_count(tokens), TOKENS_MAX);
    tokens_destroy(tokens);
    snprintf(end, line_size, "one " HASH_ABC "\n");
    assert_null(tokens_parse(text, error));
    assert_non_null(strstr(error, "line 1025: more than 1024"));
    free(text);
}

static void test_credentials(void **state) {
    static const struct {
        const char *authorization;
        bool is_admitted;
    } rows[] = {{"Bearer abc", true},
                {"bearer abc", true},
                {"BEARER  abc", true},
                {NULL, false},
                {"", false},
                {"Bearer", false},
                {"Bearer ", false},
                {"Bearerabc", false},
                {"Bearer\tabc", false},
                {"Bearer ab", false},
                {"Bearer abcd", false},
                {"Bearer abc ", false},
                {"Bearer ABC", false},
                {"Basic abc", false},
                {"abc", false},
                {" Bearer abc", false},
                {"Bearer " HASH_ABC, false}};
    char error[TOKENS_ERROR_SIZE] = "";
    struct tokens *tokens = tokens_parse("a " HASH_NOTHING "\nb " HASH_ABC, error);
    (void)state;
    assert_non_null(tokens);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (tokens_admit(tokens, rows[i].authorization) != rows[i].is_admitted) {
            tokens_destroy(tokens);
            fail_msg("'%s'", rows[i].authorization);
        }
    }
    tokens_destroy(tokens);
}

/* ---- rates ---- */

#define SECOND UINT64_C(1000000000)

static unsigned take(struct rate *rate, const char *client, uint64_t now_ns) {
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, client, &v4.sin_addr) == 1) {
        return rate_take(rate, (const struct sockaddr *)&v4, now_ns);
    }
    assert_int_equal(inet_pton(AF_INET6, client, &v6.sin6_addr), 1);
    return rate_take(rate, (const struct sockaddr *)&v6, now_ns);
}

static void test_a_bucket_empties_and_fills(void **state) {
    struct rate *rate = rate_create(2, 3);
    const uint64_t start = 100 * SECOND;
    (void)state;
    assert_non_null(rate);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(take(rate, "10.0.0.1", start), 0);
    }
    assert_int_equal(take(rate, "10.0.0.1", start), 1); /* half a second, in whole ones */
    assert_int_equal(take(rate, "10.0.0.1", start + SECOND / 2 - 1), 1);
    assert_int_equal(take(rate, "10.0.0.1", start + SECOND / 2), 0);
    assert_int_equal(take(rate, "10.0.0.1", start + SECOND / 2), 1);
    /* a refused request costs nothing, and a long rest fills no more than the bucket */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(take(rate, "10.0.0.1", start + 100 * SECOND), 0);
    }
    assert_int_equal(take(rate, "10.0.0.1", start + 100 * SECOND), 1);
    rate_destroy(rate);
}

static void test_the_least_rate_and_burst(void **state) {
    struct rate *rate = rate_create(1, 1);
    (void)state;
    assert_int_equal(take(rate, "10.0.0.1", 5 * SECOND), 0);
    assert_int_equal(take(rate, "10.0.0.1", 5 * SECOND), 1);
    assert_int_equal(take(rate, "10.0.0.1", 6 * SECOND - 1), 1);
    assert_int_equal(take(rate, "10.0.0.1", 6 * SECOND), 0);
    rate_destroy(rate);
}

static void test_who_is_one_client(void **state) {
    static const struct {
        const char *first;
        const char *second;
        bool are_one;
    } rows[] = {
        {"10.0.0.1", "10.0.0.2", false},
        {"10.0.0.1", "::ffff:10.0.0.1", true},
        {"::ffff:10.0.0.1", "::ffff:10.0.0.2", false},
        {"2001:db8:0:1::1", "2001:db8:0:1:ffff::2", true},
        {"2001:db8:0:1::1", "2001:db8:0:2::1", false},
        {"::1", "10.0.0.1", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rate *rate = rate_create(1, 1);
        assert_int_equal(take(rate, rows[i].first, SECOND), 0);
        const bool are_one = take(rate, rows[i].second, SECOND) != 0;
        rate_destroy(rate);
        if (are_one != rows[i].are_one) {
            fail_msg("%s, %s", rows[i].first, rows[i].second);
        }
    }
}

static void test_a_unix_client_has_no_rate(void **state) {
    const struct sockaddr client = {.sa_family = AF_UNIX};
    struct rate *rate = rate_create(1, 1);
    (void)state;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(rate_take(rate, &client, SECOND), 0);
    }
    rate_destroy(rate);
}

/* Ten times more clients than there is room for; whoever came last is remembered. */
static void test_the_table_of_clients_has_a_maximum(void **state) {
    struct rate *rate = rate_create(1, 1);
    struct sockaddr_in client = {.sin_family = AF_INET};
    (void)state;
    for (uint32_t i = 0; i < 10 * RATE_MAX_CLIENTS; i++) {
        client.sin_addr.s_addr = htonl(i);
        assert_int_equal(rate_take(rate, (const struct sockaddr *)&client, SECOND + i), 0);
        assert_int_equal(rate_take(rate, (const struct sockaddr *)&client, SECOND + i), 1);
    }
    rate_destroy(rate);
}

/* ---- origins ---- */

static bool init(struct cors *cors, const char *first, const char *second) {
    const struct settings_list values = {{first, second}, second != NULL ? 2 : 1};
    char error[CORS_ERROR_SIZE];
    return cors_init(cors, &values, error);
}

static const char *origin_of(const struct cors *cors, const char *first, const char *second) {
    const struct gate_header headers[] = {
        {"Host", 4, "a", 1},
        {"Origin", 6, first, first != NULL ? strlen(first) : 0},
        {"origin", 6, second, second != NULL ? strlen(second) : 0},
    };
    const size_t count = first == NULL ? 1 : second == NULL ? 2 : 3;
    const struct gate_request request = {
        .method = "GET", .target = "/", .headers = headers, .header_count = count};
    return cors_origin(cors, &request);
}

static void test_origins(void **state) {
    static const char *const others[] = {"https://a.example:443",
                                         "https://a.example/",
                                         "https://a.example.",
                                         "https://a.exampl",
                                         "http://a.example",
                                         "HTTPS://a.example",
                                         "https://a.example,http://[::1]:3000",
                                         "null",
                                         "*",
                                         ""};
    struct cors cors;
    (void)state;
    assert_true(init(&cors, " https://a.example , http://[::1]:3000", "app+x://b-c_d.e"));
    assert_int_equal(cors.count, 3);
    assert_string_equal(origin_of(&cors, "https://a.example", NULL), "https://a.example");
    assert_string_equal(origin_of(&cors, "http://[::1]:3000", NULL), "http://[::1]:3000");
    assert_string_equal(origin_of(&cors, "app+x://b-c_d.e", NULL), "app+x://b-c_d.e");
    assert_null(origin_of(&cors, NULL, NULL));
    assert_null(origin_of(&cors, "https://a.example", "https://a.example"));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (origin_of(&cors, others[i], NULL) != NULL) {
            fail_msg("'%s'", others[i]);
        }
    }
}

static void test_what_is_no_origin(void **state) {
    static const char *const bad[] = {"",           "*",           "null",       "a.example",
                                      "://a",       "https://",    "https://a/", "https://a,",
                                      ",https://a", "https://a b", "https://A",  "https://*.a",
                                      "https://a?b"};
    char most[CORS_ORIGIN_SIZE + 1] = "http://";
    struct cors cors;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (init(&cors, bad[i], NULL)) {
            fail_msg("'%s'", bad[i]);
        }
    }
    memset(most + 7, 'a', CORS_ORIGIN_SIZE - 8);
    assert_true(init(&cors, most, NULL));
    most[CORS_ORIGIN_SIZE - 1] = 'a';
    assert_false(init(&cors, most, NULL));
}

static void test_origins_have_a_maximum(void **state) {
    char many[CORS_MAX_ORIGINS * 9] = "";
    struct cors cors;
    (void)state;
    for (size_t i = 0; i < CORS_MAX_ORIGINS; i++) {
        memcpy(many + i * 9, "http://a,", 9);
    }
    many[sizeof many - 1] = '\0';
    assert_true(init(&cors, many, NULL));
    assert_int_equal(cors.count, CORS_MAX_ORIGINS);
    assert_false(init(&cors, many, "http://b"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_token_files_that_are_taken),
        cmocka_unit_test(test_token_files_that_are_refused),
        cmocka_unit_test(test_token_files_have_a_maximum),
        cmocka_unit_test(test_credentials),
        cmocka_unit_test(test_a_bucket_empties_and_fills),
        cmocka_unit_test(test_the_least_rate_and_burst),
        cmocka_unit_test(test_who_is_one_client),
        cmocka_unit_test(test_a_unix_client_has_no_rate),
        cmocka_unit_test(test_the_table_of_clients_has_a_maximum),
        cmocka_unit_test(test_origins),
        cmocka_unit_test(test_what_is_no_origin),
        cmocka_unit_test(test_origins_have_a_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
