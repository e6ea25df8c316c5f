/*
 * The measures of a fruit: what its views have found, joined to one surface. Used by the thread of
 * surfaces.h alone.
 */
#ifndef CRN_SRC_SURFACE_MEASUREMENT_H
#define CRN_SRC_SURFACE_MEASUREMENT_H

#include "src/fruit/fruit.h"
#include "src/publish/surface.h"
#include "src/surface/pose.h"

CRN_C_BEGIN

/* A roll is looked for so near the expected one. */
#define CRN_UNION_ROLL_RANGE_RAD 0.44

/* Up to which pieces are joined across the border of two strips. */
#define CRN_UNION_ROLL_ERROR_RAD 0.035

/* A view of a fruit that is measured. */
typedef struct crn_measured_view {
    uint32_t view;   /* its index */
    uint32_t result; /* handle in the result store */
    /* Found: */
    crn_view_pose found;
    crn_pose_source roll_source; /* of pose.roll_rad */
    double roll_confidence;
    uint32_t before;         /* defects of the views before it */
    double from_rad, to_rad; /* its strip, from its middle; NaN: it owns none */
} crn_measured_view;

/* A fruit to be measured, and what came of it. */
typedef struct crn_measurement {
    const crn_fruit *fruit;   /* its address alone: the line's thread's */
    const crn_config *config; /* by which it is judged */
    uint16_t judged;          /* its judged views, as of the beginning */
    int32_t view_count;
    crn_measured_view views[CRN_FRUIT_VIEWS_MAX]; /* by their index */
    int64_t begun_ns, took_ns;                    /* took_ns: of the thread alone */
    bool done, left; /* the line's thread's: collected; its fruit was judged without it */
    bool skipped;    /* some view's pose was, for want of time */
    bool is_measured;
    double coverage; /* if so */
    crn_fruit_surface packed;
} crn_measurement;

/* Measures one fruit at a time. */
typedef struct crn_fruit_union crn_fruit_union;

/* `config` is resolved; it and `store` are the caller's and must outlive it. 0 or -ENOMEM. */
int crn_fruit_union_create(const crn_config *config, const crn_result_store *store,
                           crn_fruit_union **ret_union);
void crn_fruit_union_free(crn_fruit_union **it); /* NULL is allowed */

/* Bytes that it reserves; most stay untouched. */
size_t crn_fruit_union_bytes(const crn_config *config);

/*
 * Fills the found members. The fruit is not measured if no view's pose is known, if rolls are
 * neither found nor expected (roll_deg 0), or if its outlines together exceed limits.points or
 * limits.defects.
 *
 * Returns the measures, valid until the next call; NULL: not measured.
 */
const crn_surface_fruit *crn_fruit_union_run(crn_fruit_union *it, crn_measurement *measurement);

CRN_C_END

#endif
