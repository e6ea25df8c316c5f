/* What a daemon says of itself in an event of /events, as far as cernita-top shows it. */
#ifndef CRN_TOOLS_TOP_STATUS_H
#define CRN_TOOLS_TOP_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/base/error.h"

#define CRN_STATUS_TEXT    64
#define CRN_STATUS_REASON  256
#define CRN_STATUS_REASONS 12
#define CRN_STATUS_EDGES   14
#define CRN_STATUS_STAGES  32
#define CRN_STATUS_LANES   1024
#define CRN_STATUS_BAD     12

/* Largest event that is read. */
#define CRN_STATUS_EVENT_BYTES ((size_t)4 << 20)

typedef struct crn_status_stage {
    char name[CRN_STATUS_TEXT], backend[CRN_STATUS_TEXT];
    double mean_ms, share; /* share: 0 to 1 */
} crn_status_stage;

typedef enum crn_lane_state {
    CRN_LANE_GOOD,
    CRN_LANE_DEGRADED,
    CRN_LANE_SILENT,
} crn_lane_state;

typedef struct crn_status_lane {
    int64_t number;
    crn_lane_state state;
    char causes[CRN_STATUS_TEXT]; /* "2 partial, 1 late"; of the last two minutes */
    double last_view_s;           /* since 1970 */
    double p99_ms;                /* NaN: unknown */
} crn_status_lane;

typedef struct crn_status_fruit {
    int64_t lane, fruit;
    char verdict[CRN_STATUS_TEXT];
    bool over_budget;
    double latency_ms, published_s;
} crn_status_fruit;

/* A writer to a disk. */
typedef struct crn_status_writer {
    bool on;
    double lost, bytes, free_share; /* free_share 0 to 1, NaN: unknown */
} crn_status_writer;

/* Texts are printable; numbers that an event lacks are NaN, lists empty. */
typedef struct crn_top_status {
    char state[CRN_STATUS_TEXT], version[CRN_STATUS_TEXT], run[CRN_STATUS_TEXT],
        config[CRN_STATUS_TEXT], backend[CRN_STATUS_TEXT];
    bool healthy;
    int reason_count;
    char reasons[CRN_STATUS_REASONS][CRN_STATUS_REASON];
    double now_s, budget_ms, workers, devices, devices_lost, memory_bytes;
    bool budget_known, budget_kept;
    double budget_since_s, missed, recent_verdicts;
    double verdicts_per_s, views_per_s, complete, partial, late, lost;
    double p50_ms, p99_ms; /* of the last two minutes */
    double slots, slots_free, graders, waiting;
    double undelivered;    /* verdicts of the last two minutes that no grader gets */
    double recent_partial; /* fruits, of the last two minutes */
    double refused;        /* messages of the last two minutes */
    int refused_reason;    /* why most of them were, of `reasons`; only if any was */
    double edges_ms[CRN_STATUS_EDGES], counts[CRN_STATUS_EDGES + 1]; /* of the last two minutes */
    bool has_counts;
    int stage_count, lane_count, bad_count;
    crn_status_stage stages[CRN_STATUS_STAGES];
    crn_status_lane lanes[CRN_STATUS_LANES];
    crn_status_fruit bad[CRN_STATUS_BAD];
    crn_status_writer recorder, log;
} crn_top_status;

/* Reads an event's data, JSON. 0, or -EBADMSG or -ENOMEM with a clause in *error; then *ret_status
 * is as before. */
int crn_status_parse(const char *json, size_t size, crn_top_status *ret_status, crn_error *error);

#endif
