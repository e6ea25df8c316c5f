/*
 * The charts of a line: for each lane and class the share of fruits with a defect of the class,
 * compared with that of the same lot: of the other lanes, and of this lane before. A new lot, other
 * settings, and a start of the daemon begin anew. No clock, no thread, no allocation after
 * creation.
 */
#ifndef CRN_SRC_MONITOR_DRIFT_CHARTS_H
#define CRN_SRC_MONITOR_DRIFT_CHARTS_H

#include <stddef.h>

#include "src/fruit/lot.h"
#include "src/monitor/drift/chart.h"
#include "stages/stage/classes.h"

CRN_C_BEGIN

/* What the charts need of a fruit whose defects are known. */
typedef struct crn_drift_fruit {
    uint64_t settings;          /* hash of those that it was judged by */
    uint64_t looked_for, found; /* a bit for each class: it has a level; the fruit has a defect */
    int32_t index;              /* of the lane, below the number of lanes */
    uint32_t lane;              /* its number */
    char lot[CRN_LOT_ID_BYTES]; /* "": none */
} crn_drift_fruit;

/* Fruits of a lane in 30 days of 24 h at 10 a second: so many are to pass with at most one false
 * alarm of all charts together. */
#define CRN_DRIFT_FRUITS 25920000

/* A difference that is raised. */
typedef struct crn_drift_finding {
    int64_t lane; /* -1: most lanes, so that it is the fruit, or the line */
    int32_t class;
    uint64_t fruits;     /* of the lane, or of one of them, since it began */
    double usual, share; /* of fruits: expected, and of those */
} crn_drift_finding;

/* Of each lane at most one, that of the strongest evidence, in the order of their places; of the
 * line one, the first. */
typedef struct crn_drift_findings {
    int32_t count;
    crn_drift_finding at[];
} crn_drift_findings;

/* Size with so many lanes. */
static inline size_t crn_drift_findings_bytes(int32_t lanes)
{
    return sizeof(crn_drift_findings) + ((size_t)lanes + 1) * sizeof(crn_drift_finding);
}

/* How near a lane's class is to being raised. */
typedef struct crn_drift_level {
    uint32_t lane;
    int32_t class;
    double part; /* the logarithm of the evidence, of that of the limit: raised from 1 on */
} crn_drift_level;

/* Told of each in turn. */
typedef void crn_drift_told(void *context, const crn_drift_level *level);

typedef struct crn_drift_charts crn_drift_charts;

/* `lanes` is limits.lanes; `fruits` CRN_DRIFT_FRUITS, another number for tests. 0 or -ENOMEM. */
int crn_drift_charts_create(int32_t lanes, double fruits, crn_drift_charts **ret_charts);
void crn_drift_charts_free(crn_drift_charts **charts); /* NULL is allowed */

void crn_drift_charts_add(crn_drift_charts *charts, const crn_drift_fruit *fruit);

/*
 * What is raised now. A class that changes on more than half of the lanes at once is a change of
 * the fruit or of the line: one finding of lane -1. Without a lot it is taken for other fruit: all
 * begins anew.
 */
void crn_drift_charts_find(crn_drift_charts *charts, crn_drift_findings *ret_findings);

/* Tells of each lane and class in use the level of the chart that is nearer to its limit. */
void crn_drift_charts_tell(const crn_drift_charts *charts, crn_drift_told *tell, void *context);

/* Bytes that crn_drift_charts_create() allocates. */
size_t crn_drift_charts_bytes(int32_t lanes);

CRN_C_END

#endif
