/* skin_palette and skin_palette_f32: hand-computed values, sweeps whose expectation needs no
 * matrix product, and every fault. Accuracy against exact arithmetic is lib_exact.c's. */
#include "lib/skin.h"

#include "tests/check.h"
#include "tests/matrices.h"

#include <float.h>

#define BONES 37
#define UNTOUCHED 0xa5

#define IDENTITY_ROWS 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1
#define IDENTITY                                                                                   \
    {                                                                                              \
        { IDENTITY_ROWS }                                                                          \
    }
#define DIAGONAL(x, y, z)                                                                          \
    {                                                                                              \
        { x, 0, 0, 0, 0, y, 0, 0, 0, 0, z, 0, 0, 0, 0, 1 }                                         \
    }

static const struct skin_mat4 turned_bone = {{0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 22, 0, 0, 1}};

static void check_point(const double point[3], const struct skin_mat4 *matrix, double x, double y,
                        double z) {
    double actual[3];
    skin_transform_point(point, matrix, actual);
    check_array_equal(actual, ((const double[]){x, y, z}), 3);
}

/* The vertex at 3 lands at local 3 and world 23; drawn without inverse(M), it lands at 43. */
static void seed_by_both_routes_and_the_wrong_one(void **state) {
    (void)state;
    const double p[3] = {3, 0, 0};
    struct skin_mat4 inverse_bind = translation(-2, 0, 0);
    struct skin_mat4 bone = translation(22, 0, 0);
    struct skin_mat4 mesh = translation(20, 0, 0);
    struct skin_mat4 local;
    struct skin_mat4 world;
    double drawn[3];
    assert_int_equal(
        skin_palette(SKIN_SPACE_MESH, &inverse_bind, &bone, 1, &mesh, NULL, &local, NULL), SKIN_OK);
    assert_int_equal(
        skin_palette(SKIN_SPACE_WORLD, &inverse_bind, &bone, 1, NULL, NULL, &world, NULL), SKIN_OK);
    check_point(p, &local, 3, 0, 0);
    check_point(p, &world, 23, 0, 0);
    skin_transform_point(p, &local, drawn);
    check_point(drawn, &mesh, 23, 0, 0);
    skin_transform_point(p, &world, drawn);
    check_point(drawn, &mesh, 43, 0, 0);
}

/* (3,0,0) - 2 = (1,0,0), a quarter turn makes (0,1,0), the bone puts it at (22,1,0), the mesh
 * takes off 20. The factors in the order B * I * inverse(M) would give (0,3,0). */
static void turned_bone_and_the_wrong_order(void **state) {
    (void)state;
    const double p[3] = {3, 0, 0};
    struct skin_mat4 inverse_bind = translation(-2, 0, 0);
    struct skin_mat4 mesh = translation(20, 0, 0);
    struct skin_mat4 inverse_mesh;
    struct skin_mat4 actual;
    assert_int_equal(
        skin_palette(SKIN_SPACE_MESH, &inverse_bind, &turned_bone, 1, &mesh, NULL, &actual, NULL),
        SKIN_OK);
    check_point(p, &actual, 2, 1, 0);
    assert_int_equal(
        skin_palette(SKIN_SPACE_WORLD, &inverse_bind, &turned_bone, 1, &mesh, NULL, &actual, NULL),
        SKIN_OK);
    check_point(p, &actual, 22, 1, 0);
    assert_int_equal(skin_mat4_invert(&mesh, 1e12, &inverse_mesh, NULL), SKIN_OK);
    skin_mat4_multiply(&turned_bone, &inverse_bind, &actual);
    skin_mat4_multiply(&actual, &inverse_mesh, &actual);
    check_point(p, &actual, 0, 3, 0);
}

static void bind_pose_gives_identity(void **state) {
    (void)state;
    uint64_t seed = 11;
    struct skin_mat4 expected = scaling(1, 1, 1);
    for (int i = 0; i < 500; i++) {
        struct skin_mat4 mesh = random_affine(&seed, 3, 10);
        struct skin_mat4 bone = random_affine(&seed, 3, 10);
        struct skin_mat4 actual;
        assert_int_equal(skin_bind(&mesh, &bone, 1, NULL, &actual, NULL), SKIN_OK);
        assert_int_equal(
            skin_palette(SKIN_SPACE_MESH, &actual, &bone, 1, &mesh, NULL, &actual, NULL), SKIN_OK);
        check_array_near(actual.m, expected.m, 16, 1e-12);
    }
}

