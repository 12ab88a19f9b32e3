/* N inverse bind matrices, then for each of F frames a mesh's world matrix and N bones': in, and
 * F * N palettes out. Runs of frames are the items, so that frames fan out over threads. */
#include "palette_frames.h"

#include "arguments.h"
#include "json_write.h"
#include "matrix.h"

#include <stdlib.h>

/* Bytes of bones that make an item worth a thread's while: about 20 microseconds. */
#define ITEM_SIZE ((size_t)64 << 10)

struct frames {
    struct api_call call; /* the options, for reading only once it is open */
    enum skin_space space;
    bool f64;
    size_t matrix_size;
    size_t bone_count;
    size_t frame_count;
    size_t frames_per_item;
    size_t item_count;
    struct api_matrices inverse_bind;
    struct api_matrices result;   /* frame_count * bone_count */
    struct api_problem *problems; /* one for each item */
};

static void frames_destroy(void *state) {
    struct frames *frames = state;
    if (frames == NULL) {
        return;
    }
    for (size_t i = 0; frames->problems != NULL && i < frames->item_count; ++i) {
        api_problem_finish(&frames->problems[i]);
    }
    free(frames->problems);
    api_matrices_finish(&frames->result);
    free(frames);
}

/* ---- open --------------------------------------------------------------------------------- */

/* size = (N + F * (1 + N)) matrices */
static bool count_bones(struct frames *frames) {
    const size_t size = frames->call.request->size;
    const size_t unit = frames->matrix_size;
    const size_t meshes = frames->frame_count * unit;
    const size_t step = (frames->frame_count + 1) * unit;
    if (size < meshes || (size - meshes) % step != 0) {
        struct api_finding *finding = api_problem_add(frames->call.problem, API_SIZE_MISMATCH);
        if (finding != NULL) {
            const size_t below = size < meshes ? 0 : (size - meshes) / step;
            api_text_format(finding->detail, sizeof finding->detail,
                            "%zu bytes do not fit %zu frames: N bones take %zu + N * %zu bytes, so "
                            "%zu for %zu bones, %zu for %zu",
                            size, frames->frame_count, meshes, step, meshes + below * step, below,
                            meshes + (below + 1) * step, below + 1);
        }
        return false;
    }
    frames->bone_count = (size - meshes) / step;
    const size_t results = frames->frame_count * frames->bone_count;
    if (frames->bone_count > API_MAX_BONES || results > API_MAX_REPLY_SIZE / unit) {
        api_problem_set(frames->call.problem, API_LIMIT_EXCEEDED,
                        "at most %d bones and %zu result matrices", API_MAX_BONES,
                        API_MAX_REPLY_SIZE / unit);
        return false;
    }
    return true;
}

/* Matrices of the body, or of the results, from number `first` on. */
static struct api_matrices view(const struct frames *frames, void *bytes, size_t first,
                                const char *member, enum api_layout layout, size_t count) {
    struct api_matrices matrices = {.member = member, .layout = layout, .count = count};
    char *at = (char *)bytes + first * frames->matrix_size;
    if (frames->f64) {
        matrices.f64 = (struct skin_mat4 *)(void *)at;
    } else {
        matrices.f32 = (struct skin_mat4f *)(void *)at;
    }
    return matrices;
}

static void plan_items(struct frames *frames) {
    const size_t frame_size = (frames->bone_count + 1) * frames->matrix_size;
    frames->frames_per_item = frame_size < ITEM_SIZE ? ITEM_SIZE / frame_size : 1;
    frames->item_count =
        (frames->frame_count + frames->frames_per_item - 1) / frames->frames_per_item;
}

static bool allocate(struct frames *frames) {
    const size_t count = frames->frame_count * frames->bone_count;
    void *results = calloc(count + 1, frames->matrix_size);
    frames->problems = calloc(frames->item_count, sizeof *frames->problems);
    frames->result = view(frames, results, 0, "palette", API_LAYOUT_LIST, count);
    frames->result.owned = results;
    if (results == NULL || frames->problems == NULL) {
        api_problem_set(frames->call.problem, API_OVERLOADED, "no memory for the frames");
        return false;
    }
    return true;
}

static bool frames_read(struct frames *frames) {
    struct api_call *call = &frames->call;
    api_query_read(call);
    api_options_read(call);
    frames->space =
        (enum skin_space)api_argument_choice(call, "space", api_space_names, SKIN_SPACE_MESH);
    frames->frame_count = api_query_count(call, "frames", API_MAX_FRAMES);
    frames->f64 = call->options.skin.precision == SKIN_F64;
    frames->matrix_size = frames->f64 ? sizeof(struct skin_mat4) : sizeof(struct skin_mat4f);
    if (call->problem->code != API_OK || !count_bones(frames)) {
        return false;
    }
    plan_items(frames);
    frames->inverse_bind =
        view(frames, call->request->body, 0, "inverseBind", API_LAYOUT_LIST, frames->bone_count);
    api_matrices_to_rows(call, &frames->inverse_bind);
    call->matrix_count = frames->bone_count + frames->frame_count * (1 + frames->bone_count);
    return allocate(frames);
}

