/* A fruit of the synthesiser: its shape, its turn in a view, its defects and its skin. */
#ifndef CRN_TOOLS_SYNTH_SCENE_FRUIT_H
#define CRN_TOOLS_SYNTH_SCENE_FRUIT_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/synth/scene.h"

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
    vector centre, along, across; /* on the unit sphere; an orthonormal base */
    float length, width;          /* half axes, as sines of angles */
    float texture_x, texture_y;   /* where in the clouds its ragged outline comes from */
} crn_scene_defect;

typedef struct crn_scene_fruit {
    float radius_px;
    vector axes;    /* half axes over the radius */
    vector turn[3]; /* columns of the rotation from the first view's frame to the fruit's */
    vector spin;    /* the axis it rolls about, as seen */
    float step;     /* radians from one view to the next */
    float texture_x, texture_y;
    float lightness;
    int32_t defects;
    crn_scene_defect defect[CRN_SCENE_DEFECTS_MAX];
} crn_scene_fruit;

/* How a fruit lies in one view. */
typedef struct crn_pose {
    float x, y;       /* of its centre, pixels */
    vector column[3]; /* seen x, y and z over the radius, each mapped to the unit sphere */
    float roller_pitch;
    int32_t wear; /* where in the clouds the rollers' wear comes from */
} crn_pose;

/* What a ray through a pixel meets. */
typedef struct crn_hit {
    float outside; /* below 0 within the outline; about pixels over the radius, doubled */
    vector skin;   /* on the unit sphere, the fruit's frame */
    vector normal; /* seen */
} crn_hit;

/* What the skin is at one point. */
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
