/* skin_bind and skin_bind_f32: hand-computed values, every fault, and that failing writes nothing.
 * Accuracy against exact arithmetic is lib_exact.c's. */
#include "lib/skin.h"

#include "tests/check.h"
#include "tests/matrices.h"

#include <float.h>

#define BONES 37
#define UNTOUCHED 0xa5

static void seed_gives_minus_two(void **state) {
    (void)state;
    struct skin_mat4 mesh = translation(10, 0, 0);
    struct skin_mat4 bone = translation(12, 0, 0);
    struct skin_mat4 expected = translation(-2, 0, 0);
    struct skin_mat4 actual;
    assert_int_equal(skin_bind(&mesh, &bone, 1, NULL, &actual, NULL), SKIN_OK);
    check_array_equal(actual.m, expected.m, 16);
}

/* M0 = S(2) T(1,2,3), B0 = Rz(90) S(4) T(5,6,7): a point p goes to 2p + (1,2,3), and the bone's
 * frame takes w to inverse(Rz(90)) ((w - (5,6,7)) / 4), where inverse(Rz(90)) (x,y,z) = (y,-x,z).
 */
static void general_case_by_hand(void **state) {
    (void)state;
    struct skin_mat4 mesh = {{2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 1, 2, 3, 1}};
    struct skin_mat4 bone = {{0, 4, 0, 0, -4, 0, 0, 0, 0, 0, 4, 0, 5, 6, 7, 1}};
    struct skin_mat4 expected = {{0, -0.5, 0, 0, 0.5, 0, 0, 0, 0, 0, 0.5, 0, -1, 1, -1, 1}};
    struct skin_mat4 actual;
    assert_int_equal(skin_bind(&mesh, &bone, 1, NULL, &actual, NULL), SKIN_OK);
    check_array_equal(actual.m, expected.m, 16);
}

static void mesh_equal_to_bone_gives_identity(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 500; i++) {
        struct skin_mat4 mesh = random_affine(&seed, 5, 1e6);
        struct skin_mat4 expected = scaling(1, 1, 1);
        struct skin_mat4 actual;
        assert_int_equal(skin_bind(&mesh, &mesh, 1, NULL, &actual, NULL), SKIN_OK);
        check_array_near(actual.m, expected.m, 16, 4e-15);
    }
}

static void far_from_the_origin_is_exact(void **state) {
    (void)state;
    struct skin_mat4 mesh = translation(1e7, -3e8, 5e15);
    struct skin_mat4 bone = translation(1e7 + 2.25, -3e8 - 0.5, 5e15 - 1);
    struct skin_mat4 expected = translation(-2.25, 0.5, 1);
    struct skin_mat4 actual;
    assert_int_equal(skin_bind(&mesh, &bone, 1, NULL, &actual, NULL), SKIN_OK);
    check_array_equal(actual.m, expected.m, 16);
}

static void singular_mesh_is_legal(void **state) {
    (void)state;
    struct skin_mat4 mesh = scaling(0, 3, 0);
    struct skin_mat4 bone = scaling(2, -2, 2);
    struct skin_mat4 expected = scaling(0, -1.5, 0);
    struct skin_mat4 actual;
    assert_int_equal(skin_bind(&mesh, &bone, 1, NULL, &actual, NULL), SKIN_OK);
    check_array_equal(actual.m, expected.m, 16);
}

static void zero_bones_still_validate_the_mesh(void **state) {
    (void)state;
    struct skin_mat4 mesh = scaling(1, 1, 1);
    struct skin_report report = {NULL, 0, 99};
    assert_int_equal(skin_bind(&mesh, NULL, 0, NULL, NULL, &report), SKIN_OK);
    assert_int_equal(report.count, 0);
    mesh.m[5] = NAN;
    assert_int_equal(skin_bind(&mesh, NULL, 0, NULL, NULL, &report), SKIN_NOT_FINITE);
    assert_int_equal(report.count, 1);
}

struct fault_row {
    const char *name;
    struct skin_mat4 mesh;
    struct skin_mat4 bone;
    struct skin_fault fault;
};

#define IDENTITY_ROWS 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1
#define IDENTITY                                                                                   \
    {                                                                                              \
        { IDENTITY_ROWS }                                                                          \
    }
#define DIAGONAL(x, y, z)                                                                          \
    {                                                                                              \
        { x, 0, 0, 0, 0, y, 0, 0, 0, 0, z, 0, 0, 0, 0, 1 }                                         \
    }

