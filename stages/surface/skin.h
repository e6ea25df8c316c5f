/**
 * @file
 * A fruit's skin in a photograph, unwrapped: what of a view has to be kept until the views beside
 * it are there, so that the photograph need not be. For the line; crn_surface_find_roll() does both
 * steps.
 */
#ifndef CRN_STAGES_SURFACE_SKIN_H
#define CRN_STAGES_SURFACE_SKIN_H

#include "stages/cernita_surface.h"

enum {
    CRN_SKIN_ROWS = 32,    /**< along the axis */
    CRN_SKIN_COLUMNS = 94, /**< of longitudes */
};

/** The skin that a photograph shows, without its shading. */
typedef struct crn_surface_skin {
    float marks[CRN_SKIN_ROWS][CRN_SKIN_COLUMNS]; /**< relative to their surroundings */
} crn_surface_skin;

/** The columns' width, and how far the rows reach: beyond, the poles are grazing. */
#define CRN_SKIN_COLUMN_RAD (1.5 * 3.14159265358979323846 / 180)
#define CRN_SKIN_HEIGHT_MAX 0.8

/** From now on another roll axis and distance. Fruits of a line may differ in them after a reload.
 */
CRN_API void crn_surface_set_camera(crn_surface *surface, crn_roll_axis axis, double distance_mm);

/** The strip that a view of the fruit measured last owns: longitudes from the view's middle, in
 * which its outlines count. False: it owns none, as another view shows the same. */
CRN_API bool crn_surface_strip(const crn_surface *surface, int32_t view, double *ret_from_rad,
                               double *ret_to_rad);

/**
 * Unwraps the skin of a photograph.
 *
 * @param name of the photograph in an error's text
 * @return 0, or -EINVAL: the photograph or its pose
 */
CRN_API int crn_surface_take_skin(crn_surface *surface, const char *name,
                                  const crn_surface_photograph *photograph,
                                  crn_surface_skin *ret_skin);

/** As crn_surface_find_roll(). */
CRN_API int crn_surface_match_skins(crn_surface *surface, const crn_surface_skin *first,
                                    const crn_surface_skin *second, double expected_rad,
                                    double range_rad, crn_surface_roll *ret_roll);

/** A view of a fruit that has turned since the view before. */
typedef struct crn_surface_turning {
    const crn_surface_skin *skin; /**< the caller's; NULL: none */
    double expected_rad;          /**< roll from the view before; NAN: any */
    crn_surface_roll roll;        /**< the same, if known: with a confidence above 0; else found */
    crn_surface_pose *pose;       /**< the caller's */
} crn_surface_turning;

/**
 * Finds how a fruit has turned: rolls that are not known, by the skins beside each other; where one
 * of these is not sure though a roll is expected, three angles between all neighbours, of which
 * those are taken that are sure, and surer than the roll alone. Where the last view shows what the
 * first one does, the roll (or the angles) between them closes a loop, and what is left over is
 * shared out by confidence. So one roll that is not sure has that of the loop.
 *
 * Sets roll, pitch and tilt of the poses, relative to the mean axis, the roll since the first view;
 * and the rolls, with the confidence of what was taken: below CRN_SURFACE_ROLL_SURE as expected.
 * Allocates nothing; 90 KiB of stack. Time: O(count).
 *
 * @param views the first one's roll and expectation are overwritten
 * @param count 1 to CRN_SURFACE_VIEWS_MAX
 * @param range_rad of a roll, to either side of the expected one
 * @return false: a roll is neither found nor expected; poses are as they were
 */
CRN_API bool crn_surface_find_turns(crn_surface *surface, crn_surface_turning *views, int32_t count,
                                    double range_rad);

#endif