/* 3 translations, 7 rotations, 3 scales, 3 shears. */
#define PARENTS (3 * 7 * 3 * 3)

static struct skin_mat4 make_parent(int number) {
    static const double distances[3] = {0, 5, -300};
    static const double scales[3][3] = {{1, 1, 1}, {2, 2, 2}, {0.5, 3, -1.5}};
    static const double shears[3] = {0, 0.25, -2};
    uint64_t seed = 100 + (uint64_t)(number / 3 % 7);
    const double *s = scales[number / 21 % 3];
    double h = shears[number / 63 % 3];
    struct skin_mat4 scale = scaling(s[0], s[1], s[2]);
    struct skin_mat4 shear = linear(1, h, 0, 0, 1, 0, h / 2, 0, 1);
    struct skin_mat4 rotation = random_rotation(&seed);
    struct skin_mat4 parent = chain(&scale, &shear);
    parent = chain(&parent, &rotation);
    parent.m[12] = distances[number % 3];
    parent.m[13] = 2 * distances[number % 3];
    parent.m[14] = 7;
    return parent;
}

static void common_parent_changes_nothing(void **state) {
    (void)state;
    struct skin_mat4 inverse_bind = {{0.5, 0.1, 0, 0, -0.2, 1, 0.3, 0, 0, 0, 2, 0, 1, -2, 3, 1}};
    struct skin_mat4 mesh = {{1, 0.5, 0, 0, 0, 2, 0, 0, 0.25, 0, 1, 0, 20, -1, 4, 1}};
    struct skin_mat4 expected;
    double worst = 0;
    int parents = 0;
    assert_int_equal(
        skin_palette(SKIN_SPACE_MESH, &inverse_bind, &turned_bone, 1, &mesh, NULL, &expected, NULL),
        SKIN_OK);
    for (; parents < PARENTS; parents++) {
        struct skin_mat4 parent = make_parent(parents);
        struct skin_mat4 moved_bone = chain(&turned_bone, &parent);
        struct skin_mat4 moved_mesh = chain(&mesh, &parent);
        struct skin_mat4 actual;
        assert_int_equal(skin_palette(SKIN_SPACE_MESH, &inverse_bind, &moved_bone, 1, &moved_mesh,
                                      NULL, &actual, NULL),
                         SKIN_OK);
        /* Moving rounds the inputs: at most some 1e3 in size, a condition of about 30. */
        check_array_near(actual.m, expected.m, 16, 1e-12);
        for (int i = 0; i < 16; i++) {
            worst = fmax(worst, fabs(actual.m[i] - expected.m[i]));
        }
    }
    assert_true(parents >= 189);
    print_message("    %d parents, worst change of an element %.2g\n", parents, worst);
}

#define ANGLES 81
#define POINTS 27

/* A bone turns about a pivot that itself moves along; the mesh is scaled by 2 and moves too. With
 * w the vertex in the world when bound, it goes to pivot' + turned(w - pivot), and back into the
 * mesh by (world - mesh') / 2: sine and cosine, and no product of matrices. */
