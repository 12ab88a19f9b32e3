/* Raw float bodies and the query: sizes, precisions, conventions, options, and every refusal.
 * Values are the hand-computed ones of the 23-versus-43 story. */
#include "api/limits.h"
#include "api/operation.h"
#include "tests/check.h"
#include "tests/matrices.h"

#include <jansson.h>
#include <stdlib.h>

#define MATRIX_F32 (16 * sizeof(float))

/* A body of matrices, kept in doubles and packed on demand. */
struct body {
    struct skin_mat4 matrices[8];
    size_t count;
};

static void add(struct body *body, struct skin_mat4 matrix) {
    body->matrices[body->count++] = matrix;
}

static struct skin_mat4 transposed(struct skin_mat4 matrix) {
    struct skin_mat4 out;
    for (size_t i = 0; i < 16; ++i) {
        out.m[i] = matrix.m[4 * (i % 4) + i / 4];
    }
    return out;
}

static struct api_reply send_bytes(const char *operation, const char *query, enum api_media accept,
                                   const void *bytes, size_t size) {
    struct api_reply reply;
    char *copy = malloc(size == 0 ? 1 : size);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    const struct api_request request = {.body = copy,
                                        .size = size,
                                        .content_type = API_MEDIA_OCTETS,
                                        .accept = accept,
                                        .query = query};
    api_operation_run(api_operation_find(operation), &request, &reply);
    free(copy);
    return reply;
}

static struct api_reply send_f32(const char *operation, const char *query, enum api_media accept,
                                 const struct body *body) {
    struct skin_mat4f narrowed[8];
    for (size_t i = 0; i < body->count; ++i) {
        narrowed[i] = narrow(&body->matrices[i]);
    }
    return send_bytes(operation, query, accept, narrowed, body->count * sizeof narrowed[0]);
}

static struct api_reply send_f64(const char *operation, const char *query, enum api_media accept,
                                 const struct body *body) {
    return send_bytes(operation, query, accept, body->matrices,
                      body->count * sizeof body->matrices[0]);
}

/* M = T(20), I = T(-2), B = Rz(90) T(22): the palette takes (3,0,0) to (2,1,0). */
static struct body palette_body(void) {
    struct body body = {.count = 0};
    struct skin_mat4 bone = linear(0, 1, 0, -1, 0, 0, 0, 0, 1);
    bone.m[12] = 22;
    add(&body, translation(20, 0, 0));
    add(&body, translation(-2, 0, 0));
    add(&body, bone);
    return body;
}

/* p' = p * I * B * inverse(M) with the numbers above: rotation, then (0, -2, 0) + (2, 0, 0). */
static const struct skin_mat4 palette_expected = {
    {0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 2, -2, 0, 1}};

static void check_ok(const struct api_reply *reply, const char *media_type, size_t size) {
    if (reply->status != 200) {
        fail_msg("%u: %.*s", reply->status, (int)reply->body.size, reply->body.data);
    }
    assert_string_equal(reply->media_type, media_type);
    if (size > 0) {
        assert_int_equal(reply->body.size, size);
    }
}

static void test_palette_f32(void **state) {
    (void)state;
    const struct body body = palette_body();
    const struct skin_mat4f expected = narrow(&palette_expected);
    struct api_reply reply = send_f32("palette", "", API_MEDIA_OCTETS, &body);
    check_ok(&reply, API_TYPE_OCTETS, MATRIX_F32);
    check_floats_equal((const float *)(void *)reply.body.data, expected.m, 16);
    const double point[3] = {3, 0, 0};
    double moved[3];
    const struct skin_mat4 back = widen((const struct skin_mat4f *)(void *)reply.body.data);
    skin_transform_point(point, &back, moved);
    check_array_equal(moved, ((const double[]){2, 1, 0}), 3);
    api_reply_finish(&reply);
}

