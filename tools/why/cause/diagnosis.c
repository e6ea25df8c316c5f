#include "tools/why/cause/diagnosis.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/formats/verdict/fields.h"
#include "stages/base/clock.h"

#define TOLERANCE_MS 0.5 /* less than this below the budget, a deadline is the budget's */
#define BUDGET_MAX   60000.0
#define AROUND_NS    CRN_NS_PER_S /* in which other views tell how long one takes */
#define NO_VIEW      UINT32_MAX
/* After a fruit that lacks views, so long may its sender take to come back with a new epoch. */
#define RESTART_NS (30 * CRN_NS_PER_S)

const char *const crn_cause_names[CRN_CAUSES] = {
    [CRN_CAUSE_OPEN_FRUITS] = "open_fruits",
    [CRN_CAUSE_STOP] = "stop",
    [CRN_CAUSE_DEVICE_LOST] = "device_lost",
    [CRN_CAUSE_FAILED] = "failed",
    [CRN_CAUSE_REFUSED] = "refused",
    [CRN_CAUSE_NO_SLOT] = "no_slot",
    [CRN_CAUSE_EVICTED] = "evicted",
    [CRN_CAUSE_ARRIVAL] = "arrival",
    [CRN_CAUSE_DEADLINE] = "deadline",
    [CRN_CAUSE_UNFINISHED] = "unfinished",
    [CRN_CAUSE_DISCARDED] = "discarded",
    [CRN_CAUSE_LOST] = "lost",
    [CRN_CAUSE_MISSING] = "missing",
    [CRN_CAUSE_NOT_FINITE] = "not_finite",
    [CRN_CAUSE_OUT_OF_RANGE] = "out_of_range",
    [CRN_CAUSE_MASK_VALUES] = "mask_values",
    [CRN_CAUSE_ALL_ZERO] = "all_zero",
    [CRN_CAUSE_DIVIDED] = "divided_by_255",
    [CRN_CAUSE_LABELS] = "labels",
    [CRN_CAUSE_PER_CENT] = "per_cent",
    [CRN_CAUSE_WRONG_SUM] = "wrong_sum",
    [CRN_CAUSE_TRUNCATED] = "truncated",
    [CRN_CAUSE_SKIPPED] = "skipped",
    [CRN_CAUSE_PART] = "part",
};

/* --- the causes of a verdict's views --- */

static crn_cause cause_of_reason(const char *reason)
{
    static const crn_cause causes[] = {
        CRN_CAUSE_DEVICE_LOST, CRN_CAUSE_FAILED,     CRN_CAUSE_NO_SLOT,      CRN_CAUSE_UNFINISHED,
        CRN_CAUSE_DISCARDED,   CRN_CAUSE_NOT_FINITE, CRN_CAUSE_OUT_OF_RANGE, CRN_CAUSE_MASK_VALUES,
        CRN_CAUSE_ALL_ZERO,    CRN_CAUSE_DIVIDED,    CRN_CAUSE_LABELS,       CRN_CAUSE_PER_CENT,
        CRN_CAUSE_WRONG_SUM,   CRN_CAUSE_TRUNCATED,  CRN_CAUSE_SKIPPED};
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (!strcmp(reason, crn_cause_names[causes[i]]))
            return causes[i];
    return CRN_CAUSE_LOST;
}

/* CRN_CAUSE_PART: nothing is wrong with this view. */
static crn_cause cause_of_view(const crn_timeline_view *view)
{
    const crn_decoded_view *said = view->said;
    if (crn_decoded_view_is(said, "missing"))
        return CRN_CAUSE_MISSING;
    if (crn_decoded_view_is(said, "refused"))
        return CRN_CAUSE_REFUSED;
    if (crn_decoded_view_is(said, "judged") && !*said->reason)
        return CRN_CAUSE_PART;
    crn_cause cause = cause_of_reason(said->reason);
    /* One that found no slot was lost as it arrived. */
    bool waited = cause == CRN_CAUSE_NO_SLOT && view->waited_ns > view->received_ns;
    return waited ? CRN_CAUSE_EVICTED : cause;
}

/* A view of a fruit has an index below this; a decoded one may claim any. */
static bool is_index(uint64_t view)
{
    return view < CRN_FRUIT_VIEWS_MAX;
}

/* What no view says, but the verdict: defects were left out for want of memory, or the fruit went
 * without some of its measures for want of time. */
static crn_cause cause_of_fruit(const crn_decoded *verdict)
{
    for (uint32_t i = 0; i < verdict->skipped_count && !verdict->truncated; i++)
        if (!strcmp(verdict->skipped[i], CRN_KEY(verdict, surface)))
            return CRN_CAUSE_SKIPPED;
    return verdict->truncated ? CRN_CAUSE_TRUNCATED : CRN_CAUSE_PART;
}

