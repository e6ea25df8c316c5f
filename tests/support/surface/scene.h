/*
 * Synthetic fruits of which everything is known: a spheroid with spots that rolls under a camera.
 * A ray for each of nine points of a pixel gives the maps that a CNN would have of it.
 */
#ifndef CRN_TESTS_SUPPORT_SURFACE_SCENE_H
#define CRN_TESTS_SUPPORT_SURFACE_SCENE_H

#include "stages/cernita_surface.h"
#include "tests/support/random.h"

enum {
    SCENE_CLASSES = 3,
    SCENE_SPOTS = 12,
    SCENE_VIEWS = 8,
    SCENE_HEIGHT = 95,
    SCENE_WIDTH = 111,
    SCENE_PIXELS = SCENE_HEIGHT * SCENE_WIDTH,
};

typedef struct scene_vector {
    double x, y, z; /* across the roll axis, along it, towards the camera at roll 0 */
} scene_vector;

/* A spot: what lies within `radius` of the arc from p to q on the unit sphere, and farther than
 * `inner` from it: a ring, around a spot that is sound. */
typedef struct scene_spot {
    int channel;
    scene_vector p, q;
    double radius, inner; /* in radians; inner 0: no hole */
    /* Of these, made by scene_random(). */
    double length;                 /* of the arc, in radians */
    scene_vector t, n, t_q;        /* along the arc at p, across it, along it at q */
    double cos_radius, sin_radius; /* of the edge */
    double cos_inner, sin_inner;
} scene_spot;

typedef struct scene_fruit {
    double a_mm, c_mm; /* semi-axes */
    double speckle;    /* part of its brightness that its speckles are */
    uint32_t skin;     /* seed of its speckles */
    double mm_per_px, distance_mm;
    scene_spot spots[SCENE_SPOTS];
    int spot_count, view_count;
    double roll[SCENE_VIEWS];
    double tilt[SCENE_VIEWS],
        pitch[SCENE_VIEWS];                /* of the roll axis, in the picture and out of it */
    double x[SCENE_VIEWS], y[SCENE_VIEWS]; /* centre in pixels */
} scene_fruit;

/* What random fruits are like. */
typedef struct scene_kind {
    int views;
    double speckle;              /* part of the skin's brightness that varies; 0: 0.35 */
    double slip;                 /* part of a step that may be more or less */
    double step_rad;             /* from a view to the next */
    double ratio_min, ratio_max; /* length / diameter */
    double distance_radii;       /* 0: orthographic */
    double wobble_rad;           /* of the axis, at most, in either direction */
    double spot_min, spot_max;   /* radius in radians */
} scene_kind;

scene_fruit scene_random(const scene_kind *kind, crn_random *random);

/* True area of a class in mm^2, in all or of what faces the camera in some view; and of the whole
 * surface. */
double scene_area_mm2(const scene_fruit *fruit, int channel, bool only_visible);
double scene_surface_mm2(const scene_fruit *fruit);
int scene_count(const scene_fruit *fruit, int channel);

/* Whether some view shows a point of the unit sphere at most so inclined; a wobble is left out. */
bool scene_shows(const scene_fruit *fruit, scene_vector point, double inclined_rad);

/* Longest chord of a spot, in mm. */
double scene_length_mm(const scene_fruit *fruit, const scene_spot *spot);

/* Where a view shows the fruit; the axis upright, whatever its wobble. */
crn_surface_pose scene_pose(const scene_fruit *fruit, int view);

/* The point of the unit sphere that a place of a view's picture shows. False beside the fruit. */
bool scene_hit(const scene_fruit *fruit, int view, double px, double py, scene_vector *ret_point);

/* The class of a point of the unit sphere; -1: sound. */
int scene_class_of(const scene_fruit *fruit, scene_vector point);

/* A photograph of a speckled skin, SCENE_HEIGHT x SCENE_WIDTH: shading and a highlight that do not
 * turn with it, spots darker than it, a dark background with noise and specks. */
void scene_photograph(const scene_fruit *fruit, int view, crn_random *random, uint8_t *ret_photo);

/* SCENE_CLASSES planes of SCENE_HEIGHT x SCENE_WIDTH. */
void scene_render(const scene_fruit *fruit, int view, float *ret_maps);

#endif
