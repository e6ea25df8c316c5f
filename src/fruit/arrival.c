/* Valid and refused messages: which fruit a view belongs to. */
#include "src/fruit/internal.h"

#include <string.h>

#include "src/fruit/lane/senders.h"

/* Makes the oldest fruit due, because one more than open_fruits is about to open. */
static void force_oldest(crn_fruits *fruits, int64_t now_ns)
{
    crn_fruit_entry *oldest = crn_fruit_table_oldest(fruits->table);
    crn_fruit_close_at(oldest, crn_fruit_is_closed(oldest) ? oldest->fruit.closed_ns : now_ns,
                       CRN_CLOSE_OPEN_FRUITS);
    oldest->forced = true;
    fruits->stats.forced++;
    crn_fruit_update_deadline(fruits, oldest);
}

/* Marks a view without a valid message; ignores an index that the fruit cannot have. */
static void mark_refused(crn_fruits *fruits, crn_fruit_entry *entry, uint16_t view, crn_refusal why)
{
    crn_fruit *fruit = &entry->fruit;
    if (view >= fruits->rules.views || (fruit->expected > 0 && view >= fruit->expected) ||
        entry->views[view].state != CRN_VIEW_ABSENT)
        return;
    entry->views[view].state = CRN_VIEW_REFUSED;
    entry->views[view].refusal = why;
    fruit->refused++;
    fruits->stats.refused++;
}

/* Whether the fruit got its verdict within the time in which stragglers come. */
static bool is_just_judged(const crn_fruits *fruits, const crn_lane *lane,
                           const crn_view_header *header)
{
    const crn_judged_fruit *judged =
        crn_judged_find(fruits->judged, header->lane, header->epoch, header->fruit);
    return judged && fruits->now_ns - judged->judged_ns <= crn_fruits_straggler_ns(fruits, lane);
}

static crn_fruit_entry *find_open(const crn_fruits *fruits, const crn_lane *lane,
                                  const crn_view_header *header)
{
    return crn_fruit_table_find(fruits->table, lane, header->epoch, header->fruit);
}

/* The epoch under which the view's fruit is kept, if its sender is joined to others. */
static uint64_t key_of(const crn_fruits *fruits, crn_lane *lane, const crn_view_header *header)
{
    const crn_sender *sender = crn_senders_find(&lane->senders, header->epoch);
    bool own = !sender || sender->key == header->epoch || find_open(fruits, lane, header) ||
               is_just_judged(fruits, lane, header);
    return own ? header->epoch : sender->key;
}

void crn_fruits_refuse(crn_fruits *fruits, const crn_view_header *header, crn_refusal why)
{
    crn_lanes_refuse(fruits->lanes, header, why);
    if (!header)
        return;
    crn_view_header keyed = *header;
    crn_lane *lane = crn_lanes_look_up(fruits->lanes, header->lane);
    if (lane)
        keyed.epoch = key_of(fruits, lane, header);
    crn_fruit_entry *entry = lane ? find_open(fruits, lane, &keyed) : NULL;
    if (entry)
        mark_refused(fruits, entry, header->view, why);
    else if (why != CRN_REFUSAL_LANES && why != CRN_REFUSAL_LANE_NOT_LISTED &&
             !(lane && is_just_judged(fruits, lane, &keyed)))
        crn_refused_remember(&fruits->refused, &keyed, why);
}

static crn_fruit_entry *open_fruit(crn_fruits *fruits, crn_lane *lane,
                                   const crn_view_header *header, int64_t now_ns)
{
    /* A fruit that is due already will free its entry anyway. */
    if (crn_fruit_table_count(fruits->table) == (uint32_t)fruits->rules.open_fruits &&
        !crn_fruits_due(fruits, now_ns))
        force_oldest(fruits, now_ns);
    crn_fruit_entry *entry = crn_fruit_table_add(fruits->table, lane, header->epoch, header->fruit);
    if (!entry)
        return NULL;
    entry->fruit.expected = header->views;
    entry->fruit.opened_ns = now_ns;
    entry->fruit.closed_ns = CRN_NEVER_NS;
    entry->fruit.config = fruits->rules.config;
    memcpy(entry->fruit.lot, fruits->lot, sizeof entry->fruit.lot);
    entry->rules = fruits->rules;
    fruits->open_of[crn_config_slot(entry->fruit.config)]++;
    crn_lane_hold(lane, 1);
    fruits->stats.opened++;
    crn_schedule_open(fruits->schedule, entry->number, entry->order);
    uint16_t view;
    crn_refusal why;
    while ((why = crn_refused_recall(&fruits->refused, header, &view)) != CRN_REFUSAL_NONE)
        mark_refused(fruits, entry, view, why);
    return entry;
}

