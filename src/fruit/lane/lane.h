/*
 * Lanes: what the sequence numbers of each sender reveal about lost, repeated and reordered
 * messages (numbering.h); the verdicts' sequence numbers. No clock, no allocation after creation;
 * used by one thread.
 */
#ifndef CRN_SRC_FRUIT_LANE_LANE_H
#define CRN_SRC_FRUIT_LANE_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/base/api.h"
#include "stages/base/clock.h"
#include "stages/config/config.h"
#include "src/fruit/lane/senders.h"
#include "src/fruit/values/scale.h"

CRN_C_BEGIN

#define CRN_LANE_SILENT_NS (120 * CRN_NS_PER_S) /* what its views told is of the past */
#define CRN_LANES_LEFT     1024 /* freed lanes whose verdicts' sequence is remembered */

typedef struct crn_lanes crn_lanes;

/* Others read it only, but for what its views' values told. */
typedef struct crn_lane {
    crn_lanes *lanes;
    uint32_t number;
    int32_t index;   /* crn_lanes_at */
    int32_t open;    /* fruits without a verdict */
    uint64_t fruits; /* opened so far */
    uint64_t serial; /* distinguishes successive lanes in a place: 1, 2, …, in order of opening */
    int64_t used_ns; /* last message */
    uint64_t verdicts;                     /* sequence numbers so far */
    int64_t slowest_ns, slowest_before_ns; /* longest delay of a view, in this period and before */
    int64_t slowest_until_ns;              /* end of this period */
    crn_senders senders;
    crn_values_lane values;
    crn_lane_stats stats;
} crn_lane;

/* Over all lanes, those that were freed included. */
typedef struct crn_lanes_totals {
    uint64_t reused, jumps;         /* as those of crn_lane_stats */
    crn_met_senders joined, mixed;  /* the last that were; zeroed before the first */
    crn_refusals refused_elsewhere; /* messages of lanes that are not open, or without a readable
                                       header */
    uint64_t frees;                 /* lanes that were freed */
    crn_lane_stats freed; /* sum of their counters; refused messages are in refused_elsewhere */
} crn_lanes_totals;

/* Which lanes are taken in, and when one may be freed for another. */
typedef struct crn_lane_rules {
    crn_lane_ranges listed;
    int64_t idle_ns; /* silence after which a lane may be freed */
} crn_lane_rules;

/* The rules of a line with these settings, resolved. */
crn_lane_rules crn_lane_rules_of(const crn_config *config);

/* Creates a table for `capacity` lanes, at least 1. Returns 0, -EINVAL or -ENOMEM. */
int crn_lanes_create(int32_t capacity, crn_lanes **ret_lanes);

/* Frees the lanes and sets *lanes to NULL; NULL is allowed.
 * Pointers to its lanes become invalid. */
void crn_lanes_free(crn_lanes **lanes);

/* Returns the lane of that number, opening it if new; NULL if `capacity` others are open. */
crn_lane *crn_lanes_find(crn_lanes *lanes, uint32_t number);

/* Without rules every lane is taken in, and none is freed. */
void crn_lanes_set_rules(crn_lanes *lanes, const crn_lane_rules *rules);
const crn_lane_rules *crn_lanes_rules_of(const crn_lanes *lanes);

/*
 * Returns the lane of that number for a message of it. Opens it if new: if `capacity` others are
 * open, in the place of the one that was silent longest, if that was for idle_ns and no fruit of it
 * is open. NULL if none was, or if the lane is not listed; *ret_why is then LANES or
 * LANE_NOT_LISTED.
 *
 * The counters of a lane that is freed go on in crn_lanes_totals. Its verdicts' sequence goes on
 * when it comes again; those of more than CRN_LANES_LEFT freed lanes begin above all that were
 * forgotten.
 */
crn_lane *crn_lanes_admit(crn_lanes *lanes, uint32_t number, int64_t now_ns, crn_refusal *ret_why);

/* A fruit of the lane was opened (1), or has its verdict (-1). */
void crn_lane_hold(crn_lane *lane, int32_t fruits);

/* Returns the lane of that number, or NULL if it is not open. */
crn_lane *crn_lanes_look_up(crn_lanes *lanes, uint32_t number);

/* Counts a refused message for its lane, or among those of other lanes if it is not open or
 * `header` is NULL (could not be read). */
void crn_lanes_refuse(crn_lanes *lanes, const crn_view_header *header, crn_refusal why);

const crn_lanes_totals *crn_lanes_totals_of(const crn_lanes *lanes);

/* Sum of the lanes' counters, freed ones included. */
crn_lane_stats crn_lanes_sum(const crn_lanes *lanes);

int32_t crn_lanes_count(const crn_lanes *lanes);
/* In order of first sight, but for those that took the place of others. */
crn_lane *crn_lanes_at(crn_lanes *lanes, int32_t index);

/* Counts a valid message by its epoch and sequence number. Returns whether that number is new. */
bool crn_lane_count(crn_lane *lane, const crn_view_header *header, int64_t now_ns);

/* Counts what a view showed; `lane` is filled in. */
void crn_lane_met(crn_lane *lane, const crn_met_senders *met);

/* How long after its fruit's first view, or its verdict, a view came. */
void crn_lane_delay(crn_lane *lane, int64_t delay_ns, int64_t now_ns);
/* The longest in the last ten to twenty minutes. */
int64_t crn_lane_longest_delay_ns(const crn_lane *lane);

/* True if the lane is unproven (scale.h) and had a message in the last CRN_LANE_SILENT_NS. */
bool crn_lane_is_unproven(const crn_lane *lane, int64_t now_ns);

/* Returns the sequence number of the lane's next verdict, 0, 1, 2, …, or skips one, so that the
 * grader sees that a fruit gets none. */
uint64_t crn_lane_next_sequence(crn_lane *lane);

CRN_C_END

#endif
