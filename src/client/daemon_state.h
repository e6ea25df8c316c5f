/* What a daemon says of itself: an event of /events, or the page /healthz, which has a part of it.
 * What is missing or of another type counts as unknown. */
#ifndef CRN_SRC_CLIENT_DAEMON_STATE_H
#define CRN_SRC_CLIENT_DAEMON_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/base/error.h"

#define CRN_STATE_TEXT       64
#define CRN_STATE_SENTENCE   512
#define CRN_STATE_CONDITIONS 128 /* as many as a daemon tells */
#define CRN_STATE_EDGES      14
#define CRN_STATE_STAGES     32
#define CRN_STATE_LANES      1024
#define CRN_STATE_BAD        12
#define CRN_STATE_OUTLETS    16

/* Largest event that is read. */
#define CRN_STATE_EVENT_BYTES ((size_t)4 << 20)

typedef struct crn_state_stage {
    char name[CRN_STATE_TEXT], backend[CRN_STATE_TEXT];
    double mean_ms, share; /* share: 0 to 1 */
} crn_state_stage;

typedef enum crn_lane_state {
    CRN_LANE_GOOD,
    CRN_LANE_DEGRADED,
    CRN_LANE_SILENT,
} crn_lane_state;

typedef struct crn_state_lane {
    int64_t number;
    crn_lane_state state;
    char causes[CRN_STATE_TEXT]; /* "2 partial, 1 late"; of the last two minutes */
    double last_view_s;          /* since 1970 */
    double p99_ms;               /* NaN: unknown */
} crn_state_lane;

typedef struct crn_state_fruit {
    int64_t lane, fruit;
    char verdict[CRN_STATE_TEXT];
    bool over_budget;
    double latency_ms, published_s;
} crn_state_fruit;

/* An outlet of a sorter that reports to the daemon. */
typedef struct crn_state_outlet {
    char name[CRN_STATE_TEXT];
    double per_minute; /* fruits of the last minute */
} crn_state_outlet;

/* A writer to a disk. */
typedef struct crn_state_writer {
    bool on;
    double lost, bytes, free_share; /* free_share 0 to 1, NaN: unknown */
} crn_state_writer;

typedef enum crn_state_level {
    CRN_LEVEL_NONE, /* the line starts or stops, or says nothing of it */
    CRN_LEVEL_GOOD,
    CRN_LEVEL_NOTICE,
    CRN_LEVEL_WARNING,
    CRN_LEVEL_CRITICAL,
} crn_state_level;

/* A condition that holds: src/monitor/conditions, or what a sorter that reports says is wrong. */
typedef struct crn_state_condition {
    char id[CRN_STATE_TEXT];
    crn_state_level severity;
    bool misjudged; /* fruit is sorted wrongly or not at all */
    int64_t lane;   /* -1: it is of the whole line */
    double since_s; /* since 1970; NaN: unknown */
    char what[CRN_STATE_SENTENCE], action[CRN_STATE_SENTENCE], details[CRN_STATE_SENTENCE];
} crn_state_condition;

/* "critical" and the like. */
const char *crn_state_level_name(crn_state_level level);

/* Texts are printable; numbers that an event lacks are NaN, lists empty. */
typedef struct crn_daemon_state {
    char state[CRN_STATE_TEXT], version[CRN_STATE_TEXT], run[CRN_STATE_TEXT],
        config[CRN_STATE_TEXT], backend[CRN_STATE_TEXT], lot[CRN_STATE_TEXT];
    bool healthy;
    crn_state_level level; /* of the headline */
    bool misjudged;
    bool conditions_known; /* they are there, and each has its texts */
    int condition_count;   /* worst first */
    crn_state_condition conditions[CRN_STATE_CONDITIONS];
    double now_s, budget_ms, workers, devices, devices_lost, memory_bytes;
    bool budget_known, budget_kept;
    double budget_since_s, missed, recent_verdicts;
    double verdicts_per_s, views_per_s, complete, partial, late, lost;
    double p50_ms, p99_ms; /* of the last two minutes */
    double slots, slots_free, graders, waiting;
    double alarms;                                                 /* unacknowledged */
    double edges_ms[CRN_STATE_EDGES], counts[CRN_STATE_EDGES + 1]; /* of the last two minutes */
    bool has_counts;
    int stage_count, lane_count, bad_count, outlet_count;
    crn_state_stage stages[CRN_STATE_STAGES];
    crn_state_lane lanes[CRN_STATE_LANES];
    crn_state_fruit bad[CRN_STATE_BAD];
    crn_state_outlet outlets[CRN_STATE_OUTLETS]; /* none without a sorter that reports */
    double hour_fruits, hour_with_defect;        /* of the last hour */
    char hour_worst[CRN_STATE_TEXT];             /* the class that the largest share had, or "" */
    double hour_worst_share;                     /* 0 to 1 */
    crn_state_writer recorder, log;
} crn_daemon_state;

/* Reads an event's data or a page, JSON. 0, or -EBADMSG or -ENOMEM with a clause in *error; then
 * *ret_state is as before. */
int crn_daemon_state_parse(const char *json, size_t size, crn_daemon_state *ret_state,
                           crn_error *error);

#endif