/* Adds a view to the fruit; the last expected one, or a deadline that leaves no time, closes it. */
static void credit(crn_fruits *fruits, crn_fruit_entry *entry, const crn_view_header *header,
                   int64_t deadline_ns, int64_t now_ns)
{
    crn_fruit *fruit = &entry->fruit;
    crn_fruit_close_by_time(fruits, entry, now_ns);
    fruit->refused -= entry->views[header->view].state == CRN_VIEW_REFUSED;
    entry->views[header->view] = (crn_fruit_view){
        .state = CRN_VIEW_ARRIVED,
        .captured_ns = header->captured_ns,
        .encoder = header->encoder,
        .height_px = header->height,
        .width_px = header->width,
        .received_ns = now_ns,
    };
    entry->pending |= UINT64_C(1) << header->view;
    fruit->received++;
    if (header->view < entry->lowest) {
        entry->lowest = header->view;
        fruit->encoder = header->encoder;
        fruit->captured_ns = header->captured_ns;
    }
    if (crn_wire_captured_ns(header) > entry->captured_ns)
        entry->captured_ns = header->captured_ns;
    crn_lane_delay(fruit->lane, now_ns - fruit->opened_ns, now_ns);
    entry->header_deadline_ns = crn_fruit_min_ns(entry->header_deadline_ns, deadline_ns);
    bool last = fruit->received == fruit->expected; /* false if the number is unknown (0) */
    bool too_late = crn_fruit_cap_ns(fruits, entry) - entry->rules.guard_ns <= now_ns;
    if (!crn_fruit_is_closed(entry) && (last || too_late || fruits->ended))
        crn_fruit_close_at(entry, now_ns,
                           last            ? CRN_CLOSE_VIEWS
                           : fruits->ended ? CRN_CLOSE_STOP
                                           : CRN_CLOSE_DEADLINE);
    crn_fruit_update_deadline(fruits, entry);
}

/* True if the view's index or count contradicts the rules or each other. */
static bool is_impossible(const crn_fruits *fruits, const crn_view_header *header)
{
    return header->view >= fruits->rules.views || header->views > fruits->rules.views ||
           (header->views > 0 && header->view >= header->views);
}

/* Counts a view of no open fruit whose number was used before; true if it opens a new one. */
static bool look_at_judged(crn_fruits *fruits, crn_lane *lane, const crn_view_header *header,
                           bool is_new)
{
    crn_judged_fruit *judged =
        crn_judged_find(fruits->judged, header->lane, header->epoch, header->fruit);
    if (!judged)
        return true;
    int64_t age_ns = fruits->now_ns - judged->judged_ns;
    crn_judged_times times = {.now_ns = fruits->now_ns,
                              .straggler_ns = crn_fruits_straggler_ns(fruits, lane),
                              .assemble_ns = fruits->rules.assemble_ns};
    crn_judged_look look = crn_judged_view(judged, header, is_new, &times);
    if (look == CRN_JUDGED_RETURNS) {
        fruits->stats.returned++;
        fruits->returned_after_ns = age_ns;
        return true;
    }
    fruits->stats.stragglers++;
    if (look == CRN_JUDGED_STRAGGLER) {
        crn_lane_delay(lane, age_ns, fruits->now_ns);
    } else if (look == CRN_JUDGED_EARLY) {
        fruits->stats.returned_early++;
        fruits->returned_after_ns = age_ns;
        crn_lane_next_sequence(lane); /* its fruit gets no verdict */
    }
    return false;
}

/* --- several senders at once ------------------------------------------------------------------ */

/* Whether a view can be of a fruit with that capture time; yes, if nothing tells. */
static bool is_near(const crn_fruits *fruits, const crn_lane *lane, uint64_t captured_ns,
                    const crn_view_header *header)
{
    crn_judged_fruit fruit = {.captured_ns = captured_ns};
    return crn_judged_is_near(&fruit, header, crn_fruits_straggler_ns(fruits, lane), true);
}