static void test_palette_f64_and_column_vector(void **state) {
    (void)state;
    struct body body = palette_body();
    struct api_reply reply = send_f64("palette", "dtype=f64", API_MEDIA_OCTETS, &body);
    check_ok(&reply, API_TYPE_OCTETS, sizeof(struct skin_mat4));
    check_array_equal((const double *)(void *)reply.body.data, palette_expected.m, 16);
    api_reply_finish(&reply);

    for (size_t i = 0; i < body.count; ++i) {
        body.matrices[i] = transposed(body.matrices[i]);
    }
    const struct skin_mat4 expected = transposed(palette_expected);
    reply = send_f64("palette", "dtype=f64&convention=numpy", API_MEDIA_OCTETS, &body);
    check_ok(&reply, API_TYPE_OCTETS, sizeof(struct skin_mat4));
    check_array_equal((const double *)(void *)reply.body.data, expected.m, 16);
    api_reply_finish(&reply);
    const struct skin_mat4f expected_f32 = narrow(&expected);
    reply = send_f32("palette", "convention=column-vector", API_MEDIA_OCTETS, &body);
    check_ok(&reply, API_TYPE_OCTETS, MATRIX_F32);
    check_floats_equal((const float *)(void *)reply.body.data, expected_f32.m, 16);
    api_reply_finish(&reply);
}

static void test_world_space(void **state) {
    (void)state;
    const struct body body = palette_body();
    const struct skin_mat4f expected = {{0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 22, -2, 0, 1}};
    struct api_reply reply = send_f32("palette", "space=world", API_MEDIA_OCTETS, &body);
    check_ok(&reply, API_TYPE_OCTETS, MATRIX_F32);
    check_floats_equal((const float *)(void *)reply.body.data, expected.m, 16);
    api_reply_finish(&reply);
}

static void test_bind(void **state) {
    (void)state;
    struct body body = {.count = 0};
    add(&body, translation(10, 0, 0));
    add(&body, translation(12, 0, 0));
    add(&body, translation(12.5, 0, 0));
    struct api_reply reply = send_f32("bind", NULL, API_MEDIA_OCTETS, &body);
    check_ok(&reply, API_TYPE_OCTETS, 2 * MATRIX_F32);
    const struct skin_mat4f *inverse_bind = (const struct skin_mat4f *)(void *)reply.body.data;
    assert_true(inverse_bind[0].m[12] == -2 && inverse_bind[1].m[12] == -2.5F);
    api_reply_finish(&reply);
    body.count = 1; /* a mesh and no bones */
    reply = send_f32("bind", NULL, API_MEDIA_OCTETS, &body);
    check_ok(&reply, API_TYPE_OCTETS, 0);
    assert_int_equal(reply.body.size, 0);
    api_reply_finish(&reply);
}

static void test_reply_as_json(void **state) {
    (void)state;
    struct body body = {.count = 0};
    add(&body, translation(0, 0, 0));
    add(&body, translation(0.1, 0, 0));
    add(&body, translation(1, 0, 0));
    struct api_reply reply = send_f32("palette", "convention=unity", API_MEDIA_JSON, &body);
    check_ok(&reply, API_TYPE_JSON, 0);
    json_t *root = json_loadb(reply.body.data, reply.body.size, 0, NULL);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "convention")), "unity");
    const json_t *matrix = json_array_get(json_object_get(root, "palette"), 0);
    /* 0.1f + 1 rounded to float32 is 1.1f, whose shortest text is 1.1 */
    assert_true(json_number_value(json_array_get(matrix, 12)) == 1.1);
    json_decref(root);
    api_reply_finish(&reply);
}

/* The first finding of a refused request. */
static json_t *finding_of(const struct api_reply *reply, unsigned status, const char *code) {
    if (reply->status != status) {
        fail_msg("%u: %.*s", reply->status, (int)reply->body.size, reply->body.data);
    }
    assert_string_equal(reply->media_type, API_TYPE_PROBLEM);
    json_t *root = json_loadb(reply->body.data, reply->body.size, 0, NULL);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "code")), code);
    json_t *finding = json_incref(json_array_get(json_object_get(root, "errors"), 0));
    json_decref(root);
    return finding;
}

static void check_member(const json_t *finding, const char *name, const char *part) {
    const char *text = json_string_value(json_object_get(finding, name));
    if (text == NULL || strstr(text, part) == NULL) {
        fail_msg("%s is '%s', expected '%s' in it", name, text == NULL ? "" : text, part);
    }
}

