/* The single-matrix functions: TRS, multiply, invert and its guard, points, options, texts.
 * Arrays of bones are in lib_bind.c and lib_palette.c. */
#include "lib/skin.h"

#include "tests/check.h"
#include "tests/matrices.h"

#define UNTOUCHED 0xa5

static void trs_by_hand(void **state) {
    (void)state;
    const double t[3] = {5, -6, 7};
    const double half_root = 0.70710678118654757;
    const double q[4] = {0, 0, half_root, half_root}; /* 90 degrees about z */
    const double s[3] = {2, 3, 4};
    struct skin_mat4 rotation = linear(0, 1, 0, -1, 0, 0, 0, 0, 1);
    /* x is scaled by 2, then turned to y; y by 3, then turned to -x. */
    struct skin_mat4 all = {{0, 2, 0, 0, -3, 0, 0, 0, 0, 0, 4, 0, 5, -6, 7, 1}};
    struct skin_mat4 scale = scaling(2, 3, 4);
    struct skin_mat4 move = translation(5, -6, 7);
    struct skin_mat4 identity = scaling(1, 1, 1);
    struct skin_mat4 actual;
    assert_int_equal(skin_mat4_from_trs(t, q, s, &actual), SKIN_OK);
    check_array_equal(actual.m, all.m, 16);
    assert_int_equal(skin_mat4_from_trs(NULL, q, NULL, &actual), SKIN_OK);
    check_array_equal(actual.m, rotation.m, 16);
    assert_int_equal(skin_mat4_from_trs(NULL, NULL, s, &actual), SKIN_OK);
    check_array_equal(actual.m, scale.m, 16);
    assert_int_equal(skin_mat4_from_trs(t, NULL, NULL, &actual), SKIN_OK);
    check_array_equal(actual.m, move.m, 16);
    assert_int_equal(skin_mat4_from_trs(NULL, NULL, NULL, &actual), SKIN_OK);
    check_array_equal(actual.m, identity.m, 16);
}

/* 120 degrees about (1,1,1) sends x to y, y to z, z to x; -0.0 nowhere. */
static void trs_third_of_a_turn(void **state) {
    (void)state;
    const double q[4] = {0.5, 0.5, 0.5, 0.5};
    const double t[3] = {-0.0, -0.0, -0.0};
    const double s[3] = {-1, -1, -1};
    struct skin_mat4 expected = linear(0, -1, 0, 0, 0, -1, -1, 0, 0);
    struct skin_mat4 actual;
    assert_int_equal(skin_mat4_from_trs(t, q, s, &actual), SKIN_OK);
    check_array_equal(actual.m, expected.m, 16);
}

/* Against Rodrigues' rotation of a point about an axis. */
static void trs_rotates_as_rodrigues_says(void **state) {
    (void)state;
    uint64_t seed = 21;
    for (int i = 0; i < 1000; i++) {
        double axis[3];
        double p[3];
        double actual[3];
        double expected[3];
        double length = 0;
        double dot = 0;
        double angle = random_between(&seed, -7, 7);
        struct skin_mat4 matrix;
        for (int k = 0; k < 3; k++) {
            axis[k] = random_between(&seed, -1, 1);
            p[k] = random_between(&seed, -9, 9);
            length += axis[k] * axis[k];
        }
        for (int k = 0; k < 3; k++) {
            axis[k] /= sqrt(length);
            dot += axis[k] * p[k];
        }
        for (int k = 0; k < 3; k++) {
            double cross = axis[(k + 1) % 3] * p[(k + 2) % 3] - axis[(k + 2) % 3] * p[(k + 1) % 3];
            expected[k] = p[k] * cos(angle) + cross * sin(angle) + axis[k] * dot * (1 - cos(angle));
        }
        double h = sin(angle / 2);
        const double q[4] = {axis[0] * h, axis[1] * h, axis[2] * h, cos(angle / 2)};
        assert_int_equal(skin_mat4_from_trs(NULL, q, NULL, &matrix), SKIN_OK);
        skin_transform_point(p, &matrix, actual);
        check_array_near(actual, expected, 3, 4e-15);
    }
}

