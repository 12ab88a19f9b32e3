/* The whole public face of libskin: bind matrices and skinning palettes over arrays of bones.
 * It is not a scene graph, a file reader or a service: no I/O, no threads, no allocation.
 *
 * Conventions, everywhere:
 *   - Row vectors: p' = p * A * B applies A first, then B. Row 3 holds the translation.
 *     m[4 * row + column], so the translation is m[12], m[13], m[14].
 *   - Matrices are affine: finite, and the last column is exactly 0, 0, 0, 1 (or within
 *     skin_options.affine_tolerance of it, and then taken as exactly that).
 *   - All arithmetic is in double precision. The _f32 entries widen each input exactly, compute
 *     in double, and round each result once to float32.
 *   - Results never hold a NaN, an infinity or a negative zero; their last column is 0, 0, 0, 1.
 *   - A result of bind or palette is off by at most 64 units of 2^-52 relative to its largest
 *     element, as long as no more than about 40 bits of its sums cancel and nothing falls below
 *     double's range on the way; what falls below it becomes zero. An intermediate beyond double's
 *     range counts as an overflow of the result.
 *   - All or nothing: unless a function returns SKIN_OK it has written no result at all, also
 *     where results alias inputs. Where aliasing is allowed it is of whole arrays: the same
 *     address, or no overlap.
 *   - Only what is inverted must be invertible: bone bind world (bind) and mesh world (palette in
 *     mesh space). A singular current bone is legal; a zero scale hides parts of a mesh.
 *
 * Thread safety: no state, so any function may run on any thread. */
#ifndef SKIN_H
#define SKIN_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

struct skin_mat4 {
    double m[16];
};

struct skin_mat4f {
    float m[16];
};

enum skin_status {
    SKIN_OK = 0,
    SKIN_NOT_FINITE,          /* an element is NaN or infinite */
    SKIN_NOT_AFFINE,          /* the last column is not 0, 0, 0, 1 */
    SKIN_SINGULAR,            /* must be inverted and has no inverse */
    SKIN_ILL_CONDITIONED,     /* must be inverted; condition number at or over max_condition */
    SKIN_OVERFLOW,            /* a result, or what leads to it, does not fit the precision */
    SKIN_NOT_UNIT_QUATERNION, /* a rotation whose length is not 1 */
};

/* Which matrix a fault speaks of. */
enum skin_operand {
    SKIN_MESH_BIND_WORLD, /* M0: mesh to world when bound */
    SKIN_BONE_BIND_WORLD, /* B0: bone to world when bound */
    SKIN_INVERSE_BIND,    /* I:  mesh to bone when bound */
    SKIN_BONE_WORLD,      /* B:  bone to world now */
    SKIN_MESH_WORLD,      /* M:  mesh to world now */
    SKIN_RESULT,          /* what the function computes for the bone of that index */
};

enum skin_precision { SKIN_F64, SKIN_F32 };

/* Where the vertices that a palette produces live. */
enum skin_space {
    SKIN_SPACE_MESH,  /* mesh-local: the drawing side applies the mesh's world transform once */
    SKIN_SPACE_WORLD, /* world: the mesh's world transform must not be applied again */
};

/* One unusable matrix. `element` is the offending element's place, 0 to 15, else 0.
 * `value` by status:
 *   SKIN_NOT_FINITE, SKIN_NOT_AFFINE  that element's value
 *   SKIN_SINGULAR                     0
 *   SKIN_ILL_CONDITIONED              the condition number; infinite when it is beyond double's
 *                                     range, or too large to be known
 *   SKIN_OVERFLOW                     the result's first element that does not fit, before rounding
 *                                     to float32; infinite when beyond double's range. When it is
 *                                     the inverse that does not fit, the operand is the matrix that
 *                                     was to be inverted, and the value infinite. */
struct skin_fault {
    enum skin_status status;
    enum skin_operand operand;
    size_t index;
    unsigned element;
    double value;
};

/* The caller's room for faults. At most one fault a matrix, meshes first, then in order of index.
 * `count` is how many there are in all; only the first `capacity` of them are stored. */
struct skin_report {
    struct skin_fault *faults;
    size_t capacity;
    size_t count;
};

/* affine_tolerance  how far the last column may be from 0, 0, 0, 1; 0 is exact. Taken as 0 when
 *                   negative or NaN, and as SKIN_MAX_AFFINE_TOLERANCE when larger than that.
 * max_condition     a matrix to be inverted is refused at or over this condition number of its
 *                   3x3 part, |A|1 * |inverse(A)|1; it does not depend on the matrix's scale
 * precision         SKIN_F32: double results are rounded to float32 values, and what float32
 *                   cannot hold is SKIN_OVERFLOW. The _f32 entries always do this. */
struct skin_options {
    double affine_tolerance;
    double max_condition;
    enum skin_precision precision;
};

#define SKIN_MAX_AFFINE_TOLERANCE 1e-3
#define SKIN_MAX_CONDITION_F64 1e12
#define SKIN_MAX_CONDITION_F32 1e6

