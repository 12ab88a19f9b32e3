/* Matrices in and out: every shape and convention of the contract to and from row vectors.
 * It converts and reports what cannot be read; whether a matrix is usable is judged by lib. */
#ifndef API_MATRIX_H
#define API_MATRIX_H

#include "call.h"

enum api_layout {
    API_LAYOUT_SINGLE, /* one matrix: /member */
    API_LAYOUT_LIST,   /* an array of matrices: /member/INDEX */
    API_LAYOUT_FLAT,   /* one array of 16 * count numbers: /member/(16 * INDEX) */
};

/* Matrices of one member, converted to row vectors; doubles, or floats for a float32 body. They
 * may be written to: results are computed in place. */
struct api_matrices {
    const char *member;
    enum api_layout layout;
    size_t count;
    struct skin_mat4 *f64; /* exactly one of the two is set while count > 0 */
    struct skin_mat4f *f32;
    void *owned; /* what api_matrices_finish frees; NULL when they live in the body */
};

/* Reads a matrix or a list of matrices from the member of a JSON request. Where single matrices
 * cannot be read there are findings and the identity stands in, so that the others can still be
 * judged. Returns false, with a finding, when there is nothing to judge. */
bool api_matrix_read(struct api_call *call, const char *member, struct api_matrices *matrices);
bool api_matrix_list_read(struct api_call *call, const char *member, struct api_matrices *matrices);
void api_matrices_finish(struct api_matrices *matrices);

/* Cuts an octet body into `single_count` single matrices and `list_count` lists of equal length, in
 * this order, in place. matrices[] has a member name for each. False with a finding when the size
 * does not fit. */
bool api_matrices_split(struct api_call *call, size_t single_count, size_t list_count,
                        struct api_matrices *matrices);

/* Turns matrices as sent into row vectors, in place, as the convention asked for says. */
void api_matrices_to_rows(const struct api_call *call, struct api_matrices *matrices);

/* Sets all of them to the identity. */
void api_matrices_blank(struct api_matrices *matrices);

/* Turns lib's faults into findings. by_operand[operand] is the member that the caller passed as
 * that operand, or NULL. Faults of SKIN_RESULT are only told while nothing else is wrong. */
void api_matrices_report(struct api_call *call, const struct skin_report *report,
                         const struct api_matrices *const by_operand[SKIN_RESULT + 1]);

/* Appends the matrices: as a JSON array in the shape, convention and precision asked for, or as
 * octets. */
void api_matrices_write(const struct api_call *call, const struct api_matrices *matrices);

#endif