static void trs_refuses_what_is_not_unit(void **state) {
    (void)state;
    static const double refused[][4] = {{0.5, 0, 0, 0.5},  {0, 0, 0, 0},   {0, 0, 0, 1.0011},
                                        {0, 0, 0, 0.9989}, {0, NAN, 0, 1}, {INFINITY, 0, 0, 0},
                                        {1e200, 0, 0, 0},  {1, 1, 1, 1}};
    static const double accepted[][4] = {{0, 0, 0, 1.0009}, {0, 0, 0, -0.9991}};
    struct skin_mat4 identity = scaling(1, 1, 1);
    struct skin_mat4 actual;
    memset(&actual, UNTOUCHED, sizeof actual);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        assert_int_equal(skin_mat4_from_trs(NULL, refused[i], NULL, &actual),
                         SKIN_NOT_UNIT_QUATERNION);
        check_untouched(&actual, sizeof actual, UNTOUCHED);
    }
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; i++) {
        assert_int_equal(skin_mat4_from_trs(NULL, accepted[i], NULL, &actual), SKIN_OK);
        check_array_equal(actual.m, identity.m, 16);
    }
}

static void trs_shows_elements_that_are_not_finite(void **state) {
    (void)state;
    const double t[3] = {0, INFINITY, 0};
    const double s[3] = {1, 1, NAN};
    struct skin_mat4 actual;
    assert_int_equal(skin_mat4_from_trs(t, NULL, s, &actual), SKIN_OK);
    assert_true(isinf(actual.m[13]));
    assert_true(isnan(actual.m[10]));
}

static void multiply_by_hand_and_aliased(void **state) {
    (void)state;
    struct skin_mat4 a = {{1, 2, 0, 0, 0, 1, 3, 0, 4, 0, 1, 0, 5, 6, 7, 1}};
    struct skin_mat4 b = {{2, 0, 1, 0, 1, 1, 0, 0, 0, 3, 1, 0, -1, 0, 2, 1}};
    struct skin_mat4 expected = {{4, 2, 1, 0, 1, 10, 3, 0, 8, 3, 5, 0, 15, 27, 14, 1}};
    struct skin_mat4 actual;
    skin_mat4_multiply(&a, &b, &actual);
    check_array_equal(actual.m, expected.m, 16);
    actual = a;
    skin_mat4_multiply(&actual, &b, &actual);
    check_array_equal(actual.m, expected.m, 16);
    actual = b;
    skin_mat4_multiply(&a, &actual, &actual);
    check_array_equal(actual.m, expected.m, 16);
}

static void point_by_hand_and_aliased(void **state) {
    (void)state;
    struct skin_mat4 a = {{1, 2, 0, 0, 0, 1, 3, 0, 4, 0, 1, 0, 5, 6, 7, 1}};
    double p[3] = {1, -1, 2};
    skin_transform_point(p, &a, p);
    check_array_equal(p, ((const double[]){14, 7, 6}), 3);
}

/* inverse [1 2 0; 0 1 3; 4 0 1] = [1 -2 6; 12 1 -3; -4 8 1] / 25; column sums 5, 3, 4 and
 * 17, 11, 10 over 25: condition 5 * 17 / 25. */
static void invert_by_hand_and_aliased(void **state) {
    (void)state;
    struct skin_mat4 a = {{1, 2, 0, 0, 0, 1, 3, 0, 4, 0, 1, 0, 25, 0, -50, 1}};
    struct skin_mat4 expected = {{1 / 25., -2 / 25., 6 / 25., 0, 12 / 25., 1 / 25., -3 / 25., 0,
                                  -4 / 25., 8 / 25., 1 / 25., 0, -9, 18, -4, 1}};
    struct skin_mat4 actual;
    double condition;
    assert_int_equal(skin_mat4_invert(&a, 1e12, &actual, &condition), SKIN_OK);
    check_array_near(actual.m, expected.m, 12, 1e-16);
    check_array_near(actual.m + 12, expected.m + 12, 4, 1e-16);
    check_near(condition, 3.4, 1e-15);
    assert_int_equal(skin_mat4_invert(&a, 1e12, &a, NULL), SKIN_OK);
    check_array_equal(a.m, actual.m, 16);
}

static void diagonals_invert_to_the_nearest_double(void **state) {
    (void)state;
    uint64_t seed = 22;
    for (int i = 0; i < 1000; i++) {
        double x = random_log(&seed, 1e-3, 1e3);
        double y = -random_log(&seed, 1e-3, 1e3);
        double z = random_log(&seed, 1e-3, 1e3);
        struct skin_mat4 a = scaling(x, y, z);
        struct skin_mat4 expected = scaling(1 / x, 1 / y, 1 / z);
        struct skin_mat4 actual;
        assert_int_equal(skin_mat4_invert(&a, 1e12, &actual, NULL), SKIN_OK);
        check_array_equal(actual.m, expected.m, 16);
    }
}

