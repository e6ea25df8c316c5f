/* The views of a synthetic fruit as a line has them: outlines, by the chain, of rendered maps. */
#ifndef CRN_TESTS_SUPPORT_SURFACE_SEEN_H
#define CRN_TESTS_SUPPORT_SURFACE_SEEN_H

#include "tests/support/surface/scene.h"

/* One fruit at a time. */
typedef struct scene_seen {
    char folder[64];
    crn_context *context;
    crn_chain *chain;
    int view_count;
    float maps[SCENE_VIEWS][SCENE_CLASSES * SCENE_PIXELS];
    crn_defects defects[SCENE_VIEWS];
    crn_surface_view views[SCENE_VIEWS];
} scene_seen;

void scene_seen_open(scene_seen *seen);
void scene_seen_close(scene_seen *seen);

/* Looks at all views of a fruit: maps, outlines, and the true poses. */
void scene_look(scene_seen *seen, const scene_fruit *fruit);

/* What scene_look() needs of a crn_surface. */
crn_surface_settings scene_settings(double distance_mm);

#endif