static void find_causes(const crn_timeline *timeline, crn_diagnosis *diagnosis)
{
    diagnosis->cause = CRN_CAUSE_PART;
    for (uint32_t i = 0; i < timeline->view_count; i++) {
        const crn_timeline_view *view = &timeline->views[i];
        crn_cause cause = cause_of_view(view);
        if (cause == CRN_CAUSE_PART || !is_index(view->said->view))
            continue;
        diagnosis->views[cause] |= UINT64_C(1) << view->said->view;
        diagnosis->cause = cause < diagnosis->cause ? cause : diagnosis->cause;
    }
}

static int64_t waited_for_ns(const crn_timeline_view *view)
{
    return view->waited_ns - view->received_ns;
}

static int64_t ran_for_ns(const crn_timeline_view *view)
{
    return view->ended_ns - view->waited_ns;
}

/* Of the views to which the cause applies, the one that took longest; the first of equal ones. */
static const crn_timeline_view *describe(const crn_timeline *timeline, uint64_t views)
{
    const crn_timeline_view *longest = NULL;
    for (uint32_t i = 0; i < timeline->view_count; i++) {
        const crn_timeline_view *view = &timeline->views[i];
        if (!is_index(view->said->view) || !(views >> view->said->view & 1))
            continue;
        if (!longest ||
            view->ended_ns - view->received_ns > longest->ended_ns - longest->received_ns)
            longest = view;
    }
    return longest;
}

/* --- the time that was left --- */

static bool is_limited(const crn_diagnosis *diagnosis)
{
    return diagnosis->left_ms < diagnosis->budget_ms - TOLERANCE_MS;
}

static const crn_timeline_view *last_received(const crn_timeline *timeline)
{
    const crn_timeline_view *last = NULL;
    for (uint32_t i = 0; i < timeline->view_count; i++) {
        const crn_timeline_view *view = &timeline->views[i];
        if (view->received && (!last || view->received_ns > last->received_ns))
            last = view;
    }
    return last;
}

static const crn_timeline_view *received_before(const crn_timeline *timeline,
                                                const crn_timeline_view *view)
{
    const crn_timeline_view *before = NULL;
    for (uint32_t i = 0; i < timeline->view_count; i++) {
        const crn_timeline_view *other = &timeline->views[i];
        if (other == view || !other->received || other->received_ns > view->received_ns)
            continue;
        if (!before || other->received_ns > before->received_ns)
            before = other;
    }
    return before;
}

static double exposed_after_ms(uint64_t captured_ns, uint64_t before_ns)
{
    if (!captured_ns || !before_ns)
        return NAN;
    return (double)(int64_t)(captured_ns - before_ns) / (double)CRN_NS_PER_MS;
}

/*
 * Was it the last view's late arrival? Then the whole budget would have been left without the gap
 * before it, and less than half of it was.
 */
static bool blame_arrival(const crn_timeline *timeline, crn_diagnosis *diagnosis)
{
    const crn_timeline_view *last = last_received(timeline);
    if (!last || !is_index(last->said->view))
        return false;
    const crn_timeline_view *before = received_before(timeline, last);
    double left_ms = crn_timeline_ms(timeline->deadline_ns - last->received_ns);
    double exposed_ms = NAN, gap_ms = 0;
    if (before) {
        gap_ms = crn_timeline_ms(last->received_ns - before->received_ns);
        exposed_ms = exposed_after_ms(last->said->captured_ns, before->said->captured_ns);
    } else if (last->said->captured_ns) {
        gap_ms = exposed_after_ms((uint64_t)last->received_ns, last->said->captured_ns);
    }
    if (!(left_ms < diagnosis->budget_ms / 2 && gap_ms >= diagnosis->budget_ms - fmax(left_ms, 0)))
        return false;
    diagnosis->cause = CRN_CAUSE_ARRIVAL;
    diagnosis->view = (uint32_t)last->said->view;
    diagnosis->before = before ? (uint32_t)before->said->view : 0;
    diagnosis->alone = !before;
    diagnosis->gap_ms = gap_ms;
    diagnosis->exposed_ms = exposed_ms;
    diagnosis->arrival_left_ms = left_ms;
    return true;
}

/* How old the last view was on its arrival. */
static void describe_age(const crn_timeline *timeline, crn_diagnosis *diagnosis)
{
    const crn_timeline_view *last = last_received(timeline);
    diagnosis->has_dated = last && is_index(last->said->view) && last->said->captured_ns;
    if (!diagnosis->has_dated)
        return;
    diagnosis->dated = (uint32_t)last->said->view;
    diagnosis->age_ms = exposed_after_ms((uint64_t)last->received_ns, last->said->captured_ns);
}

