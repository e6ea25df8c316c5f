/*
 * Settings and the lot, which change while the line runs, and what other threads ask it.
 *
 * Another thread makes new settings ready and offers them; the line's thread takes them in between
 * two messages, so that each fruit is judged by those of its first view. When no fruit and no view
 * has the former ones any more the line's thread says so in `retired`, and the other thread frees
 * them at its next call: the line's thread neither allocates nor waits.
 */
#include "src/line/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"

/* What is asked of the line's thread. */
enum {
    NOTHING,
    TAKE_IN,
    SET_LOT,
    TELL_STATUS,
};

int crn_line_settings_init(crn_line *line)
{
    crn_line_settings *settings = &line->settings;
    settings->in_force = line->config;
    settings->has_surfaces = crn_config_measures(line->config);
    settings->taken = settings->in_use = 1; /* slot 0: the start's */
    settings->since_ns = crn_realtime_ns();
    return sem_init(&settings->answered, 0, 0) < 0 ? -errno : 0;
}

/* --- the other thread --- */

/* Slot 0 holds the start's settings first, which are not the line's. */
static void free_slot(crn_line_settings *settings, uint32_t slot)
{
    crn_config_done(settings->own[slot]);
    free(settings->own[slot]);
    settings->own[slot] = NULL;
}

void crn_line_tidy(crn_line *line)
{
    crn_line_settings *settings = &line->settings;
    unsigned retired = atomic_exchange(&settings->retired, 0);
    for (uint32_t slot = 0; retired >> slot; slot++) {
        if (!(retired >> slot & 1))
            continue;
        crn_engine_forget(line->engine, slot);
        free_slot(settings, slot);
        settings->taken &= ~(UINT32_C(1) << slot);
    }
}

/* Wakes the line's thread and waits for its answer. Returns 0 or -ESHUTDOWN. */
static int ask(crn_line *line, int what)
{
    crn_line_settings *settings = &line->settings;
    uint64_t one = 1;
    if (atomic_load(&settings->ended))
        return -ESHUTDOWN;
    while (sem_trywait(&settings->answered) == 0)
        continue; /* of an answer that was there before it was waited for */
    atomic_store(&settings->asked, what);
    /* The counter cannot overflow, so the write cannot fail. */
    if (write(line->stop_descriptor, &one, sizeof one) < 0)
        return -errno;
    while (atomic_load(&settings->asked) != NOTHING && !atomic_load(&settings->ended))
        (void)sem_wait(&settings->answered);
    return atomic_load(&settings->asked) == NOTHING ? settings->answer : -ESHUTDOWN;
}

int crn_line_change(crn_line *line, crn_config *config, crn_error *error)
{
    crn_line_settings *settings = &line->settings;
    crn_line_tidy(line);
    crn_config *own = malloc(sizeof *own);
    if (!own)
        return crn_error_set(error, -ENOMEM, "no memory for the settings");
    *own = *config;
    own->generation = settings->newest + 1;
    uint32_t slot = crn_config_slot(own);
    int r = settings->taken >> slot & 1 ? -EBUSY : 0;
    if (r == 0)
        r = crn_engine_prepare(line->engine, own);
    if (r == 0 && crn_config_measures(own) && !settings->has_surfaces)
        r = crn_surfaces_open(line->config, line->store, crn_engine_descriptor(line->engine),
                              &settings->offered_surfaces);
    if (r == 0) {
        settings->has_surfaces |= crn_config_measures(own);
        settings->offered = own;
        r = ask(line, TAKE_IN);
        if (r < 0)
            crn_engine_forget(line->engine, slot);
    }
    if (r < 0) {
        free(own);
        return crn_error_set(error, r, "%s",
                             r == -EBUSY ? "fruits that were open at the last reloads still are; "
                                           "try again in a moment"
                             : r == -ESHUTDOWN ? "the daemon stops"
                                               : strerror(-r));
    }
    settings->own[slot] = own;
    settings->taken |= UINT32_C(1) << slot;
    settings->newest++;
    *config = (crn_config){.steps = 0};
    return 0;
}

int crn_line_set_lot(crn_line *line, const crn_lot *lot)
{
    line->settings.offered_lot = lot;
    return ask(line, SET_LOT);
}

int crn_line_status_get(crn_line *line, crn_line_status *ret_status)
{
    int r = ask(line, TELL_STATUS);
    if (r == 0)
        *ret_status = line->settings.status;
    return r;
}

void crn_line_count_reload(crn_line *line, bool taken_in)
{
    atomic_fetch_add(taken_in ? &line->settings.counts_taken_in : &line->settings.counts_refused,
                     1);
    atomic_store(&line->settings.last_was_refused, !taken_in);
}

void crn_line_note_kept(crn_line *line, int result)
{
    atomic_store(&line->settings.not_kept, -result);
}

void crn_line_note_lot_kept(crn_line *line, int result)
{
    atomic_store(&line->settings.lot_not_kept, -result);
}

