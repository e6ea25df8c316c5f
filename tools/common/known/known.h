/*
 * Synthetic fruits of which everything is known: a spheroid with spots that rolls under a camera.
 * Rays through the points of a pixel give the maps that a CNN would have of it, and photographs.
 */
#ifndef CRN_TOOLS_COMMON_KNOWN_KNOWN_H
#define CRN_TOOLS_COMMON_KNOWN_KNOWN_H

#include "stages/base/error.h"
#include "stages/cernita_surface.h"
#include "tools/common/scene/noise.h"

enum {
    CRN_KNOWN_CLASSES = 3, /* of random fruits, if the kind does not say */
    CRN_KNOWN_SPOTS = 24,
    CRN_KNOWN_VIEWS = 64,
    CRN_KNOWN_SIDE = 4096, /* of a picture, at most */
    CRN_KNOWN_HEIGHT = 95, /* of a picture, if the kind does not say */
    CRN_KNOWN_WIDTH = 111,
};

typedef struct crn_known_vector {
    double x, y, z; /* across the roll axis, along it, towards the camera at roll 0 */
} crn_known_vector;

/* A spot: what lies within `radius` of the arc from p to q on the unit sphere, and farther than
 * `inner` from it: a ring, around a spot that is sound. */
typedef struct crn_known_spot {
    int channel;
    crn_known_vector p, q;
    double radius, inner; /* in radians; inner 0: no hole */
    /* Of these, made by crn_known_random(). */
    double length;                 /* of the arc, in radians */
    crn_known_vector t, n, t_q;    /* along the arc at p, across it, along it at q */
    double cos_radius, sin_radius; /* of the edge */
    double cos_inner, sin_inner;
} crn_known_spot;

/* The skin of a real photograph: how far its places deviate from what is around them. */
typedef struct crn_known_skin {
    int32_t side;
    float *value; /* side x side, as a part of the brightness around; owned */
} crn_known_skin;

/* What photographs are like. */
typedef struct crn_known_look {
    double light;               /* 1; less: dark, more: over-exposed */
    double speckle;             /* part of the skin's brightness that speckles are */
    double highlight;           /* brightness of the lamp's reflection, which does not turn */
    double rollers;             /* brightness, as a part of the fruit's; 0: a dark background */
    double dirt;                /* share of light that smudges on the glass take */
    double neighbour;           /* radii to the middle of the next fruit in the picture; 0: none */
    const crn_known_skin *skin; /* instead of speckles; the caller's; NULL: none */
} crn_known_look;

#define CRN_KNOWN_LOOK                                                                             \
    {                                                                                              \
        .light = 1, .speckle = 0.35, .highlight = 90                                               \
    }

/* Cosines and sines of a view's roll, tilt and pitch. */
typedef struct crn_known_turn {
    double cos_roll, sin_roll, cos_tilt, sin_tilt, cos_pitch, sin_pitch;
} crn_known_turn;

typedef struct crn_known_fruit {
    int32_t height, width, classes; /* of its pictures and maps */
    double a_mm, c_mm;              /* semi-axes: across the roll axis and along it */
    double mm_per_px, distance_mm;
    double dent; /* depth around the stem, in radii; areas are those without it */
    crn_known_vector stem;
    crn_known_spot spots[CRN_KNOWN_SPOTS];
    int spot_count, view_count;
    double roll[CRN_KNOWN_VIEWS];
    double tilt[CRN_KNOWN_VIEWS],
        pitch[CRN_KNOWN_VIEWS]; /* of the roll axis, in the picture and out of it */
    double x[CRN_KNOWN_VIEWS], y[CRN_KNOWN_VIEWS]; /* centre in pixels */
    crn_known_turn turn[CRN_KNOWN_VIEWS];          /* of these angles */
    crn_known_look look;
    uint32_t texture; /* seed of its skin, rollers and smudges */
} crn_known_fruit;

/* What random fruits are like. */
typedef struct crn_known_kind {
    int views;
    int32_t height, width;        /* of a picture; 0: CRN_KNOWN_HEIGHT, CRN_KNOWN_WIDTH */
    int32_t first_class, classes; /* channels of its spots; classes 0: CRN_KNOWN_CLASSES */
    double mm_per_px;             /* 0: any from 0.3 to 0.9 */
    int spots;                    /* as many as there is room for; 0: 3 to 8 */
    double slip;                  /* part of a step that may be more or less */
    double step_rad;              /* from a view to the next */
    double ratio_min, ratio_max;  /* length / diameter */
    double distance_radii;        /* of the camera; 0: orthographic */
    double wobble_rad;            /* of the axis, at most, in either direction */
    double spot_min, spot_max;    /* radius in radians */
    double dent;                  /* depth around the stem, in radii */
    bool along;                   /* it travels along the picture, a view after the other */
    crn_known_look look;          /* CRN_KNOWN_LOOK, or other */
} crn_known_kind;

crn_known_fruit crn_known_random(const crn_known_kind *kind, crn_draws *random);

/* --- the truth --- */

/* Areas in mm^2: of all, of what faces the camera in some view, and of what a view shows at most 75
 * degrees inclined. */
typedef struct crn_known_areas {
    double all, visible, seen;
} crn_known_areas;

crn_known_areas crn_known_spot_areas(const crn_known_fruit *fruit, const crn_known_spot *spot);

/* Of all spots of a class, and how many these are: those of which at least half is seen, and all.
 */
typedef struct crn_known_class {
    crn_known_areas mm2;
    int seen, all;
} crn_known_class;

crn_known_class crn_known_class_measures(const crn_known_fruit *fruit, int channel);

/* Of the whole surface. */
double crn_known_surface_mm2(const crn_known_fruit *fruit);

/* Longest chord of a spot, in mm. */
double crn_known_length_mm(const crn_known_fruit *fruit, const crn_known_spot *spot);

/* Its middle, on the unit sphere. */
crn_known_vector crn_known_middle(const crn_known_spot *spot);

/* How a point of the unit sphere faces the camera in the view that shows it best: the cosine of its
 * inclination; below 0 it is hidden. */
double crn_known_facing(const crn_known_fruit *fruit, crn_known_vector point);

/* Part of the surface that some view shows at most 75 degrees inclined. */
double crn_known_coverage(const crn_known_fruit *fruit);

/* Where a view shows the fruit; the axis upright, whatever its wobble. */
crn_surface_pose crn_known_pose(const crn_known_fruit *fruit, int view);

/* --- its pictures --- */

/* The point of the unit sphere that a place of a view's picture shows. False beside the fruit. */
bool crn_known_hit(const crn_known_fruit *fruit, int view, double px, double py,
                   crn_known_vector *ret_point);

/* The class of a point of the unit sphere; -1: sound. */
int crn_known_class_of(const crn_known_fruit *fruit, crn_known_vector point);

/* How much of each pixel each class covers: `classes` planes of height x width. */
void crn_known_render(const crn_known_fruit *fruit, int view, float *ret_maps);

/* A photograph, height x width: shading and a highlight that do not turn with the skin, spots
 * darker than it, noise and specks, and what the fruit's look says. */
void crn_known_photograph(const crn_known_fruit *fruit, int view, crn_draws *random,
                          uint8_t *ret_photo);

/* Reads the middle of a picture as a skin, to be freed. 0, or negative errno and a text. */
int crn_known_skin_read(const char *path, crn_known_skin *ret_skin, crn_error *error);
void crn_known_skin_free(crn_known_skin *skin);

/* The skin at a point of the unit sphere, on its six sides. */
double crn_known_skin_at(const crn_known_skin *skin, crn_known_vector point);

#endif
