/* POST /v1/palette: skinning palettes P = I * B * inverse(M), or I * B in world space.
 * Takes inverse bind matrices, or the bind pose to make them from. */
#include "arguments.h"
#include "json_write.h"
#include "matrix.h"
#include "palette_frames.h"

#define WORLD_NOTE                                                                                 \
    "vertices come out in world space: the mesh's world transform must not be applied again"

struct frame {
    bool present;
    double mesh;
    double bones;
};

/* inverse_bind holds the bones' bind world matrices first when from_bind_pose is set. */
struct palette {
    enum skin_space space;
    struct frame frame;
    bool from_bind_pose;
    bool has_mesh;
    struct api_matrices mesh_bind;
    struct api_matrices inverse_bind;
    struct api_matrices bone_world;
    struct api_matrices mesh_world;
};

static void palette_finish(struct palette *palette) {
    api_matrices_finish(&palette->mesh_bind);
    api_matrices_finish(&palette->inverse_bind);
    api_matrices_finish(&palette->bone_world);
    api_matrices_finish(&palette->mesh_world);
}

/* ---- writing ------------------------------------------------------------------------------ */

static void frame_write(const struct frame *frame, struct api_buffer *out) {
    if (!frame->present) {
        return;
    }
    api_write_key(out, "frame");
    api_buffer_text(out, "{\"mesh\":");
    api_write_integer(out, frame->mesh);
    api_write_key(out, "bones");
    api_write_integer(out, frame->bones);
    api_buffer_text(out, "}");
}

static void palette_write(const struct api_call *call, const struct palette *palette) {
    const struct api_matrices *result = &palette->inverse_bind;
    if (call->request->accept == API_MEDIA_OCTETS) {
        api_matrices_write(call, result);
        return;
    }
    api_reply_begin(call);
    api_write_key(call->out, "space");
    api_write_string(call->out, api_space_names[palette->space]);
    api_write_key(call->out, "palette");
    api_matrices_write(call, result);
    api_names_write(call);
    frame_write(&palette->frame, call->out);
    if (palette->space == SKIN_SPACE_WORLD) {
        api_write_key(call->out, "note");
        api_write_string(call->out, WORLD_NOTE);
    }
    api_buffer_text(call->out, "}");
}

/* ---- computing ---------------------------------------------------------------------------- */

/* Replaces bind world matrices by inverse bind matrices; by identities when one is unusable, so
 * that the current matrices are still judged. Not rounded to float32: it is an intermediate. */
static void palette_bind(struct api_call *call, struct palette *palette) {
    struct skin_fault faults[API_MAX_FINDINGS];
    struct skin_report report = {.faults = faults, .capacity = API_MAX_FINDINGS};
    struct skin_options options = call->options.skin;
    options.precision = SKIN_F64;
    struct api_matrices *bones = &palette->inverse_bind;
    const enum skin_status status =
        skin_bind(palette->mesh_bind.f64, bones->f64, bones->count, &options, bones->f64, &report);
    const struct api_matrices result = {.member = "inverseBind", .layout = API_LAYOUT_LIST};
    const struct api_matrices *const by_operand[SKIN_RESULT + 1] = {[SKIN_MESH_BIND_WORLD] =
                                                                        &palette->mesh_bind,
                                                                    [SKIN_BONE_BIND_WORLD] = bones,
                                                                    [SKIN_RESULT] = &result};
    api_matrices_report(call, &report, by_operand);
    if (status != SKIN_OK) {
        api_matrices_blank(bones);
    }
}

/* The palette takes the place of the inverse bind matrices. */
static void palette_compute(struct api_call *call, struct palette *palette) {
    struct skin_fault faults[API_MAX_FINDINGS];
    struct skin_report report = {.faults = faults, .capacity = API_MAX_FINDINGS};
    const struct api_matrices *bones = &palette->bone_world;
    const struct api_matrices *mesh = &palette->mesh_world;
    struct api_matrices *result = &palette->inverse_bind;
    if (bones->f32 != NULL) {
        (void)skin_palette_f32(palette->space, result->f32, bones->f32, bones->count, mesh->f32,
                               &call->options.skin, result->f32, &report);
    } else {
        (void)skin_palette(palette->space, result->f64, bones->f64, bones->count, mesh->f64,
                           &call->options.skin, result->f64, &report);
    }
    const struct api_matrices output = {.member = "palette", .layout = API_LAYOUT_LIST};
    const struct api_matrices *const by_operand[SKIN_RESULT + 1] = {
        [SKIN_INVERSE_BIND] = palette->from_bind_pose ? NULL : result,
        [SKIN_BONE_WORLD] = bones,
        [SKIN_MESH_WORLD] = mesh,
        [SKIN_RESULT] = &output};
    api_matrices_report(call, &report, by_operand);
    if (call->problem->code == API_OK) {
        palette_write(call, palette);
    }
}

/* ---- reading ------------------------------------------------------------------------------ */

