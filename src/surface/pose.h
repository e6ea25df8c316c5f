/*
 * A view's part in its fruit's measures, found by the worker that judges it: where the view shows
 * the fruit, which defects lie on it, and its skin, so that no photograph need be kept.
 */
#ifndef CRN_SRC_SURFACE_POSE_H
#define CRN_SRC_SURFACE_POSE_H

#include "src/ingest/view.h"
#include "src/publish/packed_defects.h"
#include "stages/surface/skin.h"

CRN_C_BEGIN

/* What tells where a view shows the fruit, or how far it has rolled. */
typedef enum crn_pose_source {
    CRN_POSE_NONE,     /* nothing does */
    CRN_POSE_PHOTO,    /* the photograph */
    CRN_POSE_CLASS,    /* a class's map */
    CRN_POSE_HEADER,   /* the sender */
    CRN_POSE_EXPECTED, /* the fruit's other views; of a roll: roll_deg */
    CRN_POSE_SOURCES,
} crn_pose_source;

/* "none", "photo", …: in verdicts and metrics. */
extern const char *const crn_pose_source_names[CRN_POSE_SOURCES];

/* As it stands in the result store, before the skin, the defects and their points. */
typedef struct crn_view_pose {
    crn_surface_pose pose; /* its confidence also of what was found and is not used */
    double mm_per_px;
    int32_t height, width;
    crn_pose_source source;
    bool has_skin, skipped; /* skipped: time was short */
    uint32_t defect_count, point_count;
} crn_view_pose;

/* One view at a time; used by one thread at a time. */
typedef struct crn_pose_finder crn_pose_finder;

/* `config` is resolved, the caller's, and must outlive it. Returns 0 or -ENOMEM. */
int crn_pose_finder_create(const crn_config *config, crn_pose_finder **ret_finder);
void crn_pose_finder_free(crn_pose_finder **finder); /* NULL is allowed */

/*
 * Finds the view's pose, by the settings that its fruit is judged by, which measure
 * (crn_config_measures). With `outside: drop` removes defects that lie beside the fruit. Allocates
 * only for the first map of a size. Returns how long it took.
 */
int64_t crn_pose_find(crn_pose_finder *finder, const crn_view *view, crn_defects *defects);

/* Of each defect that was left, for crn_defects_pack; NULL: not told (`outside: keep`). */
const crn_on_fruit *crn_pose_on_fruit(const crn_pose_finder *finder);

#define CRN_POSE_PARTS 4

/* What is to be kept of the view until its fruit is measured: pieces for the result store. */
void crn_pose_parts(const crn_pose_finder *finder, const crn_defects *defects,
                    crn_result_part ret_parts[CRN_POSE_PARTS]);

CRN_C_END

#endif
