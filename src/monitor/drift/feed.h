/*
 * How fruits come from the line's thread to the charts: by a ring of bytes that the line's thread
 * never waits for. While nobody takes fruits for some seconds of a fast line, the charts lack the
 * rest: they compare shares, which that does not change.
 */
#ifndef CRN_SRC_MONITOR_DRIFT_FEED_H
#define CRN_SRC_MONITOR_DRIFT_FEED_H

#include "src/fruit/fruit.h"
#include "src/monitor/drift/charts.h"
#include "src/publish/verdict.h"

CRN_C_BEGIN

typedef struct crn_drift crn_drift;

/* `lanes` is limits.lanes. Returns 0 or -ENOMEM. */
int crn_drift_create(int32_t lanes, crn_drift **ret_drift);
void crn_drift_free(crn_drift **drift); /* NULL is allowed */

/* For the line's thread: the verdict just published. One whose defects are not known, as it is
 * late, is left out. */
void crn_drift_offer(crn_drift *drift, const crn_fruit *fruit, const crn_published *published);

/* For one other thread, that of the conditions: what is raised after all fruits that were offered;
 * valid until the next call. */
const crn_drift_findings *crn_drift_look(crn_drift *drift);

/* For any thread: as crn_drift_charts_tell(), as of the last look. */
void crn_drift_tell(crn_drift *drift, crn_drift_told *tell, void *context);

/* Bytes that crn_drift_create() allocates. */
size_t crn_drift_bytes(int32_t lanes);

CRN_C_END

#endif