/* A shear [1 k 0; 0 1 0; 0 0 1] times a power of two has condition (1 + k)^2 exactly, and is
 * judged alike at every scale. */
static void guard_is_free_of_scale(void **state) {
    (void)state;
    int count = 0;
    for (int exponent = -1000; exponent <= 1000; exponent += 8) {
        for (int bits = 1; bits < 20; bits++) {
            double k = ldexp(1, bits) - 1;
            double s = ldexp(1, exponent);
            struct skin_mat4 a = linear(s, k * s, 0, 0, s, 0, 0, 0, s);
            struct skin_mat4 expected = linear(1 / s, -k / s, 0, 0, 1 / s, 0, 0, 0, 1 / s);
            struct skin_mat4 actual;
            double limit = (1 + k) * (1 + k);
            double condition;
            memset(&actual, UNTOUCHED, sizeof actual);
            assert_int_equal(skin_mat4_invert(&a, limit, &actual, &condition),
                             SKIN_ILL_CONDITIONED);
            assert_true(condition == limit);
            check_untouched(&actual, sizeof actual, UNTOUCHED);
            assert_int_equal(skin_mat4_invert(&a, nextafter(limit, INFINITY), &actual, &condition),
                             SKIN_OK);
            check_array_equal(actual.m, expected.m, 16);
            count += 2;
        }
    }
    print_message("    %d judgements over scales 2^-1000 to 2^1000\n", count);
}

struct guard_row {
    const char *name;
    struct skin_mat4 matrix;
    enum skin_status status;
    double condition;
};

#define MATRIX(a, b, c, d, e, f, g, h, i)                                                          \
    {                                                                                              \
        { a, b, c, 0, d, e, f, 0, g, h, i, 0, 0, 0, 0, 1 }                                         \
    }

static const struct guard_row guard_rows[] = {
    {"condition 1e9", MATRIX(1, 0, 0, 0, 1, 0, 0, 0, 1e-9), SKIN_OK, 1e9},
    {"condition 1e13", MATRIX(1, 0, 0, 0, 1, 0, 0, 0, 1e-13), SKIN_ILL_CONDITIONED, 1e13},
    {"condition 1e200", MATRIX(1, 0, 0, 0, 1, 0, 0, 0, 1e-200), SKIN_ILL_CONDITIONED, 1e200},
    {"rank 2, integers", MATRIX(1, 2, 3, 4, 5, 6, 7, 8, 9), SKIN_SINGULAR, INFINITY},
    {"rank 2, tiny", MATRIX(1e-300, 2e-300, 3e-300, 0, 5e-300, 6e-300, 1e-300, 2e-300, 3e-300),
     SKIN_SINGULAR, INFINITY},
    {"rank 2, huge", MATRIX(1e300, 2e300, 3e300, 0, 5e300, 6e300, 1e300, 2e300, 3e300),
     SKIN_SINGULAR, INFINITY},
    {"rank 2, 2^52 apart", MATRIX(0x1p52, 1, 0, 0, 0x1p52, 1, 0x1p52, 0x1p52 + 1, 1), SKIN_SINGULAR,
     INFINITY},
    {"rank 1", MATRIX(0.1, 0.2, 0.4, 0.2, 0.4, 0.8, 0.3, 0.6, 1.2), SKIN_SINGULAR, INFINITY},
    {"one tiny element", MATRIX(0, 0, 0, 0, 5e-324, 0, 0, 0, 0), SKIN_SINGULAR, INFINITY},
    /* Column sums of the matrix: 12, 15, 18; of the adjugate, but for 2^-49: 12, 24, 12. The
     * determinant is 2^-49 times the corner's cofactor 1 * 5 - 2 * 4. */
    {"123 456 789 with one unit in the last place more in the 9",
     MATRIX(1, 2, 3, 4, 5, 6, 7, 8, 9 + 0x1p-49), SKIN_ILL_CONDITIONED, 18. * 24. / (3. * 0x1p-49)},
    {"uniform 1e-300, determinant 1e-900 is no double",
     MATRIX(1e-300, 0, 0, 0, 1e-300, 0, 0, 0, 1e-300), SKIN_OK, 1},
    {"not singular, though the determinant underflows at any common scale",
     MATRIX(1, 0, 0, 0, 1e-200, 0, 0, 0, 1e-200), SKIN_ILL_CONDITIONED, INFINITY},
    {"inverse beyond double", MATRIX(1e-310, 0, 0, 0, 1e-310, 0, 0, 0, 1e-310), SKIN_OVERFLOW, 1},
    {"NaN", MATRIX(1, 0, 0, 0, NAN, 0, 0, 0, 1), SKIN_NOT_FINITE, INFINITY},
    {"infinite", MATRIX(1, 0, 0, 0, 1, 0, 0, 0, INFINITY), SKIN_NOT_FINITE, INFINITY},
};