static const struct fault_row fault_rows[] = {
    {"bone flat in y", IDENTITY, DIAGONAL(1, 0, 1), {SKIN_SINGULAR, SKIN_BONE_BIND_WORLD, 3, 0, 0}},
    {"bone all zero", IDENTITY, DIAGONAL(0, 0, 0), {SKIN_SINGULAR, SKIN_BONE_BIND_WORLD, 3, 0, 0}},
    {"bone of rank 2 (123 456 789)",
     IDENTITY,
     {{1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0, 0, 0, 0, 1}},
     {SKIN_SINGULAR, SKIN_BONE_BIND_WORLD, 3, 0, 0}},
    {"bone of condition 1e13",
     IDENTITY,
     DIAGONAL(1, 1, 1e-13),
     {SKIN_ILL_CONDITIONED, SKIN_BONE_BIND_WORLD, 3, 0, 1e13}},
    {"bone NaN",
     IDENTITY,
     {{1, 0, 0, 0, 0, 1, NAN, 0, 0, 0, 1, 0, 0, 0, 0, 1}},
     {SKIN_NOT_FINITE, SKIN_BONE_BIND_WORLD, 3, 6, NAN}},
    {"bone infinite in the last column, first element counts",
     IDENTITY,
     {{1, 0, 0, -INFINITY, 0, 1, 0, 0, 0, 0, INFINITY, 0, 0, 0, 0, 1}},
     {SKIN_NOT_FINITE, SKIN_BONE_BIND_WORLD, 3, 3, -INFINITY}},
    {"bone transposed",
     IDENTITY,
     {{1, 0, 0, 0, 0, 1, 0, 7, 0, 0, 1, 8, 0, 0, 0, 1}},
     {SKIN_NOT_AFFINE, SKIN_BONE_BIND_WORLD, 3, 7, 7}},
    {"bone with 0.9999 in the corner",
     IDENTITY,
     {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0.9999}},
     {SKIN_NOT_AFFINE, SKIN_BONE_BIND_WORLD, 3, 15, 0.9999}},
    {"mesh not affine by the smallest double",
     {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 5e-324, 0, 0, 0, 1}},
     IDENTITY,
     {SKIN_NOT_AFFINE, SKIN_MESH_BIND_WORLD, 0, 11, 5e-324}},
    {"mesh infinite",
     {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, INFINITY, 0, 1}},
     IDENTITY,
     {SKIN_NOT_FINITE, SKIN_MESH_BIND_WORLD, 0, 13, INFINITY}},
    {"inverse beyond double",
     IDENTITY,
     DIAGONAL(1e-310, 1e-310, 1e-310),
     {SKIN_OVERFLOW, SKIN_BONE_BIND_WORLD, 3, 0, INFINITY}},
    {"result beyond double",
     DIAGONAL(1, 1e200, 1),
     DIAGONAL(1e-200, 1e-200, 1e-200),
     {SKIN_OVERFLOW, SKIN_RESULT, 3, 5, INFINITY}},
    {"difference of translations beyond double: the whole row is unknown",
     {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, DBL_MAX, 1}},
     {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, -DBL_MAX, 1}},
     {SKIN_OVERFLOW, SKIN_RESULT, 3, 12, INFINITY}},
};

static void check_fault(const struct skin_fault *actual, const struct skin_fault *expected) {
    assert_int_equal(actual->status, expected->status);
    assert_int_equal(actual->operand, expected->operand);
    assert_int_equal(actual->index, expected->index);
    assert_int_equal(actual->element, expected->element);
    if (isnan(expected->value)) {
        assert_true(isnan(actual->value));
    } else if (isinf(expected->value)) {
        assert_true(actual->value == expected->value);
    } else {
        check_near(actual->value, expected->value, 1e-14);
    }
}

static void each_fault_is_told_and_writes_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof fault_rows / sizeof fault_rows[0]; i++) {
        const struct fault_row *row = &fault_rows[i];
        struct skin_mat4 bones[5] = {IDENTITY, IDENTITY, IDENTITY, row->bone, IDENTITY};
        struct skin_mat4 actual[5];
        struct skin_fault faults[4];
        struct skin_report report = {faults, 4, 99};
        struct skin_mat4 aliased[5];
        print_message("    %s\n", row->name);
        memset(actual, UNTOUCHED, sizeof actual);
        memcpy(aliased, bones, sizeof bones);
        assert_int_equal(skin_bind(&row->mesh, bones, 5, NULL, actual, &report), row->fault.status);
        assert_int_equal(report.count, 1);
        check_fault(&faults[0], &row->fault);
        check_untouched(actual, sizeof actual, UNTOUCHED);
        assert_int_equal(skin_bind(&row->mesh, aliased, 5, NULL, aliased, NULL), row->fault.status);
        assert_memory_equal(aliased, bones, sizeof bones);
    }
}

