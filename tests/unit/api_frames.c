/* Sequences of raw frames: each frame's palette is bit for bit the one that the frame gives alone,
 * faults name their frame, and items may run in any order. */
#include "api/operation.h"
#include "tests/check.h"
#include "tests/matrices.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define BONES 37
#define FRAMES 101 /* several items, the last one not full */

struct sequence {
    struct skin_mat4f inverse_bind[BONES];
    struct {
        struct skin_mat4f mesh;
        struct skin_mat4f bones[BONES];
    } frames[FRAMES];
};

static void fill(struct sequence *sequence) {
    uint64_t seed = 9;
    struct skin_mat4f *at = (struct skin_mat4f *)sequence;
    for (size_t i = 0; i < sizeof *sequence / sizeof *at; ++i) {
        const struct skin_mat4 matrix = random_affine(&seed, 3, 5);
        at[i] = narrow(&matrix);
    }
}

static struct api_request request_for(void *body, size_t size, const char *query) {
    return (struct api_request){.body = body,
                                .size = size,
                                .content_type = API_MEDIA_OCTETS,
                                .accept = API_MEDIA_OCTETS,
                                .query = query};
}

/* The items from the last to the first. */
static struct api_reply run_backwards(const struct api_request *request) {
    struct api_reply reply;
    size_t count = 0;
    const struct api_fan *fan = api_operation_find("palette")->fan(request);
    assert_non_null(fan);
    void *state = fan->open(request, &count, &reply);
    if (state != NULL) {
        while (count > 0) {
            fan->run(state, --count);
        }
        fan->close(state, &reply);
    }
    return reply;
}

static void test_equal_to_single_frames(void **state) {
    (void)state;
    static struct sequence sequence;
    static struct sequence copy;
    fill(&sequence);
    copy = sequence;
    const struct api_request whole = request_for(&copy, sizeof copy, "frames=101&maxCondition=1e9");
    struct api_reply reply = run_backwards(&whole);
    assert_int_equal(reply.status, 200);
    assert_int_equal(reply.body.size, sizeof(struct skin_mat4f) * BONES * FRAMES);
    for (size_t frame = 0; frame < FRAMES; ++frame) {
        struct {
            struct skin_mat4f mesh;
            struct skin_mat4f inverse_bind[BONES];
            struct skin_mat4f bones[BONES];
        } single;
        single.mesh = sequence.frames[frame].mesh;
        memcpy(single.inverse_bind, sequence.inverse_bind, sizeof single.inverse_bind);
        memcpy(single.bones, sequence.frames[frame].bones, sizeof single.bones);
        const struct api_request one = request_for(&single, sizeof single, "maxCondition=1e9");
        struct api_reply alone;
        api_operation_run(api_operation_find("palette"), &one, &alone);
        assert_int_equal(alone.status, 200);
        assert_memory_equal(reply.body.data + frame * alone.body.size, alone.body.data,
                            alone.body.size);
        api_reply_finish(&alone);
    }
    api_reply_finish(&reply);
}

static void check_finding(const json_t *root, size_t index, const char *code, const char *pointer) {
    const json_t *finding = json_array_get(json_object_get(root, "errors"), index);
    assert_string_equal(json_string_value(json_object_get(finding, "code")), code);
    assert_string_equal(json_string_value(json_object_get(finding, "pointer")), pointer);
}

static void test_faults_name_their_frame(void **state) {
    (void)state;
    static struct sequence sequence;
    fill(&sequence);
    sequence.inverse_bind[5].m[15] = 2;
    sequence.frames[3].bones[36].m[0] = NAN;
    memset(sequence.frames[90].mesh.m, 0, sizeof(float) * 12);
    const struct api_request request =
        request_for(&sequence, sizeof sequence, "frames=101&maxCondition=1e9");
    struct api_reply reply = run_backwards(&request);
    assert_int_equal(reply.status, 422);
    json_t *root = json_loadb(reply.body.data, reply.body.size, 0, NULL);
    assert_non_null(root);
    assert_int_equal(json_array_size(json_object_get(root, "errors")), 3);
    check_finding(root, 0, "not-affine", "/inverseBind/5");
    check_finding(root, 1, "not-finite", "/frames/3/boneWorld/36");
    check_finding(root, 2, "singular", "/frames/90/meshWorld");
    /* 37 + 101 * 38 matrices came in */
    assert_string_equal(json_string_value(json_object_get(root, "detail")),
                        "3 of 3875 matrices cannot be used");
    json_decref(root);
    api_reply_finish(&reply);
}

static void test_refusals(void **state) {
    (void)state;
    static struct skin_mat4f matrices[16];
    static const struct {
        const char *query;
        size_t count;
        const char *code;
        const char *detail;
    } rows[] = {
        {"frames=0", 3, "bad-value", "whole number from 1"},
        {"frames=", 3, "bad-value", "whole number"},
        {"frames=65537", 3, "bad-value", "65536"},
        {"frames=99999999999999999999999", 3, "bad-value", "65536"},
        {"frames=-1", 3, "bad-value", "whole number"},
        {"frames=1.5", 3, "bad-value", "whole number"},
        /* 2 frames: N bones take 128 + N * 192 bytes */
        {"frames=2", 4, "size-mismatch", "so 128 for 0 bones, 320 for 1"},
        {"frames=2", 1, "size-mismatch", "so 128 for 0 bones, 320 for 1"},
        {"fr%61mes=2", 5, "bad-value", "without escapes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        const struct api_request request =
            request_for(matrices, rows[i].count * sizeof matrices[0], rows[i].query);
        struct api_reply reply;
        api_operation_run(api_operation_find("palette"), &request, &reply);
        json_t *root = json_loadb(reply.body.data, reply.body.size, 0, NULL);
        assert_non_null(root);
        assert_string_equal(json_string_value(json_object_get(root, "code")), rows[i].code);
        const char *detail = json_string_value(json_object_get(root, "detail"));
        if (strstr(detail, rows[i].detail) == NULL) {
            fail_msg("%s: %s", rows[i].query, detail);
        }
        json_decref(root);
        api_reply_finish(&reply);
    }
}

static void test_no_bones(void **state) {
    (void)state;
    struct skin_mat4f meshes[2];
    const struct skin_mat4 one = translation(1, 0, 0);
    meshes[0] = meshes[1] = narrow(&one);
    const struct api_request request = request_for(meshes, sizeof meshes, "frames=2");
    struct api_reply reply = run_backwards(&request);
    assert_int_equal(reply.status, 200);
    assert_int_equal(reply.body.size, 0);
    api_reply_finish(&reply);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_to_single_frames),
        cmocka_unit_test(test_faults_name_their_frame),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_no_bones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
