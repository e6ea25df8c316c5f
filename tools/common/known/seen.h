/* The views of a known fruit as a line has them: outlines, by the chain, of rendered maps. */
#ifndef CRN_TOOLS_COMMON_KNOWN_SEEN_H
#define CRN_TOOLS_COMMON_KNOWN_SEEN_H

#include "tools/common/known/known.h"

enum { CRN_SEEN_VIEWS = 8 };

/* One fruit at a time, of CRN_KNOWN_CLASSES and at most CRN_SEEN_VIEWS. */
typedef struct crn_known_seen {
    crn_context *context;
    crn_chain *chain;
    int view_count;
    size_t pixels;               /* of a picture */
    float *maps[CRN_SEEN_VIEWS]; /* CRN_KNOWN_CLASSES planes each */
    crn_defects defects[CRN_SEEN_VIEWS];
    crn_surface_view views[CRN_SEEN_VIEWS];
} crn_known_seen;

/* For pictures of at most so many pixels. Returns 0, or negative errno and a text; free it with
 * crn_known_seen_close() in any case. */
int crn_known_seen_open(crn_known_seen *ret_seen, size_t pixels, crn_error *error);
void crn_known_seen_close(crn_known_seen *seen);

/* Looks at all views of a fruit: maps, outlines, and the true poses. 0, or negative errno and a
 * text. */
int crn_known_look_at(crn_known_seen *seen, const crn_known_fruit *fruit, crn_error *error);

/* What it needs of a crn_surface. */
crn_surface_settings crn_known_settings(double distance_mm);

#endif
