/*
 * What the line's thread measures for the monitor beside its counters: histograms of durations, and
 * figures of each lane. All memory is reserved at the start; used by one thread.
 */
#ifndef CRN_SRC_MONITOR_METERS_H
#define CRN_SRC_MONITOR_METERS_H

#include "stages/config/config.h"
#include "src/fruit/fruit.h"
#include "src/fruit/lane/lane.h"
#include "src/ingest/ingest.h"
#include "src/monitor/histogram.h"

CRN_C_BEGIN

/* Where a view's enqueue halves ran. */
typedef enum crn_side {
    CRN_SIDE_PROCESSOR,
    CRN_SIDE_DEVICE,
    CRN_SIDES,
} crn_side;

typedef struct crn_lane_meters {
    uint64_t serial;                     /* that of the crn_lane that they are of */
    crn_histogram latency;               /* of fruits, from close to publication */
    crn_histogram lateness;              /* of views, from captured_ns to reception */
    uint64_t received[CRN_INGEST_PATHS]; /* valid views, by how they came */
    uint64_t verdicts[CRN_VERDICT_LATE + 1];
    CRN_LANE_METER_COUNTS(CRN_COUNT_MEMBER)
    uint64_t missed;       /* verdicts over budget, and late ones */
    uint64_t last_view_ns; /* CLOCK_REALTIME of the last valid view's reception */
    int64_t arrived_ns;    /* the same on CLOCK_MONOTONIC */
    uint64_t fruits;       /* that the lane had opened at its last view, */
    int64_t fruit_ns;      /* and when the last one was, by its first view; CLOCK_MONOTONIC */
    int64_t pause_ns;      /* usual pause between fruits, of the last ones: between first views */
    int32_t pauses;        /* in it */
} crn_lane_meters;

/* Steps of all settings since the start, those of one name counted together; of a further one
 * nothing is measured. */
#define CRN_METER_STEPS 32

/* Of views that the chain finished. */
typedef struct crn_view_meters {
    crn_histogram queue;
    crn_histogram run[CRN_SIDES];
    crn_histogram stage[CRN_SIDES][CRN_METER_STEPS]; /* without views that skipped the step */
    int32_t steps;
    crn_step_kind step[CRN_METER_STEPS]; /* what `stage` is of; entries are only added */
    uint64_t busy_ns[CRN_SIDES];         /* machine time */
} crn_view_meters;

typedef struct crn_meters {
    const crn_config *config;
    crn_histogram_edges edges[CRN_SCALES];
    crn_view_meters views;
    int8_t place[CRN_GENERATIONS][CRN_STAGES_MAX]; /* of a step in views.step; -1: none */
    crn_lane_meters *lanes;                        /* limits.lanes entries, by a lane's index */
    crn_lane_meters freed;                         /* sum over lanes that were freed for others */
} crn_meters;

/* `config` must outlive it. An edge of the fruits' histograms is its budget. Returns 0 or -ENOMEM.
 */
int crn_meters_init(const crn_config *config, crn_meters *ret_meters);

/* True if so long without a view is unusual for the lane: more than five seconds, and than ten of
 * its pauses between fruits, of however many views. */
bool crn_lane_meters_is_silence(const crn_lane_meters *lane, int64_t ns);

/* Views with these settings will come. */
void crn_meters_use(crn_meters *meters, const crn_config *config);
void crn_meters_done(crn_meters *meters);

/* Adds the counts of a lane to those of several. */
void crn_lane_meters_add(crn_lane_meters *sum, const crn_lane_meters *lane);

/* A valid message arrived by `path`, whatever became of its view. */
void crn_meters_arrival(crn_meters *meters, const crn_lane *lane, const crn_view_header *header,
                        crn_ingest_path path, int64_t now_ns, int64_t realtime_ns);

/* The chain finished a view with these settings; NULL: the start's. */
void crn_meters_view(crn_meters *meters, const crn_config *config, const crn_judgement *judgement);

/* A fruit's verdict was published at now_ns. */
void crn_meters_fruit(crn_meters *meters, const crn_fruit *fruit, int64_t now_ns);

CRN_C_END

#endif
