#include "src/fruit/fruit.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "src/fruit/internal.h"

#define BRIEF_SHARE 16 /* a view is brief below this share of the budget */

/* Where no straggler_ns is set: so many times what a fruit may take, and the longest delay of late,
 * but no more than this of the latter. */
#define STRAGGLER_FACTOR  2
#define STRAGGLER_MOST_NS (10 * CRN_NS_PER_S)

size_t crn_fruits_judged_bytes(const crn_fruit_rules *rules)
{
    return crn_judged_bytes(rules->judged_fruits);
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
    if (r == 0)
        r = crn_judged_create(rules->judged_fruits, &fruits->judged);
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
    crn_judged_free(&(*fruits)->judged);
    crn_schedule_free(&(*fruits)->schedule);
    crn_fruit_table_free(&(*fruits)->table);
    free(*fruits);
    *fruits = NULL;
}

int crn_fruits_set_rules(crn_fruits *fruits, const crn_fruit_rules *rules)
{
    if (!crn_fruit_rules_are_sound(rules) || rules->open_fruits != fruits->rules.open_fruits ||
        rules->views != fruits->rules.views || rules->judged_fruits != fruits->rules.judged_fruits)
        return -EINVAL;
    fruits->rules = *rules;
    crn_schedule_forget_costs(fruits->schedule, rules->budget_ns / BRIEF_SHARE);
    return 0;
}

