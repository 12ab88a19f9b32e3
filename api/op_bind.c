/* POST /v1/bind: inverse bind matrices I = M0 * inverse(B0), one for each bone of one mesh.
 * Reads, calls lib, writes; the mathematics is in lib/bind.c. */
#include "arguments.h"
#include "json_write.h"
#include "matrix.h"

static void bind_write(const struct api_call *call, const struct api_matrices *inverse_bind) {
    if (call->request->accept == API_MEDIA_OCTETS) {
        api_matrices_write(call, inverse_bind);
        return;
    }
    api_reply_begin(call);
    api_write_key(call->out, "inverseBind");
    api_matrices_write(call, inverse_bind);
    api_names_write(call);
    api_buffer_text(call->out, "}");
}

/* The results take the place of the bones' bind matrices. */
static void bind_compute(struct api_call *call, const struct api_matrices *mesh,
                         struct api_matrices *bones) {
    struct skin_fault faults[API_MAX_FINDINGS];
    struct skin_report report = {.faults = faults, .capacity = API_MAX_FINDINGS};
    const struct skin_options *options = &call->options.skin;
    if (bones->f32 != NULL) {
        (void)skin_bind_f32(mesh->f32, bones->f32, bones->count, options, bones->f32, &report);
    } else {
        (void)skin_bind(mesh->f64, bones->f64, bones->count, options, bones->f64, &report);
    }
    struct api_matrices result = {.member = "inverseBind", .layout = API_LAYOUT_LIST};
    const struct api_matrices *const by_operand[SKIN_RESULT + 1] = {
        [SKIN_MESH_BIND_WORLD] = mesh, [SKIN_BONE_BIND_WORLD] = bones, [SKIN_RESULT] = &result};
    api_matrices_report(call, &report, by_operand);
    if (call->problem->code == API_OK) {
        bind_write(call, bones);
    }
}

static void bind_json(struct api_call *call) {
    struct api_matrices mesh;
    struct api_matrices bones;
    api_names_read(call);
    const bool has_mesh = api_matrix_read(call, "meshBindWorld", &mesh);
    const bool has_bones = api_matrix_list_read(call, "boneBindWorld", &bones);
    if (has_bones) {
        api_names_check(call, bones.count);
    }
    if (has_mesh && has_bones) {
        bind_compute(call, &mesh, &bones);
    }
    api_matrices_finish(&mesh);
    api_matrices_finish(&bones);
}

static void bind_octets(struct api_call *call) {
    struct api_matrices matrices[] = {{.member = "meshBindWorld"}, {.member = "boneBindWorld"}};
    if (api_matrices_split(call, 1, 1, matrices)) {
        bind_compute(call, &matrices[0], &matrices[1]);
    }
}

static const struct api_member members[] = {
    {"meshBindWorld", true}, {"boneBindWorld", true},    {"names", false},
    {"convention", false},   {"matrixShape", false},     {"precision", false},
    {"maxCondition", false}, {"affineTolerance", false}, {NULL, false},
};

static const char *const parameters[] = {"dtype", "convention", "maxCondition", "affineTolerance",
                                         NULL};

const struct api_operation api_op_bind = {
    .name = "bind",
    .summary = "inverse bind matrices of one mesh: I = M0 * inverse(B0)",
    .members = members,
    .parameters = parameters,
    .run = bind_json,
    .run_octets = bind_octets,
};