static void test_query_refusals(void **state) {
    (void)state;
    static const struct {
        const char *query, *code, *parameter, *hint;
    } rows[] = {
        {"convntion=numpy", "unknown-member", "convntion", "did you mean convention"},
        {"matrixShape=flat", "unknown-member", "matrixShape", NULL},
        {"dtype=f16", "bad-value", "dtype", NULL},
        {"space=mash", "bad-value", "space", "did you mean mesh"},
        {"space=", "bad-value", "space", NULL},
        {"space", "bad-value", "space", NULL},
        {"space=mesh&space=mesh", "bad-value", "space", NULL},
        {"maxCondition=1", "bad-value", "maxCondition", NULL},
        {"maxCondition=1e16", "bad-value", "maxCondition", NULL},
        {"maxCondition=1e400", "wrong-type", "maxCondition", NULL},
        {"maxCondition=12x", "wrong-type", "maxCondition", NULL},
        {"affineTolerance=-1", "bad-value", "affineTolerance", NULL},
        {"affineTolerance=0.0011", "bad-value", "affineTolerance", NULL},
    };
    const struct body body = palette_body();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        struct api_reply reply = send_f32("palette", rows[i].query, API_MEDIA_OCTETS, &body);
        json_t *finding = finding_of(&reply, 422, rows[i].code);
        check_member(finding, "parameter", rows[i].parameter);
        if (rows[i].hint != NULL) {
            check_member(finding, "hint", rows[i].hint);
        }
        json_decref(finding);
        api_reply_finish(&reply);
    }
    static const char *const bad[] = {"space=%4", "space=%zz", "space=%00",
                                      "a=1&b=1&c=1&d=1&e=1&f=1&g=1&h=1&i=1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        struct api_reply reply = send_f32("palette", bad[i], API_MEDIA_OCTETS, &body);
        assert_int_equal(reply.status, 400);
        api_reply_finish(&reply);
    }
}

static void test_query_is_decoded(void **state) {
    (void)state;
    const struct body body = palette_body();
    struct api_reply reply =
        send_f32("palette", "&sp%61ce=%77orld&&maxCondition=1e%2B3", API_MEDIA_OCTETS, &body);
    check_ok(&reply, API_TYPE_OCTETS, MATRIX_F32);
    assert_true(((const float *)(void *)reply.body.data)[12] == 22);
    api_reply_finish(&reply);
    reply = send_f32("palette", "maxCondition=1e+6", API_MEDIA_OCTETS, &body);
    check_ok(&reply, API_TYPE_OCTETS, MATRIX_F32);
    api_reply_finish(&reply);
}

static void test_json_takes_no_query(void **state) {
    (void)state;
    char text[] = "{\"meshBindWorld\":{},\"boneBindWorld\":[]}";
    struct api_reply reply;
    const struct api_request request = {
        .body = text, .size = sizeof text - 1, .query = "convention=numpy"};
    api_operation_run(api_operation_find("bind"), &request, &reply);
    json_t *finding = finding_of(&reply, 422, "unknown-member");
    check_member(finding, "detail", "in the body");
    json_decref(finding);
    api_reply_finish(&reply);
}

static void test_sizes(void **state) {
    (void)state;
    static const float zeros[16 * 6];
    static const struct {
        const char *operation;
        size_t size;
        const char *detail;
    } rows[] = {
        {"palette", 0, "so 64 for 0 bones, 192 for 1"},
        {"palette", 63, "so 64 for 0 bones, 192 for 1"},
        {"palette", 128, "so 64 for 0 bones, 192 for 1"},
        {"palette", 193, "so 192 for 1 bones, 320 for 2"},
        {"bind", 100, "so 64 for 0 bones, 128 for 1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        struct api_reply reply =
            send_bytes(rows[i].operation, "", API_MEDIA_OCTETS, zeros, rows[i].size);
        json_t *finding = finding_of(&reply, 422, "size-mismatch");
        check_member(finding, "detail", rows[i].detail);
        json_decref(finding);
        api_reply_finish(&reply);
    }
}

static void test_not_finite(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *text;
    } rows[] = {{NAN, "number 5 is NaN"}, {-INFINITY, "number 5 is -Infinity"}};
    for (size_t i = 0; i < 2; ++i) {
        struct body body = palette_body();
        add(&body, translation(0, 0, 0));
        add(&body, translation(0, 0, 0));
        body.matrices[4].m[5] = rows[i].value; /* boneWorld[1], behind M, I0, I1, B0 */
        struct api_reply reply = send_f32("palette", "", API_MEDIA_OCTETS, &body);
        json_t *finding = finding_of(&reply, 422, "not-finite");
        check_member(finding, "pointer", "/boneWorld/1");
        check_member(finding, "detail", rows[i].text);
        assert_int_equal(json_integer_value(json_object_get(finding, "index")), 1);
        json_decref(finding);
        api_reply_finish(&reply);
    }
}