static void animated_pivot_follows_sine_and_cosine(void **state) {
    (void)state;
    const double pivot[3] = {12, -3, 5};
    const double pivot_now[3] = {22, 1.5, 4};
    struct skin_mat4 mesh_bind = {{2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 10, 1, 0, 1}};
    struct skin_mat4 mesh = {{2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 20, 2, -1, 1}};
    struct skin_mat4 bone_bind = translation(pivot[0], pivot[1], pivot[2]);
    struct skin_mat4 inverse_bind;
    double worst = 0;
    int pairs = 0;
    assert_int_equal(skin_bind(&mesh_bind, &bone_bind, 1, NULL, &inverse_bind, NULL), SKIN_OK);
    for (int turn = 0; turn < ANGLES; turn++) {
        long double angle = (turn - 40) * 0.157L;
        struct skin_mat4 bone = rotation_z(angle);
        struct skin_mat4 palette;
        memcpy(&bone.m[12], pivot_now, sizeof pivot_now);
        assert_int_equal(
            skin_palette(SKIN_SPACE_MESH, &inverse_bind, &bone, 1, &mesh, NULL, &palette, NULL),
            SKIN_OK);
        for (int n = 0; n < POINTS; n++) {
            const int place[3] = {n % 3, n / 3 % 3, n / 9};
            const double p[3] = {place[0] * 1.5 - 1, place[1] * 2 - 2.5, place[2] - 1};
            double actual[3];
            long double x = 2.0L * p[0] + 10 - pivot[0];
            long double y = 2.0L * p[1] + 1 - pivot[1];
            long double z = 2.0L * p[2] + 0 - pivot[2];
            long double c = cosl(angle);
            long double s = sinl(angle);
            const double expected[3] = {(double)((pivot_now[0] + x * c - y * s - 20) / 2),
                                        (double)((pivot_now[1] + x * s + y * c - 2) / 2),
                                        (double)((pivot_now[2] + z + 1) / 2)};
            skin_transform_point(p, &palette, actual);
            for (int i = 0; i < 3; i++) {
                /* 4 units of 2^-52 of 32, the size of the scene. */
                assert_true(fabs(actual[i] - expected[i]) <= 0x1p-45);
                worst = fmax(worst, fabs(actual[i] - expected[i]));
            }
            pairs++;
        }
    }
    assert_true(pairs >= 1053);
    print_message("    %d pairs of point and angle, worst error %.2g\n", pairs, worst);
}

/* S(0) T(22): every vertex lands on the bone, which is 2 from the mesh's origin. */
static void singular_bone_is_legal(void **state) {
    (void)state;
    const double p[3] = {3, 0, 0};
    struct skin_mat4 inverse_bind = translation(-2, 0, 0);
    struct skin_mat4 mesh = translation(20, 0, 0);
    struct skin_mat4 bone = {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 22, 0, 0, 1}};
    struct skin_mat4 actual;
    assert_int_equal(
        skin_palette(SKIN_SPACE_MESH, &inverse_bind, &bone, 1, &mesh, NULL, &actual, NULL),
        SKIN_OK);
    check_point(p, &actual, 2, 0, 0);
    assert_int_equal(
        skin_palette(SKIN_SPACE_WORLD, &inverse_bind, &bone, 1, &mesh, NULL, &actual, NULL),
        SKIN_OK);
    check_point(p, &actual, 22, 0, 0);
}

static void far_from_the_origin_is_exact(void **state) {
    (void)state;
    const double p[3] = {3, 0, 0};
    struct skin_mat4 mesh_bind = translation(1e7, 0, 0);
    struct skin_mat4 bone_bind = translation(1e7 + 2.25, 0, 0);
    struct skin_mat4 mesh = translation(2e7, 0, 0);
    struct skin_mat4 bone = translation(2e7 + 2.5, 0, 0);
    struct skin_mat4 actual;
    assert_int_equal(skin_bind(&mesh_bind, &bone_bind, 1, NULL, &actual, NULL), SKIN_OK);
    assert_int_equal(skin_palette(SKIN_SPACE_MESH, &actual, &bone, 1, &mesh, NULL, &actual, NULL),
                     SKIN_OK);
    check_point(p, &actual, 3.25, 0, 0);
}

/* A model built 2^53 away from its bone: I.t * B.R and B.t - M.t cancel all but one unit. */
static void cancelling_translations_are_exact(void **state) {
    (void)state;
    struct skin_mat4 inverse_bind = translation(-0x1p53 + 1, 0, 0);
    struct skin_mat4 bone = translation(0x1p54 - 4, 0, 0);
    struct skin_mat4 mesh = translation(0x1p53 - 4, 0.5, 0);
    struct skin_mat4 expected = translation(1, -0.5, 0);
    struct skin_mat4 actual;
    assert_int_equal(
        skin_palette(SKIN_SPACE_MESH, &inverse_bind, &bone, 1, &mesh, NULL, &actual, NULL),
        SKIN_OK);
    check_array_equal(actual.m, expected.m, 16);
    /* Here no double holds I.t * B.R: (2^27 + 1)^2 - 2^54 - 2^28 = 1. */
    inverse_bind = translation(0x1p27 + 1, 0, 0);
    bone = scaling(0x1p27 + 1, 1, 1);
    bone.m[12] = -0x1p54 - 0x1p28;
    mesh = scaling(0x1p27 + 1, 1, 1);
    expected = translation(1 / (0x1p27 + 1), 0, 0);
    assert_int_equal(
        skin_palette(SKIN_SPACE_MESH, &inverse_bind, &bone, 1, &mesh, NULL, &actual, NULL),
        SKIN_OK);
    check_array_equal(actual.m, expected.m, 16);
}

