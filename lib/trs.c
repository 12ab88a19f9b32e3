/* The matrix of a glTF node: scale, then rotation, then translation.
 * It does not take matrices apart again, and it leaves finiteness to whoever uses the matrix. */
#include "skin.h"

#include <math.h>

/* Dividing by the squared length normalises without a root, so that (0, 0, s, s) is Rz(90°)
 * exactly for any s: numerator and denominator round alike. Row i is where axis i goes. */
static enum skin_status rotation_rows(const double q[4], double rows[3][3]) {
    double xx = q[0] * q[0];
    double yy = q[1] * q[1];
    double zz = q[2] * q[2];
    double ww = q[3] * q[3];
    double length_squared = (xx + yy) + (zz + ww);
    if (!(fabs(sqrt(length_squared) - 1.0) <= SKIN_UNIT_TOLERANCE)) {
        return SKIN_NOT_UNIT_QUATERNION;
    }
    double xy = q[0] * q[1];
    double xz = q[0] * q[2];
    double yz = q[1] * q[2];
    double wx = q[3] * q[0];
    double wy = q[3] * q[1];
    double wz = q[3] * q[2];
    rows[0][0] = ((ww - zz) + (xx - yy)) / length_squared;
    rows[0][1] = 2.0 * (xy + wz) / length_squared;
    rows[0][2] = 2.0 * (xz - wy) / length_squared;
    rows[1][0] = 2.0 * (xy - wz) / length_squared;
    rows[1][1] = ((ww - zz) + (yy - xx)) / length_squared;
    rows[1][2] = 2.0 * (yz + wx) / length_squared;
    rows[2][0] = 2.0 * (xz + wy) / length_squared;
    rows[2][1] = 2.0 * (yz - wx) / length_squared;
    rows[2][2] = ((ww - yy) + (zz - xx)) / length_squared;
    return SKIN_OK;
}

enum skin_status skin_mat4_from_trs(const double *translation, const double *rotation,
                                    const double *scale, struct skin_mat4 *matrix) {
    double rows[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    if (rotation != NULL) {
        enum skin_status status = rotation_rows(rotation, rows);
        if (status != SKIN_OK) {
            return status;
        }
    }
    for (int row = 0; row < 3; row++) {
        double factor = scale != NULL ? scale[row] : 1.0;
        for (int column = 0; column < 3; column++) {
            matrix->m[4 * row + column] = factor * rows[row][column] + 0.0;
        }
        matrix->m[4 * row + 3] = 0.0;
    }
    for (int column = 0; column < 3; column++) {
        matrix->m[12 + column] = (translation != NULL ? translation[column] : 0.0) + 0.0;
    }
    matrix->m[15] = 1.0;
    return SKIN_OK;
}
