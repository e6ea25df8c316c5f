/* Which fruits of the recordings are sent: by lane, by number, by the time at which the first view
 * of them was received. Whole fruits, because some views alone make another verdict. */
#ifndef CRN_TOOLS_REPLAY_FILTER_H
#define CRN_TOOLS_REPLAY_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#define CRN_REPLAY_LANES_MAX 64 /* in a list */

typedef struct crn_replay_filter {
    uint32_t lanes[CRN_REPLAY_LANES_MAX];
    uint32_t lane_count; /* 0: all */
    bool by_fruit;
    uint64_t fruit_min, fruit_max;
    uint64_t from_ns, to_ns; /* CLOCK_REALTIME; from included, to excluded; 0: no limit */
} crn_replay_filter;

/* Read N[,N…] and N[-M]; false if the text is anything else. */
bool crn_replay_filter_read_lanes(crn_replay_filter *filter, const char *text);
bool crn_replay_filter_read_fruits(crn_replay_filter *filter, const char *text);

/* False if the filter lets everything through. */
bool crn_replay_filter_is_set(const crn_replay_filter *filter);

/* True if a fruit is to be sent. */
bool crn_replay_filter_takes(const crn_replay_filter *filter, uint32_t lane, uint64_t fruit,
                             uint64_t first_arrived_ns);

#endif