static void zero_bones_still_validate_the_mesh(void **state) {
    (void)state;
    struct skin_mat4 mesh = scaling(0, 0, 0);
    struct skin_report report = {NULL, 0, 99};
    assert_int_equal(skin_palette(SKIN_SPACE_MESH, NULL, NULL, 0, &mesh, NULL, NULL, &report),
                     SKIN_SINGULAR);
    assert_int_equal(report.count, 1);
    assert_int_equal(skin_palette(SKIN_SPACE_WORLD, NULL, NULL, 0, &mesh, NULL, NULL, &report),
                     SKIN_OK);
    assert_int_equal(skin_palette(SKIN_SPACE_WORLD, NULL, NULL, 0, NULL, NULL, NULL, &report),
                     SKIN_OK);
    assert_int_equal(report.count, 0);
}

struct fault_row {
    const char *name;
    enum skin_space space;
    struct skin_mat4 inverse_bind;
    struct skin_mat4 bone;
    struct skin_mat4 mesh;
    struct skin_fault fault;
};

static const struct fault_row fault_rows[] = {
    {"mesh all zero",
     SKIN_SPACE_MESH,
     IDENTITY,
     IDENTITY,
     DIAGONAL(0, 0, 0),
     {SKIN_SINGULAR, SKIN_MESH_WORLD, 0, 0, 0}},
    {"mesh of condition 1e13",
     SKIN_SPACE_MESH,
     IDENTITY,
     IDENTITY,
     DIAGONAL(1, 1, 1e-13),
     {SKIN_ILL_CONDITIONED, SKIN_MESH_WORLD, 0, 0, 1e13}},
    {"inverse mesh beyond double",
     SKIN_SPACE_MESH,
     IDENTITY,
     IDENTITY,
     DIAGONAL(1e-310, 1e-310, 1e-310),
     {SKIN_OVERFLOW, SKIN_MESH_WORLD, 0, 0, INFINITY}},
    {"world space, mesh not affine",
     SKIN_SPACE_WORLD,
     IDENTITY,
     IDENTITY,
     {{1, 0, 0, 9, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}},
     {SKIN_NOT_AFFINE, SKIN_MESH_WORLD, 0, 3, 9}},
    {"world space, mesh infinite",
     SKIN_SPACE_WORLD,
     IDENTITY,
     IDENTITY,
     {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, INFINITY, 0, 0, 1}},
     {SKIN_NOT_FINITE, SKIN_MESH_WORLD, 0, 12, INFINITY}},
    {"inverse bind NaN",
     SKIN_SPACE_MESH,
     {{1, 0, 0, 0, 0, NAN, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}},
     IDENTITY,
     IDENTITY,
     {SKIN_NOT_FINITE, SKIN_INVERSE_BIND, 3, 5, NAN}},
    {"inverse bind transposed",
     SKIN_SPACE_WORLD,
     {{1, 0, 0, -2, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}},
     IDENTITY,
     IDENTITY,
     {SKIN_NOT_AFFINE, SKIN_INVERSE_BIND, 3, 3, -2}},
    {"bone with zero in the corner",
     SKIN_SPACE_MESH,
     IDENTITY,
     {{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0}},
     IDENTITY,
     {SKIN_NOT_AFFINE, SKIN_BONE_WORLD, 3, 15, 0}},
    {"bone infinite",
     SKIN_SPACE_WORLD,
     IDENTITY,
     {{1, 0, 0, 0, 0, 1, 0, 0, 0, -INFINITY, 1, 0, 0, 0, 0, 1}},
     IDENTITY,
     {SKIN_NOT_FINITE, SKIN_BONE_WORLD, 3, 9, -INFINITY}},
    {"product beyond double",
     SKIN_SPACE_WORLD,
     DIAGONAL(1, 1, 1e200),
     DIAGONAL(1, 1, -1e200),
     IDENTITY,
     {SKIN_OVERFLOW, SKIN_RESULT, 3, 10, -INFINITY}},
    {"intermediate beyond double, though the result is 1",
     SKIN_SPACE_MESH,
     DIAGONAL(1e200, 1e200, 1e200),
     DIAGONAL(1e200, 1e200, 1e200),
     DIAGONAL(1e300, 1e300, 1e300),
     {SKIN_OVERFLOW, SKIN_RESULT, 3, 0, INFINITY}},
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
        struct skin_mat4 inverse_bind[5] = {IDENTITY, IDENTITY, IDENTITY, row->inverse_bind,
                                            IDENTITY};
        struct skin_mat4 bones[5] = {IDENTITY, IDENTITY, IDENTITY, row->bone, IDENTITY};
        struct skin_mat4 actual[5];
        struct skin_mat4 aliased[5];
        struct skin_fault faults[4];
        struct skin_report report = {faults, 4, 99};
        print_message("    %s\n", row->name);
        memset(actual, UNTOUCHED, sizeof actual);
        assert_int_equal(
            skin_palette(row->space, inverse_bind, bones, 5, &row->mesh, NULL, actual, &report),
            row->fault.status);
        assert_int_equal(report.count, 1);
        check_fault(&faults[0], &row->fault);
        check_untouched(actual, sizeof actual, UNTOUCHED);
        memcpy(aliased, inverse_bind, sizeof aliased);
        assert_int_equal(
            skin_palette(row->space, aliased, bones, 5, &row->mesh, NULL, aliased, NULL),
            row->fault.status);
        assert_memory_equal(aliased, inverse_bind, sizeof aliased);
        memcpy(aliased, bones, sizeof aliased);
        assert_int_equal(
            skin_palette(row->space, inverse_bind, aliased, 5, &row->mesh, NULL, aliased, NULL),
            row->fault.status);
        assert_memory_equal(aliased, bones, sizeof aliased);
    }
}

