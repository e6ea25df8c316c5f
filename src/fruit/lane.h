/*
 * Lanes: what the sequence numbers of each sender reveal about lost, repeated and reordered
 * messages; the verdicts' sequence numbers. No clock, no allocation after creation; used by one
 * thread.
 *
 * Sequence numbers: within an epoch, a number above the highest so far counts those between as
 * missing. A number at most CRN_LANE_WINDOW - 1 below the highest that was not seen before is
 * reordered, and no longer missing if it was counted so; one that was seen is a duplicate. Below
 * the window the two cannot be told apart, and it counts as reordered. A new epoch restarts the
 * sequence at its first message's number; what still arrives of an earlier one counts there as
 * reordered (or duplicate), never as another restart. A number more than CRN_LANE_GAP_MAX from the
 * highest is a jump: no gap, and without effect on the sequence unless another one next to it
 * follows and shows that the sequence goes on there.
 *
 * A sender that restarts must choose a new epoch. One that does not is detected by numbers that
 * were seen before (or are below the window) on views captured later than all others of the epoch
 * so far, or by the epoch's first number with a different capture time: a message that is only
 * late, reordered or repeated has the capture time that belongs to its number. For views without
 * capture times, CRN_LANE_REPEATS messages that repeat the epoch's first numbers in order count as
 * a restart. The sequence then restarts.
 */
#ifndef CRN_SRC_FRUIT_LANE_H
#define CRN_SRC_FRUIT_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/base/api.h"
#include "stages/base/clock.h"
#include "src/config/config.h"
#include "src/fruit/scale.h"
#include "src/ingest/refusal.h"
#include "src/ingest/wire.h"

CRN_C_BEGIN

#define CRN_LANE_SILENT_NS (120 * CRN_NS_PER_S) /* what its views told is of the past */
#define CRN_LANE_WINDOW    64        /* sequence numbers that are tracked, back from the highest */
#define CRN_LANE_GAP_MAX   (1 << 20) /* numbers that may be missing in one gap */
#define CRN_LANES_LEFT     1024      /* freed lanes whose verdicts' sequence is remembered */
#define CRN_LANE_REPEATS   4 /* repeated numbers that count as a restart, without capture times */

typedef struct crn_lane_stats {
    uint64_t views;       /* valid messages */
    uint64_t missing;     /* sequence numbers without a valid message (so far: a reordered one is
                             subtracted again) */
    uint64_t reordered;   /* arrived after a later one */
    uint64_t duplicates;  /* a sequence number seen before */
    uint64_t restarts;    /* changes to an epoch that is not remembered */
    uint64_t reused;      /* restarts of the sequence within an epoch */
    uint64_t jumps;       /* numbers too far from the others to be a gap */
    uint64_t joined;      /* times that senders were joined: senders.h */
    uint64_t mixed;       /* views of several senders at once that cannot be joined */
    crn_refusals refused; /* messages, by reason; in no other counter */
} crn_lane_stats;

typedef struct crn_lane crn_lane;
typedef struct crn_lanes crn_lanes;

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

/*
 * Returns the lane of that number for a message of it. Opens it if new: if `capacity` others are
 * open, in the place of the one that was silent longest, if that was for idle_ns and no fruit of it
 * is open. NULL if none was, or if the lane is not listed; *ret_why is then LANES or
 * LANE_NOT_LISTED.
 *
 * The counters of a lane that is freed go on in crn_lanes_freed. Its verdicts' sequence goes on
 * when it comes again; those of more than CRN_LANES_LEFT freed lanes begin above all that were
 * forgotten.
 */
crn_lane *crn_lanes_admit(crn_lanes *lanes, uint32_t number, int64_t now_ns, crn_refusal *ret_why);

/* Counters of the lanes that were freed, and how many that were. Their refused messages are among
 * crn_lanes_refused_elsewhere. */
const crn_lane_stats *crn_lanes_freed(const crn_lanes *lanes, uint64_t *ret_count);

/* Distinguishes successive lanes in a place: 1, 2, …, in order of opening. */
uint64_t crn_lane_serial(const crn_lane *lane);