void crn_line_note_changes_kept(crn_line *line, int result)
{
    atomic_store(&line->settings.changes_not_kept, -result);
}

void crn_line_note_changes_wait(crn_line *line, int64_t since_ns)
{
    atomic_store(&line->settings.changes_wait_since_ns, since_ns);
}

/* --- the line's thread --- */

/* The errno of the last try, or that of one that does not return. */
static int changes_fault(const crn_line_settings *settings)
{
    int64_t since_ns = atomic_load(&settings->changes_wait_since_ns);
    int fault = atomic_load(&settings->changes_not_kept);
    if (fault == 0 && since_ns != 0 && crn_tick_ns() - since_ns >= CRN_CHANGES_LATE_NS)
        return ETIMEDOUT;
    return fault;
}

void crn_line_settings_report(const crn_line *line, crn_settings_in_force *ret_settings)
{
    const crn_line_settings *settings = &line->settings;
    *ret_settings = (crn_settings_in_force){
        .hash = settings->in_force->hash,
        .budget_ms = settings->in_force->latency.budget_ms,
        .lanes = crn_lanes_rules_of(line->lanes)->listed,
        .since_ns = settings->since_ns,
        .taken_in = atomic_load(&settings->counts_taken_in),
        .refused = atomic_load(&settings->counts_refused),
        .last_was_refused = atomic_load(&settings->last_was_refused),
        .not_kept = atomic_load(&settings->not_kept),
        .lot_not_kept = atomic_load(&settings->lot_not_kept),
        .changes_not_kept = changes_fault(settings),
        .generations = (uint64_t)__builtin_popcount(settings->in_use),
    };
    memcpy(ret_settings->recipe, settings->in_force->recipe, sizeof ret_settings->recipe);
    memcpy(ret_settings->lost_recipe, settings->in_force->lost_recipe,
           sizeof ret_settings->lost_recipe);
    ret_settings->lot = settings->lot;
}

void crn_line_begin_lot(crn_line *line, const crn_lot *lot)
{
    line->settings.lot = *lot;
    crn_fruits_set_lot(line->fruits, lot->id);
}

static int take_in(crn_line *line)
{
    crn_line_settings *settings = &line->settings;
    const crn_config *config = settings->offered;
    crn_fruit_rules rules = crn_line_fruit_rules(line, config);
    if (line->stopping)
        return -ESHUTDOWN;
    int r = crn_fruits_set_rules(line->fruits, &rules);
    if (r < 0)
        return r;
    crn_lane_rules lanes = crn_lane_rules_of(config);
    crn_lanes_set_rules(line->lanes, &lanes);
    crn_meters_use(&line->meters, config);
    if (settings->offered_surfaces) {
        line->surfaces = settings->offered_surfaces;
        settings->offered_surfaces = NULL;
    }
    settings->in_force = config;
    settings->in_use |= UINT32_C(1) << crn_config_slot(config);
    settings->since_ns = crn_realtime_ns();
    return 0;
}

static void tell_status(crn_line *line)
{
    crn_line_status *status = &line->settings.status;
    const crn_fruit_stats *fruits = crn_fruits_get_stats(line->fruits);
    *status = (crn_line_status){.state = crn_line_state(line),
                                .fruits_open = (uint64_t)crn_fruits_open(line->fruits),
                                .views = fruits->wanted,
                                .judged = fruits->judged,
                                .complete = fruits->complete,
                                .partial = fruits->partial,
                                .late = fruits->late};
    crn_line_settings_report(line, &status->settings);
}

void crn_line_answer(crn_line *line)
{
    crn_line_settings *settings = &line->settings;
    int asked = atomic_load(&settings->asked);
    if (asked == NOTHING)
        return;
    settings->answer = 0;
    if (asked == TAKE_IN)
        settings->answer = take_in(line);
    else if (asked == SET_LOT)
        crn_line_begin_lot(line, settings->offered_lot);
    else
        tell_status(line);
    atomic_store(&settings->asked, NOTHING);
    sem_post(&settings->answered);
}

void crn_line_end_answers(crn_line *line)
{
    atomic_store(&line->settings.ended, true);
    sem_post(&line->settings.answered);
}

void crn_line_retire(crn_line *line)
{
    crn_line_settings *settings = &line->settings;
    uint32_t former = settings->in_use & ~(UINT32_C(1) << crn_config_slot(settings->in_force));
    for (uint32_t slot = 0; former >> slot; slot++) {
        if (!(former >> slot & 1) || settings->running[slot] > 0 ||
            crn_fruits_open_of(line->fruits, slot) > 0)
            continue;
        settings->in_use &= ~(UINT32_C(1) << slot);
        atomic_fetch_or(&settings->retired, 1u << slot);
    }
}

void crn_line_settings_done(crn_line *line)
{
    for (uint32_t slot = 0; slot < CRN_GENERATIONS; slot++)
        free_slot(&line->settings, slot);
    crn_surfaces_close(&line->settings.offered_surfaces); /* of a line that never took them in */
    sem_destroy(&line->settings.answered);
}
