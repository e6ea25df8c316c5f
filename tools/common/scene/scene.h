/*
 * Synthetic fruits: what a camera above a roller conveyor sees of them, and the class probabilities
 * of a CNN. A fruit is an ellipsoid that rolls on; its defects sit on its skin, so each view shows
 * them where they have turned to. The seed determines everything.
 */
#ifndef CRN_TOOLS_COMMON_SCENE_SCENE_H
#define CRN_TOOLS_COMMON_SCENE_SCENE_H

#include <stdint.h>

#include "tools/common/scene/noise.h"

#define CRN_SCENE_CLASSES     12 /* named ones; further channels stay empty */
#define CRN_SCENE_DEFECTS_MAX 6

/* In channel order: background, rot, rust, fresh hail, healed hail, picking damage, transport
 * damage, bruise, mould, stem, calyx, roller. Background includes sound skin. */
extern const char *const crn_scene_class_names[CRN_SCENE_CLASSES];

typedef struct crn_scene {
    uint64_t seed;
    int32_t height, width, classes, views;
    crn_noise clouds; /* one texture, sampled at many offsets */
    float *logits;    /* classes x width: the current row */
} crn_scene;

/* Sides of at least 8; at least 1 class and 1 view. 0 or -ENOMEM. */
int crn_scene_create(uint64_t seed, int32_t height, int32_t width, int32_t classes, int32_t views,
                     crn_scene *ret_scene);
void crn_scene_free(crn_scene *scene);

/*
 * Renders one view of one fruit: probabilities as height x width x classes floats, each strictly
 * between 0 and 1 (exactly 1 for a single class), summing to 1 per pixel; and the photograph,
 * height x width.
 */
void crn_scene_render(crn_scene *scene, uint64_t fruit, int32_t view, float *ret_maps,
                      unsigned char *ret_photograph);

#endif
