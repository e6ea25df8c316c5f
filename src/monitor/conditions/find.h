/* How the rows find their conditions. Private to this folder and rows/. */
#ifndef CRN_SRC_MONITOR_CONDITIONS_FIND_H
#define CRN_SRC_MONITOR_CONDITIONS_FIND_H

#include "src/monitor/conditions/conditions.h"
#include "src/monitor/drift/charts.h"
#include "src/monitor/resources/resources.h"

CRN_C_BEGIN

/* What a row without a row for each lane passes as the lane. */
#define CRN_NO_LANE (-1)

/* So far back the counts are compared: losses older than this are of the past. */
#define CRN_CONDITIONS_WINDOW_NS (5 * CRN_NS_PER_S)

/* Longer than the window: what happened once, as when a sender is restarted, does not go on. */
#define CRN_CONDITION_GOES_ON_S 6

/* For how long a lane has received nothing while others did: in this movement of the belt, and in
 * those before it that it missed as a whole, or in which it became silent. */
typedef struct crn_condition_lane {
    uint64_t serial, views; /* as of the last look */
    int64_t quiet_ns;
    bool missed_movement; /* no view since the belt last stood */
} crn_condition_lane;

/* What a snapshot does not say: kept from one look to the next. */
typedef struct crn_condition_memory {
    int64_t clocks_apart_ns;    /* CLOCK_REALTIME less CLOCK_MONOTONIC; 0 before the first look */
    double clock_jump_s;        /* the last one */
    int64_t clock_jump_ns;      /* when; 0: never */
    int64_t views_caused_ns;    /* when a cause of lost views was last found; 0: never */
    int64_t writers_delayed_ns; /* the same of copies for which their writers had no processor */
    int64_t moved_ns;  /* latest view of any lane, or when the belt was last seen to stand */
    int64_t moving_ns; /* for how long it moved since the first view with these lanes: */
    crn_lane_ranges listed;
    crn_condition_lane *lanes; /* limits.lanes entries, by a lane's index */
} crn_condition_memory;

struct crn_condition_look {
    const crn_config *config; /* of the start */
    const crn_snapshot *now;
    const crn_snapshot *before; /* of CRN_CONDITIONS_WINDOW_NS before, or of the start */
    const crn_condition_memory *memory;
    const crn_resources *resources;
    const crn_drift_findings *drift; /* NULL: nothing is compared */
    unsigned causes;                 /* of what was lost: a set of crn_resource_cause */
    int64_t began_ns;                /* the start, CLOCK_MONOTONIC */
    int64_t now_ns;
};

/* Brings memory->lanes up to date, before the rows look at them. */
void crn_condition_follow_lanes(const crn_condition_look *look, crn_condition_memory *memory);

/* The lane's counts in `before`; all 0 if it was not there. */
const crn_lane_snapshot *crn_condition_lane_before(const crn_condition_look *look, int32_t index);

/* The condition holds. */
void crn_condition_add(crn_condition_found *found, const crn_condition_values *values);

/* It holds if the count has grown: {count} is by how much. */
void crn_condition_add_count(crn_condition_found *found, int64_t lane, uint64_t now,
                             uint64_t before);

/* Views that were lost since `before`, by their reasons. */
typedef struct crn_condition_losses {
    uint64_t received;
    uint64_t too_much; /* discarded, unfinished, without a slot */
    uint64_t stragglers;
    uint64_t forced; /* fruits judged early, or views of fruits not taken, as too many are open */
} crn_condition_losses;

crn_condition_losses crn_condition_losses_of(const crn_condition_look *look);

/* True if the losses have a cause, or may be left of what had one: a resource that was short is
 * idle again before its losses are of the past. */
bool crn_condition_views_are_caused(const crn_condition_look *look);

/* The same of copies that the recorder or the verdict log dropped as its thread did not run. */
bool crn_condition_writers_are_delayed(const crn_condition_look *look);

/* True if many views come when the time that their senders gave them is over: then they are late,
 * lost and judged too late for that reason. */
bool crn_condition_deadlines_are_over(const crn_condition_look *look);

/* Verdicts since `before` that the line's thread published past their budget, of whatever lane. */
uint64_t crn_condition_over_budget(const crn_condition_look *look);

/* True if the row's condition of that lane is raised: for rows with two thresholds. */
bool crn_condition_is_raised(const crn_condition_found *found, int64_t lane);

/* All rows; of the same severity those above come first, and the first is the headline: so what
 * may be the cause of others stands above them, as a machine that is busy above the pictures that
 * it loses. Each is defined in a file of rows/. */
/* clang-format off */
#define CRN_CONDITIONS(ROW) \
    ROW(line_hangs) \
    ROW(recipe_lost) \
    ROW(no_grader) \
    ROW(several_graders) \
    ROW(grader_slow) \
    ROW(not_finite) \
    ROW(out_of_range) \
    ROW(wrong_scale) \
    ROW(frozen) \
    ROW(wrong_class_set) \
    ROW(wrong_size) \
    ROW(messages_refused) \
    ROW(too_many_lanes) \
    ROW(two_senders) \
    ROW(epoch_reused) \
    ROW(numbers_too_early) \
    ROW(deadlines_over) \
    ROW(processor_taken) \
    ROW(processor_limited) \
    ROW(overload) \
    ROW(no_free_slot) \
    ROW(chain_fails) \
    ROW(lane_silent) \
    ROW(lane_never_seen) \
    ROW(views_lost) \
    ROW(views_missing) \
    ROW(views_unfinished) \
    ROW(too_many_fruits) \
    ROW(budget_missed) \
    ROW(verdicts_lost) \
    ROW(defects_left_out) \
    ROW(steps_skipped) \
    ROW(views_late) \
    ROW(clock_jump) \
    ROW(clocks_apart) \
    ROW(unproven) \
    ROW(no_sender) \
    ROW(device_lost) \
    ROW(device_left_out) \
    ROW(device_busy) \
    ROW(lane_drifts) \
    ROW(lot_lost) \
    ROW(reload_refused) \
    ROW(memory_short) \
    ROW(disk_hangs) \
    ROW(disk_full) \
    ROW(recipe_not_kept) \
    ROW(lot_not_kept) \
    ROW(changes_not_kept) \
    ROW(disk_full_soon) \
    ROW(writers_delayed) \
    ROW(recording_loses) \
    ROW(log_loses) \
    ROW(keys_refused) \
    ROW(sender_cut) \
    ROW(viewer_stuck) \
    ROW(lot_drifts)
/* clang-format on */

#define CRN_CONDITION_DECLARE(id) extern const crn_condition crn_condition_##id;
CRN_CONDITIONS(CRN_CONDITION_DECLARE)

CRN_C_END

#endif