static void guard_tells_singular_from_ill_conditioned(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof guard_rows / sizeof guard_rows[0]; i++) {
        const struct guard_row *row = &guard_rows[i];
        struct skin_mat4 actual;
        double condition = -1;
        print_message("    %s\n", row->name);
        memset(&actual, UNTOUCHED, sizeof actual);
        assert_int_equal(skin_mat4_invert(&row->matrix, 1e12, &actual, &condition), row->status);
        if (row->status != SKIN_OK) {
            check_untouched(&actual, sizeof actual, UNTOUCHED);
        }
        if (isinf(row->condition)) {
            assert_true(condition == row->condition);
        } else {
            check_near(condition, row->condition, 1e-14);
        }
    }
}

/* Row 2 is 3 * row 0 - 2 * row 1 in exact integers, at sizes where rounding would hide it. */
static void dependent_integer_rows_are_singular(void **state) {
    (void)state;
    uint64_t seed = 23;
    int count = 0;
    for (; count < 20000; count++) {
        struct skin_mat4 a = scaling(1, 1, 1);
        struct skin_mat4 actual;
        double size = ldexp(1, 3 + count % 46);
        for (int i = 0; i < 3; i++) {
            a.m[i] = floor(random_between(&seed, -size, size));
            a.m[4 + i] = floor(random_between(&seed, -size, size));
            a.m[8 + i] = 3 * a.m[i] - 2 * a.m[4 + i];
        }
        assert_int_equal(skin_mat4_invert(&a, INFINITY, &actual, NULL), SKIN_SINGULAR);
    }
    print_message("    %d singular matrices\n", count);
}

static void translation_alone_can_overflow_an_inverse(void **state) {
    (void)state;
    struct skin_mat4 a = scaling(1e-200, 1e-200, 1e-200);
    struct skin_mat4 actual;
    double condition;
    a.m[13] = 1e200;
    memset(&actual, UNTOUCHED, sizeof actual);
    assert_int_equal(skin_mat4_invert(&a, 1e12, &actual, &condition), SKIN_OVERFLOW);
    check_near(condition, 1, 1e-15);
    check_untouched(&actual, sizeof actual, UNTOUCHED);
}

static void defaults_and_texts(void **state) {
    (void)state;
    struct skin_options f64 = skin_options_default(SKIN_F64);
    struct skin_options f32 = skin_options_default(SKIN_F32);
    assert_true(f64.affine_tolerance == 0 && f32.affine_tolerance == 0);
    assert_true(f64.max_condition == 1e12 && f32.max_condition == 1e6);
    assert_true(f64.precision == SKIN_F64 && f32.precision == SKIN_F32);
    for (int a = SKIN_OK; a <= SKIN_NOT_UNIT_QUATERNION; a++) {
        assert_true(strlen(skin_status_text((enum skin_status)a)) > 0);
        for (int b = SKIN_OK; b < a; b++) {
            assert_string_not_equal(skin_status_text((enum skin_status)a),
                                    skin_status_text((enum skin_status)b));
        }
    }
    assert_string_equal(skin_status_text(SKIN_SINGULAR), "matrix has no inverse");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trs_by_hand),
        cmocka_unit_test(trs_third_of_a_turn),
        cmocka_unit_test(trs_rotates_as_rodrigues_says),
        cmocka_unit_test(trs_refuses_what_is_not_unit),
        cmocka_unit_test(trs_shows_elements_that_are_not_finite),
        cmocka_unit_test(multiply_by_hand_and_aliased),
        cmocka_unit_test(point_by_hand_and_aliased),
        cmocka_unit_test(invert_by_hand_and_aliased),
        cmocka_unit_test(diagonals_invert_to_the_nearest_double),
        cmocka_unit_test(guard_is_free_of_scale),
        cmocka_unit_test(guard_tells_singular_from_ill_conditioned),
        cmocka_unit_test(dependent_integer_rows_are_singular),
        cmocka_unit_test(translation_alone_can_overflow_an_inverse),
        cmocka_unit_test(defaults_and_texts),
    };
    return cmocka_run_group_tests_name("lib_mat4", tests, NULL, NULL);
}