static void all_faults_are_counted_in_order(void **state) {
    (void)state;
    struct skin_mat4 inverse_bind[BONES];
    struct skin_mat4 bones[BONES];
    struct skin_mat4 mesh = scaling(1, 0, 1);
    struct skin_fault faults[4];
    struct skin_report report = {faults, 4, 0};
    for (int i = 0; i < BONES; i++) {
        inverse_bind[i] = bones[i] = scaling(1, 1, 1);
    }
    bones[0].m[14] = NAN;
    inverse_bind[5].m[7] = 1;
    bones[5].m[15] = 3;
    inverse_bind[36].m[2] = INFINITY;
    assert_int_equal(
        skin_palette(SKIN_SPACE_MESH, inverse_bind, bones, BONES, &mesh, NULL, bones, &report),
        SKIN_SINGULAR);
    assert_int_equal(report.count, 5);
    check_fault(&faults[0], &(struct skin_fault){SKIN_SINGULAR, SKIN_MESH_WORLD, 0, 0, 0});
    check_fault(&faults[1], &(struct skin_fault){SKIN_NOT_FINITE, SKIN_BONE_WORLD, 0, 14, NAN});
    check_fault(&faults[2], &(struct skin_fault){SKIN_NOT_AFFINE, SKIN_INVERSE_BIND, 5, 7, 1});
    check_fault(&faults[3], &(struct skin_fault){SKIN_NOT_AFFINE, SKIN_BONE_WORLD, 5, 15, 3});
}

static void overflow_depends_on_precision(void **state) {
    (void)state;
    struct skin_mat4 inverse_bind[3] = {IDENTITY, DIAGONAL(1, -1e30, 1), IDENTITY};
    struct skin_mat4 bones[3] = {IDENTITY, DIAGONAL(1, 1e30, 1), DIAGONAL(1, 1, 1e30)};
    struct skin_mat4f inverse_bind32[3];
    struct skin_mat4f bones32[3];
    struct skin_mat4f actual32[3];
    struct skin_mat4 actual[3];
    struct skin_fault fault;
    struct skin_report report = {&fault, 1, 0};
    struct skin_options options = skin_options_default(SKIN_F32);
    for (int i = 0; i < 3; i++) {
        inverse_bind32[i] = narrow(&inverse_bind[i]);
        bones32[i] = narrow(&bones[i]);
    }
    memset(actual32, UNTOUCHED, sizeof actual32);
    assert_int_equal(skin_palette_f32(SKIN_SPACE_WORLD, inverse_bind32, bones32, 3, NULL, NULL,
                                      actual32, &report),
                     SKIN_OVERFLOW);
    assert_int_equal(report.count, 1);
    assert_int_equal(fault.index, 1);
    assert_int_equal(fault.element, 5);
    check_near(fault.value, -1e60, 1e-6);
    check_untouched(actual32, sizeof actual32, UNTOUCHED);
    assert_int_equal(
        skin_palette(SKIN_SPACE_WORLD, inverse_bind, bones, 3, NULL, &options, actual, NULL),
        SKIN_OVERFLOW);
    assert_int_equal(
        skin_palette(SKIN_SPACE_WORLD, inverse_bind, bones, 3, NULL, NULL, actual, NULL), SKIN_OK);
    check_near(actual[1].m[5], -1e60, 1e-15);
    /* The bound over all bones does not rule overflow out here, but each bone fits. */
    inverse_bind32[1] = inverse_bind32[0];
    assert_int_equal(skin_palette_f32(SKIN_SPACE_WORLD, inverse_bind32, bones32, 3, NULL, NULL,
                                      actual32, &report),
                     SKIN_OK);
    check_floats_equal(actual32[2].m, bones32[2].m, 16);
}

