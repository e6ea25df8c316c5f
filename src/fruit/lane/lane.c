#include "src/fruit/lane/lane.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "stages/base/hash_index.h"

/* The longest times are forgotten after one to two of these. */
#define SLOWEST_NS (600 * CRN_NS_PER_S)

/* A freed lane, for when it comes again. */
typedef struct lane_left {
    uint32_t number;
    uint64_t verdicts; /* 0: the entry is free */
} lane_left;

struct crn_lanes {
    int32_t capacity, count;
    crn_hash_index index; /* of `lanes` by number */
    crn_lane *lanes;
    crn_lane_rules rules;
    uint64_t opened; /* lanes so far */
    lane_left left[CRN_LANES_LEFT];
    uint64_t left_count;   /* entries written so far; the oldest is replaced */
    uint64_t forgotten_to; /* highest number of verdicts of a lane that `left` lost */
    crn_lanes_totals totals;
};

int crn_lanes_create(int32_t capacity, crn_lanes **ret_lanes)
{
    if (capacity < 1 || capacity > INT32_MAX / 4)
        return -EINVAL;
    crn_lanes *lanes = calloc(1, sizeof *lanes);
    if (!lanes)
        return -ENOMEM;
    lanes->capacity = capacity;
    lanes->lanes = calloc((size_t)capacity, sizeof *lanes->lanes);
    if (crn_hash_index_init(&lanes->index, (uint32_t)capacity) < 0 || !lanes->lanes) {
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
    crn_hash_index_done(&(*lanes)->index);
    free((*lanes)->lanes);
    free(*lanes);
    *lanes = NULL;
}

static uint32_t hash_number(uint32_t number)
{
    uint32_t mixed = number * UINT32_C(0x9e3779b1);
    return mixed ^ mixed >> 16;
}

static uint32_t hash_of(const void *lanes, uint32_t index)
{
    return hash_number(((const crn_lanes *)lanes)->lanes[index].number);
}

crn_lane *crn_lanes_look_up(crn_lanes *lanes, uint32_t number)
{
    uint32_t at = hash_number(number), found;
    for (; (found = crn_hash_index_at(&lanes->index, at)) != CRN_HASH_INDEX_NONE; at++)
        if (lanes->lanes[found].number == number)
            return &lanes->lanes[found];
    return NULL;
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

const crn_lane_rules *crn_lanes_rules_of(const crn_lanes *lanes)
{
    return &lanes->rules;
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
                        .index = (int32_t)(place - lanes->lanes),
                        .serial = ++lanes->opened,
                        .verdicts = take_left(lanes, number)};
    crn_hash_index_add(&lanes->index, hash_number(number), (uint32_t)place->index);
    return place;
}

crn_lane *crn_lanes_find(crn_lanes *lanes, uint32_t number)
{
    crn_lane *lane = crn_lanes_look_up(lanes, number);
    if (lane || lanes->count == lanes->capacity)
        return lane;
    return open_lane(lanes, &lanes->lanes[lanes->count++], number);
}

static void add_stats(crn_lane_stats *sum, const crn_lane_stats *added)
{
    sum->views += added->views;
    CRN_LANE_COUNTS(CRN_COUNT_ADD)
}

static void free_lane(crn_lanes *lanes, const crn_lane *lane)
{
    lanes->totals.frees++;
    add_stats(&lanes->totals.freed, &lane->stats);
    crn_refusals_add(&lanes->totals.refused_elsewhere, &lane->stats.refused);
    crn_hash_index_remove(&lanes->index, (uint32_t)lane->index, hash_of, lanes);
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

const crn_lanes_totals *crn_lanes_totals_of(const crn_lanes *lanes)
{
    return &lanes->totals;
}

void crn_lane_hold(crn_lane *lane, int32_t fruits)
{
    lane->open += fruits;
    lane->fruits += fruits > 0;
}

/* --- counters ----------------------------------------------------------------------------------*/

void crn_lanes_refuse(crn_lanes *lanes, const crn_view_header *header, crn_refusal why)
{
    crn_lane *lane = header ? crn_lanes_look_up(lanes, header->lane) : NULL;
    (lane ? &lane->stats.refused : &lanes->totals.refused_elsewhere)->count[why]++;
}

crn_lane_stats crn_lanes_sum(const crn_lanes *lanes)
{
    crn_lane_stats sum = lanes->totals.freed;
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
    uint64_t jumps = stats->jumps, reused = stats->reused, begun = lane->senders.begun;
    stats->views++;
    bool is_new = crn_senders_count(&lane->senders, header, now_ns, stats);
    if (lane->senders.begun != begun)
        crn_scale_doubt(&lane->values.scale);
    lane->lanes->totals.jumps += stats->jumps - jumps;
    lane->lanes->totals.reused += stats->reused - reused;
    return is_new;
}

void crn_lane_met(crn_lane *lane, const crn_met_senders *met)
{
    if (met->meeting == CRN_MEETING_NONE)
        return;
    bool joined = met->meeting == CRN_MEETING_JOINED;
    crn_met_senders *last = joined ? &lane->lanes->totals.joined : &lane->lanes->totals.mixed;
    lane->stats.joined += joined;
    lane->stats.mixed += !joined;
    *last = *met;
    last->lane = lane->number;
}

bool crn_lane_is_unproven(const crn_lane *lane, int64_t now_ns)
{
    return crn_scale_is_unproven(&lane->values.scale) &&
           now_ns - lane->used_ns < CRN_LANE_SILENT_NS;
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
