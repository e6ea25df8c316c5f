/*
 * A view's slot after its end. It is held until its fruit's verdict while more than half of the
 * slots are free; then the maps of a fruit that was late, partial or over budget are kept for
 * whoever asks (monitor.keep_slots), all others are released. A slot that is held never costs a
 * view: one that arrives takes it back. A producer's slot cannot be taken back for its next view,
 * so at most a quarter of its ring is held; who wants its maps for longer, kept maps or the
 * recorder, gets a copy.
 *
 * The recorder is lent slots, from which it writes: of every view at its end, or with record.only
 * of a bad fruit's views at its verdict. Then a view whose slot was released or taken back before
 * is not recorded.
 */
#include "src/line/internal.h"

#include "stages/base/clock.h"

/* Hands the slot to the kept maps if the view's maps are to be kept; else frees it. */
static void settle(crn_line *line, crn_view *view)
{
    if (view->in_ring) {
        if (view->keep_maps && crn_view_has_maps(view))
            crn_kept_maps_add_copy(line->kept_maps, view, crn_now_ns());
        crn_slots_release(line->slots, view);
    } else if (view->keep_maps) {
        crn_kept_maps_add(line->kept_maps, view);
    } else {
        crn_pool_release(line->pool, view);
    }
}

static crn_recorded_view recorded_of(const crn_view *view)
{
    int64_t age_ns = crn_now_ns() - view->received_ns;
    return (crn_recorded_view){
        .header = view->header,
        .arrived_ns = (uint64_t)(crn_realtime_ns() - age_ns),
        .maps = view->maps,
        .intensity = view->intensity,
    };
}

/* Lends the recorder a copy of a view in a ring: a slow disk must not keep a producer's slots. */
static void record_copy(crn_line *line, const crn_view *view)
{
    crn_view *copy = crn_pool_copy_aside(line->pool, view);
    if (!copy) {
        crn_recorder_drop(line->recorder);
        return;
    }
    crn_recorded_view recorded = recorded_of(copy);
    copy->is_lent = copy->is_left = crn_recorder_lend(line->recorder, &recorded, copy);
    if (!copy->is_lent)
        crn_pool_release(line->pool, copy);
}

/* Lends the slot to the recorder, until crn_line_reclaim, if its maps are to be recorded. */
static void record_maps(crn_line *line, crn_view *view)
{
    if (!view->record_maps)
        return;
    view->record_maps = false;
    crn_line_reclaim(line);         /* first: those that are back can be lent again */
    if (!crn_view_has_maps(view)) { /* it was not judged, so nothing has copied it */
        crn_recorder_miss(line->recorder, 1);
        return;
    }
    if (view->in_ring) {
        record_copy(line, view);
        return;
    }
    crn_recorded_view recorded = recorded_of(view);
    view->is_lent = crn_recorder_lend(line->recorder, &recorded, view);
}

/* Takes leave of a view that has ended and that its fruit does not hold: records the maps, keeps
 * them, or frees the slot. */
static void leave(crn_line *line, crn_view *view)
{
    record_maps(line, view);
    view->is_left = view->is_lent;
    if (view->is_lent)
        /* Cannot fail: there is a slot in reserve for each that the recorder may borrow. */
        crn_pool_set_aside(line->pool, view);
    else
        settle(line, view);
}

void crn_line_reclaim(crn_line *line)
{
    crn_view *view;
    while (line->recorder && (view = crn_recorder_returned(line->recorder))) {
        view->is_lent = false;
        if (view->is_left)
            settle(line, view);
    }
}

static crn_view *acquire(crn_line *line)
{
    uint32_t slot;
    crn_view *view = crn_pool_acquire(line->pool);
    while (!view && crn_fruits_take_slot(line->fruits, &slot)) {
        leave(line, crn_line_view_at(line, slot));
        view = crn_pool_acquire(line->pool);
    }
    return view;
}

