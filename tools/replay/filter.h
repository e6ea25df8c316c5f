/* Which fruits of the recordings are sent: by lane, by number, by the time at which the first view
 * of them was received, by their verdict. Whole fruits, because some views alone make another
 * verdict. */
#ifndef CRN_TOOLS_REPLAY_FILTER_H
#define CRN_TOOLS_REPLAY_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/base/error.h"

#define CRN_REPLAY_LANES_MAX  64  /* in a list */
#define CRN_REPLAY_RANGES_MAX 256 /* likewise */

/* A fruit of the recordings. */
typedef struct crn_replay_fruit {
    uint32_t lane;
    uint64_t epoch, fruit;
} crn_replay_fruit;

/* Of two crn_replay_fruit, for qsort and bsearch: by epoch, then by lane. */
int crn_replay_fruit_compare(const void *left, const void *right);

/* N, N-M, LANE/N or LANE/EPOCH/N. */
typedef struct crn_replay_range {
    bool has_lane, has_epoch;
    uint64_t lane, epoch, min, max;
} crn_replay_range;

typedef struct crn_replay_filter {
    uint32_t lanes[CRN_REPLAY_LANES_MAX];
    uint32_t lane_count; /* 0: all */
    crn_replay_range ranges[CRN_REPLAY_RANGES_MAX];
    uint32_t range_count;            /* 0: all fruits */
    uint64_t from_ns, to_ns;         /* CLOCK_REALTIME; from included, to excluded; 0: no limit */
    bool late, partial, over_budget; /* verdicts of the log, any of these; none: all fruits */
    const char *log;                 /* folder; NULL without these */
} crn_replay_filter;

/* Read N[,N…], and a list of ranges; false if the text is anything else. */
bool crn_replay_filter_read_lanes(crn_replay_filter *filter, const char *text);
bool crn_replay_filter_read_fruits(crn_replay_filter *filter, const char *text);

/* Reads a list of late, partial and over_budget. */
bool crn_replay_filter_read_verdicts(crn_replay_filter *filter, const char *text);

/* False if the filter lets everything through. */
bool crn_replay_filter_is_set(const crn_replay_filter *filter);

/* True if a fruit is to be sent, as far as its verdict does not decide. */
bool crn_replay_filter_takes(const crn_replay_filter *filter, const crn_replay_fruit *fruit,
                             uint64_t first_arrived_ns);

/* Sorts the fruits that there are. 0, or -ENOENT with a clause in *error that names a range of the
 * filter without a fruit, and the fruits that there are. */
int crn_replay_filter_check(const crn_replay_filter *filter, crn_replay_fruit *fruits, size_t count,
                            crn_error *error);

#endif
