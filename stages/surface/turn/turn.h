/**
 * @file
 * How a fruit turns: by three angles, as a matrix.
 */
#ifndef CRN_STAGES_SURFACE_TURN_TURN_H
#define CRN_STAGES_SURFACE_TURN_TURN_H

#include "stages/surface/surface.h"

/** What a turn does to a point of the unit sphere: a matrix, by rows. */
typedef struct crn_turn {
    double m[3][3];
} crn_turn;

extern const crn_turn crn_turn_none;

/** First b, then a. */
crn_turn crn_turn_product(const crn_turn *a, const crn_turn *b);

/** Back again. */
crn_turn crn_turn_transposed(const crn_turn *a);

/** About the axis (x, y, z), as far as that is long. */
crn_turn crn_turn_by(double x, double y, double z);

/** The axis, as long as the angle, 0 to pi; 0 for a half turn, whose direction is not known. */
void crn_turn_axis(const crn_turn *turn, double ret_axis[3]);

/** The turn that takes a point of the first skin to the second one, and its confidence, 0 to 1.
 * Looks at rolls within `range_rad` of the expected one. */
crn_turn crn_turn_match(const crn_surface_skin *first, const crn_surface_skin *second,
                        double expected_rad, double range_rad, double *ret_confidence);

#endif
