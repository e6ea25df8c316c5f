/*
 * A view's slot after its end. It is held until its fruit's verdict while more than half of the
 * slots are free; then the maps of a fruit that was late, partial or over budget are kept for
 * whoever asks (monitor.keep_slots), all others are released. A slot that is held never costs a
 * view: one that arrives takes it back.
 */
#include "src/line_internal.h"

crn_view *crn_line_acquire(crn_line *line)
{
    uint32_t slot;
    crn_view *view = crn_pool_acquire(line->pool);
    if (!view && crn_fruits_take_slot(line->fruits, &slot))
        view = crn_pool_at(line->pool, slot);
    if (view)
        view->keep_maps = false;
    return view;
}

/* Keeps the maps, or releases the slot. */
static void leave(crn_line *line, crn_view *view, bool keep)
{
    if (keep)
        crn_kept_maps_add(line->kept_maps, view);
    else
        crn_pool_release(line->pool, view);
}

void crn_line_end_view(crn_line *line, crn_view *view)
{
    bool hold = line->kept_maps &&
                crn_pool_free_slots(line->pool) > (uint32_t)line->config->limits.slots / 2;
    if (!hold || !crn_fruits_hold_slot(line->fruits, view->ticket))
        leave(line, view, view->keep_maps);
}

/* Late, partial, or past its budget or deadline. */
static bool is_worth_keeping(const crn_fruit *fruit, int64_t now_ns)
{
    return crn_fruit_verdict(fruit) != CRN_VERDICT_COMPLETE || now_ns > fruit->deadline_ns;
}

/* Copies the photographs of the views that hold their slots, once a second at most. */
static void show_photos(crn_line *line, const crn_fruit *fruit)
{
    if (!line->photos || !crn_live_photos_are_wanted(line->photos))
        return;
    crn_live_photos_begin(line->photos);
    for (int64_t i = 0; i < line->config->limits.views; i++)
        if (fruit->views[i].holds_slot)
            crn_live_photos_add(line->photos, crn_pool_at(line->pool, fruit->views[i].slot));
    crn_live_photos_end(line->photos);
}

void crn_line_release_fruit(crn_line *line, const crn_fruit *fruit, int64_t now_ns)
{
    bool keep = line->kept_maps && is_worth_keeping(fruit, now_ns);
    show_photos(line, fruit);
    for (int64_t i = 0; i < line->config->limits.views; i++) {
        const crn_fruit_view *view = &fruit->views[i];
        if (view->state == CRN_VIEW_QUEUED || view->holds_slot)
            leave(line, crn_pool_at(line->pool, view->slot), keep);
        if (view->state == CRN_VIEW_JUDGED)
            crn_result_store_release(line->store, view->judgement.result);
        if (view->state != CRN_VIEW_RUNNING)
            continue;
        crn_view *running = crn_pool_at(line->pool, view->slot);
        running->keep_maps = keep;
        atomic_store_explicit(&running->cancelled, true, memory_order_relaxed);
    }
}