void crn_fruits_set_lot(crn_fruits *fruits, const char id[CRN_LOT_ID_BYTES])
{
    memcpy(fruits->lot, id, sizeof fruits->lot);
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

/* Time at which the open fruit closes if no further view arrives. */
static int64_t closes_ns(const crn_fruits *fruits, const crn_fruit_entry *entry)
{
    return crn_fruit_min_ns(entry->fruit.opened_ns + entry->rules.assemble_ns,
                            crn_fruit_cap_ns(fruits, entry) - entry->rules.guard_ns);
}

void crn_fruit_update_deadline(crn_fruits *fruits, crn_fruit_entry *entry)
{
    crn_fruit *fruit = &entry->fruit;
    int64_t close =
        crn_fruit_is_closed(entry) ? fruit->closed_ns : fruit->opened_ns + entry->rules.assemble_ns;
    fruit->deadline_ns =
        crn_fruit_min_ns(close + entry->rules.budget_ns, crn_fruit_cap_ns(fruits, entry));
    int64_t due_ns = fruit->deadline_ns - entry->rules.guard_ns;

    bool over = entry->forced || entry->expired;
    entry->due = over || (crn_fruit_is_closed(entry) && !entry->pending && !entry->aside);
    entry->next_event_ns = crn_fruit_is_closed(entry) ? due_ns : closes_ns(fruits, entry);
    crn_schedule_set_due(fruits->schedule, entry->number, over ? 0 : due_ns);
    crn_fruit_table_update(fruits->table, entry);
}

void crn_fruit_close_by_time(const crn_fruits *fruits, crn_fruit_entry *entry, int64_t now_ns)
{
    int64_t closes = closes_ns(fruits, entry);
    bool assembled = closes == entry->fruit.opened_ns + entry->rules.assemble_ns;
    if (!crn_fruit_is_closed(entry) && closes <= now_ns)
        crn_fruit_close_at(entry, closes, assembled ? CRN_CLOSE_TIME : CRN_CLOSE_DEADLINE);
}

const crn_fruit *crn_fruits_due(crn_fruits *fruits, int64_t now_ns)
{
    crn_fruit_entry *entry;
    fruits->now_ns = now_ns;
    while ((entry = crn_fruit_table_first_waiting(fruits->table)) &&
           entry->next_event_ns <= now_ns) {
        if (crn_fruit_is_closed(entry))
            entry->expired = true;
        crn_fruit_close_by_time(fruits, entry, now_ns);
        crn_fruit_update_deadline(fruits, entry);
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
        crn_fruit_close_by_time(fruits, entry, now_ns);
        if (!crn_fruit_is_closed(entry))
            crn_fruit_close_at(entry, now_ns, CRN_CLOSE_STOP);
    }
    fruits->ended = true;
    fruits->latest_ns = crn_fruit_min_ns(fruits->latest_ns, latest_ns);
    for (crn_fruit_entry *entry = crn_fruit_table_oldest(fruits->table); entry;
         entry = entry->newer)
        crn_fruit_update_deadline(fruits, entry);
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
    crn_fruit_update_deadline(fruits, entry);
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

static bool is_of_sender(const crn_fruits *fruits, uint32_t slot)
{
    return fruits->rules.ring_slots && slot >= fruits->rules.ring_slots;
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
    if (is_of_sender(fruits, slot))
        crn_schedule_spare(fruits->schedule, ticket.fruit, ticket.view);
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
    if (!entry)
        entry = find_ticket(fruits, ticket, CRN_VIEW_RUNNING);
    if (entry)
        entry->views[ticket.view].values = *values;
}

bool crn_fruits_done(crn_fruits *fruits, crn_ticket ticket, const crn_judgement *judgement,
                     crn_view_reason reason, int64_t now_ns)
{
    crn_schedule_end(fruits->schedule, judgement ? judgement->cost_ns : 0,
                     judgement ? judgement->optional_ns : 0);
    crn_fruit_entry *entry = find_ticket(fruits, ticket, CRN_VIEW_RUNNING);
    if (!entry) {
        fruits->stats.unfinished++;
        return false;
    }
    if (!judgement) {
        fruits->stats.unfinished += reason == CRN_REASON_UNFINISHED;
        fruits->stats.device_lost += reason == CRN_REASON_DEVICE_LOST;
        fruits->stats.failed += reason == CRN_REASON_FAILED;
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
    if (is_of_sender(fruits, entry->views[ticket.view].slot))
        return true;
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

uint64_t crn_fruits_epoch(const crn_fruits *fruits, crn_ticket ticket)
{
    return crn_fruit_table_at(fruits->table, ticket.fruit)->fruit.epoch;
}

/* --- measures --------------------------------------------------------------------------------- */

bool crn_fruits_set_aside(crn_fruits *fruits, const crn_fruit *fruit, int64_t *ret_end_ns)
{
    crn_fruit_entry *entry = (crn_fruit_entry *)fruit;
    if (entry->forced || entry->expired)
        return false;
    *ret_end_ns = fruit->deadline_ns - entry->rules.guard_ns;
    entry->aside = true;
    crn_fruit_update_deadline(fruits, entry);
    return true;
}

void crn_fruits_resume(crn_fruits *fruits, const crn_fruit *fruit)
{
    crn_fruit_entry *entry = (crn_fruit_entry *)fruit;
    entry->aside = false;
    crn_fruit_update_deadline(fruits, entry);
}

void crn_fruits_set_surface(crn_fruits *fruits, const crn_fruit *fruit,
                            const struct crn_fruit_surface *surface, bool skipped)
{
    (void)fruits;
    crn_fruit_entry *entry = (crn_fruit_entry *)fruit;
    entry->fruit.surface = surface;
    entry->fruit.surface_skipped = skipped;
}

/* --- judging ---------------------------------------------------------------------------------- */

int64_t crn_fruits_straggler_ns(const crn_fruits *fruits, const crn_lane *lane)
{
    const crn_fruit_rules *rules = &fruits->rules;
    if (rules->straggler_ns > 0)
        return rules->straggler_ns;
    int64_t longest_ns = crn_lane_longest_delay_ns(lane);
    int64_t least_ns = STRAGGLER_FACTOR * (rules->assemble_ns + rules->budget_ns);
    int64_t own_ns = longest_ns < STRAGGLER_MOST_NS ? STRAGGLER_FACTOR * longest_ns : longest_ns;
    own_ns = crn_fruit_min_ns(own_ns, STRAGGLER_MOST_NS);
    return own_ns > least_ns ? own_ns : least_ns;
}

/* Remembers the fruit for views that come after its verdict. */
static void remember(crn_fruits *fruits, const crn_fruit_entry *entry)
{
    const crn_fruit *fruit = &entry->fruit;
    crn_judged_fruit judged = {.epoch = fruit->epoch,
                               .fruit = fruit->fruit,
                               .captured_ns = entry->captured_ns,
                               .judged_ns = fruits->now_ns,
                               .lane = fruit->lane->number};
    for (int32_t v = 0; v < fruits->rules.views; v++)
        if (crn_fruit_view_is_received(&entry->views[v]))
            judged.came |= UINT64_C(1) << v;
    fruits->stats.forgotten +=
        !crn_judged_remember(fruits->judged, &judged, crn_fruits_straggler_ns(fruits, fruit->lane));
}

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
    remember(fruits, entry);
    crn_lane_hold(fruit->lane, -1);
    crn_schedule_close(fruits->schedule, entry->number);
    fruits->open_of[crn_config_slot(fruit->config)]--;
    crn_fruit_table_remove(fruits->table, entry);
}

int64_t crn_fruits_returned_after_ns(const crn_fruits *fruits)
{
    return fruits->returned_after_ns;
}

int32_t crn_fruits_open(const crn_fruits *fruits)
{
    return (int32_t)crn_fruit_table_count(fruits->table);
}

const crn_fruit_stats *crn_fruits_get_stats(const crn_fruits *fruits)
{
    return &fruits->stats;
}