static void all_faults_are_counted_in_order(void **state) {
    (void)state;
    struct skin_mat4 mesh = scaling(1, 1, 1);
    struct skin_mat4 bones[BONES];
    struct skin_mat4 actual[BONES];
    struct skin_fault faults[3];
    struct skin_report report = {faults, 3, 0};
    mesh.m[15] = 2;
    for (int i = 0; i < BONES; i++) {
        bones[i] = scaling(1, 1, 1);
    }
    bones[2] = scaling(1, 0, 1);
    bones[2].m[3] = 4; /* two things wrong, one fault: not affine comes first */
    bones[9] = scaling(1, 1e-13, 1);
    bones[20] = scaling(0, 1, 1);
    bones[36].m[0] = NAN;
    memset(actual, UNTOUCHED, sizeof actual);
    assert_int_equal(skin_bind(&mesh, bones, BONES, NULL, actual, &report), SKIN_NOT_AFFINE);
    assert_int_equal(report.count, 5);
    check_fault(&faults[0], &(struct skin_fault){SKIN_NOT_AFFINE, SKIN_MESH_BIND_WORLD, 0, 15, 2});
    check_fault(&faults[1], &(struct skin_fault){SKIN_NOT_AFFINE, SKIN_BONE_BIND_WORLD, 2, 3, 4});
    check_fault(&faults[2],
                &(struct skin_fault){SKIN_ILL_CONDITIONED, SKIN_BONE_BIND_WORLD, 9, 0, 1e13});
    check_untouched(actual, sizeof actual, UNTOUCHED);
}

static void tolerance_snaps_the_last_column(void **state) {
    (void)state;
    struct skin_mat4 mesh = {{1, 0, 0, -1e-3, 0, 1, 0, 1e-3, 0, 0, 1, 5e-4, 6, 7, 8, 0.9999}};
    struct skin_mat4 bone = {{2, 0, 0, 1e-3, 0, 2, 0, 0, 0, 0, 2, 0, 4, 5, 6, 1.0001}};
    struct skin_mat4 expected = {{0.5, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 0.5, 0, 1, 1, 1, 1}};
    struct skin_mat4 actual;
    struct skin_options options = skin_options_default(SKIN_F64);
    options.affine_tolerance = 1e-3;
    assert_int_equal(skin_bind(&mesh, &bone, 1, &options, &actual, NULL), SKIN_OK);
    check_array_equal(actual.m, expected.m, 16);
    options.affine_tolerance = 9.9e-4;
    assert_int_equal(skin_bind(&mesh, &bone, 1, &options, &actual, NULL), SKIN_NOT_AFFINE);
    options.affine_tolerance = 1e9; /* taken as SKIN_MAX_AFFINE_TOLERANCE */
    mesh.m[3] = 2e-3;
    assert_int_equal(skin_bind(&mesh, &bone, 1, &options, &actual, NULL), SKIN_NOT_AFFINE);
}

static void overflow_depends_on_precision(void **state) {
    (void)state;
    struct skin_mat4 mesh = scaling(1e30, 1e30, 1e30);
    struct skin_mat4 bone = scaling(1e-30, 1e-30, 1e-30);
    struct skin_mat4f mesh32 = narrow(&mesh);
    struct skin_mat4f bone32 = narrow(&bone);
    struct skin_mat4 actual;
    struct skin_mat4f actual32;
    struct skin_fault fault;
    struct skin_report report = {&fault, 1, 0};
    struct skin_options options = skin_options_default(SKIN_F32);
    memset(&actual, UNTOUCHED, sizeof actual);
    memset(&actual32, UNTOUCHED, sizeof actual32);
    assert_int_equal(skin_bind(&mesh, &bone, 1, &options, &actual, &report), SKIN_OVERFLOW);
    check_fault(&fault, &(struct skin_fault){SKIN_OVERFLOW, SKIN_RESULT, 0, 0, 1e60});
    check_untouched(&actual, sizeof actual, UNTOUCHED);
    options.precision = SKIN_F64; /* the float32 entry does not care */
    assert_int_equal(skin_bind_f32(&mesh32, &bone32, 1, &options, &actual32, NULL), SKIN_OVERFLOW);
    check_untouched(&actual32, sizeof actual32, UNTOUCHED);
    assert_int_equal(skin_bind(&mesh, &bone, 1, NULL, &actual, &report), SKIN_OK);
    assert_int_equal(report.count, 0);
    struct skin_mat4 expected = scaling(1e60, 1e60, 1e60);
    check_array_near(actual.m, expected.m, 16, 1e-15);
}

