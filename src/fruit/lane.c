#include "src/fruit/lane.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "src/fruit/numbering.h"
#include "stages/base/clock.h"

/* The longest times are forgotten after one to two of these. */
#define SLOWEST_NS (600 * CRN_NS_PER_S)

struct crn_lane {
    crn_lanes *lanes;
    uint32_t number;
    int32_t epochs; /* number of the two below in use */
    crn_numbering current, before;
    uint64_t verdicts;
    uint64_t sample, alike; /* hash of the last view's values; consecutive views with it */
    int64_t slowest_ns, slowest_before_ns; /* longest delay of a view, in this period and before */
    int64_t slowest_until_ns;              /* end of this period */
    crn_lane_stats stats;
};

struct crn_lanes {
    int32_t capacity, count;
    uint64_t reused, jumps;
    uint32_t mask;   /* of `index` */
    uint32_t *index; /* open addressing by lane number: index into `lanes` + 1; 0 is empty */
    crn_lane *lanes;
    crn_refusals refused_elsewhere;
};

int crn_lanes_create(int32_t capacity, crn_lanes **ret_lanes)
{
    if (capacity < 1 || capacity > INT32_MAX / 4)
        return -EINVAL;
    uint32_t size = 2;
    while (size < 2 * (uint32_t)capacity)
        size *= 2;

    crn_lanes *lanes = calloc(1, sizeof *lanes);
    if (!lanes)
        return -ENOMEM;
    lanes->capacity = capacity;
    lanes->mask = size - 1;
    lanes->index = calloc(size, sizeof *lanes->index);
    lanes->lanes = calloc((size_t)capacity, sizeof *lanes->lanes);
    if (!lanes->index || !lanes->lanes) {
        crn_lanes_free(&lanes);
        return -ENOMEM;
    }
    *ret_lanes = lanes;
    return 0;
}

void crn_lanes_free(crn_lanes **lanes)
{
    if (!lanes || !*lanes)
        return;
    free((*lanes)->index);
    free((*lanes)->lanes);
    free(*lanes);
    *lanes = NULL;
}

/* Position in the index of that lane, or the empty one where it belongs. */
static uint32_t index_of(const crn_lanes *lanes, uint32_t number)
{
    uint32_t mixed = number * UINT32_C(0x9e3779b1);
    uint32_t at = (mixed ^ mixed >> 16) & lanes->mask;
    while (lanes->index[at] && lanes->lanes[lanes->index[at] - 1].number != number)
        at = (at + 1) & lanes->mask;
    return at;
}

crn_lane *crn_lanes_look_up(crn_lanes *lanes, uint32_t number)
{
    uint32_t found = lanes->index[index_of(lanes, number)];
    return found ? &lanes->lanes[found - 1] : NULL;
}

crn_lane *crn_lanes_find(crn_lanes *lanes, uint32_t number)
{
    uint32_t at = index_of(lanes, number);
    if (lanes->index[at])
        return &lanes->lanes[lanes->index[at] - 1];
    if (lanes->count == lanes->capacity)
        return NULL;
    crn_lane *lane = &lanes->lanes[lanes->count++];
    lane->lanes = lanes;
    lane->number = number;
    lanes->index[at] = (uint32_t)lanes->count;
    return lane;
}

uint64_t crn_lanes_reused(const crn_lanes *lanes)
{
    return lanes->reused;
}

uint64_t crn_lanes_jumps(const crn_lanes *lanes)
{
    return lanes->jumps;
}

void crn_lanes_refuse(crn_lanes *lanes, const crn_view_header *header, crn_refusal why)
{
    crn_lane *lane = header ? crn_lanes_look_up(lanes, header->lane) : NULL;
    (lane ? &lane->stats.refused : &lanes->refused_elsewhere)->count[why]++;
}

const crn_refusals *crn_lanes_refused_elsewhere(const crn_lanes *lanes)
{
    return &lanes->refused_elsewhere;
}

crn_lane_stats crn_lanes_sum(const crn_lanes *lanes)
{
    crn_lane_stats sum = {0};
    for (int32_t i = 0; i < lanes->count; i++) {
        const crn_lane_stats *lane = &lanes->lanes[i].stats;
        sum.views += lane->views;
        sum.missing += lane->missing;
        sum.reordered += lane->reordered;
        sum.duplicates += lane->duplicates;
        sum.restarts += lane->restarts;
        sum.reused += lane->reused;
        sum.jumps += lane->jumps;
        crn_refusals_add(&sum.refused, &lane->refused);
    }
    return sum;
}

int32_t crn_lanes_count(const crn_lanes *lanes)
{
    return lanes->count;
}

crn_lane *crn_lanes_at(crn_lanes *lanes, int32_t index)
{
    return index >= 0 && index < lanes->count ? &lanes->lanes[index] : NULL;
}

void crn_lane_count(crn_lane *lane, const crn_view_header *header)
{
    lane->stats.views++;
    crn_numbering *numbers =
        lane->epochs > 0 && header->epoch == lane->current.epoch  ? &lane->current
        : lane->epochs > 1 && header->epoch == lane->before.epoch ? &lane->before
                                                                  : NULL;
    bool of_before = numbers == &lane->before;
    uint64_t jumps = lane->stats.jumps;
    bool goes_on = numbers && crn_numbering_count(numbers, header, of_before, &lane->stats);
    lane->lanes->jumps += lane->stats.jumps - jumps;
    if (goes_on)
        return;
    bool again = numbers;
    lane->stats.reused += again;
    lane->lanes->reused += again;
    lane->stats.restarts += !again && lane->epochs > 0;
    if (lane->epochs == 0) {
        lane->epochs = 1;
    } else if (!again || of_before) {
        lane->before = lane->current;
        lane->epochs = 2;
    }
    lane->current = crn_numbering_begin(header);
}

uint64_t crn_lane_count_identical(crn_lane *lane, uint64_t sample)
{
    lane->alike = sample == 0 ? 0 : sample == lane->sample ? lane->alike + 1 : 1;
    lane->sample = sample;
    return lane->alike;
}

void crn_lane_delay(crn_lane *lane, int64_t delay_ns, int64_t now_ns)
{
    if (now_ns >= lane->slowest_until_ns) {
        bool long_ago = now_ns - lane->slowest_until_ns >= SLOWEST_NS;
        lane->slowest_before_ns = long_ago ? 0 : lane->slowest_ns;
        lane->slowest_ns = 0;
        lane->slowest_until_ns = now_ns + SLOWEST_NS;
    }
    if (delay_ns > lane->slowest_ns)
        lane->slowest_ns = delay_ns;
}

int64_t crn_lane_longest_delay_ns(const crn_lane *lane)
{
    return lane->slowest_ns > lane->slowest_before_ns ? lane->slowest_ns : lane->slowest_before_ns;
}

uint64_t crn_lane_next_sequence(crn_lane *lane)
{
    return lane->verdicts++;
}

uint64_t crn_lane_verdicts(const crn_lane *lane)
{
    return lane->verdicts;
}

int32_t crn_lane_index(const crn_lane *lane)
{
    return (int32_t)(lane - lane->lanes->lanes);
}

uint32_t crn_lane_number(const crn_lane *lane)
{
    return lane->number;
}

const crn_lane_stats *crn_lane_get_stats(const crn_lane *lane)
{
    return &lane->stats;
}
