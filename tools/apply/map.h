/*
 * Results as pictures: from the numbers that operators work on to those that a file holds, and to
 * the greys of a PNG that a person looks at.
 */
#ifndef CRN_TOOLS_APPLY_MAP_H
#define CRN_TOOLS_APPLY_MAP_H

#include "stages/base/param.h"
#include "tools/apply/apply.h"

/* A picture of the same pages, samples and size in another type, all 0. 0 or -ENOMEM with a line
 * about `path`. */
int crn_map_create(const char *path, const crn_picture *like, crn_type type,
                   crn_picture *ret_picture, crn_error *error);

/* Hands the alpha of `from`, if it has one, over to `to`. */
void crn_map_hand_alpha(crn_picture *from, crn_picture *to);

/* The picture's planes, not its alpha, as f32: the numbers that they are. 0 or -ENOMEM. */
int crn_map_widen(const char *path, crn_picture *picture, crn_error *error);

/* One value into a u8 or u16 picture: rounded half to even, saturated, NaN 0. */
void crn_map_put(const crn_image *to, int32_t plane, int32_t y, int32_t x, float value);

/* f32 to u8 or u16: rounded half to even, saturated, NaN 0. */
void crn_map_narrow(const crn_image *from, const crn_image *to);

/* The least and greatest finite values; false: there are none. */
bool crn_map_range(const crn_image *image, float *ret_least, float *ret_most);

/* To u8, least at 0 and most at 255, NaN 0, a range without width 128. */
void crn_map_linear(const crn_image *from, float least, float most, const crn_image *to);

/*
 * Writes a result and says how an f32 one became a PNG: linearly from its least to its greatest
 * value. 0 or negative errno.
 */
int crn_map_write(const crn_apply *apply, const char *path, crn_picture *result, crn_error *error);

/* --- haar
 * ------------------------------------------------------------------------------------------ */

/* One quadrant of a level, or what is left in the top left corner: the averages. */
typedef struct crn_quadrant {
    int32_t x, y, width, height;
    bool averages;
} crn_quadrant;

#define CRN_QUADRANTS_MAX 97 /* three a level, and the averages */

/* The quadrants that are not empty, from the finest level to the averages; returns their number. */
int32_t crn_map_quadrants(int32_t height, int32_t width, int32_t levels,
                          crn_quadrant ret_quadrants[CRN_QUADRANTS_MAX]);

/*
 * Coefficients as greys: the averages over their range; the differences of a quadrant around 128,
 * its largest at 1 or 255. All planes by one measure, so that colours stay.
 */
void crn_map_haar(const crn_image *coefficients, int32_t levels, const crn_image *to);

#endif
