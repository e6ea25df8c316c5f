/*
 * Fruits that never were: what a camera above a roller conveyor sees of them, and what a CNN would
 * say of each pixel. A fruit is an ellipsoid that rolls on; its defects sit on its skin, so every
 * view shows them where they have turned to. All follows from the seed.
 */
#ifndef CRN_TOOLS_SYNTH_SCENE_H
#define CRN_TOOLS_SYNTH_SCENE_H

#include <stdint.h>

#include "tools/synth/noise.h"

#define CRN_SCENE_CLASSES     12 /* with names; further channels stay empty */
#define CRN_SCENE_DEFECTS_MAX 6

/* In channel order: background, rot, rust, fresh hail, healed hail, picking damage, transport
 * damage, bruise, mould, stem, calyx, roller. Background is also sound skin. */
extern const char *const crn_scene_class_names[CRN_SCENE_CLASSES];

typedef struct crn_scene {
    uint64_t seed;
    int32_t height, width, classes, views;
    crn_noise clouds; /* one texture, looked at from many places */
    float *logits;    /* classes x width: the row being worked on */
} crn_scene;

/* Sides of at least 8, 1 or more classes and views. 0 or -ENOMEM. */
int crn_scene_create(uint64_t seed, int32_t height, int32_t width, int32_t classes, int32_t views,
                     crn_scene *ret_scene);
void crn_scene_free(crn_scene *scene);

/*
 * One view of one fruit: probabilities as height x width x classes floats, each strictly between 0
 * and 1 (exactly 1 for a single class), a pixel's summing to 1; and the photograph, height x width.
 */
void crn_scene_render(crn_scene *scene, uint64_t fruit, int32_t view, float *ret_maps,
                      unsigned char *ret_photograph);

#endif