crn_view *crn_line_acquire(crn_line *line, crn_ticket ticket)
{
    uint32_t slot;
    crn_view *view = acquire(line);
    if (!view && crn_fruits_evict(line->fruits, ticket, &slot)) {
        leave(line, crn_line_view_at(line, slot));
        view = crn_pool_acquire(line->pool);
    }
    return view;
}

void crn_line_begin_view(const crn_line *line, crn_view *view)
{
    view->keep_maps = view->is_lent = view->is_left = false;
    view->record_maps = crn_line_records_all(line->config);
    atomic_store_explicit(&view->cancelled, false, memory_order_relaxed);
}

/* True if enough slots of the kind that the view has one of are free. */
static bool may_hold(const crn_line *line, const crn_view *view)
{
    if (view->in_ring)
        return crn_view_has_maps(view) && crn_slots_may_hold(line->slots, view);
    return crn_pool_free_slots(line->pool) > (uint32_t)line->config->limits.slots / 2;
}

void crn_line_end_view(crn_line *line, crn_view *view)
{
    record_maps(line, view);
    bool hold =
        (line->kept_maps || crn_line_records_bad_fruits(line->config)) && may_hold(line, view);
    if (!hold || !crn_fruits_hold_slot(line->fruits, view->ticket))
        leave(line, view);
}

/* Late, partial, or past its budget or deadline. */
static bool is_worth_keeping(const crn_fruit *fruit, int64_t now_ns)
{
    return crn_fruit_verdict(fruit) != CRN_VERDICT_COMPLETE || now_ns > fruit->deadline_ns;
}

/* True if record.only has this fruit recorded. */
static bool is_to_record(const crn_line *line, const crn_fruit *fruit)
{
    if (!crn_line_records_bad_fruits(line->config))
        return false;
    crn_verdict_kind kind = crn_fruit_verdict(fruit);
    return kind == CRN_VERDICT_LATE ||
           (kind == CRN_VERDICT_PARTIAL && line->config->record.only == CRN_RECORD_PARTIAL);
}

/* Copies the photographs of the views that hold their slots, once a second at most. */
static void show_photos(crn_line *line, const crn_fruit *fruit)
{
    if (!line->photos || !crn_live_photos_are_wanted(line->photos, fruit->lane->number))
        return;
    crn_live_photos_begin(line->photos);
    for (int64_t i = 0; i < line->config->limits.views; i++)
        if (fruit->views[i].holds_slot)
            crn_live_photos_add(line->photos, crn_line_view_at(line, fruit->views[i].slot));
    crn_live_photos_end(line->photos);
}

void crn_line_release_fruit(crn_line *line, const crn_fruit *fruit, int64_t now_ns)
{
    bool keep = line->kept_maps && is_worth_keeping(fruit, now_ns);
    bool record = is_to_record(line, fruit);
    uint64_t missed = 0, read = crn_line_leave_measurement(line, fruit);
    show_photos(line, fruit);
    for (int64_t i = 0; i < line->config->limits.views; i++) {
        const crn_fruit_view *seen = &fruit->views[i];
        bool waits = seen->state == CRN_VIEW_QUEUED || seen->holds_slot;
        bool runs = seen->state == CRN_VIEW_RUNNING;
        if (waits || runs) {
            crn_view *view = crn_line_view_at(line, seen->slot);
            view->keep_maps = keep;
            view->record_maps |= record;
            if (waits) {
                leave(line, view);
            } else {
                record_maps(line, view); /* its worker, too, only reads the maps */
                atomic_store_explicit(&view->cancelled, true, memory_order_relaxed);
            }
        }
        if (seen->state == CRN_VIEW_JUDGED && !(read >> i & 1))
            crn_result_store_release(line->store, seen->judgement.result);
        missed += record && !waits && !runs && crn_fruit_view_is_received(seen);
    }
    if (missed)
        crn_recorder_miss(line->recorder, missed);
}
