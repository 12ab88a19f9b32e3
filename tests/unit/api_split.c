/* Cutting a batch into items: the slices are the items' texts byte for byte, whatever stands in and
 * around them, and offsets of the envelope lead back to the text. */
#include "api/split.h"
#include "tests/check.h"
#include "tests/matrices.h"

#include <stdio.h>

#define ITEMS 12

struct text {
    char data[16384];
    size_t size;
};

static void put(struct text *text, const char *piece) {
    const size_t size = strlen(piece);
    assert_true(text->size + size < sizeof text->data);
    memcpy(text->data + text->size, piece, size);
    text->size += size;
}

static size_t pick(uint64_t *seed, size_t count) {
    return (size_t)(random_unit(seed) * (double)count);
}

static void put_any(struct text *text, uint64_t *seed, unsigned depth) {
    static const char *const leaves[] = {
        "1",        "-2.5e3",       "true", "null", "\"\"",  "\"]\"",      "\"a\\\"}[\"",
        "\"\\\\\"", "\"\\\\\\\"\"", "[]",   "{}",   "[1,2]", "{\"a\":[]}", "\"\xC3\xA9{\"",
    };
    if (depth == 0 || random_unit(seed) < 0.5) {
        put(text, leaves[pick(seed, sizeof leaves / sizeof leaves[0])]);
        return;
    }
    const bool object = random_unit(seed) < 0.5;
    put(text, object ? "{ \"requests\":" : "[");
    put_any(text, seed, depth - 1);
    put(text, object ? ",\"b\": " : " ,\n");
    put_any(text, seed, depth - 1);
    put(text, object ? "}" : "]");
}

static void test_random_batches(void **state) {
    (void)state;
    static const char *const before[] = {"{", " {\"strict\":true ,", "{\"x\":[\"requests\",[1]],\n",
                                         "{\"x\":\"requests\",", "{\"x\":{\"requests\":[7,8]},"};
    static const char *const after[] = {"}", ",\"strict\":false}", " , \"y\":[1,2,{}]\n}"};
    uint64_t seed = 5;
    for (int round = 0; round < 20000; ++round) {
        struct text text = {.size = 0};
        size_t starts[ITEMS];
        size_t ends[ITEMS];
        const size_t count = pick(&seed, ITEMS);
        put(&text, before[pick(&seed, 5)]);
        put(&text, random_unit(&seed) < 0.5 ? "\"requests\":[" : "\"requests\" : [ ");
        for (size_t i = 0; i < count; ++i) {
            put(&text, i > 0 ? ", " : "");
            starts[i] = text.size;
            put_any(&text, &seed, 4);
            ends[i] = text.size;
        }
        put(&text, "]");
        put(&text, after[pick(&seed, 3)]);

        struct api_split split;
        assert_int_equal(api_split(text.data, text.size, "requests", ITEMS, &split), API_OK);
        assert_int_equal(split.count, count);
        size_t taken = 0;
        for (size_t i = 0; i < count; ++i) {
            assert_int_equal(split.slices[i].offset, starts[i]);
            assert_int_equal(split.slices[i].size, ends[i] - starts[i]);
            /* the byte behind an item keeps its place, less what the items before it gave up */
            taken += ends[i] - starts[i] - 1;
            assert_int_equal(api_split_offset(&split, ends[i] - taken), ends[i]);
            assert_int_equal(split.envelope.data[ends[i] - taken], text.data[ends[i]]);
        }
        assert_int_equal(split.envelope.size, text.size - taken);
        api_split_finish(&split);
    }
}

/* Whatever the bytes are, slices lie within the text, in order, and do not overlap. */
static void test_random_bytes(void **state) {
    (void)state;
    static const char bytes[] = "[]{},:\"\\ 1a\n";
    uint64_t seed = 6;
    for (int round = 0; round < 50000; ++round) {
        struct text text = {.size = 0};
        put(&text, "{\"requests\":[");
        const size_t size = pick(&seed, 60);
        for (size_t i = 0; i < size; ++i) {
            put(&text, (const char[]){bytes[pick(&seed, sizeof bytes - 1)], '\0'});
        }
        struct api_split split;
        const enum api_code code = api_split(text.data, text.size, "requests", ITEMS, &split);
        assert_true(code == API_OK || code == API_LIMIT_EXCEEDED);
        size_t end = 0;
        for (size_t i = 0; i < split.count; ++i) {
            assert_true(split.slices[i].offset >= end && split.slices[i].size > 0);
            end = split.slices[i].offset + split.slices[i].size;
        }
        assert_true(end <= text.size);
        api_split_finish(&split);
    }
}

static void test_maximum(void **state) {
    (void)state;
    struct api_split split;
    const char *three = "{\"requests\":[1,2,3]}";
    assert_int_equal(api_split(three, strlen(three), "requests", 3, &split), API_OK);
    api_split_finish(&split);
    assert_int_equal(api_split(three, strlen(three), "requests", 2, &split), API_LIMIT_EXCEEDED);
    api_split_finish(&split);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_batches),
        cmocka_unit_test(test_random_bytes),
        cmocka_unit_test(test_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
