/* Accuracy of bind and palette against exact rational arithmetic (GMP), over random families.
 * The bound is 64 units of 2^-52 relative to the largest of the 12 elements that are computed. */
#include "lib/skin.h"

#include "tests/check.h"
#include "tests/matrices.h"

#include <gmp.h>

#define BOUND 64.0
/* Measured is under a tenth of the promise; over this, products that cancel by tens are no longer
 * computed with care. */
#define MEASURED_BOUND (BOUND / 4)

#define ROUNDS 10000
#define MAX_CONDITION 100.0

/* Row 3 is the translation. */
struct exact {
    mpq_t at[4][3];
};

struct workspace {
    struct exact a, b, c, inverse, product, result;
    mpq_t term, sum, determinant, largest, error;
};

static void exact_init(struct exact *exact) {
    for (int i = 0; i < 12; i++) {
        mpq_init(exact->at[i / 3][i % 3]);
    }
}

static void exact_finish(struct exact *exact) {
    for (int i = 0; i < 12; i++) {
        mpq_clear(exact->at[i / 3][i % 3]);
    }
}

static int setup(void **state) {
    static struct workspace w;
    exact_init(&w.a);
    exact_init(&w.b);
    exact_init(&w.c);
    exact_init(&w.inverse);
    exact_init(&w.product);
    exact_init(&w.result);
    mpq_inits(w.term, w.sum, w.determinant, w.largest, w.error, NULL);
    *state = &w;
    return 0;
}

static int teardown(void **state) {
    struct workspace *w = *state;
    exact_finish(&w->a);
    exact_finish(&w->b);
    exact_finish(&w->c);
    exact_finish(&w->inverse);
    exact_finish(&w->product);
    exact_finish(&w->result);
    mpq_clears(w->term, w->sum, w->determinant, w->largest, w->error, NULL);
    return 0;
}

static void exact_set(struct exact *exact, const struct skin_mat4 *matrix) {
    for (int i = 0; i < 12; i++) {
        mpq_set_d(exact->at[i / 3][i % 3], matrix->m[4 * (i / 3) + i % 3]);
    }
}

/* product = a * b, affine */
static void exact_multiply(struct workspace *w, struct exact *a, struct exact *b,
                           struct exact *product) {
    for (int row = 0; row < 4; row++) {
        for (int column = 0; column < 3; column++) {
            mpq_set_ui(w->sum, 0, 1);
            for (int k = 0; k < 3; k++) {
                mpq_mul(w->term, a->at[row][k], b->at[k][column]);
                mpq_add(w->sum, w->sum, w->term);
            }
            if (row == 3) {
                mpq_add(w->sum, w->sum, b->at[3][column]);
            }
            mpq_set(product->at[row][column], w->sum);
        }
    }
}

/* Full affine inverse: adjugate over determinant, then -t * inverse. */
static void exact_invert(struct workspace *w, struct exact *a, struct exact *inverse) {
    mpq_set_ui(w->determinant, 0, 1);
    for (int row = 0; row < 3; row++) {
        int r1 = (row + 1) % 3;
        int r2 = (row + 2) % 3;
        for (int column = 0; column < 3; column++) {
            int c1 = (column + 1) % 3;
            int c2 = (column + 2) % 3;
            mpq_mul(w->sum, a->at[r1][c1], a->at[r2][c2]);
            mpq_mul(w->term, a->at[r1][c2], a->at[r2][c1]);
            mpq_sub(inverse->at[column][row], w->sum, w->term);
        }
    }
    for (int column = 0; column < 3; column++) {
        mpq_mul(w->term, a->at[0][column], inverse->at[column][0]);
        mpq_add(w->determinant, w->determinant, w->term);
    }
    for (int i = 0; i < 9; i++) {
        mpq_div(inverse->at[i / 3][i % 3], inverse->at[i / 3][i % 3], w->determinant);
    }
    for (int column = 0; column < 3; column++) {
        mpq_set_ui(inverse->at[3][column], 0, 1);
        for (int k = 0; k < 3; k++) {
            mpq_mul(w->term, a->at[3][k], inverse->at[k][column]);
            mpq_sub(inverse->at[3][column], inverse->at[3][column], w->term);
        }
    }
}