/* How far the length of a rotation quaternion may be from 1. Inside of that it is normalised. */
#define SKIN_UNIT_TOLERANCE 1e-3

/* The defaults: exact affine test; condition under 1e12 for SKIN_F64, under 1e6 for SKIN_F32. */
struct skin_options skin_options_default(enum skin_precision precision);

/* Inverse bind matrices: I = M0 * inverse(B0). Each belongs to one (mesh, bone) pair.
 * mesh_bind_world               mesh to world when bound; may be singular
 * bone_bind_world [bone_count]  bone to world when bound; must be invertible
 * options                       NULL: skin_options_default(SKIN_F64)
 * inverse_bind    [bone_count]  mesh to bone; may be the same array as bone_bind_world
 * report                        NULL: only the status is wanted. Otherwise set on every call.
 * Returns SKIN_OK, or the status of the first fault; inverse_bind is then untouched.
 * The translation is computed as (M0.t - B0.t) * inverse(B0.R), so that a scene far from the
 * origin loses nothing to the distance. */
enum skin_status skin_bind(const struct skin_mat4 *mesh_bind_world,
                           const struct skin_mat4 *bone_bind_world, size_t bone_count,
                           const struct skin_options *options, struct skin_mat4 *inverse_bind,
                           struct skin_report *report);

/* skin_bind on float32 arrays. options NULL: skin_options_default(SKIN_F32). */
enum skin_status skin_bind_f32(const struct skin_mat4f *mesh_bind_world,
                               const struct skin_mat4f *bone_bind_world, size_t bone_count,
                               const struct skin_options *options, struct skin_mat4f *inverse_bind,
                               struct skin_report *report);

/* Skinning palette: P = I * B * inverse(M) in mesh space, P = I * B in world space.
 * space                      where the skinned vertices live
 * inverse_bind [bone_count]  mesh to bone when bound
 * bone_world   [bone_count]  bone to world now; may be singular
 * mesh_world                 mesh to world now; must be invertible in mesh space. In world space
 *                            it may be NULL or singular; it is not used, only checked for being
 *                            finite and affine.
 * options                    NULL: skin_options_default(SKIN_F64)
 * palette      [bone_count]  may be the same array as inverse_bind or bone_world
 * report                     NULL: only the status is wanted. Otherwise set on every call.
 * Returns SKIN_OK, or the status of the first fault; palette is then untouched.
 * inverse(M) is computed once. The translation is (I.t * B.R + (B.t - M.t)) * inverse(M.R). */
enum skin_status skin_palette(enum skin_space space, const struct skin_mat4 *inverse_bind,
                              const struct skin_mat4 *bone_world, size_t bone_count,
                              const struct skin_mat4 *mesh_world,
                              const struct skin_options *options, struct skin_mat4 *palette,
                              struct skin_report *report);

/* skin_palette on float32 arrays. options NULL: skin_options_default(SKIN_F32). */
enum skin_status skin_palette_f32(enum skin_space space, const struct skin_mat4f *inverse_bind,
                                  const struct skin_mat4f *bone_world, size_t bone_count,
                                  const struct skin_mat4f *mesh_world,
                                  const struct skin_options *options, struct skin_mat4f *palette,
                                  struct skin_report *report);

/* The matrix of a glTF node: scale, then rotation, then translation.
 * translation [3], rotation [4] (x, y, z, w; unit), scale [3]; each may be NULL for none.
 * Returns SKIN_OK or SKIN_NOT_UNIT_QUATERNION; matrix is then untouched. Elements that are not
 * finite, or a product that overflows, show in the matrix and are refused where it is used.
 * Source: glTF 2.0 specification, section 3.5.3. */
enum skin_status skin_mat4_from_trs(const double *translation, const double *rotation,
                                    const double *scale, struct skin_mat4 *matrix);

/* product = a * b, of affine matrices; the last columns are not read. May alias either. Overflow
 * and elements that are not finite show in the product. */
void skin_mat4_multiply(const struct skin_mat4 *a, const struct skin_mat4 *b,
                        struct skin_mat4 *product);

/* inverse = inverse(a), of an affine matrix; the last column is not read. May alias.
 * condition  the condition number of the 3x3 part in the 1-norm; may be NULL
 * Returns SKIN_OK; SKIN_NOT_FINITE, SKIN_SINGULAR (the determinant is exactly zero),
 * SKIN_ILL_CONDITIONED (the condition number at or over max_condition, or infinite) or
 * SKIN_OVERFLOW; inverse is then untouched. */
enum skin_status skin_mat4_invert(const struct skin_mat4 *a, double max_condition,
                                  struct skin_mat4 *inverse, double *condition);

/* out = point * matrix, a point of 3 doubles (w = 1). May alias. */
void skin_transform_point(const double point[3], const struct skin_mat4 *matrix, double out[3]);

/* One line of English for a status, such as "matrix has no inverse". Never NULL. */
const char *skin_status_text(enum skin_status status);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