/* The largest float32 fits; half a unit of its last place above it rounds to infinity. */
static void float32_limit_is_exact(void **state) {
    (void)state;
    struct skin_mat4 bone = scaling(1, 1, 1);
    struct skin_options options = skin_options_default(SKIN_F32);
    struct skin_mat4 actual;
    struct skin_mat4 mesh = translation(0, nextafter(0x1.ffffffp127, 0), 0);
    assert_int_equal(skin_bind(&mesh, &bone, 1, &options, &actual, NULL), SKIN_OK);
    assert_true(actual.m[13] == (double)FLT_MAX);
    mesh = translation(0, -0x1.ffffffp127, 0);
    assert_int_equal(skin_bind(&mesh, &bone, 1, &options, &actual, NULL), SKIN_OVERFLOW);
}

static void scale_does_not_matter_to_the_guard(void **state) {
    (void)state;
    struct skin_mat4 identity = scaling(1, 1, 1);
    struct skin_mat4 actual;
    const double scales[] = {1e-6, 1e-120, 1e-300, 1e120, 1e300};
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        struct skin_mat4 bone = scaling(scales[i], scales[i], scales[i]);
        double inverse = 1 / scales[i];
        struct skin_mat4 expected = scaling(inverse, inverse, inverse);
        assert_int_equal(skin_bind(&identity, &bone, 1, NULL, &actual, NULL), SKIN_OK);
        check_array_near(actual.m, expected.m, 16, 3e-16);
    }
}

static void fill_random(uint64_t *seed, struct skin_mat4 *matrices, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct skin_mat4 wide = random_affine(seed, 5, 100);
        struct skin_mat4f rounded = narrow(&wide);
        matrices[i] = widen(&rounded);
    }
}

static void aliasing_and_count_change_nothing(void **state) {
    (void)state;
    uint64_t seed = 2;
    struct skin_mat4 mesh;
    struct skin_mat4 bones[BONES];
    struct skin_mat4 expected[BONES];
    struct skin_mat4 aliased[BONES];
    fill_random(&seed, &mesh, 1);
    fill_random(&seed, bones, BONES);
    for (size_t count = 1; count <= BONES; count++) {
        memset(expected, UNTOUCHED, sizeof expected);
        assert_int_equal(skin_bind(&mesh, bones, count, NULL, expected, NULL), SKIN_OK);
        check_untouched(expected + count, (BONES - count) * sizeof expected[0], UNTOUCHED);
        memcpy(aliased, bones, sizeof bones);
        assert_int_equal(skin_bind(&mesh, aliased, count, NULL, aliased, NULL), SKIN_OK);
        assert_memory_equal(aliased, expected, count * sizeof expected[0]);
        for (size_t i = 0; i < count; i++) {
            struct skin_mat4 one;
            assert_int_equal(skin_bind(&mesh, &bones[i], 1, NULL, &one, NULL), SKIN_OK);
            check_array_equal(expected[i].m, one.m, 16);
        }
    }
}

static void float32_entry_is_the_double_one_rounded(void **state) {
    (void)state;
    uint64_t seed = 3;
    struct skin_mat4 mesh;
    struct skin_mat4 bones[BONES];
    struct skin_mat4 wide[BONES];
    struct skin_mat4 rounded[BONES];
    struct skin_mat4f bones32[BONES];
    struct skin_options options = skin_options_default(SKIN_F32);
    for (int round = 0; round < 50; round++) {
        fill_random(&seed, &mesh, 1);
        fill_random(&seed, bones, BONES);
        struct skin_mat4f mesh32 = narrow(&mesh);
        for (int i = 0; i < BONES; i++) {
            bones32[i] = narrow(&bones[i]);
        }
        assert_int_equal(skin_bind(&mesh, bones, BONES, NULL, wide, NULL), SKIN_OK);
        assert_int_equal(skin_bind(&mesh, bones, BONES, &options, rounded, NULL), SKIN_OK);
        assert_int_equal(skin_bind_f32(&mesh32, bones32, BONES, NULL, bones32, NULL), SKIN_OK);
        for (int i = 0; i < BONES; i++) {
            struct skin_mat4f once = narrow(&wide[i]);
            struct skin_mat4 again = widen(&once);
            check_floats_equal(bones32[i].m, once.m, 16);
            check_array_equal(rounded[i].m, again.m, 16);
        }
    }
}