static bool ran_on_processor(const crn_timeline *timeline)
{
    bool judged = false, device = false;
    for (uint32_t i = 0; i < timeline->view_count; i++) {
        const crn_decoded_view *said = timeline->views[i].said;
        judged |= crn_decoded_view_is(said, "judged");
        device |= crn_decoded_view_is(said, "judged") && crn_decoded_on_device(said);
    }
    return judged && !device;
}

/* Causes that time pressure explains may have an earlier one: what left so little time. */
static void look_behind(const crn_timeline *timeline, crn_diagnosis *diagnosis)
{
    crn_cause cause = diagnosis->cause;
    bool over = diagnosis->latency_ms > diagnosis->budget_ms;
    bool pressed = cause == CRN_CAUSE_UNFINISHED || cause == CRN_CAUSE_DISCARDED ||
                   cause == CRN_CAUSE_SKIPPED ||
                   (cause == CRN_CAUSE_PART && diagnosis->stale && !over);
    if (!pressed || blame_arrival(timeline, diagnosis))
        return;
    bool little = diagnosis->left_ms < diagnosis->budget_ms / 2 || cause == CRN_CAUSE_PART;
    if (is_limited(diagnosis) && little)
        diagnosis->cause = CRN_CAUSE_DEADLINE;
}

/* What ended the fruit from outside comes before what became of its views. */
static void look_outside(const crn_decoded *verdict, crn_diagnosis *diagnosis)
{
    if (verdict->kind == CRN_VERDICT_COMPLETE)
        return;
    uint64_t cut = diagnosis->views[CRN_CAUSE_UNFINISHED] | diagnosis->views[CRN_CAUSE_DISCARDED] |
                   diagnosis->views[CRN_CAUSE_MISSING];
    if (!strcmp(verdict->closed_by, "open_fruits") && cut)
        diagnosis->cause = CRN_CAUSE_OPEN_FRUITS;
    if (!strcmp(verdict->closed_by, "stop") && cut)
        diagnosis->cause = CRN_CAUSE_STOP;
}

/* --- what is said of it --- */

static void add_name(crn_diagnosis *diagnosis, const char *name)
{
    size_t used = strlen(diagnosis->name);
    snprintf(diagnosis->name + used, sizeof diagnosis->name - used, "%s%s", used ? ", " : "", name);
}

static void name_cause(const crn_timeline_view *view, crn_diagnosis *diagnosis)
{
    switch (diagnosis->cause) {
    case CRN_CAUSE_REFUSED:
    case CRN_CAUSE_LOST:
        add_name(diagnosis, view->said->reason);
        break;
    case CRN_CAUSE_NOT_FINITE:
    case CRN_CAUSE_OUT_OF_RANGE:
    case CRN_CAUSE_MASK_VALUES:
    case CRN_CAUSE_ALL_ZERO:
    case CRN_CAUSE_DIVIDED:
    case CRN_CAUSE_LABELS:
    case CRN_CAUSE_PER_CENT:
    case CRN_CAUSE_WRONG_SUM:
        add_name(diagnosis, view->said->name);
        diagnosis->count = view->said->count;
        break;
    default:
        break;
    }
}

static void name_skipped(const crn_decoded *verdict, crn_diagnosis *diagnosis)
{
    for (uint32_t i = 0; i < verdict->skipped_count; i++)
        add_name(diagnosis, verdict->skipped[i]);
    diagnosis->has_poses = verdict->surface.pose_count > 0;
}

static void describe_view(const crn_decoded *verdict, const crn_timeline *timeline,
                          crn_diagnosis *diagnosis)
{
    if (diagnosis->cause == CRN_CAUSE_ARRIVAL)
        return;
    if (diagnosis->cause == CRN_CAUSE_SKIPPED)
        name_skipped(verdict, diagnosis);
    const crn_timeline_view *view = describe(timeline, diagnosis->views[diagnosis->cause]);
    if (diagnosis->cause == CRN_CAUSE_PART)
        view = crn_timeline_last_judged(timeline);
    if (!view || !is_index(view->said->view))
        return;
    diagnosis->view = (uint32_t)view->said->view;
    diagnosis->waited_ms = crn_timeline_ms(waited_for_ns(view));
    diagnosis->ran_ms = crn_timeline_ms(ran_for_ns(view));
    name_cause(view, diagnosis);
}

static void describe_part(const crn_parts *parts, crn_diagnosis *diagnosis)
{
    const crn_part *largest = crn_parts_largest(parts);
    diagnosis->part = largest->kind;
    diagnosis->part_ms = largest->ms;
    if (diagnosis->cause == CRN_CAUSE_PART && largest->kind == CRN_PART_STEP)
        add_name(diagnosis, largest->name);
}

