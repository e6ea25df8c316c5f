#include "tools/why/cause/timeline.h"

#include <math.h>
#include <string.h>

#include "src/formats/verdict/fields.h"
#include "stages/base/clock.h"

#define MS_MAX 1e9 /* 11 days: so that sums of times cannot overflow */

double crn_timeline_ms(int64_t ns)
{
    return (double)ns / (double)CRN_NS_PER_MS;
}

static int64_t to_ns(double ms)
{
    double clamped = isfinite(ms) ? fmin(fmax(ms, 0), MS_MAX) : 0;
    return (int64_t)llround(clamped * (double)CRN_NS_PER_MS);
}

static int64_t realtime_ns(uint64_t ns)
{
    return ns < INT64_MAX / 2 ? (int64_t)ns : INT64_MAX / 2;
}

/* Time from the first reception to the end of the view that ended last. */
static int64_t until_last_end_ns(const crn_decoded *verdict)
{
    int64_t last_ns = 0;
    for (uint32_t i = 0; i < verdict->view_count; i++) {
        const crn_decoded_view *view = &verdict->views[i];
        int64_t end_ns = to_ns(view->received_ms) + to_ns(view->queue_ms) + to_ns(view->run_ms);
        last_ns = end_ns > last_ns ? end_ns : last_ns;
    }
    return last_ns;
}

void crn_timeline_place(const crn_decoded *verdict, crn_timeline *ret_timeline)
{
    crn_timeline placed = {
        .published_ns = realtime_ns(verdict->published_ns),
        .deadline_ns = realtime_ns(verdict->deadline_ns),
        .exact = isfinite(verdict->assembly_ms),
        .view_count = verdict->view_count,
    };
    placed.closed_ns = placed.published_ns - to_ns(verdict->total_ms);
    placed.opened_ns = placed.closed_ns - to_ns(verdict->assembly_ms);
    if (!placed.exact && placed.published_ns - placed.opened_ns < until_last_end_ns(verdict))
        placed.opened_ns = placed.published_ns - until_last_end_ns(verdict);
    for (uint32_t i = 0; i < verdict->view_count; i++) {
        const crn_decoded_view *said = &verdict->views[i];
        crn_timeline_view *view = &placed.views[i];
        *view = (crn_timeline_view){
            .said = said, .received = isfinite(said->received_ms), .began = isfinite(said->run_ms)};
        view->received_ns = placed.opened_ns + to_ns(said->received_ms);
        view->waited_ns = view->received_ns + to_ns(said->queue_ms);
        view->ended_ns = view->waited_ns + to_ns(said->run_ms);
    }
    *ret_timeline = placed;
}

const crn_timeline_view *crn_timeline_last_judged(const crn_timeline *timeline)
{
    const crn_timeline_view *last = NULL;
    for (uint32_t i = 0; i < timeline->view_count; i++) {
        const crn_timeline_view *view = &timeline->views[i];
        if (crn_decoded_view_is(view->said, "judged") && (!last || view->ended_ns > last->ended_ns))
            last = view;
    }
    return last;
}

static void add_part(crn_parts *parts, crn_part_kind kind, const char *name, double ms)
{
    parts->part[parts->count++] = (crn_part){kind, name, isfinite(ms) ? fmax(ms, 0) : 0};
}

static crn_part_kind kind_of(const char *name)
{
    return !strcmp(name, CRN_KEY(time, queue))     ? CRN_PART_QUEUE
           : !strcmp(name, CRN_KEY(time, pose))    ? CRN_PART_POSE
           : !strcmp(name, CRN_KEY(time, surface)) ? CRN_PART_SURFACE
                                                   : CRN_PART_STEP;
}

void crn_parts_of(const crn_decoded *verdict, const crn_timeline *timeline, crn_parts *ret_parts)
{
    crn_parts parts = {
        .total_ms = crn_timeline_ms(timeline->published_ns - timeline->opened_ns),
        .latency_ms = crn_timeline_ms(timeline->published_ns - timeline->closed_ns),
    };
    add_part(&parts, CRN_PART_ASSEMBLY, "assembly", parts.total_ms - parts.latency_ms);
    double rest_ms = parts.latency_ms, surface_ms = 0;
    for (uint32_t i = 0; i < verdict->time_count; i++) {
        const crn_decoded_time *time = &verdict->times[i];
        if (!strcmp(time->name, CRN_KEY(time, total)))
            continue;
        add_part(&parts, kind_of(time->name), time->name, time->ms);
        const crn_part *added = &parts.part[parts.count - 1];
        rest_ms -= added->ms;
        surface_ms += added->kind == CRN_PART_SURFACE ? added->ms : 0;
    }
    rest_ms = fmax(rest_ms, 0);
    double end_ms = parts.latency_ms - surface_ms;
    const crn_timeline_view *last = crn_timeline_last_judged(timeline);
    if (last && last->ended_ns > timeline->closed_ns)
        end_ms = crn_timeline_ms(timeline->published_ns - last->ended_ns) - surface_ms;
    end_ms = fmin(fmax(end_ms, 0), rest_ms);
    add_part(&parts, CRN_PART_WAITS, "waits", rest_ms - end_ms);
    add_part(&parts, CRN_PART_END, "end", end_ms);
    *ret_parts = parts;
}

const crn_part *crn_parts_largest(const crn_parts *parts)
{
    const crn_part *largest = &parts->part[parts->count - 1];
    for (uint32_t i = 0; i < parts->count; i++)
        if (parts->part[i].kind != CRN_PART_ASSEMBLY && parts->part[i].ms > largest->ms)
            largest = &parts->part[i];
    return largest;
}
