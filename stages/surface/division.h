/**
 * @file
 * What is fruit and what is background in a photograph: Otsu's threshold divides them, and the
 * picture's border tells which is which. Profiles along x and y give the box of the fruit.
 *
 * Otsu, IEEE Trans. SMC 9 (1979), 62.
 */
#ifndef CRN_STAGES_SURFACE_DIVISION_H
#define CRN_STAGES_SURFACE_DIVISION_H

#include "stages/cernita_surface.h"

/** Half of the least side of a fruit, in pixels. */
#define CRN_DIVISION_RADIUS_MIN 4.0

/** What is fruit in a photograph. */
typedef struct crn_division {
    const crn_image *image;
    double threshold;
    double sign;         /**< 1: the fruit is brighter, -1: the background is */
    int least, greatest; /**< of a pixel of the fruit */
} crn_division;

/** The mean levels of what is darker and brighter; whether the picture's border is darker. */
bool crn_division_find_levels(const crn_image *image, double ret_means[2]);

/** By these levels; `is_dark`: the background. The image stays the caller's. */
crn_division crn_division_of(const crn_image *image, const double means[2], bool is_dark);

/** Of so many lines one is enough for a picture of that size. */
int32_t crn_division_stride(const crn_image *image);

/** The box of the fruit, by one line in `stride`: first its columns, then its rows within these.
 * rx or ry are below CRN_DIVISION_RADIUS_MIN if there is none. Uses the surface's profile. */
void crn_division_find_box(crn_surface *surface, const crn_division *division, int32_t stride,
                           crn_surface_pose *box);

static inline bool crn_division_is_fruit(const crn_division *division, double value)
{
    return division->sign * (value - division->threshold) > 0;
}

#endif
