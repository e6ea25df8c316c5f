#include "src/fruit/lane.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "src/fruit/senders.h"

/* The longest times are forgotten after one to two of these. */
#define SLOWEST_NS (600 * CRN_NS_PER_S)

struct crn_lane {
    crn_lanes *lanes;
    uint32_t number;
    int32_t open; /* fruits without a verdict */
    uint64_t serial;
    int64_t used_ns; /* last message */
    crn_senders senders;
    uint64_t verdicts;
    uint64_t sample, alike; /* hash of the last view's values; consecutive views with it */
    int64_t slowest_ns, slowest_before_ns; /* longest delay of a view, in this period and before */
    int64_t slowest_until_ns;              /* end of this period */
    crn_scale scale;
    crn_lane_stats stats;
};

/* A freed lane, for when it comes again. */
typedef struct lane_left {
    uint32_t number;
    uint64_t verdicts; /* 0: the entry is free */
} lane_left;

struct crn_lanes {
    int32_t capacity, count;
    uint64_t reused, jumps;
    crn_met_senders joined, mixed;
    uint32_t mask;   /* of `index` */
    uint32_t *index; /* open addressing by lane number: index into `lanes` + 1; 0 is empty */
    crn_lane *lanes;
    crn_refusals refused_elsewhere;
    crn_lane_rules rules;
    uint64_t opened; /* lanes so far */
    uint64_t frees;
    crn_lane_stats freed; /* sum over freed lanes, without `refused` */
    lane_left left[CRN_LANES_LEFT];
    uint64_t left_count;   /* entries written so far; the oldest is replaced */
    uint64_t forgotten_to; /* highest number of verdicts of a lane that `left` lost */
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

static uint32_t home_of(const crn_lanes *lanes, uint32_t number)
{
    uint32_t mixed = number * UINT32_C(0x9e3779b1);
    return (mixed ^ mixed >> 16) & lanes->mask;
}

/* Position in the index of that lane, or the empty one where it belongs. */
static uint32_t index_of(const crn_lanes *lanes, uint32_t number)
{
    uint32_t at = home_of(lanes, number);
    while (lanes->index[at] && lanes->lanes[lanes->index[at] - 1].number != number)
        at = (at + 1) & lanes->mask;
    return at;
}

crn_lane *crn_lanes_look_up(crn_lanes *lanes, uint32_t number)
{
    uint32_t found = lanes->index[index_of(lanes, number)];
    return found ? &lanes->lanes[found - 1] : NULL;
}

/* --- lanes come and go ------------------------------------------------------------------------ */

crn_lane_rules crn_lane_rules_of(const crn_config *config)
{
    crn_lane_rules rules = {.idle_ns = config->limits.lane_idle_s * CRN_NS_PER_S};
    if (crn_lane_ranges_parse(&config->ingest.lanes, &rules.listed) < 0)
        rules.listed.count = 0; /* the check of the file excludes it */
    return rules;
}

void crn_lanes_set_rules(crn_lanes *lanes, const crn_lane_rules *rules)
{
    lanes->rules = *rules;
}

/* Number of verdicts that a lane had when it was freed. */
static uint64_t take_left(crn_lanes *lanes, uint32_t number)
{
    for (size_t i = 0; i < CRN_LANES_LEFT; i++) {
        lane_left *left = &lanes->left[i];
        uint64_t verdicts = left->verdicts;
        if (verdicts == 0 || left->number != number)
            continue;
        left->verdicts = 0;
        return verdicts;
    }
    return lanes->forgotten_to;
}

static crn_lane *open_lane(crn_lanes *lanes, crn_lane *place, uint32_t number)
{
    *place = (crn_lane){.lanes = lanes,
                        .number = number,
                        .serial = ++lanes->opened,
                        .verdicts = take_left(lanes, number)};
    lanes->index[index_of(lanes, number)] = (uint32_t)(place - lanes->lanes) + 1;
    return place;
}

crn_lane *crn_lanes_find(crn_lanes *lanes, uint32_t number)
{
    crn_lane *lane = crn_lanes_look_up(lanes, number);
    if (lane || lanes->count == lanes->capacity)
        return lane;
    return open_lane(lanes, &lanes->lanes[lanes->count++], number);
}

/* Removes a lane from the index by backward-shift deletion (linear probing). */
static void index_remove(crn_lanes *lanes, const crn_lane *lane)
{
    uint32_t gap = index_of(lanes, lane->number);
    for (uint32_t at = (gap + 1) & lanes->mask; lanes->index[at]; at = (at + 1) & lanes->mask) {
        uint32_t home = home_of(lanes, lanes->lanes[lanes->index[at] - 1].number);
        if (((at - home) & lanes->mask) < ((at - gap) & lanes->mask))
            continue;
        lanes->index[gap] = lanes->index[at];
        gap = at;
    }
    lanes->index[gap] = 0;
}

static void add_stats(crn_lane_stats *sum, const crn_lane_stats *lane)
{
    sum->views += lane->views;
    sum->missing += lane->missing;
    sum->reordered += lane->reordered;
    sum->duplicates += lane->duplicates;
    sum->restarts += lane->restarts;
    sum->reused += lane->reused;
    sum->jumps += lane->jumps;
    sum->joined += lane->joined;
    sum->mixed += lane->mixed;
}

static void free_lane(crn_lanes *lanes, const crn_lane *lane)
{
    lanes->frees++;
    add_stats(&lanes->freed, &lane->stats);
    crn_refusals_add(&lanes->refused_elsewhere, &lane->stats.refused);
    index_remove(lanes, lane);
    lane_left *left = &lanes->left[lanes->left_count++ % CRN_LANES_LEFT];
    if (left->verdicts > lanes->forgotten_to)
        lanes->forgotten_to = left->verdicts;
    *left = (lane_left){.number = lane->number, .verdicts = lane->verdicts};
}

/* The lane that was silent longest and may be freed, or NULL. */
static crn_lane *find_idle(const crn_lanes *lanes, int64_t now_ns)
{
    crn_lane *idle = NULL;
    for (int32_t i = 0; i < lanes->count && lanes->rules.idle_ns > 0; i++) {
        crn_lane *lane = &lanes->lanes[i];
        bool listed = crn_lane_ranges_have(&lanes->rules.listed, lane->number);
        if (lane->open == 0 && (!listed || now_ns - lane->used_ns >= lanes->rules.idle_ns) &&
            (!idle || lane->used_ns < idle->used_ns))
            idle = lane;
    }
    return idle;
}

crn_lane *crn_lanes_admit(crn_lanes *lanes, uint32_t number, int64_t now_ns, crn_refusal *ret_why)
{
    if (!crn_lane_ranges_have(&lanes->rules.listed, number)) {
        *ret_why = CRN_REFUSAL_LANE_NOT_LISTED;
        return NULL;
    }
    crn_lane *lane = crn_lanes_find(lanes, number);
    if (!lane && (lane = find_idle(lanes, now_ns))) {
        free_lane(lanes, lane);
        open_lane(lanes, lane, number);
    }
    if (lane)
        lane->used_ns = now_ns;
    else
        *ret_why = CRN_REFUSAL_LANES;
    return lane;
}

const crn_lane_stats *crn_lanes_freed(const crn_lanes *lanes, uint64_t *ret_count)
{
    *ret_count = lanes->frees;
    return &lanes->freed;
}

uint64_t crn_lane_serial(const crn_lane *lane)
{
    return lane->serial;
}

void crn_lane_hold(crn_lane *lane, int32_t fruits)
{
    lane->open += fruits;
}

/* --- counters ----------------------------------------------------------------------------------*/

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
    crn_lane_stats sum = lanes->freed;
    for (int32_t i = 0; i < lanes->count; i++) {
        add_stats(&sum, &lanes->lanes[i].stats);
        crn_refusals_add(&sum.refused, &lanes->lanes[i].stats.refused);
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

bool crn_lane_count(crn_lane *lane, const crn_view_header *header, int64_t now_ns)
{
    crn_lane_stats *stats = &lane->stats;
    uint64_t jumps = stats->jumps, reused = stats->reused;
    stats->views++;
    bool is_new = crn_senders_count(&lane->senders, header, now_ns, stats);
    lane->lanes->jumps += stats->jumps - jumps;
    lane->lanes->reused += stats->reused - reused;
    return is_new;
}

crn_senders *crn_lane_senders(crn_lane *lane)
{
    return &lane->senders;
}

void crn_lane_met(crn_lane *lane, const crn_met_senders *met)
{
    if (met->meeting == CRN_MEETING_NONE)
        return;
    bool joined = met->meeting == CRN_MEETING_JOINED;
    crn_met_senders *last = joined ? &lane->lanes->joined : &lane->lanes->mixed;
    lane->stats.joined += joined;
    lane->stats.mixed += !joined;
    *last = *met;
    last->lane = lane->number;
}

const crn_met_senders *crn_lanes_joined(const crn_lanes *lanes)
{
    return &lanes->joined;
}

const crn_met_senders *crn_lanes_mixed(const crn_lanes *lanes)
{
    return &lanes->mixed;
}

uint64_t crn_lane_count_identical(crn_lane *lane, uint64_t sample)
{
    lane->alike = sample == 0 ? 0 : sample == lane->sample ? lane->alike + 1 : 1;
    lane->sample = sample;
    return lane->alike;
}

crn_scale *crn_lane_scale(crn_lane *lane)
{
    return &lane->scale;
}

uint64_t crn_lanes_unproven(const crn_lanes *lanes, int64_t now_ns, uint32_t *ret_number)
{
    uint64_t count = 0;
    for (int32_t i = lanes->count - 1; i >= 0; i--) {
        const crn_lane *lane = &lanes->lanes[i];
        if (!crn_scale_is_unproven(&lane->scale) || now_ns - lane->used_ns >= CRN_LANE_SILENT_NS)
            continue;
        count++;
        *ret_number = lane->number;
    }
    return count;
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