/* Three equal terms a sum, so that the bound on results is nearly reached: 3 * 1.06e19^2 is under
 * the largest float32, 3 * 1.07e19^2 over it. */
static void edge_of_float32_is_told_apart(void **state) {
    (void)state;
    static const float sizes[] = {1.06e19F, 1.07e19F, 2e19F};
    for (int i = 0; i < 3; i++) {
        double a = sizes[i];
        struct skin_mat4 wide = linear(a, a, a, a, a, a, a, a, a);
        struct skin_mat4f all = narrow(&wide);
        struct skin_mat4f actual;
        enum skin_status status =
            skin_palette_f32(SKIN_SPACE_WORLD, &all, &all, 1, NULL, NULL, &actual, NULL);
        assert_int_equal(status, i == 0 ? SKIN_OK : SKIN_OVERFLOW);
        if (i == 0) {
            check_near(actual.m[6], 3 * a * a, 1e-7);
        }
    }
}

static void fill_random(uint64_t *seed, struct skin_mat4 *matrices, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct skin_mat4 wide = random_affine(seed, 5, 100);
        struct skin_mat4f rounded = narrow(&wide);
        matrices[i] = widen(&rounded);
    }
}

static void check_aliasing(enum skin_space space, const struct skin_mat4 *inverse_bind,
                           const struct skin_mat4 *bones, size_t count,
                           const struct skin_mat4 *mesh) {
    struct skin_mat4 expected[BONES];
    struct skin_mat4 aliased[BONES];
    memset(expected, UNTOUCHED, sizeof expected);
    assert_int_equal(skin_palette(space, inverse_bind, bones, count, mesh, NULL, expected, NULL),
                     SKIN_OK);
    check_untouched(expected + count, (BONES - count) * sizeof expected[0], UNTOUCHED);
    memcpy(aliased, inverse_bind, sizeof aliased);
    assert_int_equal(skin_palette(space, aliased, bones, count, mesh, NULL, aliased, NULL),
                     SKIN_OK);
    assert_memory_equal(aliased, expected, count * sizeof expected[0]);
    memcpy(aliased, bones, sizeof aliased);
    assert_int_equal(skin_palette(space, inverse_bind, aliased, count, mesh, NULL, aliased, NULL),
                     SKIN_OK);
    assert_memory_equal(aliased, expected, count * sizeof expected[0]);
}

static void aliasing_and_count_change_nothing(void **state) {
    (void)state;
    uint64_t seed = 12;
    struct skin_mat4 mesh;
    struct skin_mat4 inverse_bind[BONES];
    struct skin_mat4 bones[BONES];
    fill_random(&seed, &mesh, 1);
    fill_random(&seed, inverse_bind, BONES);
    fill_random(&seed, bones, BONES);
    for (size_t count = 1; count <= BONES; count++) {
        check_aliasing(SKIN_SPACE_MESH, inverse_bind, bones, count, &mesh);
        check_aliasing(SKIN_SPACE_WORLD, inverse_bind, bones, count, &mesh);
    }
}