/* The 1-norm condition number of the 3x3 part of a, whose inverse is at hand. */
static double exact_condition(struct exact *a, struct exact *inverse) {
    double norms[2] = {0, 0};
    for (int column = 0; column < 3; column++) {
        double sums[2] = {0, 0};
        for (int row = 0; row < 3; row++) {
            sums[0] += fabs(mpq_get_d(a->at[row][column]));
            sums[1] += fabs(mpq_get_d(inverse->at[row][column]));
        }
        norms[0] = fmax(norms[0], sums[0]);
        norms[1] = fmax(norms[1], sums[1]);
    }
    return norms[0] * norms[1];
}

/* The largest error in units of 2^-52 of the largest element. */
static double units_off(struct workspace *w, const struct skin_mat4 *actual, struct exact *exact) {
    double worst = 0;
    mpq_set_ui(w->largest, 0, 1);
    for (int i = 0; i < 12; i++) {
        mpq_abs(w->term, exact->at[i / 3][i % 3]);
        if (mpq_cmp(w->term, w->largest) > 0) {
            mpq_set(w->largest, w->term);
        }
    }
    for (int i = 0; i < 12; i++) {
        mpq_set_d(w->error, actual->m[4 * (i / 3) + i % 3]);
        mpq_sub(w->error, w->error, exact->at[i / 3][i % 3]);
        mpq_div(w->error, w->error, w->largest);
        worst = fmax(worst, fabs(mpq_get_d(w->error)) * 0x1p52);
    }
    return worst;
}

/* How inputs are drawn. `near`: results cancel to about that, relative to their factors. */
struct family {
    const char *name;
    double stretch;
    double reach;
    double near;
};

static const struct family families[] = {
    {"ordinary: condition under 100, near the origin", 12, 10, 0},
    {"far: translations to 1e9", 12, 1e9, 0},
    {"rigid: rotation and uniform scale", 1, 100, 0},
    {"near bind pose, far apart: translations cancel", 3, 1e8, 1e-4},
    {"near bind pose, a step apart: translations cancel a little", 2, 10, 1e-3},
    {"near bind pose, some steps apart: translations cancel by tens", 2, 40, 1e-3},
    {"near bind pose, stretched: rotations cancel too", 20, 10, 1e-6},
};
#define FAMILIES (sizeof families / sizeof families[0])

static void perturb(uint64_t *seed, struct skin_mat4 *matrix, double by) {
    for (int i = 0; i < 15; i++) {
        if (i % 4 != 3) {
            matrix->m[i] *= 1 + random_between(seed, -by, by);
        }
    }
}

static struct skin_mat4 draw(struct workspace *w, uint64_t *seed, const struct family *family) {
    struct skin_mat4 matrix;
    do {
        matrix = random_affine(seed, family->stretch, family->reach);
        exact_set(&w->a, &matrix);
        exact_invert(w, &w->a, &w->inverse);
    } while (exact_condition(&w->a, &w->inverse) >= MAX_CONDITION);
    return matrix;
}

static double bind_once(struct workspace *w, uint64_t *seed, const struct family *family) {
    struct skin_mat4 bone = draw(w, seed, family);
    struct skin_mat4 mesh = bone;
    struct skin_mat4 actual;
    if (family->near == 0) {
        mesh = random_affine(seed, family->stretch, family->reach);
    } else {
        perturb(seed, &mesh, family->near);
    }
    assert_int_equal(skin_bind(&mesh, &bone, 1, NULL, &actual, NULL), SKIN_OK);
    exact_set(&w->a, &bone);
    exact_invert(w, &w->a, &w->inverse);
    exact_set(&w->b, &mesh);
    exact_multiply(w, &w->b, &w->inverse, &w->result);
    return units_off(w, &actual, &w->result);
}

static double palette_once(struct workspace *w, uint64_t *seed, const struct family *family,
                           enum skin_space space) {
    struct skin_mat4 mesh = draw(w, seed, family);
    struct skin_mat4 bone = random_affine(seed, family->stretch, family->reach);
    struct skin_mat4 inverse_bind = random_affine(seed, family->stretch, family->reach);
    struct skin_mat4 actual;
    if (family->near != 0) {
        assert_int_equal(skin_bind(&mesh, &bone, 1, NULL, &inverse_bind, NULL), SKIN_OK);
        perturb(seed, &bone, family->near);
    }
    assert_int_equal(skin_palette(space, &inverse_bind, &bone, 1, &mesh, NULL, &actual, NULL),
                     SKIN_OK);
    exact_set(&w->a, &inverse_bind);
    exact_set(&w->b, &bone);
    exact_multiply(w, &w->a, &w->b, &w->product);
    if (space == SKIN_SPACE_WORLD) {
        return units_off(w, &actual, &w->product);
    }
    exact_set(&w->c, &mesh);
    exact_invert(w, &w->c, &w->inverse);
    exact_multiply(w, &w->product, &w->inverse, &w->result);
    return units_off(w, &actual, &w->result);
}