/* A float32 body has the stricter guard unless the query says otherwise. */
static void test_condition_guard(void **state) {
    (void)state;
    struct body body = {.count = 0};
    add(&body, translation(0, 0, 0));
    add(&body, scaling(1, 1, 0x1p-21)); /* condition 2^21, over 1e6 */
    struct api_reply reply = send_f32("bind", "", API_MEDIA_OCTETS, &body);
    json_t *finding = finding_of(&reply, 422, "ill-conditioned");
    check_member(finding, "detail", "2.1e+06");
    json_decref(finding);
    api_reply_finish(&reply);
    reply = send_f32("bind", "maxCondition=1e7", API_MEDIA_OCTETS, &body);
    check_ok(&reply, API_TYPE_OCTETS, MATRIX_F32);
    assert_true(((const float *)(void *)reply.body.data)[10] == 0x1p21F);
    api_reply_finish(&reply);
    reply = send_f64("bind", "dtype=f64", API_MEDIA_OCTETS, &body);
    check_ok(&reply, API_TYPE_OCTETS, sizeof(struct skin_mat4));
    api_reply_finish(&reply);
}

static void test_bone_limit(void **state) {
    (void)state;
    const size_t count = (size_t)API_MAX_BONES + 2; /* a mesh and one bone too many */
    struct skin_mat4f *matrices = calloc(count, sizeof *matrices);
    assert_non_null(matrices);
    const struct skin_mat4 one = translation(0, 0, 0);
    for (size_t i = 0; i < count; ++i) {
        matrices[i] = narrow(&one);
    }
    struct api_reply reply =
        send_bytes("bind", "", API_MEDIA_OCTETS, matrices, count * sizeof *matrices);
    json_t *finding = finding_of(&reply, 422, "limit-exceeded");
    check_member(finding, "detail", "65537 bones, at most 65536");
    json_decref(finding);
    api_reply_finish(&reply);
    reply = send_bytes("bind", "", API_MEDIA_OCTETS, matrices, (count - 1) * sizeof *matrices);
    check_ok(&reply, API_TYPE_OCTETS, API_MAX_BONES * sizeof *matrices);
    api_reply_finish(&reply);
    free(matrices);
}

/* 150 singular bones: 100 told, all counted. */
static void test_findings_are_bounded(void **state) {
    (void)state;
    static struct skin_mat4f matrices[151];
    for (size_t i = 0; i < 151; ++i) {
        matrices[i].m[0] = matrices[i].m[5] = matrices[i].m[15] = 1;
    }
    struct api_reply reply = send_bytes("bind", "", API_MEDIA_JSON, matrices, sizeof matrices);
    json_t *root = json_loadb(reply.body.data, reply.body.size, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(root, "errors")), API_MAX_FINDINGS);
    assert_true(json_is_true(json_object_get(root, "errorsTruncated")));
    assert_string_equal(json_string_value(json_object_get(root, "detail")),
                        "150 of 151 matrices cannot be used");
    json_decref(root);
    api_reply_finish(&reply);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_palette_f32),
        cmocka_unit_test(test_palette_f64_and_column_vector),
        cmocka_unit_test(test_world_space),
        cmocka_unit_test(test_bind),
        cmocka_unit_test(test_reply_as_json),
        cmocka_unit_test(test_query_refusals),
        cmocka_unit_test(test_query_is_decoded),
        cmocka_unit_test(test_json_takes_no_query),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_condition_guard),
        cmocka_unit_test(test_bone_limit),
        cmocka_unit_test(test_findings_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
