/* Argument checks and per-point computations of diamond-square, shared by all backends. */
#ifndef CRN_STAGES_SERIAL_DIAMOND_SQUARE_H
#define CRN_STAGES_SERIAL_DIAMOND_SQUARE_H

#include "stages/base/api.h"
#include "stages/ops.h"

/* The values are the last word of Philox's counter. */
typedef enum crn_diamond_square_phase {
    CRN_PHASE_DIAMOND,
    CRN_PHASE_SQUARE,
    CRN_PHASE_CORNERS,
} crn_diamond_square_phase;

#define CRN_DIAMOND_SQUARE_MIDDLE 128.0f

/* 0, or -EINVAL: an exponent or roughness out of range, not one plane of u8 or f32 with data, or a
 * rectangle outside of the field. */
int crn_diamond_square_check(const crn_diamond_square_params *params, const crn_image *out);

/* Amplitude of a level's noise. */
float crn_diamond_square_amplitude(double roughness, int32_t level);

/* Noise of the i-th point of row j made in one phase of a level. */
CRN_API float crn_diamond_square_noise(uint64_t seed, int32_t level, crn_diamond_square_phase phase,
                                       int32_t i, int32_t j, float amplitude);

/* Value of the corner i, j = 0, 1. */
float crn_diamond_square_corner(uint64_t seed, int32_t i, int32_t j);

/* Stores element (y, x) of `out`, converted to its type. */
void crn_diamond_square_put(const crn_image *out, int32_t y, int32_t x, float value);

#endif
