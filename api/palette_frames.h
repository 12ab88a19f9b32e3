/* Sequences of poses: POST /v1/palette?frames=F with raw floats, one bind and many frames.
 * The single palette is op_palette.c. */
#ifndef API_PALETTE_FRAMES_H
#define API_PALETTE_FRAMES_H

#include "operation.h"

/* For a raw body with the parameter frames; else NULL. */
const struct api_fan *api_palette_frames_fan(const struct api_request *request);

#endif