/* Conditions between 1e6 and 1e12 pass only in double; each default has its own limit. */
static void default_limits_differ(void **state) {
    (void)state;
    struct skin_mat4 identity = scaling(1, 1, 1);
    struct skin_mat4 bone = scaling(1, 1, 0x1p-20);
    struct skin_mat4f identity32 = narrow(&identity);
    struct skin_mat4f bone32 = narrow(&bone);
    struct skin_mat4 actual;
    struct skin_mat4f actual32;
    struct skin_fault fault;
    struct skin_report report = {&fault, 1, 0};
    assert_int_equal(skin_bind(&identity, &bone, 1, NULL, &actual, NULL), SKIN_OK);
    assert_int_equal(skin_bind_f32(&identity32, &bone32, 1, NULL, &actual32, &report),
                     SKIN_ILL_CONDITIONED);
    check_fault(&fault,
                &(struct skin_fault){SKIN_ILL_CONDITIONED, SKIN_BONE_BIND_WORLD, 0, 0, 0x1p20});
}

/* Negative scales, negative zeros and tiny negative numbers all around. */
static void no_result_is_negative_zero(void **state) {
    (void)state;
    struct skin_mat4 mesh = {{-1, -0.0, -0.0, -0.0, -0.0, -1, -0.0, -0.0, -1e-60, -0.0, -1, -0.0,
                              -0.0, -1e-60, -0.0, 1}};
    struct skin_mat4 bone = {
        {-2, -0.0, -0.0, -0.0, -0.0, 2, -0.0, -0.0, -0.0, -0.0, -2, -0.0, 0.0, -0.0, 0.0, 1}};
    struct skin_mat4f mesh32 = narrow(&mesh);
    struct skin_mat4f bone32 = narrow(&bone);
    struct skin_mat4 actual[2];
    struct skin_mat4f actual32;
    struct skin_options options = skin_options_default(SKIN_F32);
    assert_int_equal(skin_bind(&mesh, &bone, 1, NULL, &actual[0], NULL), SKIN_OK);
    assert_int_equal(skin_bind(&mesh, &bone, 1, &options, &actual[1], NULL), SKIN_OK);
    assert_int_equal(skin_bind_f32(&mesh32, &bone32, 1, NULL, &actual32, NULL), SKIN_OK);
    for (int i = 0; i < 16; i++) {
        assert_false(actual[0].m[i] == 0 && signbit(actual[0].m[i]));
        assert_false(actual[1].m[i] == 0 && signbit(actual[1].m[i]));
        assert_false(actual32.m[i] == 0 && signbit(actual32.m[i]));
    }
    for (int i = 3; i < 16; i += 4) {
        assert_true(actual[0].m[i] == (i == 15));
        assert_true(actual32.m[i] == (float)(i == 15));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seed_gives_minus_two),
        cmocka_unit_test(general_case_by_hand),
        cmocka_unit_test(mesh_equal_to_bone_gives_identity),
        cmocka_unit_test(far_from_the_origin_is_exact),
        cmocka_unit_test(singular_mesh_is_legal),
        cmocka_unit_test(zero_bones_still_validate_the_mesh),
        cmocka_unit_test(each_fault_is_told_and_writes_nothing),
        cmocka_unit_test(all_faults_are_counted_in_order),
        cmocka_unit_test(tolerance_snaps_the_last_column),
        cmocka_unit_test(overflow_depends_on_precision),
        cmocka_unit_test(float32_limit_is_exact),
        cmocka_unit_test(scale_does_not_matter_to_the_guard),
        cmocka_unit_test(aliasing_and_count_change_nothing),
        cmocka_unit_test(float32_entry_is_the_double_one_rounded),
        cmocka_unit_test(default_limits_differ),
        cmocka_unit_test(no_result_is_negative_zero),
    };
    return cmocka_run_group_tests_name("lib_bind", tests, NULL, NULL);
}
