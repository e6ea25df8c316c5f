/* How families print their samples. Private to families.c and *samples.c. */
#ifndef CRN_SRC_MONITOR_SAMPLES_H
#define CRN_SRC_MONITOR_SAMPLES_H

#include "src/monitor/families.h"

/* A uint64_t at `offset` of the snapshot, of the observation, of each lane's, or one for each row
 * that is a sample of this family. */
crn_family_samples crn_samples_value, crn_samples_observed, crn_samples_lane, crn_samples_of;

/* A crn_histogram at `offset` of each lane's snapshot. */
crn_family_samples crn_samples_lane_latency, crn_samples_lane_lateness;

/* Nanoseconds of CLOCK_REALTIME at `offset` of each lane's snapshot, as seconds; no sample for 0.
 */
crn_family_samples crn_samples_lane_time;

crn_family_samples crn_samples_build, crn_samples_state, crn_samples_started, crn_samples_age,
    crn_samples_conditions, crn_samples_drift, crn_samples_budget, crn_samples_recipe,
    crn_samples_changed;
crn_family_samples crn_samples_received, crn_samples_rejected, crn_samples_lane_rejected,
    crn_samples_values, crn_samples_verdicts;
/* A uint64_t at `offset` of each class's crn_minutes_total. */
crn_family_samples crn_samples_classes;

crn_family_samples crn_samples_queue, crn_samples_run, crn_samples_stages, crn_samples_busy,
    crn_samples_ended;
crn_family_samples crn_samples_coverage, crn_samples_poses, crn_samples_rolls,
    crn_samples_confidence, crn_samples_surface;
crn_family_samples crn_samples_cut, crn_samples_access, crn_samples_limits, crn_samples_memory;
crn_family_samples crn_samples_disk_free, crn_samples_disk_size, crn_samples_disk_silent;
crn_family_samples crn_samples_http_responses;
crn_family_samples crn_samples_cpu;

#endif
