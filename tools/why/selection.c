#include "tools/why/selection.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"

int crn_selection_create(const crn_choice *choice, crn_selection **ret_selection)
{
    crn_selection *selection = calloc(1, sizeof *selection);
    if (!selection)
        return -ENOMEM;
    selection->choice = *choice;
    *ret_selection = selection;
    return 0;
}

/* Removes an item and closes the gap. */
static void drop(crn_selection *selection, uint32_t at)
{
    crn_decoded_free(&selection->items[at]->verdict);
    free(selection->items[at]);
    memmove(&selection->items[at], &selection->items[at + 1],
            (selection->count - at - 1) * sizeof selection->items[0]);
    selection->count--;
}

void crn_selection_free(crn_selection **selection)
{
    if (!*selection)
        return;
    while ((*selection)->count > 0)
        drop(*selection, (*selection)->count - 1);
    free(*selection);
    *selection = NULL;
}

static bool fits(const crn_choice *choice, const crn_decoded *verdict)
{
    if (choice->lane >= 0 && verdict->lane != (uint64_t)choice->lane)
        return false;
    if (choice->fruit && (verdict->fruit != choice->number ||
                          (choice->has_epoch && verdict->epoch != choice->epoch)))
        return false;
    if (verdict->published_ns < choice->since_ns)
        return false;
    if (!choice->late && !choice->partial && !choice->over_budget)
        return true;
    return (choice->late && verdict->kind == CRN_VERDICT_LATE) ||
           (choice->partial && verdict->kind == CRN_VERDICT_PARTIAL) ||
           (choice->over_budget && crn_is_over_budget(verdict));
}

static double slowness(const crn_decoded *verdict)
{
    return isfinite(verdict->total_ms) ? verdict->total_ms : -1;
}

/* Where a verdict goes among those chosen so far; `count`: nowhere, if they are full. */
static uint32_t rank(const crn_selection *selection, const crn_decoded *verdict)
{
    uint32_t at = selection->count;
    if (!selection->choice.slowest)
        return at;
    while (at > 0 && slowness(verdict) > slowness(selection->items[at - 1]->verdict))
        at--;
    return at;
}

/* Makes room for a verdict; false if it is not slow enough to be chosen. */
static bool make_room(crn_selection *selection, const crn_decoded *verdict)
{
    if (selection->count < selection->choice.count)
        return true;
    if (selection->choice.slowest && rank(selection, verdict) == selection->count)
        return false;
    drop(selection, selection->choice.slowest ? selection->count - 1 : 0);
    return true;
}

int crn_selection_offer(crn_selection *selection, crn_decoded **verdict)
{
    if (!fits(&selection->choice, *verdict))
        return 0;
    selection->matched++;
    if (!make_room(selection, *verdict))
        return 0;
    crn_chosen *item = calloc(1, sizeof *item);
    if (!item)
        return -ENOMEM;
    item->verdict = *verdict;
    uint32_t at = rank(selection, *verdict);
    memmove(&selection->items[at + 1], &selection->items[at],
            (selection->count - at) * sizeof selection->items[0]);
    selection->items[at] = item;
    selection->count++;
    *verdict = NULL;
    return 0;
}

void crn_selection_diagnose(crn_selection *selection)
{
    for (uint32_t i = 0; i < selection->count; i++) {
        crn_chosen *item = selection->items[i];
        crn_timeline_place(item->verdict, &item->timeline);
        crn_parts_of(item->verdict, &item->timeline, &item->parts);
        crn_diagnose(item->verdict, &item->timeline, &item->parts, &item->diagnosis);
    }
}

static bool is_same(const crn_decoded *a, const crn_decoded *b)
{
    return a->lane == b->lane && a->sequence == b->sequence && !strcmp(a->run, b->run);
}

/* Was the sender restarted after that fruit? */
static void note_restart(crn_chosen *item, const crn_decoded *verdict, const crn_timeline *timeline)
{
    crn_surroundings *around = &item->diagnosis.around;
    bool another = verdict->lane == item->verdict->lane && verdict->epoch != item->verdict->epoch &&
                   !strcmp(verdict->run, item->verdict->run);
    around->restarted |= another && timeline->opened_ns > item->timeline.opened_ns &&
                         timeline->opened_ns <= around->restart_to_ns;
}

/* What ran on a device shortly before that fruit. */
static void note_devices(crn_chosen *item, const crn_decoded *verdict, const crn_timeline *timeline)
{
    int64_t before_ns = item->timeline.opened_ns - timeline->published_ns;
    if (before_ns < 0 || before_ns > CRN_DEVICE_BEFORE_S * CRN_NS_PER_S ||
        strcmp(verdict->run, item->verdict->run) != 0)
        return;
    for (uint32_t i = 0; i < verdict->view_count; i++)
        item->diagnosis.around.on_device += crn_decoded_on_device(&verdict->views[i]);
}

void crn_selection_surround(crn_selection *selection, const crn_decoded *verdict)
{
    crn_timeline timeline;
    crn_timeline_place(verdict, &timeline);
    for (uint32_t i = 0; i < selection->count; i++) {
        crn_chosen *item = selection->items[i];
        crn_surroundings *around = &item->diagnosis.around;
        bool own = is_same(verdict, item->verdict);
        item->seen |= own;
        note_restart(item, verdict, &timeline);
        note_devices(item, verdict, &timeline);
        if (timeline.opened_ns > around->to_ns || timeline.published_ns < around->ran_from_ns ||
            strcmp(verdict->run, item->verdict->run) != 0)
            continue;
        crn_surroundings_add(around, verdict, &timeline, own,
                             crn_diagnosis_view(verdict, &item->diagnosis));
    }
}

bool crn_selection_is_past(const crn_selection *selection, const crn_decoded *verdict,
                           int64_t longest_ns)
{
    for (uint32_t i = 0; i < selection->count; i++) {
        const crn_chosen *item = selection->items[i];
        const crn_surroundings *around = &item->diagnosis.around;
        int64_t to_ns =
            around->restart_to_ns > around->to_ns ? around->restart_to_ns : around->to_ns;
        bool other_run = strcmp(verdict->run, item->verdict->run) != 0;
        bool past = other_run || (int64_t)(verdict->published_ns - (uint64_t)longest_ns) > to_ns;
        if (!item->seen || !past)
            return false;
    }
    return true;
}