static struct frames *frames_create(const struct api_request *request, struct api_reply *reply,
                                    struct api_problem *problem) {
    struct frames *frames = calloc(1, sizeof *frames);
    if (frames == NULL) {
        api_problem_set(problem, API_OVERLOADED, "no memory for the frames");
        return NULL;
    }
    frames->call = (struct api_call){.operation = api_operation_find("palette"),
                                     .request = request,
                                     .problem = problem,
                                     .out = &reply->body};
    (void)frames_read(frames);
    frames->call.problem = NULL; /* each item has its own */
    frames->call.out = NULL;
    return frames;
}

static void *frames_open(const struct api_request *request, size_t *item_count,
                         struct api_reply *reply) {
    struct api_problem problem;
    api_problem_init(&problem);
    api_reply_init(reply);
    struct frames *frames = frames_create(request, reply, &problem);
    if (problem.code != API_OK || frames == NULL) {
        api_reply_set_problem(reply, &problem, request->request_id);
        frames_destroy(frames);
        frames = NULL;
    } else {
        *item_count = frames->item_count;
    }
    api_problem_finish(&problem);
    return frames;
}

/* ---- run ---------------------------------------------------------------------------------- */

static void compute(const struct frames *frames, struct api_matrices *mesh,
                    struct api_matrices *bones, struct api_matrices *result,
                    struct skin_report *report) {
    const struct skin_options *options = &frames->call.options.skin;
    if (frames->f64) {
        (void)skin_palette(frames->space, frames->inverse_bind.f64, bones->f64, bones->count,
                           mesh->f64, options, result->f64, report);
    } else {
        (void)skin_palette_f32(frames->space, frames->inverse_bind.f32, bones->f32, bones->count,
                               mesh->f32, options, result->f32, report);
    }
}

static void run_frame(const struct frames *frames, struct api_call *call, size_t frame) {
    struct skin_fault faults[API_MAX_FINDINGS];
    struct skin_report report = {.faults = faults, .capacity = API_MAX_FINDINGS};
    const size_t bones_here = frames->bone_count;
    const size_t first = bones_here + frame * (1 + bones_here);
    char mesh_member[48];
    char bone_member[48];
    char result_member[48];
    api_text_format(mesh_member, sizeof mesh_member, "frames/%zu/meshWorld", frame);
    api_text_format(bone_member, sizeof bone_member, "frames/%zu/boneWorld", frame);
    api_text_format(result_member, sizeof result_member, "frames/%zu/palette", frame);
    char *body = frames->call.request->body;
    struct api_matrices mesh = view(frames, body, first, mesh_member, API_LAYOUT_SINGLE, 1);
    struct api_matrices bones =
        view(frames, body, first + 1, bone_member, API_LAYOUT_LIST, bones_here);
    void *results = frames->result.owned;
    struct api_matrices result =
        view(frames, results, frame * bones_here, result_member, API_LAYOUT_LIST, bones_here);
    api_matrices_to_rows(call, &mesh);
    api_matrices_to_rows(call, &bones);
    compute(frames, &mesh, &bones, &result, &report);
    const struct api_matrices *const by_operand[SKIN_RESULT + 1] = {
        /* the same in every frame: told once */
        [SKIN_INVERSE_BIND] = frame == 0 ? &frames->inverse_bind : NULL,
        [SKIN_BONE_WORLD] = &bones,
        [SKIN_MESH_WORLD] = &mesh,
        [SKIN_RESULT] = &result};
    api_matrices_report(call, &report, by_operand);
}

static void frames_run(void *state, size_t index) {
    struct frames *frames = state;
    struct api_call call = frames->call;
    call.problem = &frames->problems[index];
    size_t frame = index * frames->frames_per_item;
    const size_t end = frame + frames->frames_per_item;
    for (; frame < end && frame < frames->frame_count; ++frame) {
        run_frame(frames, &call, frame);
    }
}

/* ---- close -------------------------------------------------------------------------------- */

static void frames_write(const struct frames *frames, const struct api_call *call) {
    if (call->request->accept == API_MEDIA_OCTETS) {
        api_matrices_write(call, &frames->result);
        return;
    }
    api_reply_begin(call);
    api_write_key(call->out, "space");
    api_write_string(call->out, api_space_names[frames->space]);
    api_write_key(call->out, "frames");
    api_write_number(call->out, (double)frames->frame_count);
    api_write_key(call->out, "palette");
    api_matrices_write(call, &frames->result);
    api_buffer_text(call->out, "}");
}

static void frames_close(void *state, struct api_reply *reply) {
    struct frames *frames = state;
    struct api_problem problem;
    struct api_call call = frames->call;
    api_problem_init(&problem);
    api_reply_init(reply);
    call.problem = &problem;
    call.out = &reply->body;
    for (size_t i = 0; i < frames->item_count; ++i) {
        api_problem_merge(&problem, &frames->problems[i]);
    }
    call.matrix_faults = problem.count;
    if (problem.code == API_OK) {
        const bool octets = call.request->accept == API_MEDIA_OCTETS;
        reply->media_type = octets ? API_TYPE_OCTETS : API_TYPE_JSON;
        frames_write(frames, &call);
    }
    if (!api_call_check(&call)) {
        api_reply_set_problem(reply, &problem, call.request->request_id);
    }
    api_problem_finish(&problem);
    frames_destroy(frames);
}

const struct api_fan *api_palette_frames_fan(const struct api_request *request) {
    static const struct api_fan fan = {frames_open, frames_run, frames_close, frames_destroy};
    const bool octets = request->content_type == API_MEDIA_OCTETS;
    return octets && api_query_has(request->query, "frames") ? &fan : NULL;
}
