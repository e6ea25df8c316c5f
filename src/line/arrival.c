/* A view's arrival: its deadline, its fruit, its slot; its values. */
#include "src/line/internal.h"

#include "stages/base/clock.h"

/* A header deadline further away than this is attributed to a wrong clock. */
#define DEADLINE_HORIZON_NS (10 * CRN_NS_PER_S)

/* The header's deadline on CLOCK_MONOTONIC. */
static int64_t monotonic_deadline_ns(crn_line *line, const crn_view_header *header, int64_t now_ns)
{
    if (header->deadline_ns == 0)
        return CRN_NEVER_NS;
    int64_t ahead_ns, realtime_ns = crn_realtime_ns();
    if (header->deadline_ns > INT64_MAX ||
        __builtin_sub_overflow((int64_t)header->deadline_ns, realtime_ns, &ahead_ns) ||
        ahead_ns > DEADLINE_HORIZON_NS || ahead_ns < -DEADLINE_HORIZON_NS) {
        line->counts.deadlines_ignored++;
        crn_notice_deadline(&line->notices, header, realtime_ns, now_ns);
        return CRN_NEVER_NS;
    }
    line->counts.deadlines_over +=
        ahead_ns <= line->settings.in_force->latency.guard_ms * CRN_NS_PER_MS;
    return now_ns + ahead_ns;
}

/* Adds the view to its fruit; counts and logs what is odd about it. */
static crn_arrival arrive(crn_line *line, const crn_view_header *header, int64_t now_ns,
                          crn_ticket *ret_ticket)
{
    int64_t deadline_ns = monotonic_deadline_ns(line, header, now_ns);
    uint64_t reused = crn_lanes_totals_of(line->lanes)->reused,
             jumps = crn_lanes_totals_of(line->lanes)->jumps;
    crn_lane_stats senders = {0};
    const crn_lane *known = crn_lanes_look_up(line->lanes, header->lane);
    if (known)
        senders = known->stats;
    crn_fruit_stats before = *crn_fruits_get_stats(line->fruits);
    crn_arrival arrival = crn_fruits_arrive(line->fruits, header, deadline_ns, now_ns, ret_ticket);
    const crn_lane *lane = crn_lanes_look_up(line->lanes, header->lane);
    if (lane)
        crn_meters_arrival(&line->meters, lane, header, crn_ingest_get_path(line->ingest), now_ns,
                           crn_realtime_ns());
    if (known && lane)
        crn_notice_senders(&line->notices, line->lanes, lane, &senders, now_ns);
    if (crn_lanes_totals_of(line->lanes)->reused > reused)
        crn_notice_epoch(&line->notices, header, now_ns);
    if (crn_lanes_totals_of(line->lanes)->jumps > jumps)
        crn_notice_jump(&line->notices, header, now_ns);
    crn_notice_returned(&line->notices, header, line->fruits, &before, now_ns);
    crn_notice_refused_view(&line->notices, header, arrival, now_ns);
    return arrival;
}

/* A slot with the maps of the message last received: its own, whose values a worker checks, or one
 * of the pool that they are copied into, and checked in the same pass. NULL: there is none. */
static crn_view *take_maps(crn_line *line, const crn_view_header *header, crn_ticket ticket)
{
    crn_view *view = crn_ingest_view_in_slot(line->ingest);
    crn_values_use(&line->values, crn_fruits_config(line->fruits, ticket));
    crn_values_copy_fn *copy = crn_values_copier(&line->values, header->type);
    if (view) {
        view->check = crn_fruits_config(line->fruits, ticket)->ingest.values == CRN_VALUES_TRUST
                          ? NULL
                          : copy;
        view->seen = (crn_values_seen){0};
        return view;
    }
    view = crn_ingest_got_no_slot(line->ingest) ? NULL : crn_line_acquire(line, ticket);
    if (!view)
        return NULL;
    view->check = NULL;
    view->intensity =
        header->flags & CRN_WIRE_FLAG_INTENSITY ? view->maps + header->payload_bytes : NULL;
    view->seen = crn_ingest_copy(line->ingest, copy, view->maps, view->intensity);
    return view;
}

void crn_line_check_values(crn_line *line, crn_view *view, const crn_values_sample *sample)
{
    crn_lane *lane = crn_lanes_look_up(line->lanes, view->header.lane);
    if (!lane) /* freed meanwhile for another */
        return;
    crn_values_use(&line->values, view->config);
    crn_values_check(&line->values, &lane->values, view, &view->seen, sample);
    crn_fruits_set_values(line->fruits, view->ticket, &view->values);
}

crn_view *crn_line_accept(crn_line *line, const crn_view_header *header, int64_t now_ns)
{
    crn_ticket ticket;
    if (arrive(line, header, now_ns, &ticket) != CRN_ARRIVAL_WANTED) {
        crn_view *unwanted = crn_ingest_view_in_slot(line->ingest);
        if (unwanted)
            crn_slots_release(line->slots, unwanted);
        return NULL;
    }
    crn_view *view = take_maps(line, header, ticket);
    if (!view) {
        crn_fruits_lose(line->fruits, ticket);
        return NULL;
    }
    crn_line_begin_view(line, view);
    view->ticket = ticket;
    view->config = crn_fruits_config(line->fruits, ticket);
    view->header = *header;
    view->epoch = crn_fruits_epoch(line->fruits, ticket);
    view->received_ns = now_ns;
    view->values = (crn_value_fault){.class_index = -1};
    crn_fruits_queue(line->fruits, ticket, view->slot);
    if (!view->check)
        crn_line_check_values(line, view, NULL);
    return view;
}
