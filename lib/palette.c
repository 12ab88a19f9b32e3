/* Skinning palettes: P = I * B * inverse(M) in mesh space, P = I * B in world space.
 * Where the inverse bind matrices come from is bind.c's business; vertices are not seen here. */
#include "batch.h"

#include <math.h>

struct palette {
    enum skin_space space;
    struct skin_source inverse_bind;
    struct skin_source bones;
    size_t count;
    struct skin_source mesh; /* neither is set: world space without a mesh */
    struct skin_sink palette;
};

/* What is the same for every bone. */
struct palette_mesh {
    double origin[3];              /* subtracted from bones; zero in world space */
    struct skin_wide_rows inverse; /* mesh space only */
};

/* Magnitudes over all matrices, to bound the results. */
struct palette_sizes {
    double inverse_bind;
    double bone;
    double origin;
    double inverse;
};

static void palette_check_mesh(const struct palette *palette, struct skin_check *check,
                               struct palette_mesh *mesh, struct palette_sizes *sizes) {
    struct skin_rows rows;
    if (palette->mesh.f64 == NULL && palette->mesh.f32 == NULL) {
        return;
    }
    if (!skin_check_load(check, SKIN_MESH_WORLD, &palette->mesh, 0, &rows)) {
        return;
    }
    if (palette->space == SKIN_SPACE_MESH &&
        skin_check_invert(check, SKIN_MESH_WORLD, 0, &rows, &mesh->inverse)) {
        for (int column = 0; column < 3; column++) {
            mesh->origin[column] = rows.at[3][column];
        }
        sizes->origin = skin_rows_largest(&rows);
        sizes->inverse = skin_rows_largest(&mesh->inverse.hi);
    }
}

static void palette_check_bones(const struct palette *palette, struct skin_check *check,
                                struct palette_sizes *sizes) {
    for (size_t i = 0; i < palette->count; i++) {
        struct skin_rows rows;
        if (skin_check_load(check, SKIN_INVERSE_BIND, &palette->inverse_bind, i, &rows)) {
            sizes->inverse_bind = fmax(sizes->inverse_bind, skin_rows_largest(&rows));
        }
        if (skin_check_load(check, SKIN_BONE_WORLD, &palette->bones, i, &rows)) {
            sizes->bone = fmax(sizes->bone, skin_rows_largest(&rows));
        }
    }
}

static bool palette_is_bounded(const struct palette *palette, const struct skin_check *check,
                               const struct palette_sizes *sizes) {
    double world = 3.0 * sizes->inverse_bind * sizes->bone + sizes->bone + sizes->origin;
    double result = palette->space == SKIN_SPACE_MESH ? 3.0 * world * sizes->inverse : world;
    return skin_check_bound(check, world, result);
}

/* P.R = I.R * B.R * inverse(M.R), P.t = (I.t * B.R + (B.t - M.t)) * inverse(M.R) */
static void palette_compute(const struct palette *palette, const struct palette_mesh *mesh,
                            size_t index, struct skin_rows *result) {
    struct skin_wide_rows inverse_bind = {0};
    struct skin_wide_rows shifted;
    struct skin_rows bone;
    skin_source_load(&palette->inverse_bind, index, &inverse_bind.hi);
    skin_source_load(&palette->bones, index, &bone);
    skin_rows_shift(&bone, mesh->origin, &shifted);
    skin_rows_multiply(&inverse_bind, &shifted,
                       palette->space == SKIN_SPACE_MESH ? &mesh->inverse : NULL, result);
}

static enum skin_status palette_run(const struct palette *palette, struct skin_check *check) {
    struct palette_mesh mesh = {0};
    struct palette_sizes sizes = {0};
    struct skin_rows result;
    palette_check_mesh(palette, check, &mesh, &sizes);
    palette_check_bones(palette, check, &sizes);
    if (check->status == SKIN_OK && !palette_is_bounded(palette, check, &sizes)) {
        for (size_t i = 0; i < palette->count; i++) {
            palette_compute(palette, &mesh, i, &result);
            skin_check_result(check, i, &result);
        }
    }
    if (check->status != SKIN_OK) {
        return check->status;
    }
    for (size_t i = 0; i < palette->count; i++) {
        palette_compute(palette, &mesh, i, &result);
        skin_sink_store(&palette->palette, check->options.precision, i, &result);
    }
    return SKIN_OK;
}

enum skin_status skin_palette(enum skin_space space, const struct skin_mat4 *inverse_bind,
                              const struct skin_mat4 *bone_world, size_t bone_count,
                              const struct skin_mat4 *mesh_world,
                              const struct skin_options *options, struct skin_mat4 *palette,
                              struct skin_report *report) {
    struct skin_check check;
    struct palette job = {
        .space = space,
        .inverse_bind = {.f64 = inverse_bind},
        .bones = {.f64 = bone_world},
        .count = bone_count,
        .mesh = {.f64 = mesh_world},
        .palette = {.f64 = palette},
    };
    skin_check_init(&check, options, SKIN_F64, report);
    return palette_run(&job, &check);
}

enum skin_status skin_palette_f32(enum skin_space space, const struct skin_mat4f *inverse_bind,
                                  const struct skin_mat4f *bone_world, size_t bone_count,
                                  const struct skin_mat4f *mesh_world,
                                  const struct skin_options *options, struct skin_mat4f *palette,
                                  struct skin_report *report) {
    struct skin_check check;
    struct palette job = {
        .space = space,
        .inverse_bind = {.f32 = inverse_bind},
        .bones = {.f32 = bone_world},
        .count = bone_count,
        .mesh = {.f32 = mesh_world},
        .palette = {.f32 = palette},
    };
    skin_check_init(&check, options, SKIN_F32, report);
    check.options.precision = SKIN_F32;
    return palette_run(&job, &check);
}
