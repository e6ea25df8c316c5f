#include "src/fruit/fruit.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "stages/base/clock.h"
#include "src/fruit/table.h"
#include "src/fruit/schedule.h"

#define BRIEF_SHARE 16                 /* a view is brief below this share of the budget */
#define RULE_MAX    (CRN_NEVER_NS / 8) /* so that sums of times cannot overflow */

struct crn_fruits {
    crn_fruit_rules rules;
    crn_lanes *lanes;
    crn_fruit_table
        *places; /* open_fruits and one more: a forced fruit waits there for its judging */
    crn_schedule *schedule;
    crn_refused_views refused; /* of fruits that were not open */
    crn_fruit_stats stats;
    bool ended;
    int64_t latest_ns; /* upper bound of all deadlines */
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool are_sound(const crn_fruit_rules *rules)
{
    return rules->open_fruits >= 1 && rules->open_fruits < INT32_MAX / 4 && rules->views >= 1 &&
           rules->views <= CRN_FRUIT_VIEWS_MAX && rules->workers >= 1 && rules->budget_ns >= 0 &&
           rules->assemble_ns >= 0 && rules->guard_ns >= 0 && rules->budget_ns < RULE_MAX &&
           rules->assemble_ns < RULE_MAX && rules->guard_ns < RULE_MAX;
}

int crn_fruits_create(const crn_fruit_rules *rules, crn_lanes *lanes, crn_fruits **ret_fruits)
{
    if (!lanes || !are_sound(rules))
        return -EINVAL;
    crn_fruits *fruits = calloc(1, sizeof *fruits);
    if (!fruits)
        return -ENOMEM;
    fruits->rules = *rules;
    fruits->lanes = lanes;
    fruits->latest_ns = CRN_NEVER_NS;
    int32_t places = rules->open_fruits + 1;
    int r = crn_fruit_table_create((uint32_t)places, (uint32_t)rules->views, &fruits->places);
    if (r == 0)
        r = crn_schedule_create(places, rules->workers, rules->budget_ns / BRIEF_SHARE,
                                &fruits->schedule);
    if (r < 0)
        goto fail;
    *ret_fruits = fruits;
    return 0;
fail:
    crn_fruits_free(&fruits);
    return r;
}

void crn_fruits_free(crn_fruits **fruits)
{
    if (!fruits || !*fruits)
        return;
    crn_schedule_free(&(*fruits)->schedule);
    crn_fruit_table_free(&(*fruits)->places);
    free(*fruits);
    *fruits = NULL;
}

void crn_fruits_set_workers(crn_fruits *fruits, int32_t workers)
{
    crn_schedule_set_workers(fruits->schedule, workers);
}

/* --- time ------------------------------------------------------------------------------------- */

static bool is_closed(const crn_fruit_entry *place)
{
    return place->fruit.closed_ns != CRN_NEVER_NS;
}

/* Upper bound of the fruit's deadline besides the rules: its headers, and the end of the line. */
static int64_t cap_ns(const crn_fruits *fruits, const crn_fruit_entry *place)
{
    return least(place->header_deadline_ns, fruits->latest_ns);
}

/* Time at which the open fruit closes if no further view arrives. */
static int64_t closes_ns(const crn_fruits *fruits, const crn_fruit_entry *place)
{
    return least(place->fruit.opened_ns + fruits->rules.assemble_ns,
                 cap_ns(fruits, place) - fruits->rules.guard_ns);
}

/* Updates deadline and next event; call it after any change of what they depend on. */
static void settle(crn_fruits *fruits, crn_fruit_entry *place)
{
    crn_fruit *fruit = &place->fruit;
    const crn_fruit_rules *rules = &fruits->rules;
    int64_t close = is_closed(place) ? fruit->closed_ns : fruit->opened_ns + rules->assemble_ns;
    fruit->deadline_ns = least(close + rules->budget_ns, cap_ns(fruits, place));
    int64_t due_ns = fruit->deadline_ns - rules->guard_ns;

    bool over = place->forced || place->expired;
    place->due = over || (is_closed(place) && !place->pending);
    place->next_event_ns = is_closed(place) ? due_ns : closes_ns(fruits, place);
    crn_schedule_set_due(fruits->schedule, place->number, over ? 0 : due_ns);
    crn_fruit_table_update(fruits->places, place);
}

/* Closes the fruit if its closing time has come; the recorded time is that one, not now. */
static void close_by_time(const crn_fruits *fruits, crn_fruit_entry *place, int64_t now_ns)
{
    int64_t closes = closes_ns(fruits, place);
    if (!is_closed(place) && closes <= now_ns)
        place->fruit.closed_ns = closes;
}

const crn_fruit *crn_fruits_due(crn_fruits *fruits, int64_t now_ns)
{
    crn_fruit_entry *place;
    while ((place = crn_fruit_table_first_waiting(fruits->places)) &&
           place->next_event_ns <= now_ns) {
        if (is_closed(place))
            place->expired = true;
        close_by_time(fruits, place, now_ns);
        settle(fruits, place);
    }
    place = crn_fruit_table_first_due(fruits->places);
    return place ? &place->fruit : NULL;
}

int64_t crn_fruits_wake_ns(const crn_fruits *fruits)
{
    if (crn_fruit_table_first_due(fruits->places))
        return 0;
    const crn_fruit_entry *place = crn_fruit_table_first_waiting(fruits->places);
    return place ? place->next_event_ns : CRN_NEVER_NS;
}

void crn_fruits_end(crn_fruits *fruits, int64_t now_ns, int64_t latest_ns)
{
    for (crn_fruit_entry *place = crn_fruit_table_oldest(fruits->places); place;
         place = place->newer) {
        close_by_time(fruits, place, now_ns);
        if (!is_closed(place))
            place->fruit.closed_ns = now_ns;
    }
    fruits->ended = true;
    fruits->latest_ns = least(fruits->latest_ns, latest_ns);
    for (crn_fruit_entry *place = crn_fruit_table_oldest(fruits->places); place;
         place = place->newer)
        settle(fruits, place);
}

/* --- arrival ---------------------------------------------------------------------------------- */

/* Makes the oldest fruit due, because one more than open_fruits is about to open. */
static void force_oldest(crn_fruits *fruits, int64_t now_ns)
{
    crn_fruit_entry *oldest = crn_fruit_table_oldest(fruits->places);
    if (!is_closed(oldest))
        oldest->fruit.closed_ns = now_ns;
    oldest->forced = true;
    fruits->stats.forced++;
    settle(fruits, oldest);
}

/* Marks a view without a valid message; ignores an index that the fruit cannot have. */
static void mark_refused(crn_fruits *fruits, crn_fruit_entry *place, uint16_t view, crn_refusal why)
{
    crn_fruit *fruit = &place->fruit;
    if (view >= fruits->rules.views || (fruit->expected > 0 && view >= fruit->expected) ||
        place->views[view].state != CRN_VIEW_ABSENT)
        return;
    place->views[view].state = CRN_VIEW_REFUSED;
    place->views[view].refusal = why;
    fruit->refused++;
    fruits->stats.refused++;
}

void crn_fruits_refuse(crn_fruits *fruits, const crn_view_header *header, crn_refusal why)
{
    crn_lanes_refuse(fruits->lanes, header, why);
    if (!header)
        return;
    crn_lane *lane = crn_lanes_look_up(fruits->lanes, header->lane);
    crn_fruit_entry *place =
        lane ? crn_fruit_table_find(fruits->places, lane, header->epoch, header->fruit) : NULL;
    if (place)
        mark_refused(fruits, place, header->view, why);
    else if (why != CRN_REFUSAL_LANES &&
             (!lane || !crn_lane_has_judged(lane, header->epoch, header->fruit)))
        crn_refused_remember(&fruits->refused, header, why);
}

static crn_fruit_entry *open_fruit(crn_fruits *fruits, crn_lane *lane,
                                   const crn_view_header *header, int64_t now_ns)
{
    /* A fruit that is due already will free its entry anyway. */
    if (crn_fruit_table_taken(fruits->places) == (uint32_t)fruits->rules.open_fruits &&
        !crn_fruits_due(fruits, now_ns))
        force_oldest(fruits, now_ns);
    crn_fruit_entry *place =
        crn_fruit_table_take(fruits->places, lane, header->epoch, header->fruit);
    if (!place)
        return NULL;
    place->fruit.expected = header->views;
    place->fruit.opened_ns = now_ns;
    place->fruit.closed_ns = CRN_NEVER_NS;
    fruits->stats.opened++;
    crn_schedule_open(fruits->schedule, place->number, place->order);
    uint16_t view;
    crn_refusal why;
    while ((why = crn_refused_recall(&fruits->refused, header, &view)) != CRN_REFUSAL_NONE)
        mark_refused(fruits, place, view, why);
    return place;
}

/* Adds a view to the fruit; the last expected one, or a deadline that leaves no time, closes it. */
static void credit(crn_fruits *fruits, crn_fruit_entry *place, const crn_view_header *header,
                   int64_t deadline_ns, int64_t now_ns)
{
    crn_fruit *fruit = &place->fruit;
    close_by_time(fruits, place, now_ns);
    fruit->refused -= place->views[header->view].state == CRN_VIEW_REFUSED;
    place->views[header->view] = (crn_fruit_view){
        .state = CRN_VIEW_ARRIVED,
        .captured_ns = header->captured_ns,
        .encoder = header->encoder,
        .received_ns = now_ns,
    };
    place->pending |= UINT64_C(1) << header->view;
    fruit->received++;
    if (header->view < place->lowest) {
        place->lowest = header->view;
        fruit->encoder = header->encoder;
        fruit->captured_ns = header->captured_ns;
    }
    place->header_deadline_ns = least(place->header_deadline_ns, deadline_ns);
    bool last = fruit->received == fruit->expected; /* false if the number is unknown (0) */
    bool too_late = cap_ns(fruits, place) - fruits->rules.guard_ns <= now_ns;
    if (!is_closed(place) && (last || too_late || fruits->ended))
        fruit->closed_ns = now_ns;
    settle(fruits, place);
}

/* True if the view's index or count contradicts the rules or each other. */
static bool is_impossible(const crn_fruits *fruits, const crn_view_header *header)
{
    return header->view >= fruits->rules.views || header->views > fruits->rules.views ||
           (header->views > 0 && header->view >= header->views);
}

crn_arrival crn_fruits_arrive(crn_fruits *fruits, const crn_view_header *header,
                              int64_t deadline_ns, int64_t now_ns, crn_ticket *ret_ticket)
{
    crn_fruit_stats *stats = &fruits->stats;
    crn_lane *lane = crn_lanes_find(fruits->lanes, header->lane);
    if (!lane) {
        stats->lanes++;
        crn_fruits_refuse(fruits, header, CRN_REFUSAL_LANES);
        return CRN_ARRIVAL_NO_LANE;
    }
    crn_lane_count(lane, header);
    crn_fruit_entry *place =
        crn_fruit_table_find(fruits->places, lane, header->epoch, header->fruit);
    if (!place && crn_lane_has_judged(lane, header->epoch, header->fruit)) {
        stats->stragglers++;
        return CRN_ARRIVAL_STRAGGLER;
    }
    if (is_impossible(fruits, header) || (place && place->fruit.expected != header->views)) {
        stats->views_mismatch++;
        crn_fruits_refuse(fruits, header, CRN_REFUSAL_VIEWS_MISMATCH);
        return CRN_ARRIVAL_VIEWS_MISMATCH;
    }
    if (place && place->views[header->view].state != CRN_VIEW_ABSENT &&
        place->views[header->view].state != CRN_VIEW_REFUSED) {
        stats->duplicates++;
        return CRN_ARRIVAL_DUPLICATE;
    }
    if (!place)
        place = open_fruit(fruits, lane, header, now_ns);
    if (!place) {
        stats->no_place++;
        return CRN_ARRIVAL_NO_PLACE;
    }
    stats->wanted++;
    credit(fruits, place, header, deadline_ns, now_ns);
    *ret_ticket = (crn_ticket){place->number, place->serial, header->view};
    return CRN_ARRIVAL_WANTED;
}

/* --- views ------------------------------------------------------------------------------------ */

/* Returns the ticket's entry if its view is in that state; NULL if
 * its fruit was judged meanwhile. */
static crn_fruit_entry *find_ticket(const crn_fruits *fruits, crn_ticket ticket,
                                    crn_view_state state)
{
    crn_fruit_entry *place = crn_fruit_table_at(fruits->places, ticket.fruit);
    if (!place || place->serial != ticket.serial || ticket.view >= (uint32_t)fruits->rules.views ||
        place->views[ticket.view].state != state)
        return NULL;
    return place;
}

static void finish_view(crn_fruits *fruits, crn_fruit_entry *place, uint32_t view,
                        crn_view_state state)
{
    place->views[view].state = state;
    place->pending &= ~(UINT64_C(1) << view);
    if (state == CRN_VIEW_LOST)
        crn_schedule_lose(fruits->schedule, place->number);
    settle(fruits, place);
}

static void lose_view(crn_fruits *fruits, crn_fruit_entry *place, uint32_t view,
                      crn_view_reason reason, int64_t now_ns)
{
    place->views[view].reason = reason;
    place->views[view].lost_ns = now_ns;
    finish_view(fruits, place, view, CRN_VIEW_LOST);
}

bool crn_fruits_evict(crn_fruits *fruits, crn_ticket ticket, uint32_t *ret_slot)
{
    uint32_t number, view;
    const crn_fruit_entry *arrived = find_ticket(fruits, ticket, CRN_VIEW_ARRIVED);
    if (!arrived || !crn_schedule_evict(fruits->schedule, ticket.fruit, &number, &view))
        return false;
    crn_fruit_entry *place = crn_fruit_table_at(fruits->places, number);
    fruits->stats.no_slot++;
    *ret_slot = place->views[view].slot;
    /* It was evicted for a view that has just arrived. */
    lose_view(fruits, place, view, CRN_REASON_NO_SLOT, arrived->views[ticket.view].received_ns);
    return true;
}

bool crn_fruits_queue(crn_fruits *fruits, crn_ticket ticket, uint32_t slot)
{
    crn_fruit_entry *place = find_ticket(fruits, ticket, CRN_VIEW_ARRIVED);
    if (!place) {
        fruits->stats.discarded++;
        return false;
    }
    place->views[ticket.view].state = CRN_VIEW_QUEUED;
    place->views[ticket.view].slot = slot;
    crn_schedule_queue(fruits->schedule, ticket.fruit, ticket.view);
    return true;
}

void crn_fruits_lose(crn_fruits *fruits, crn_ticket ticket)
{
    fruits->stats.no_slot++;
    crn_fruit_entry *place = find_ticket(fruits, ticket, CRN_VIEW_ARRIVED);
    if (place)
        lose_view(fruits, place, ticket.view, CRN_REASON_NO_SLOT,
                  place->views[ticket.view].received_ns);
}

crn_next crn_fruits_next(crn_fruits *fruits, int64_t now_ns, crn_ticket *ret_ticket,
                         uint32_t *ret_slot, int64_t *ret_deadline_ns)
{
    uint32_t number, view;
    crn_next next = crn_schedule_next(fruits->schedule, now_ns, &number, &view);
    if (next == CRN_NEXT_NONE)
        return next;
    crn_fruit_entry *place = crn_fruit_table_at(fruits->places, number);
    *ret_ticket = (crn_ticket){number, place->serial, view};
    *ret_slot = place->views[view].slot;
    if (next == CRN_NEXT_RUN) {
        place->views[view].state = CRN_VIEW_RUNNING;
        place->views[view].begun_ns = now_ns;
        *ret_deadline_ns = place->fruit.deadline_ns - fruits->rules.guard_ns;
    } else {
        fruits->stats.discarded++;
        lose_view(fruits, place, view, CRN_REASON_DISCARDED, now_ns);
    }
    return next;
}

void crn_fruits_set_values(crn_fruits *fruits, crn_ticket ticket, const crn_value_fault *values)
{
    crn_fruit_entry *place = find_ticket(fruits, ticket, CRN_VIEW_QUEUED);
    if (place)
        place->views[ticket.view].values = *values;
}

bool crn_fruits_done(crn_fruits *fruits, crn_ticket ticket, const crn_judgement *judgement,
                     crn_view_reason reason, int64_t now_ns)
{
    crn_schedule_end(fruits->schedule, judgement ? judgement->cost_ns : 0);
    crn_fruit_entry *place = find_ticket(fruits, ticket, CRN_VIEW_RUNNING);
    if (!place) {
        fruits->stats.unfinished++;
        return false;
    }
    if (!judgement) {
        fruits->stats.unfinished += reason == CRN_REASON_UNFINISHED;
        fruits->stats.failed += reason != CRN_REASON_UNFINISHED;
        lose_view(fruits, place, ticket.view, reason, now_ns);
        return true;
    }
    place->views[ticket.view].judgement = *judgement;
    place->fruit.judged++;
    fruits->stats.judged++;
    finish_view(fruits, place, ticket.view, CRN_VIEW_JUDGED);
    return true;
}

void crn_fruits_give_up(crn_fruits *fruits, int64_t at_least_ns)
{
    crn_schedule_give_up(fruits->schedule, at_least_ns);
}

/* --- judging ---------------------------------------------------------------------------------- */

void crn_fruits_judge(crn_fruits *fruits, const crn_fruit *fruit)
{
    crn_fruit_entry *place = (crn_fruit_entry *)fruit;
    crn_fruit_stats *stats = &fruits->stats;
    crn_verdict_kind verdict = crn_fruit_verdict(fruit);
    stats->complete += verdict == CRN_VERDICT_COMPLETE;
    stats->partial += verdict == CRN_VERDICT_PARTIAL;
    stats->late += verdict == CRN_VERDICT_LATE;
    for (int32_t v = 0; v < fruits->rules.views; v++)
        stats->discarded += place->views[v].state == CRN_VIEW_QUEUED;
    crn_lane_remember(fruit->lane, fruit->epoch, fruit->fruit);
    crn_schedule_close(fruits->schedule, place->number);
    crn_fruit_table_give(fruits->places, place);
}

int32_t crn_fruits_open(const crn_fruits *fruits)
{
    return (int32_t)crn_fruit_table_taken(fruits->places);
}

const crn_fruit_stats *crn_fruits_get_stats(const crn_fruits *fruits)
{
    return &fruits->stats;
}
