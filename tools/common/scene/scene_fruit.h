/* A fruit of the synthesiser: shape, rotation in a view, defects and skin. */
#ifndef CRN_TOOLS_COMMON_SCENE_SCENE_FRUIT_H
#define CRN_TOOLS_COMMON_SCENE_SCENE_FRUIT_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/common/scene/scene.h"

enum {
    CLASS_BACKGROUND,
    CLASS_ROT,
    CLASS_RUST,
    CLASS_FRESH_HAIL,
    CLASS_HEALED_HAIL,
    CLASS_PICKING,
    CLASS_TRANSPORT,
    CLASS_BRUISE,
    CLASS_MOULD,
    CLASS_STEM,
    CLASS_CALYX,
    CLASS_ROLLER,
};

typedef struct vector {
    float x, y, z;
} vector;

typedef struct crn_scene_defect {
    int kind;
    vector centre, along, across; /* on the unit sphere; an orthonormal basis */
    float length, width;          /* semi-axes, as sines of angles */
    float texture_x, texture_y;   /* texture offset of its ragged outline */
} crn_scene_defect;

typedef struct crn_scene_fruit {
    float radius_px;
    vector axes;    /* semi-axes over the radius */
    vector turn[3]; /* columns of the rotation from the first view's frame to the fruit's */
    vector spin;    /* axis of rolling, in camera coordinates */
    float step;     /* radians from one view to the next */
    float texture_x, texture_y;
    float lightness;
    int32_t defects;
    crn_scene_defect defect[CRN_SCENE_DEFECTS_MAX];
} crn_scene_fruit;

/* Position and rotation of a fruit in one view. */
typedef struct crn_pose {
    float x, y;       /* of its centre, pixels */
    vector column[3]; /* camera x, y and z over the radius, each mapped to the unit sphere */
    float roller_pitch;
    int32_t wear; /* texture offset of the rollers' wear */
} crn_pose;

/* Intersection of a pixel's ray with the fruit. */
typedef struct crn_hit {
    float outside; /* below 0 within the outline; about pixels over the radius, doubled */
    vector skin;   /* on the unit sphere, the fruit's frame */
    vector normal; /* in camera coordinates */
} crn_hit;

/* Appearance of the skin at one point. */
typedef struct crn_skin {
    float albedo;
    float logit[CRN_SCENE_CLASSES]; /* added to those of sound skin */
} crn_skin;

void crn_fruit_make(const crn_scene *scene, uint64_t number, crn_scene_fruit *ret_fruit);
void crn_fruit_pose(const crn_scene *scene, const crn_scene_fruit *fruit, uint64_t number,
                    int32_t view, crn_pose *ret_pose);
crn_hit crn_fruit_hit(const crn_scene_fruit *fruit, const crn_pose *pose, float x, float y);
void crn_fruit_skin(const crn_scene *scene, const crn_scene_fruit *fruit, const crn_hit *hit,
                    crn_skin *ret_skin);

static inline float dot(vector a, vector b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline float clamp(float v, float low, float high)
{
    return v < low ? low : v > high ? high : v;
}

#endif
