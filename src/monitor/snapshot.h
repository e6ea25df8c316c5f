/*
 * All that the monitor reports of the line at one time, and how it passes from the line's thread to
 * the HTTP thread: by three buffers of which each side owns one and exchanges it for the third, so
 * that neither ever waits for the other.
 */
#ifndef CRN_SRC_MONITOR_SNAPSHOT_H
#define CRN_SRC_MONITOR_SNAPSHOT_H

#include "src/fruit/lot.h"
#include "src/monitor/meters.h"
#include "src/monitor/metrics.h"

CRN_C_BEGIN

/* The daemon's state, in the same words wherever it is reported. */
typedef enum crn_state {
    CRN_STATE_STARTING, /* memory is reserved, devices are prepared */
    CRN_STATE_READY,    /* views are accepted; none has arrived yet */
    CRN_STATE_RUNNING,
    /* A device is lost, or did not work at the start: its views run on other devices or the
     * processor. */
    CRN_STATE_DEGRADED,
    CRN_STATE_STOPPING, /* no more views are read; the open fruits are judged */
    CRN_STATES,
} crn_state;

extern const char *const crn_state_names[CRN_STATES]; /* "starting", "ready", … */

typedef struct crn_lane_snapshot {
    uint32_t number;
    crn_lane_stats stats;
    crn_lane_meters meters;
    crn_values_stats values;
    bool is_unproven; /* nothing shows that its CNN works: crn_lane_is_unproven */
} crn_lane_snapshot;

/* What is there at this time, as opposed to counters since the start. */
typedef struct crn_levels {
    CRN_LEVELS(CRN_COUNT_MEMBER)
    uint64_t result_bytes;  /* in the result store */
    uint64_t backlog_bytes; /* of verdicts that wait for a grader */
} crn_levels;

/* The settings that fruits are judged by from now on, their lot, and what became of others. */
typedef struct crn_settings_in_force {
    uint64_t hash;
    char recipe[CRN_RECIPE_NAME_BYTES];      /* "": none */
    char lost_recipe[CRN_RECIPE_NAME_BYTES]; /* as crn_config has it */
    crn_lot lot;
    int64_t budget_ms;
    crn_lane_ranges lanes;      /* that exist: ingest.lanes; none: any */
    int64_t since_ns;           /* CLOCK_REALTIME */
    uint64_t taken_in, refused; /* reloads and switches of the recipe */
    bool last_was_refused;      /* of these, the last */
    int not_kept; /* errno with which the recipe could not be kept over restarts; 0: it is kept */
    int lot_not_kept;     /* the same of the lot */
    int changes_not_kept; /* the same of the log of changes and the settings' texts */
    uint64_t generations; /* in use, with those of fruits that are still open */
} crn_settings_in_force;

typedef struct crn_snapshot {
    uint64_t number; /* 1, 2, …; 0: the line does not run yet */
    int64_t taken_ns;
    crn_state state;
    crn_metrics metrics;
    crn_levels levels;
    crn_settings_in_force settings;
    crn_view_meters views;
    crn_lane_snapshot freed; /* sum over lanes that were freed for others; metrics.lanes_freed */
    int32_t lane_count;
    crn_lane_snapshot lanes[]; /* limits.lanes entries */
} crn_snapshot;

/* Size with so many lanes. */
static inline size_t crn_snapshot_bytes(int32_t lanes)
{
    return sizeof(crn_snapshot) + (size_t)lanes * sizeof(crn_lane_snapshot);
}

typedef struct crn_snapshots crn_snapshots;

/* `lanes` is limits.lanes. Returns 0 or -ENOMEM. */
int crn_snapshots_create(int32_t lanes, crn_snapshots **ret_snapshots);
void crn_snapshots_free(crn_snapshots **snapshots);

/* For the line's thread: the buffer to fill, and its hand-over. */
crn_snapshot *crn_snapshots_begin(crn_snapshots *snapshots);
void crn_snapshots_publish(crn_snapshots *snapshots);

/* For the HTTP thread: the latest snapshot, valid until the next call. */
const crn_snapshot *crn_snapshots_latest(crn_snapshots *snapshots);

CRN_C_END

#endif
