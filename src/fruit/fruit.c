#include "src/fruit/fruit.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "stages/base/clock.h"
#include "src/fruit/table.h"
#include "src/fruit/schedule.h"

#define BRIEF_SHARE 16 /* a view is brief below this share of the budget */

struct crn_fruits {
    crn_fruit_rules rules;
    crn_lanes *lanes;
    crn_fruit_table
        *table; /* open_fruits and one more: a forced fruit waits there for its judging */
    crn_schedule *schedule;
    crn_refused_views refused; /* of fruits that were not open */
    crn_fruit_stats stats;
    uint32_t held_slots;              /* views that hold a slot */
    int32_t open_of[CRN_GENERATIONS]; /* open fruits, by their settings */
    bool ended;
    int64_t latest_ns; /* upper bound of all deadlines */
};

static int64_t min_ns(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int crn_fruits_create(const crn_fruit_rules *rules, crn_lanes *lanes, crn_fruits **ret_fruits)
{
    if (!lanes || !crn_fruit_rules_are_sound(rules))
        return -EINVAL;
    crn_fruits *fruits = calloc(1, sizeof *fruits);
    if (!fruits)
        return -ENOMEM;
    fruits->rules = *rules;
    fruits->lanes = lanes;
    fruits->latest_ns = CRN_NEVER_NS;
    int32_t entries = rules->open_fruits + 1;
    int r = crn_fruit_table_create((uint32_t)entries, (uint32_t)rules->views, &fruits->table);
    if (r == 0)
        r = crn_schedule_create(entries, rules->workers, rules->budget_ns / BRIEF_SHARE,
                                &fruits->schedule);
    if (r < 0)
        crn_fruits_free(&fruits);
    else
        *ret_fruits = fruits;
    return r;
}

void crn_fruits_free(crn_fruits **fruits)
{
    if (!fruits || !*fruits)
        return;
    crn_schedule_free(&(*fruits)->schedule);
    crn_fruit_table_free(&(*fruits)->table);
    free(*fruits);
    *fruits = NULL;
}

int crn_fruits_set_rules(crn_fruits *fruits, const crn_fruit_rules *rules)
{
    if (!crn_fruit_rules_are_sound(rules) || rules->open_fruits != fruits->rules.open_fruits ||
        rules->views != fruits->rules.views)
        return -EINVAL;
    fruits->rules = *rules;
    crn_schedule_forget_costs(fruits->schedule, rules->budget_ns / BRIEF_SHARE);
    return 0;
}

int32_t crn_fruits_open_of(const crn_fruits *fruits, uint32_t slot)
{
    return fruits->open_of[slot];
}

void crn_fruits_set_workers(crn_fruits *fruits, int32_t workers)
{
    crn_schedule_set_workers(fruits->schedule, workers);
}

/* --- time ------------------------------------------------------------------------------------- */

static bool is_closed(const crn_fruit_entry *entry)
{
    return entry->fruit.closed_ns != CRN_NEVER_NS;
}

/* Upper bound of the fruit's deadline besides the rules: its headers, and the end of the line. */
static int64_t cap_ns(const crn_fruits *fruits, const crn_fruit_entry *entry)
{
    return min_ns(entry->header_deadline_ns, fruits->latest_ns);
}

/* Time at which the open fruit closes if no further view arrives. */
static int64_t closes_ns(const crn_fruits *fruits, const crn_fruit_entry *entry)
{
    return min_ns(entry->fruit.opened_ns + entry->rules.assemble_ns,
                  cap_ns(fruits, entry) - entry->rules.guard_ns);
}

/* Updates deadline and next event; call it after any change of what they depend on. */
static void update_deadline(crn_fruits *fruits, crn_fruit_entry *entry)
{
    crn_fruit *fruit = &entry->fruit;
    int64_t close =
        is_closed(entry) ? fruit->closed_ns : fruit->opened_ns + entry->rules.assemble_ns;
    fruit->deadline_ns = min_ns(close + entry->rules.budget_ns, cap_ns(fruits, entry));
    int64_t due_ns = fruit->deadline_ns - entry->rules.guard_ns;

    bool over = entry->forced || entry->expired;
    entry->due = over || (is_closed(entry) && !entry->pending);
    entry->next_event_ns = is_closed(entry) ? due_ns : closes_ns(fruits, entry);
    crn_schedule_set_due(fruits->schedule, entry->number, over ? 0 : due_ns);
    crn_fruit_table_update(fruits->table, entry);
}

static void close_fruit(crn_fruit_entry *entry, int64_t at_ns, crn_fruit_close by)
{
    entry->fruit.closed_ns = at_ns;
    entry->fruit.closed_by = by;
}

/* Closes the fruit if its closing time has come; the recorded time is that one, not now. */
static void close_by_time(const crn_fruits *fruits, crn_fruit_entry *entry, int64_t now_ns)
{
    int64_t closes = closes_ns(fruits, entry);
    bool assembled = closes == entry->fruit.opened_ns + entry->rules.assemble_ns;
    if (!is_closed(entry) && closes <= now_ns)
        close_fruit(entry, closes, assembled ? CRN_CLOSE_TIME : CRN_CLOSE_DEADLINE);
}

const crn_fruit *crn_fruits_due(crn_fruits *fruits, int64_t now_ns)
{
    crn_fruit_entry *entry;
    while ((entry = crn_fruit_table_first_waiting(fruits->table)) &&
           entry->next_event_ns <= now_ns) {
        if (is_closed(entry))
            entry->expired = true;
        close_by_time(fruits, entry, now_ns);
        update_deadline(fruits, entry);
    }
    entry = crn_fruit_table_first_due(fruits->table);
    return entry ? &entry->fruit : NULL;
}

int64_t crn_fruits_wake_ns(const crn_fruits *fruits)
{
    if (crn_fruit_table_first_due(fruits->table))
        return 0;
    const crn_fruit_entry *entry = crn_fruit_table_first_waiting(fruits->table);
    return entry ? entry->next_event_ns : CRN_NEVER_NS;
}

void crn_fruits_end(crn_fruits *fruits, int64_t now_ns, int64_t latest_ns)
{
    for (crn_fruit_entry *entry = crn_fruit_table_oldest(fruits->table); entry;
         entry = entry->newer) {
        close_by_time(fruits, entry, now_ns);
        if (!is_closed(entry))
            close_fruit(entry, now_ns, CRN_CLOSE_STOP);
    }
    fruits->ended = true;
    fruits->latest_ns = min_ns(fruits->latest_ns, latest_ns);
    for (crn_fruit_entry *entry = crn_fruit_table_oldest(fruits->table); entry;
         entry = entry->newer)
        update_deadline(fruits, entry);
}

/* --- arrival ---------------------------------------------------------------------------------- */

/* Makes the oldest fruit due, because one more than open_fruits is about to open. */
static void force_oldest(crn_fruits *fruits, int64_t now_ns)
{
    crn_fruit_entry *oldest = crn_fruit_table_oldest(fruits->table);
    close_fruit(oldest, is_closed(oldest) ? oldest->fruit.closed_ns : now_ns,
                CRN_CLOSE_OPEN_FRUITS);
    oldest->forced = true;
    fruits->stats.forced++;
    update_deadline(fruits, oldest);
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

void crn_fruits_refuse(crn_fruits *fruits, const crn_view_header *header, crn_refusal why)
{
    crn_lanes_refuse(fruits->lanes, header, why);
    if (!header)
        return;
    crn_lane *lane = crn_lanes_look_up(fruits->lanes, header->lane);
    crn_fruit_entry *entry =
        lane ? crn_fruit_table_find(fruits->table, lane, header->epoch, header->fruit) : NULL;
    if (entry)
        mark_refused(fruits, entry, header->view, why);
    else if (why != CRN_REFUSAL_LANES &&
             (!lane || !crn_lane_has_judged(lane, header->epoch, header->fruit)))
        crn_refused_remember(&fruits->refused, header, why);
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
    entry->rules = fruits->rules;
    fruits->open_of[crn_config_slot(entry->fruit.config)]++;
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
    close_by_time(fruits, entry, now_ns);
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
    entry->header_deadline_ns = min_ns(entry->header_deadline_ns, deadline_ns);
    bool last = fruit->received == fruit->expected; /* false if the number is unknown (0) */
    bool too_late = cap_ns(fruits, entry) - entry->rules.guard_ns <= now_ns;
    if (!is_closed(entry) && (last || too_late || fruits->ended))
        close_fruit(entry, now_ns,
                    last            ? CRN_CLOSE_VIEWS
                    : fruits->ended ? CRN_CLOSE_STOP
                                    : CRN_CLOSE_DEADLINE);
    update_deadline(fruits, entry);
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
    crn_fruit_entry *entry =
        crn_fruit_table_find(fruits->table, lane, header->epoch, header->fruit);
    if (!entry && crn_lane_has_judged(lane, header->epoch, header->fruit)) {
        stats->stragglers++;
        return CRN_ARRIVAL_STRAGGLER;
    }
    if (is_impossible(fruits, header) || (entry && entry->fruit.expected != header->views)) {
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
        entry = open_fruit(fruits, lane, header, now_ns);
    if (!entry) {
        stats->table_full++;
        return CRN_ARRIVAL_TABLE_FULL;
    }
    stats->wanted++;
    credit(fruits, entry, header, deadline_ns, now_ns);
    *ret_ticket = (crn_ticket){entry->number, entry->serial, header->view};
    return CRN_ARRIVAL_WANTED;
}

/* --- views ------------------------------------------------------------------------------------ */

/* Returns the ticket's entry if its view is in that state; NULL if
 * its fruit was judged meanwhile. */
static crn_fruit_entry *find_ticket(const crn_fruits *fruits, crn_ticket ticket,
                                    crn_view_state state)
{
    crn_fruit_entry *entry = crn_fruit_table_at(fruits->table, ticket.fruit);
    if (!entry || entry->serial != ticket.serial || ticket.view >= (uint32_t)fruits->rules.views ||
        entry->views[ticket.view].state != state)
        return NULL;
    return entry;
}

static void finish_view(crn_fruits *fruits, crn_fruit_entry *entry, uint32_t view,
                        crn_view_state state)
{
    entry->views[view].state = state;
    entry->pending &= ~(UINT64_C(1) << view);
    if (state == CRN_VIEW_LOST)
        crn_schedule_lose(fruits->schedule, entry->number);
    update_deadline(fruits, entry);
}

static void lose_view(crn_fruits *fruits, crn_fruit_entry *entry, uint32_t view,
                      crn_view_reason reason, int64_t now_ns)
{
    entry->views[view].reason = reason;
    entry->views[view].lost_ns = now_ns;
    finish_view(fruits, entry, view, CRN_VIEW_LOST);
}

bool crn_fruits_evict(crn_fruits *fruits, crn_ticket ticket, uint32_t *ret_slot)
{
    uint32_t number, view;
    const crn_fruit_entry *arrived = find_ticket(fruits, ticket, CRN_VIEW_ARRIVED);
    if (!arrived || !crn_schedule_evict(fruits->schedule, ticket.fruit, &number, &view))
        return false;
    crn_fruit_entry *entry = crn_fruit_table_at(fruits->table, number);
    fruits->stats.no_slot++;
    *ret_slot = entry->views[view].slot;
    /* It was evicted for a view that has just arrived. */
    lose_view(fruits, entry, view, CRN_REASON_NO_SLOT, arrived->views[ticket.view].received_ns);
    return true;
}

bool crn_fruits_queue(crn_fruits *fruits, crn_ticket ticket, uint32_t slot)
{
    crn_fruit_entry *entry = find_ticket(fruits, ticket, CRN_VIEW_ARRIVED);
    if (!entry) {
        fruits->stats.discarded++;
        return false;
    }
    entry->views[ticket.view].state = CRN_VIEW_QUEUED;
    entry->views[ticket.view].slot = slot;
    crn_schedule_queue(fruits->schedule, ticket.fruit, ticket.view);
    return true;
}

const crn_config *crn_fruits_config(const crn_fruits *fruits, crn_ticket ticket)
{
    return crn_fruit_table_at(fruits->table, ticket.fruit)->fruit.config;
}

void crn_fruits_lose(crn_fruits *fruits, crn_ticket ticket)
{
    fruits->stats.no_slot++;
    crn_fruit_entry *entry = find_ticket(fruits, ticket, CRN_VIEW_ARRIVED);
    if (entry)
        lose_view(fruits, entry, ticket.view, CRN_REASON_NO_SLOT,
                  entry->views[ticket.view].received_ns);
}

crn_next crn_fruits_next(crn_fruits *fruits, int64_t now_ns, crn_ticket *ret_ticket,
                         uint32_t *ret_slot, int64_t *ret_deadline_ns)
{
    uint32_t number, view;
    crn_next next = crn_schedule_next(fruits->schedule, now_ns, &number, &view);
    if (next == CRN_NEXT_NONE)
        return next;
    crn_fruit_entry *entry = crn_fruit_table_at(fruits->table, number);
    *ret_ticket = (crn_ticket){number, entry->serial, view};
    *ret_slot = entry->views[view].slot;
    if (next == CRN_NEXT_RUN) {
        entry->views[view].state = CRN_VIEW_RUNNING;
        entry->views[view].begun_ns = now_ns;
        *ret_deadline_ns = entry->fruit.deadline_ns - entry->rules.guard_ns;
    } else {
        fruits->stats.discarded++;
        lose_view(fruits, entry, view, CRN_REASON_DISCARDED, now_ns);
    }
    return next;
}

void crn_fruits_set_values(crn_fruits *fruits, crn_ticket ticket, const crn_value_fault *values)
{
    crn_fruit_entry *entry = find_ticket(fruits, ticket, CRN_VIEW_QUEUED);
    if (entry)
        entry->views[ticket.view].values = *values;
}

bool crn_fruits_done(crn_fruits *fruits, crn_ticket ticket, const crn_judgement *judgement,
                     crn_view_reason reason, int64_t now_ns)
{
    crn_schedule_end(fruits->schedule, judgement ? judgement->cost_ns : 0);
    crn_fruit_entry *entry = find_ticket(fruits, ticket, CRN_VIEW_RUNNING);
    if (!entry) {
        fruits->stats.unfinished++;
        return false;
    }
    if (!judgement) {
        fruits->stats.unfinished += reason == CRN_REASON_UNFINISHED;
        fruits->stats.failed += reason != CRN_REASON_UNFINISHED;
        lose_view(fruits, entry, ticket.view, reason, now_ns);
        return true;
    }
    entry->views[ticket.view].judgement = *judgement;
    entry->fruit.judged++;
    fruits->stats.judged++;
    finish_view(fruits, entry, ticket.view, CRN_VIEW_JUDGED);
    return true;
}

bool crn_fruits_hold_slot(crn_fruits *fruits, crn_ticket ticket)
{
    crn_fruit_entry *entry = crn_fruit_table_at(fruits->table, ticket.fruit);
    if (!entry || entry->serial != ticket.serial)
        return false;
    entry->views[ticket.view].holds_slot = true;
    entry->holding |= UINT64_C(1) << ticket.view;
    fruits->held_slots++;
    return true;
}

bool crn_fruits_take_slot(crn_fruits *fruits, uint32_t *ret_slot)
{
    if (fruits->held_slots == 0)
        return false;
    crn_fruit_entry *entry = crn_fruit_table_oldest(fruits->table);
    while (!entry->holding)
        entry = entry->newer;
    int view = __builtin_ctzll(entry->holding);
    entry->views[view].holds_slot = false;
    entry->holding &= entry->holding - 1;
    fruits->held_slots--;
    *ret_slot = entry->views[view].slot;
    return true;
}

void crn_fruits_give_up(crn_fruits *fruits, int64_t at_least_ns)
{
    crn_schedule_give_up(fruits->schedule, at_least_ns);
}

/* --- judging ---------------------------------------------------------------------------------- */

void crn_fruits_judge(crn_fruits *fruits, const crn_fruit *fruit)
{
    crn_fruit_entry *entry = (crn_fruit_entry *)fruit;
    crn_fruit_stats *stats = &fruits->stats;
    crn_verdict_kind verdict = crn_fruit_verdict(fruit);
    stats->complete += verdict == CRN_VERDICT_COMPLETE;
    stats->partial += verdict == CRN_VERDICT_PARTIAL;
    stats->late += verdict == CRN_VERDICT_LATE;
    for (int32_t v = 0; v < fruits->rules.views; v++)
        stats->discarded += entry->views[v].state == CRN_VIEW_QUEUED;
    fruits->held_slots -= (uint32_t)__builtin_popcountll(entry->holding);
    crn_lane_remember(fruit->lane, fruit->epoch, fruit->fruit);
    crn_schedule_close(fruits->schedule, entry->number);
    fruits->open_of[crn_config_slot(fruit->config)]--;
    crn_fruit_table_remove(fruits->table, entry);
}

int32_t crn_fruits_open(const crn_fruits *fruits)
{
    return (int32_t)crn_fruit_table_count(fruits->table);
}

const crn_fruit_stats *crn_fruits_get_stats(const crn_fruits *fruits)
{
    return &fruits->stats;
}
