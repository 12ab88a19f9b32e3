/* Statuses in English and the default options.
 * Longer help for whoever sends such matrices over the wire is not here but in the contract. */
#include "skin.h"

struct skin_options skin_options_default(enum skin_precision precision) {
    return (struct skin_options){
        .affine_tolerance = 0.0,
        .max_condition = precision == SKIN_F32 ? SKIN_MAX_CONDITION_F32 : SKIN_MAX_CONDITION_F64,
        .precision = precision,
    };
}

const char *skin_status_text(enum skin_status status) {
    switch (status) {
    case SKIN_OK:
        return "ok";
    case SKIN_NOT_FINITE:
        return "matrix has an element that is not finite";
    case SKIN_NOT_AFFINE:
        return "matrix is not affine: its last column is not 0, 0, 0, 1";
    case SKIN_SINGULAR:
        return "matrix has no inverse";
    case SKIN_ILL_CONDITIONED:
        return "matrix is too close to having no inverse";
    case SKIN_OVERFLOW:
        return "result does not fit the precision";
    case SKIN_NOT_UNIT_QUATERNION:
        return "rotation is not a unit quaternion";
    }
    return "unknown status";
}
