/* Vectors of the known fruits. */
#ifndef CRN_TOOLS_COMMON_KNOWN_VECTORS_H
#define CRN_TOOLS_COMMON_KNOWN_VECTORS_H

#include <math.h>

#include "tools/common/known/known.h"

static inline double crn_vector_dot(crn_known_vector a, crn_known_vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline crn_known_vector crn_vector_sum(double s, crn_known_vector a, double t,
                                              crn_known_vector b)
{
    return (crn_known_vector){s * a.x + t * b.x, s * a.y + t * b.y, s * a.z + t * b.z};
}

static inline crn_known_vector crn_vector_cross(crn_known_vector a, crn_known_vector b)
{
    return (crn_known_vector){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static inline crn_known_vector crn_vector_unit(crn_known_vector a)
{
    double length = sqrt(crn_vector_dot(a, a));
    return (crn_known_vector){a.x / length, a.y / length, a.z / length};
}

static inline double crn_vector_angle(crn_known_vector a, crn_known_vector b)
{
    return acos(fmax(-1, fmin(1, crn_vector_dot(a, b))));
}

/* From the picture to the axis' own frame: against the tilt, then against the pitch. */
static inline crn_known_vector crn_vector_upright(const crn_known_turn *turn, crn_known_vector p)
{
    double x = turn->cos_tilt * p.x + turn->sin_tilt * p.y;
    double y = turn->cos_tilt * p.y - turn->sin_tilt * p.x;
    return (crn_known_vector){x, turn->cos_pitch * y + turn->sin_pitch * p.z,
                              turn->cos_pitch * p.z - turn->sin_pitch * y};
}

/* From the axis' frame to the fruit's own, against the roll. */
static inline crn_known_vector crn_vector_unrolled(const crn_known_turn *turn, crn_known_vector p)
{
    return (crn_known_vector){turn->cos_roll * p.x - turn->sin_roll * p.z, p.y,
                              turn->cos_roll * p.z + turn->sin_roll * p.x};
}

/* The other way. */
static inline crn_known_vector crn_vector_rolled(const crn_known_turn *turn, crn_known_vector p)
{
    return (crn_known_vector){turn->cos_roll * p.x + turn->sin_roll * p.z, p.y,
                              turn->cos_roll * p.z - turn->sin_roll * p.x};
}

#endif