static void bind_is_exact(void **state) {
    struct workspace *w = *state;
    uint64_t seed = 31;
    for (size_t f = 0; f < FAMILIES; f++) {
        double worst = 0;
        for (int i = 0; i < ROUNDS; i++) {
            worst = fmax(worst, bind_once(w, &seed, &families[f]));
        }
        print_message("    %s: %d, worst %.2f units\n", families[f].name, ROUNDS, worst);
        assert_true(worst <= MEASURED_BOUND);
    }
}

static void palette_in_mesh_space_is_exact(void **state) {
    struct workspace *w = *state;
    uint64_t seed = 32;
    for (size_t f = 0; f < FAMILIES; f++) {
        double worst = 0;
        for (int i = 0; i < ROUNDS; i++) {
            worst = fmax(worst, palette_once(w, &seed, &families[f], SKIN_SPACE_MESH));
        }
        print_message("    %s: %d, worst %.2f units\n", families[f].name, ROUNDS, worst);
        assert_true(worst <= MEASURED_BOUND);
    }
}

static void palette_in_world_space_is_exact(void **state) {
    struct workspace *w = *state;
    uint64_t seed = 33;
    for (size_t f = 0; f < FAMILIES; f++) {
        double worst = 0;
        for (int i = 0; i < ROUNDS; i++) {
            worst = fmax(worst, palette_once(w, &seed, &families[f], SKIN_SPACE_WORLD));
        }
        print_message("    %s: %d, worst %.2f units\n", families[f].name, ROUNDS, worst);
        assert_true(worst <= MEASURED_BOUND);
    }
}

/* Random small integers times powers of two over all of double's range: whether there is an
 * inverse is decided as GMP decides it. */
static void singularity_is_exact(void **state) {
    struct workspace *w = *state;
    uint64_t seed = 34;
    int singular = 0;
    for (int i = 0; i < 50000; i++) {
        struct skin_mat4 matrix = scaling(1, 1, 1);
        struct skin_mat4 actual;
        int spread = i % 2 == 0 ? 4 : 900;
        for (int k = 0; k < 9; k++) {
            int exponent = (int)random_between(&seed, -spread, spread);
            int digit = (int)random_between(&seed, -3, 4);
            matrix.m[4 * (k / 3) + k % 3] = ldexp(digit, i % 2 == 0 ? 0 : exponent);
        }
        if (i % 3 == 0) { /* row 2 a multiple of row 0, by a power of two */
            for (int k = 0; k < 3; k++) {
                matrix.m[8 + k] = 0.25 * matrix.m[k];
            }
        }
        exact_set(&w->a, &matrix);
        mpq_set_ui(w->determinant, 0, 1);
        for (int k = 0; k < 3; k++) {
            mpq_mul(w->sum, w->a.at[1][(k + 1) % 3], w->a.at[2][(k + 2) % 3]);
            mpq_mul(w->term, w->a.at[1][(k + 2) % 3], w->a.at[2][(k + 1) % 3]);
            mpq_sub(w->sum, w->sum, w->term);
            mpq_mul(w->term, w->sum, w->a.at[0][k]);
            mpq_add(w->determinant, w->determinant, w->term);
        }
        enum skin_status status = skin_mat4_invert(&matrix, INFINITY, &actual, NULL);
        assert_int_equal(status == SKIN_SINGULAR, mpq_sgn(w->determinant) == 0);
        singular += status == SKIN_SINGULAR;
    }
    print_message("    50000 matrices, %d of them singular\n", singular);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bind_is_exact),
        cmocka_unit_test(palette_in_mesh_space_is_exact),
        cmocka_unit_test(palette_in_world_space_is_exact),
        cmocka_unit_test(singularity_is_exact),
    };
    return cmocka_run_group_tests_name("lib_exact", tests, setup, teardown);
}