/* A fruit of the lane was opened (1), or has its verdict (-1). */
void crn_lane_hold(crn_lane *lane, int32_t fruits);

/* Number of restarts without a new epoch, over all lanes. */
uint64_t crn_lanes_reused(const crn_lanes *lanes);

/* Number of jumps of the sequence, over all lanes. */
uint64_t crn_lanes_jumps(const crn_lanes *lanes);

/* Returns the lane of that number, or NULL if it is not open. */
crn_lane *crn_lanes_look_up(crn_lanes *lanes, uint32_t number);

/* Counts a refused message for its lane, or among those of other lanes if it is not open or
 * `header` is NULL (could not be read). */
void crn_lanes_refuse(crn_lanes *lanes, const crn_view_header *header, crn_refusal why);

/* Refused messages of lanes that are not open, or without a readable header. */
const crn_refusals *crn_lanes_refused_elsewhere(const crn_lanes *lanes);

/* Sum of the lanes' counters, freed ones included. */
crn_lane_stats crn_lanes_sum(const crn_lanes *lanes);

int32_t crn_lanes_count(const crn_lanes *lanes);
/* In order of first sight, but for those that took the place of others. */
crn_lane *crn_lanes_at(crn_lanes *lanes, int32_t index);

/* Counts a valid message by its epoch and sequence number. Returns whether that number is new. */
bool crn_lane_count(crn_lane *lane, const crn_view_header *header, int64_t now_ns);

/* The lane's senders: senders.h. */
struct crn_senders *crn_lane_senders(crn_lane *lane);

/* What senders of a lane that are there at once are to each other. */
typedef enum crn_meeting {
    CRN_MEETING_NONE,   /* nothing to tell */
    CRN_MEETING_JOINED, /* their fruits are kept together from now on */
    CRN_MEETING_SAME,   /* mixed: both send the same view */
    CRN_MEETING_NUMBER, /* mixed: they send different views, but do not number the fruits alike */
} crn_meeting;

/* Two of them, and with which view of the first that showed. */
typedef struct crn_met_senders {
    crn_meeting meeting;
    uint32_t lane;
    uint16_t view;
    uint64_t fruit;
    uint64_t epoch, other;
} crn_met_senders;

/* Counts what a view showed; `lane` is filled in. */
void crn_lane_met(crn_lane *lane, const crn_met_senders *met);

/* The last that were joined or mixed, over all lanes; zeroed before the first. */
const crn_met_senders *crn_lanes_joined(const crn_lanes *lanes);
const crn_met_senders *crn_lanes_mixed(const crn_lanes *lanes);

/* Returns how many consecutive views, this one included, had this hash of their values; 0 means
 * that the sample says nothing, and ends the sequence. */
uint64_t crn_lane_count_identical(crn_lane *lane, uint64_t sample);

/* How long after its fruit's first view, or its verdict, a view came. */
void crn_lane_delay(crn_lane *lane, int64_t delay_ns, int64_t now_ns);
/* The longest in the last ten to twenty minutes. */
int64_t crn_lane_longest_delay_ns(const crn_lane *lane);

/* What the lane's views told of the scale of their values. */
crn_scale *crn_lane_scale(crn_lane *lane);

/* Number of lanes that are unproven (scale.h) and had a message in the last CRN_LANE_SILENT_NS, and
 * the first one's number if there is one. */
uint64_t crn_lanes_unproven(const crn_lanes *lanes, int64_t now_ns, uint32_t *ret_number);

/* Returns the sequence number of the lane's next verdict, 0, 1, 2, …, or skips one, so that the
 * grader sees that a fruit gets none. */
uint64_t crn_lane_next_sequence(crn_lane *lane);
/* Number of sequence numbers so far. */
uint64_t crn_lane_verdicts(const crn_lane *lane);

/* Its index: crn_lanes_at. */
int32_t crn_lane_index(const crn_lane *lane);

uint32_t crn_lane_number(const crn_lane *lane);
const crn_lane_stats *crn_lane_get_stats(const crn_lane *lane);

CRN_C_END

#endif
