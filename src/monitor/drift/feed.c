#include "src/monitor/drift/feed.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/byte_ring.h"

/* Some 5,000 fruits: of a second ten times as many as the fastest lines have. */
#define RING_BYTES (1 << 20)

struct crn_drift {
    crn_byte_ring ring;
    pthread_mutex_t lock; /* of the charts: the line's thread does not take it */
    crn_drift_charts *charts;
    crn_drift_findings *findings;
};

size_t crn_drift_bytes(int32_t lanes)
{
    return RING_BYTES + crn_drift_findings_bytes(lanes) + crn_drift_charts_bytes(lanes);
}

int crn_drift_create(int32_t lanes, crn_drift **ret_drift)
{
    crn_drift *drift = calloc(1, sizeof *drift);
    *ret_drift = drift;
    if (!drift)
        return -ENOMEM;
    pthread_mutex_init(&drift->lock, NULL);
    int r = crn_byte_ring_init(&drift->ring, RING_BYTES);
    drift->findings = calloc(1, crn_drift_findings_bytes(lanes));
    if (r == 0)
        r = drift->findings ? crn_drift_charts_create(lanes, CRN_DRIFT_FRUITS, &drift->charts)
                            : -ENOMEM;
    if (r < 0)
        crn_drift_free(ret_drift);
    return r;
}

void crn_drift_free(crn_drift **drift)
{
    if (!*drift)
        return;
    crn_byte_ring_done(&(*drift)->ring);
    crn_drift_charts_free(&(*drift)->charts);
    free((*drift)->findings);
    pthread_mutex_destroy(&(*drift)->lock);
    free(*drift);
    *drift = NULL;
}

void crn_drift_offer(crn_drift *drift, const crn_fruit *fruit, const crn_published *published)
{
    if (!published->totals || published->facts.kind == CRN_VERDICT_LATE ||
        published->facts.without_defects)
        return;
    crn_drift_fruit *offered = crn_byte_ring_reserve(&drift->ring, sizeof *offered);
    if (!offered)
        return;
    const crn_classes *classes = &fruit->config->classes;
    offered->settings = fruit->config->hash;
    offered->looked_for = offered->found = 0;
    for (int32_t i = 0; i < classes->count; i++) {
        offered->looked_for |= (uint64_t)!isnan(classes->level[i]) << i;
        offered->found |= (uint64_t)(published->totals[i].count > 0) << i;
    }
    offered->index = fruit->lane->index;
    offered->lane = fruit->lane->number;
    memcpy(offered->lot, fruit->lot, sizeof offered->lot);
    crn_byte_ring_push(&drift->ring);
}

const crn_drift_findings *crn_drift_look(crn_drift *drift)
{
    const crn_drift_fruit *fruit;
    pthread_mutex_lock(&drift->lock);
    while ((fruit = crn_byte_ring_poll(&drift->ring))) {
        crn_drift_charts_add(drift->charts, fruit);
        crn_byte_ring_pop(&drift->ring);
    }
    crn_drift_charts_find(drift->charts, drift->findings);
    pthread_mutex_unlock(&drift->lock);
    return drift->findings;
}

void crn_drift_tell(crn_drift *drift, crn_drift_told *tell, void *context)
{
    pthread_mutex_lock(&drift->lock);
    crn_drift_charts_tell(drift->charts, tell, context);
    pthread_mutex_unlock(&drift->lock);
}