static void check_float32_entry(enum skin_space space, uint64_t *seed) {
    struct skin_mat4 mesh;
    struct skin_mat4 inverse_bind[BONES];
    struct skin_mat4 bones[BONES];
    struct skin_mat4 wide[BONES];
    struct skin_mat4f inverse_bind32[BONES];
    struct skin_mat4f bones32[BONES];
    fill_random(seed, &mesh, 1);
    fill_random(seed, inverse_bind, BONES);
    fill_random(seed, bones, BONES);
    struct skin_mat4f mesh32 = narrow(&mesh);
    for (int i = 0; i < BONES; i++) {
        inverse_bind32[i] = narrow(&inverse_bind[i]);
        bones32[i] = narrow(&bones[i]);
    }
    assert_int_equal(skin_palette(space, inverse_bind, bones, BONES, &mesh, NULL, wide, NULL),
                     SKIN_OK);
    assert_int_equal(
        skin_palette_f32(space, inverse_bind32, bones32, BONES, &mesh32, NULL, bones32, NULL),
        SKIN_OK);
    for (int i = 0; i < BONES; i++) {
        struct skin_mat4f once = narrow(&wide[i]);
        check_floats_equal(bones32[i].m, once.m, 16);
    }
}

static void float32_entry_is_the_double_one_rounded(void **state) {
    (void)state;
    uint64_t seed = 13;
    for (int round = 0; round < 50; round++) {
        check_float32_entry(SKIN_SPACE_MESH, &seed);
        check_float32_entry(SKIN_SPACE_WORLD, &seed);
    }
}

static void no_result_is_negative_zero(void **state) {
    (void)state;
    struct skin_mat4 inverse_bind = {{-1, -0.0, -0.0, -0.0, -0.0, -1, -0.0, -0.0, -1e-40, -0.0, -1,
                                      -0.0, -0.0, -1e-60, -0.0, 1}};
    struct skin_mat4 bone = {{-2, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -0.0, -2, -0.0,
                              -0.0, -1e-300, -0.0, 1}};
    struct skin_mat4 mesh = {
        {-1, -0.0, 0, -0.0, -0.0, -1, -0.0, -0.0, -0.0, -0.0, 1, -0.0, 0, -0.0, 0, 1}};
    struct skin_mat4f inverse_bind32 = narrow(&inverse_bind);
    struct skin_mat4f bone32 = narrow(&bone);
    struct skin_mat4f mesh32 = narrow(&mesh);
    for (int space = SKIN_SPACE_MESH; space <= SKIN_SPACE_WORLD; space++) {
        struct skin_mat4 actual;
        struct skin_mat4f actual32;
        assert_int_equal(skin_palette((enum skin_space)space, &inverse_bind, &bone, 1, &mesh, NULL,
                                      &actual, NULL),
                         SKIN_OK);
        assert_int_equal(skin_palette_f32((enum skin_space)space, &inverse_bind32, &bone32, 1,
                                          &mesh32, NULL, &actual32, NULL),
                         SKIN_OK);
        for (int i = 0; i < 16; i++) {
            assert_false(actual.m[i] == 0 && signbit(actual.m[i]));
            assert_false(actual32.m[i] == 0 && signbit(actual32.m[i]));
        }
        for (int i = 3; i < 16; i += 4) {
            assert_true(actual.m[i] == (i == 15));
            assert_true(actual32.m[i] == (float)(i == 15));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seed_by_both_routes_and_the_wrong_one),
        cmocka_unit_test(turned_bone_and_the_wrong_order),
        cmocka_unit_test(bind_pose_gives_identity),
        cmocka_unit_test(common_parent_changes_nothing),
        cmocka_unit_test(animated_pivot_follows_sine_and_cosine),
        cmocka_unit_test(singular_bone_is_legal),
        cmocka_unit_test(far_from_the_origin_is_exact),
        cmocka_unit_test(cancelling_translations_are_exact),
        cmocka_unit_test(zero_bones_still_validate_the_mesh),
        cmocka_unit_test(each_fault_is_told_and_writes_nothing),
        cmocka_unit_test(all_faults_are_counted_in_order),
        cmocka_unit_test(overflow_depends_on_precision),
        cmocka_unit_test(edge_of_float32_is_told_apart),
        cmocka_unit_test(aliasing_and_count_change_nothing),
        cmocka_unit_test(float32_entry_is_the_double_one_rounded),
        cmocka_unit_test(no_result_is_negative_zero),
    };
    return cmocka_run_group_tests_name("lib_palette", tests, NULL, NULL);
}
