/* Inverse bind matrices: I = M0 * inverse(B0), one for each bone.
 * What the bones do afterwards is palette.c's business. */
#include "batch.h"

#include <math.h>

struct bind {
    struct skin_source mesh;
    struct skin_source bones;
    size_t count;
    struct skin_sink inverse_bind;
};

/* Magnitudes over all matrices, to bound the results. */
struct bind_sizes {
    double mesh;
    double bone;
    double inverse;
};

static void bind_check_inputs(const struct bind *bind, struct skin_check *check,
                              struct skin_rows *mesh, struct bind_sizes *sizes) {
    *sizes = (struct bind_sizes){0.0, 0.0, 0.0};
    if (skin_check_load(check, SKIN_MESH_BIND_WORLD, &bind->mesh, 0, mesh)) {
        sizes->mesh = skin_rows_largest(mesh);
    }
    for (size_t i = 0; i < bind->count; i++) {
        struct skin_rows bone;
        struct skin_wide_rows inverse;
        if (skin_check_load(check, SKIN_BONE_BIND_WORLD, &bind->bones, i, &bone) &&
            skin_check_invert(check, SKIN_BONE_BIND_WORLD, i, &bone, &inverse)) {
            sizes->bone = fmax(sizes->bone, skin_rows_largest(&bone));
            sizes->inverse = fmax(sizes->inverse, skin_rows_largest(&inverse.hi));
        }
    }
}

static bool bind_is_bounded(const struct skin_check *check, const struct bind_sizes *sizes) {
    double shifted = sizes->mesh + sizes->bone;
    return skin_check_bound(check, shifted, 3.0 * shifted * sizes->inverse);
}

/* I.R = M0.R * inverse(B0.R), I.t = (M0.t - B0.t) * inverse(B0.R) */
static void bind_compute(const struct bind *bind, const struct skin_rows *mesh, size_t index,
                         struct skin_rows *result) {
    struct skin_rows bone;
    struct skin_wide_rows shifted;
    struct skin_wide_rows inverse;
    double condition;
    skin_source_load(&bind->bones, index, &bone);
    /* Its status is known from the checks. */
    (void)skin_rows_invert(&bone, INFINITY, &inverse, &condition);
    skin_rows_shift(mesh, bone.at[3], &shifted);
    skin_rows_multiply(&shifted, &inverse, NULL, result);
}

static enum skin_status bind_run(const struct bind *bind, struct skin_check *check) {
    struct skin_rows mesh;
    struct skin_rows result;
    struct bind_sizes sizes;
    bind_check_inputs(bind, check, &mesh, &sizes);
    if (check->status == SKIN_OK && !bind_is_bounded(check, &sizes)) {
        for (size_t i = 0; i < bind->count; i++) {
            bind_compute(bind, &mesh, i, &result);
            skin_check_result(check, i, &result);
        }
    }
    if (check->status != SKIN_OK) {
        return check->status;
    }
    for (size_t i = 0; i < bind->count; i++) {
        bind_compute(bind, &mesh, i, &result);
        skin_sink_store(&bind->inverse_bind, check->options.precision, i, &result);
    }
    return SKIN_OK;
}

enum skin_status skin_bind(const struct skin_mat4 *mesh_bind_world,
                           const struct skin_mat4 *bone_bind_world, size_t bone_count,
                           const struct skin_options *options, struct skin_mat4 *inverse_bind,
                           struct skin_report *report) {
    struct skin_check check;
    struct bind bind = {
        .mesh = {.f64 = mesh_bind_world},
        .bones = {.f64 = bone_bind_world},
        .count = bone_count,
        .inverse_bind = {.f64 = inverse_bind},
    };
    skin_check_init(&check, options, SKIN_F64, report);
    return bind_run(&bind, &check);
}

enum skin_status skin_bind_f32(const struct skin_mat4f *mesh_bind_world,
                               const struct skin_mat4f *bone_bind_world, size_t bone_count,
                               const struct skin_options *options, struct skin_mat4f *inverse_bind,
                               struct skin_report *report) {
    struct skin_check check;
    struct bind bind = {
        .mesh = {.f32 = mesh_bind_world},
        .bones = {.f32 = bone_bind_world},
        .count = bone_count,
        .inverse_bind = {.f32 = inverse_bind},
    };
    skin_check_init(&check, options, SKIN_F32, report);
    check.options.precision = SKIN_F32;
    return bind_run(&bind, &check);
}