/* Whether views of the same fruit came under that epoch just now. */
static bool is_known_as(const crn_fruits *fruits, const crn_lane *lane, uint64_t epoch,
                        const crn_view_header *header)
{
    crn_view_header keyed = *header;
    keyed.epoch = epoch;
    const crn_fruit_entry *entry = find_open(fruits, lane, &keyed);
    if (entry)
        return is_near(fruits, lane, entry->captured_ns, header);
    const crn_judged_fruit *judged =
        crn_judged_find(fruits->judged, header->lane, epoch, header->fruit);
    return judged && is_just_judged(fruits, lane, &keyed) &&
           is_near(fruits, lane, judged->captured_ns, header);
}

/* Updates what is known of senders that send on the lane at the same time. */
static void meet_senders(const crn_fruits *fruits, crn_lane *lane, const crn_view_header *header)
{
    int32_t at = 0;
    crn_sender *other;
    crn_senders *senders = &lane->senders;
    while ((other = crn_senders_beside(senders, &at, fruits->now_ns))) {
        bool shares = is_known_as(fruits, lane, other->key, header);
        crn_met_senders met = {.epoch = header->epoch,
                               .other = other->numbers.epoch,
                               .fruit = header->fruit,
                               .view = header->view};
        met.meeting = crn_senders_meet(senders, other, shares, fruits->now_ns);
        crn_lane_met(lane, &met);
    }
}

/* The open fruit of the view, or NULL; keyed->epoch becomes the one under which it is kept. */
static crn_fruit_entry *find_fruit(const crn_fruits *fruits, crn_lane *lane, crn_view_header *keyed)
{
    crn_view_header header = *keyed;
    keyed->epoch = key_of(fruits, lane, &header);
    crn_fruit_entry *entry = find_open(fruits, lane, keyed);
    if (!entry || keyed->epoch == header.epoch ||
        is_near(fruits, lane, entry->captured_ns, &header))
        return entry;
    crn_senders_part(&lane->senders);
    keyed->epoch = header.epoch;
    return find_open(fruits, lane, keyed);
}

/* --- messages --------------------------------------------------------------------------------- */

/* The lane of a message; NULL with *ret_arrival if it is not taken in. */
static crn_lane *admit(crn_fruits *fruits, const crn_view_header *header, crn_arrival *ret_arrival)
{
    crn_refusal why;
    crn_lane *lane = crn_lanes_admit(fruits->lanes, header->lane, fruits->now_ns, &why);
    if (lane)
        return lane;
    bool listed = why == CRN_REFUSAL_LANES;
    fruits->stats.lanes += listed;
    fruits->stats.lanes_not_listed += !listed;
    crn_fruits_refuse(fruits, header, why);
    *ret_arrival = listed ? CRN_ARRIVAL_NO_LANE : CRN_ARRIVAL_LANE_NOT_LISTED;
    return NULL;
}

crn_arrival crn_fruits_arrive(crn_fruits *fruits, const crn_view_header *header,
                              int64_t deadline_ns, int64_t now_ns, crn_ticket *ret_ticket)
{
    crn_fruit_stats *stats = &fruits->stats;
    fruits->now_ns = now_ns;
    crn_arrival refused;
    crn_lane *lane = admit(fruits, header, &refused);
    if (!lane)
        return refused;
    bool is_new = crn_lane_count(lane, header, now_ns);
    meet_senders(fruits, lane, header);
    crn_view_header keyed = *header;
    crn_fruit_entry *entry = find_fruit(fruits, lane, &keyed);
    bool impossible = is_impossible(fruits, header);
    if (!entry && !impossible && !look_at_judged(fruits, lane, &keyed, is_new))
        return CRN_ARRIVAL_STRAGGLER;
    if (impossible || (entry && entry->fruit.expected != header->views)) {
        stats->views_mismatch++;
        crn_fruits_refuse(fruits, header, CRN_REFUSAL_VIEWS_MISMATCH);
        return CRN_ARRIVAL_VIEWS_MISMATCH;
    }
    if (entry && entry->views[header->view].state != CRN_VIEW_ABSENT &&
        entry->views[header->view].state != CRN_VIEW_REFUSED) {
        stats->duplicates++;
        return CRN_ARRIVAL_DUPLICATE;
    }
    if (!entry)
        entry = open_fruit(fruits, lane, &keyed, now_ns);
    if (!entry) {
        stats->table_full++;
        return CRN_ARRIVAL_TABLE_FULL;
    }
    stats->wanted++;
    credit(fruits, entry, header, deadline_ns, now_ns);
    *ret_ticket = (crn_ticket){entry->number, entry->serial, header->view};
    return CRN_ARRIVAL_WANTED;
}
