/* Each allocation of an operation fails in turn, ours and jansson's: the answer is then 503, never
 * a partial result, a wrong code or a leak (address sanitizer looks), and the next request works.
 */
#include "api/operation.h"
#include "tests/check.h"

#include <stdio.h>
#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

#define NEVER (-1L)

static long countdown = NEVER; /* allocations until one fails */

static bool fails(void) {
    return countdown >= 0 && countdown-- == 0;
}

void *__wrap_malloc(size_t size) {
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
    return fails() ? NULL : __real_realloc(memory, size);
}

#define T(x) "[1,0,0,0, 0,1,0,0, 0,0,1,0, " #x ",0,0,1]"

#define OBJECTS 400
static char many_objects[16384]; /* with enough structure for several blocks of jansson's memory */

static const struct {
    const char *operation;
    const char *text;
    unsigned status; /* with memory enough */
} rows[] = {
    {"palette",
     "{\"meshBindWorld\":" T(10) ",\"boneBindWorld\":[" T(12) "],\"boneWorld\":[" T(
         22) "],"
             "\"meshWorld\":" T(20) ",\"names\":[\"hip\"],\"frame\":{\"mesh\":1,\"bones\":1}}",
     200},
    {"palette",
     "{\"inverseBind\":[{\"translation\":[1,2,3]}," T(1) "],\"boneWorld\":[" T(
         2) ",{}],"
            "\"space\":\"world\",\"matrixShape\":\"unity\"}",
     200},
    {"bind", "{\"meshBindWorld\":{},\"boneBindWorld\":[" T(12) ",{\"scale\":[0,1,1]},true]}", 422},
    {"bind", "{\"meshBindWorld\":{},\"boneBindWorld\":[\"\x7f\"," T(12) "]}", 422},
    {"bind", "{\"meshBindWorld\":{},\"boneBindWorld\":[" T(12) "]", 400},
    {"bind", many_objects, 200},
};

static void fill_many_objects(void) {
    static const char piece[] = "{\"translation\":[1,2,3]},";
    char *at = many_objects + sprintf(many_objects, "{\"meshBindWorld\":{},\"boneBindWorld\":[");
    for (int i = 0; i < OBJECTS; ++i) {
        memcpy(at, piece, sizeof piece - 1);
        at += sizeof piece - 1;
    }
    memcpy(at - 1, "]}", 3); /* over the last comma */
}

static struct api_reply run(size_t row, char *body) {
    struct api_reply reply;
    struct api_request request = {.body = body, .size = strlen(body), .request_id = "test"};
    api_operation_run(api_operation_find(rows[row].operation), &request, &reply);
    return reply;
}

static void test_each_allocation_fails(void **state) {
    (void)state;
    api_init();
    fill_many_objects();
    long tried = 0;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; ++row) {
        unsigned status = 0;
        for (long n = 0; status != rows[row].status; ++n) {
            char body[sizeof many_objects]; /* writable: reading may spoil it */
            assert_in_range(strlen(rows[row].text), 1, sizeof body - 1);
            memcpy(body, rows[row].text, strlen(rows[row].text) + 1);
            countdown = n;
            struct api_reply reply = run(row, body);
            const bool reached = countdown == NEVER;
            countdown = NEVER;
            status = reply.status;
            if (reached && status != 503) {
                fail_msg("row %zu: allocation %ld failed, status %u: %.*s", row, n, status,
                         (int)reply.body.size, reply.body.data == NULL ? "" : reply.body.data);
            }
            assert_true(reached || status == rows[row].status);
            api_reply_finish(&reply);
            ++tried;
        }
    }
    print_message("%ld runs with one failed allocation\n", tried);
    assert_true(tried > 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_each_allocation_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