static enum skin_space read_space(struct api_call *call) {
    return (enum skin_space)api_argument_choice(call, "space", api_space_names, SKIN_SPACE_MESH);
}

static void frame_read(struct api_call *call, struct frame *frame) {
    static const char *const known[] = {"mesh", "bones", NULL};
    const struct json_t *object = api_argument(call, "frame");
    const enum api_kind kind = api_document_kind(call->document, object);
    if (kind == API_KIND_ABSENT) {
        return;
    }
    if (kind != API_KIND_OBJECT) {
        api_call_find(call, API_WRONG_TYPE, "frame", "expected an object, found %s",
                      api_kind_text(kind));
        return;
    }
    api_members_check(call, object, "/frame", known);
    const bool has_mesh = api_integer_read(call, object, "frame", "mesh", &frame->mesh);
    const bool has_bones = api_integer_read(call, object, "frame", "bones", &frame->bones);
    frame->present = has_mesh && has_bones;
    if (frame->present && frame->mesh != frame->bones) {
        api_call_find(call, API_FRAME_MISMATCH, "frame",
                      "the mesh is from frame %.0f, the bones from frame %.0f", frame->mesh,
                      frame->bones);
    }
}

/* Either inverseBind, or the bind pose of mesh and bones. */
static bool bind_read(struct api_call *call, struct palette *palette) {
    const bool has_pose =
        api_argument_given(call, "meshBindWorld") || api_argument_given(call, "boneBindWorld");
    const bool has_inverse = api_argument_given(call, "inverseBind");
    if (has_inverse && has_pose) {
        api_call_find(call, API_BAD_VALUE, "inverseBind",
                      "give either inverseBind, or meshBindWorld and boneBindWorld");
        return false;
    }
    if (!has_pose) {
        return api_matrix_list_read(call, "inverseBind", &palette->inverse_bind);
    }
    palette->from_bind_pose = true;
    const bool has_mesh = api_matrix_read(call, "meshBindWorld", &palette->mesh_bind);
    return api_matrix_list_read(call, "boneBindWorld", &palette->inverse_bind) && has_mesh;
}

static bool mesh_read(struct api_call *call, struct palette *palette) {
    if (palette->space == SKIN_SPACE_WORLD && !api_argument_given(call, "meshWorld")) {
        return true;
    }
    return api_matrix_read(call, "meshWorld", &palette->mesh_world);
}

static bool counts_check(struct api_call *call, const struct palette *palette) {
    const size_t count = palette->inverse_bind.count;
    if (palette->bone_world.count == count) {
        return true;
    }
    api_call_find(call, API_COUNT_MISMATCH, "boneWorld", "%zu matrices for the %zu bones of %s",
                  palette->bone_world.count, count, palette->inverse_bind.member);
    return false;
}

static void palette_json(struct api_call *call) {
    struct palette palette = {.space = read_space(call)};
    frame_read(call, &palette.frame);
    api_names_read(call);
    const bool has_bind = bind_read(call, &palette);
    const bool has_bones = api_matrix_list_read(call, "boneWorld", &palette.bone_world);
    const bool has_mesh = mesh_read(call, &palette);
    if (has_bind) {
        api_names_check(call, palette.inverse_bind.count);
    }
    if (has_bind && has_bones && counts_check(call, &palette) && has_mesh) {
        if (palette.from_bind_pose) {
            palette_bind(call, &palette);
        }
        palette_compute(call, &palette);
    }
    palette_finish(&palette);
}

static void palette_octets(struct api_call *call) {
    struct api_matrices matrices[] = {
        {.member = "meshWorld"}, {.member = "inverseBind"}, {.member = "boneWorld"}};
    struct palette palette = {.space = read_space(call)};
    if (api_argument_given(call, "frames")) {
        /* the fan looks for the plain name */
        api_call_find(call, API_BAD_VALUE, "frames", "write the name without escapes");
        return;
    }
    if (api_matrices_split(call, 1, 2, matrices)) {
        palette.mesh_world = matrices[0];
        palette.inverse_bind = matrices[1];
        palette.bone_world = matrices[2];
        palette_compute(call, &palette);
    }
}

static const struct api_member members[] = {
    {"inverseBind", false},     {"meshBindWorld", false},
    {"boneBindWorld", false},   {"boneWorld", true},
    {"meshWorld", false},       {"space", false},
    {"names", false},           {"frame", false},
    {"convention", false},      {"matrixShape", false},
    {"precision", false},       {"maxCondition", false},
    {"affineTolerance", false}, {NULL, false},
};

static const char *const parameters[] = {"dtype",           "convention", "space", "maxCondition",
                                         "affineTolerance", "frames",     NULL};

const struct api_operation api_op_palette = {
    .name = "palette",
    .summary = "skinning palettes: P = I * B * inverse(M), or I * B in world space",
    .members = members,
    .parameters = parameters,
    .run = palette_json,
    .run_octets = palette_octets,
    .fan = api_palette_frames_fan,
};
