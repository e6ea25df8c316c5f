/*
 * Random numbers (Philox) and cloud textures for the synthesiser, identical on every machine.
 *
 * The textures are diamond-square with its noise, but start at any level: the operator always
 * starts with the corners, which makes its largest clouds as large as the field.
 */
#ifndef CRN_TOOLS_COMMON_SCENE_NOISE_H
#define CRN_TOOLS_COMMON_SCENE_NOISE_H

#include <stdint.h>

#include "stages/philox.h"

/* A random stream, identified by (key, stream). Initialise as {key, stream}. */
typedef struct crn_draws {
    uint64_t key, stream;
    uint64_t drawn;
} crn_draws;

/* The next number, uniform in [low, high). */
float crn_draws_between(crn_draws *random, float low, float high);

/* A square texture of (2^exponent + 1)^2 values, scaled to −1…1. */
typedef struct crn_noise {
    int32_t side;
    float *value; /* row-major; owned */
} crn_noise;

/* exponent: 1 to 12. Displacement starts at `level` (0 for plain
 * midpoint displacement; each further level halves the largest
 * clouds) and shrinks by `roughness` from there on. 0 or -ENOMEM. */
int crn_noise_create(int exponent, uint64_t seed, int level, float roughness, crn_noise *ret_noise);
void crn_noise_free(crn_noise *noise);

/* Maps an index into a row or column, mirrored at both ends as often as needed. */
int32_t crn_noise_mirror(const crn_noise *noise, int32_t index);

/* Bilinear interpolation; mirrored outside the square. */
float crn_noise_at(const crn_noise *noise, float x, float y);

#endif