/* The view that the diagnosis is about; NULL: none. */
static const crn_timeline_view *find_view(const crn_decoded *verdict, const crn_timeline *timeline,
                                          const crn_diagnosis *diagnosis)
{
    const crn_decoded_view *said = crn_diagnosis_view(verdict, diagnosis);
    for (uint32_t i = 0; i < timeline->view_count; i++)
        if (timeline->views[i].said == said)
            return &timeline->views[i];
    return NULL;
}

static int64_t budget_ns(const crn_diagnosis *diagnosis)
{
    if (!isfinite(diagnosis->budget_ms))
        return 0;
    double budget_ms = fmax(0, fmin(diagnosis->budget_ms, BUDGET_MAX));
    return llround(budget_ms * (double)CRN_NS_PER_MS);
}

/* The time at which the surroundings tell something about the cause. */
static void set_times(const crn_decoded *verdict, const crn_timeline *timeline,
                      crn_diagnosis *diagnosis)
{
    crn_surroundings *around = &diagnosis->around;
    around->lane = verdict->lane;
    around->from_ns = timeline->opened_ns;
    around->to_ns = timeline->published_ns;
    const crn_timeline_view *view = find_view(verdict, timeline, diagnosis);
    int64_t before_ns = 0;
    bool waiting = diagnosis->waited_ms >= diagnosis->ran_ms;
    switch (diagnosis->cause) {
    case CRN_CAUSE_OPEN_FRUITS:
        around->from_ns = timeline->published_ns;
        break;
    case CRN_CAUSE_NO_SLOT:
    case CRN_CAUSE_EVICTED:
        if (view) {
            around->from_ns = around->to_ns = view->waited_ns;
            before_ns = budget_ns(diagnosis); /* what filled the slots ran before they were full */
        }
        break;
    case CRN_CAUSE_UNFINISHED:
    case CRN_CAUSE_DISCARDED:
        if (view && waiting) {
            around->from_ns = view->received_ns;
            around->to_ns = view->waited_ns;
        } else if (view) {
            around->from_ns = view->waited_ns;
            around->to_ns = view->ended_ns + AROUND_NS;
            before_ns = AROUND_NS;
        }
        break;
    case CRN_CAUSE_PART:
        if (view && diagnosis->part == CRN_PART_QUEUE) {
            around->from_ns = view->received_ns;
            around->to_ns = view->waited_ns;
        } else if (diagnosis->part == CRN_PART_END) {
            around->from_ns =
                view && view->ended_ns > timeline->closed_ns ? view->ended_ns : timeline->closed_ns;
        }
        break;
    default:
        break;
    }
    around->ran_from_ns = around->from_ns - before_ns;
    if (diagnosis->cause == CRN_CAUSE_MISSING)
        around->restart_to_ns = timeline->published_ns + RESTART_NS;
}

const crn_decoded_view *crn_diagnosis_view(const crn_decoded *verdict,
                                           const crn_diagnosis *diagnosis)
{
    return diagnosis->view == NO_VIEW ? NULL : crn_decoded_find_view(verdict, diagnosis->view);
}

void crn_diagnose(const crn_decoded *verdict, const crn_timeline *timeline, const crn_parts *parts,
                  crn_diagnosis *ret_diagnosis)
{
    crn_diagnosis diagnosis = {
        .kind = verdict->kind,
        .stale = verdict->stale,
        .latency_ms = verdict->total_ms,
        .budget_ms = verdict->budget_ms,
        .left_ms = crn_timeline_ms(timeline->deadline_ns - timeline->closed_ns),
        .open_ms = crn_timeline_ms(timeline->closed_ns - timeline->opened_ns),
        .view = NO_VIEW,
        .exposed_ms = NAN,
    };
    snprintf(diagnosis.closed_by, sizeof diagnosis.closed_by, "%s", verdict->closed_by);
    find_causes(timeline, &diagnosis);
    if (diagnosis.cause == CRN_CAUSE_PART)
        diagnosis.cause = cause_of_fruit(verdict);
    look_behind(timeline, &diagnosis);
    look_outside(verdict, &diagnosis);
    if (diagnosis.cause == CRN_CAUSE_OPEN_FRUITS)
        diagnosis.open_ms = crn_timeline_ms(timeline->published_ns - timeline->opened_ns);
    describe_view(verdict, timeline, &diagnosis);
    describe_part(parts, &diagnosis);
    describe_age(timeline, &diagnosis);
    diagnosis.on_processor = ran_on_processor(timeline);
    set_times(verdict, timeline, &diagnosis);
    *ret_diagnosis = diagnosis;
}
