/* Packing and unpacking, and what an Accept-Encoding wants.
 * Which bodies are packed, and where, is tested over HTTP, in access.sh. */
#define _GNU_SOURCE
#include "server/gzip.h"
#include "server/media.h"
#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>

/* "hello", packed by gzip 1.12 without a name or time */
static const char hello[] = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\x07\x00"
                            "\x86\xa6\x10\x36\x05\x00\x00\x00";
#define HELLO_SIZE (sizeof hello - 1)

static enum gzip_result unpack(const char *packed, size_t size, size_t maximum, char text[32]) {
    struct api_buffer out;
    api_buffer_init(&out, maximum);
    const enum gzip_result result = gzip_unpack(packed, size, &out);
    assert_true(out.size <= maximum);
    snprintf(text, 32, "%.*s", (int)out.size, out.data != NULL ? out.data : "");
    api_buffer_finish(&out);
    return result;
}

static void test_unpack_what_another_packed(void **state) {
    char text[32];
    (void)state;
    assert_int_equal(unpack(hello, HELLO_SIZE, 1000, text), GZIP_OK);
    assert_string_equal(text, "hello");
    assert_int_equal(unpack(hello, HELLO_SIZE, 5, text), GZIP_OK);
    assert_string_equal(text, "hello");
    for (size_t maximum = 0; maximum < 5; maximum++) {
        assert_int_equal(unpack(hello, HELLO_SIZE, maximum, text), GZIP_FULL);
    }
}

static void test_each_cut_is_told(void **state) {
    char text[32];
    (void)state;
    for (size_t size = 0; size < HELLO_SIZE; size++) {
        assert_int_equal(unpack(hello, size, 1000, text), GZIP_CUT);
        assert_int_equal(unpack(hello, size, 5, text), GZIP_CUT);
    }
}

static void test_what_follows_is_told(void **state) {
    char two[2 * HELLO_SIZE + 1];
    char text[32];
    (void)state;
    memcpy(two, hello, HELLO_SIZE);
    memcpy(two + HELLO_SIZE, hello, HELLO_SIZE + 1);
    for (size_t size = HELLO_SIZE + 1; size <= 2 * HELLO_SIZE; size++) {
        assert_int_equal(unpack(two, size, 1000, text), GZIP_TRAILING);
    }
}

static void test_damage_is_told(void **state) {
    /* offsets whose change cannot but show: the mark, the method, the checksum, the size */
    static const size_t offsets[] = {0, 1, 2, 17, 18, 19, 20, 21, 22, 23, 24};
    char damaged[HELLO_SIZE];
    char text[32];
    (void)state;
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        memcpy(damaged, hello, HELLO_SIZE);
        damaged[offsets[i]] ^= 0x55;
        assert_int_equal(unpack(damaged, HELLO_SIZE, 1000, text), GZIP_BAD);
    }
    /* zlib's own format is not gzip */
    assert_int_equal(unpack("\x78\x9c\x03\x00\x00\x00\x00\x01", 8, 1000, text), GZIP_BAD);
}

static void check_there_and_back(size_t size, unsigned seed) {
    char *plain = malloc(size + 1);
    struct api_buffer packed;
    struct api_buffer out;
    assert_non_null(plain);
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1103515245U + 12345U;
        plain[i] = (char)(seed >> 24);
    }
    api_buffer_init(&packed, SIZE_MAX);
    api_buffer_init(&out, size);
    assert_true(gzip_pack(plain, size, &packed));
    assert_int_equal(gzip_unpack(packed.data, packed.size, &out), GZIP_OK);
    assert_int_equal(out.size, size);
    assert_true(size == 0 || memcmp(out.data, plain, size) == 0);
    api_buffer_finish(&packed);
    api_buffer_finish(&out);
    free(plain);
}

/* Bytes that do not shrink, in sizes around the steps of the unpacking. */
static void test_there_and_back(void **state) {
    static const size_t sizes[] = {0, 1, 1000, 65535, 65536, 65537, 131072, 1000003};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        check_there_and_back(sizes[i], (unsigned)i);
    }
}

static void test_pack_keeps_to_the_maximum(void **state) {
    struct api_buffer packed;
    (void)state;
    api_buffer_init(&packed, 10);
    assert_false(gzip_pack("hello", 5, &packed));
    assert_int_equal(packed.size, 0);
    api_buffer_finish(&packed);
}

static void test_accept_encoding(void **state) {
    static const struct {
        const char *first;
        const char *second;
        bool wants_gzip;
    } rows[] = {
        {NULL, NULL, false},
        {"", NULL, false},
        {"gzip", NULL, true},
        {"GZIP", NULL, true},
        {"x-gzip", NULL, true},
        {"br, gzip ; q=0.1", NULL, true},
        {"br", "gzip", true},
        {"*", NULL, true},
        {"*;q=0", NULL, false},
        {"*;q=0, gzip", NULL, true},
        {"gzip;q=0", NULL, false},
        {"gzip;q=0.000, *", NULL, false},
        {"gzip;q=0.5, identity", NULL, false},
        {"gzip;q=0.5, identity;q=0.5", NULL, true},
        {"identity;q=0.2, *;q=0.1", NULL, false},
        {"identity;q=0", NULL, false},
        {"br, deflate", NULL, false},
        {"gzipped", NULL, false},
        {"gzip;q=2", NULL, false},
        {"gzip;q=x", NULL, false},
        {",,gzip,", NULL, true},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct media_codings codings = MEDIA_CODINGS_NONE;
        if (rows[i].first != NULL) {
            media_codings_add(&codings, rows[i].first);
        }
        if (rows[i].second != NULL) {
            media_codings_add(&codings, rows[i].second);
        }
        if (media_codings_want_gzip(&codings) != rows[i].wants_gzip) {
            fail_msg("'%s'", rows[i].first);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unpack_what_another_packed),
        cmocka_unit_test(test_each_cut_is_told),
        cmocka_unit_test(test_what_follows_is_told),
        cmocka_unit_test(test_damage_is_told),
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_pack_keeps_to_the_maximum),
        cmocka_unit_test(test_accept_encoding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
