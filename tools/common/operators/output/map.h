/*
 * Results as pictures: conversion from the operators' types to those of files, and to the greys of
 * a PNG for viewing.
 */
#ifndef CRN_TOOLS_COMMON_OPERATORS_OUTPUT_MAP_H
#define CRN_TOOLS_COMMON_OPERATORS_OUTPUT_MAP_H

#include "stages/base/param.h"
#include "tools/common/operators/apply.h"

/* Allocates a zeroed picture with the pages, samples and size of `like` in another type. 0, or
 * -ENOMEM with a message about `path`. */
int crn_map_create(const char *path, const crn_picture *like, crn_type type,
                   crn_picture *ret_picture, crn_error *error);

/* Moves the alpha of `from`, if it has one, to `to`. */
void crn_map_hand_alpha(crn_picture *from, crn_picture *to);

/* Converts the picture's planes, alpha excepted, to f32 without scaling. 0 or -ENOMEM. */
int crn_map_widen(const char *path, crn_picture *picture, crn_error *error);

/* Stores one value into a u8 or u16 picture: rounded half to even, saturated, NaN as 0. */
void crn_map_put(const crn_image *to, int32_t plane, int32_t y, int32_t x, float value);

/* f32 to u8 or u16: rounded half to even, saturated, NaN as 0. */
void crn_map_narrow(const crn_image *from, const crn_image *to);

/* Smallest and largest finite value; false if there is none. */
bool crn_map_range(const crn_image *image, float *ret_min, float *ret_max);

/* Linear map to u8: min to 0, max to 255, NaN to 0; 128 everywhere if min equals max. */
void crn_map_linear(const crn_image *from, float min, float max, const crn_image *to);

/*
 * Writes a result; prints the range when an f32 result is mapped linearly from its smallest to its
 * largest value for a PNG. 0 or negative errno.
 */
int crn_map_write(const crn_apply *apply, const char *path, crn_picture *result, crn_error *error);

/* --- haar
 * ------------------------------------------------------------------------------------------ */

/* One quadrant (subband) of a level, or the averages that remain in the top left corner. */
typedef struct crn_quadrant {
    int32_t x, y, width, height;
    bool averages;
} crn_quadrant;

#define CRN_QUADRANTS_MAX 97 /* three per level, and the averages */

/* Lists the non-empty quadrants, from the finest level to the averages; returns their number. */
int32_t crn_map_quadrants(int32_t height, int32_t width, int32_t levels,
                          crn_quadrant ret_quadrants[CRN_QUADRANTS_MAX]);

/*
 * Coefficients as greys: the averages over their range, each quadrant's differences around 128 with
 * the largest magnitude at 1 or 255. All planes share one scale, which preserves colours.
 */
void crn_map_haar(const crn_image *coefficients, int32_t levels, const crn_image *to);

#endif
