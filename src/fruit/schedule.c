#include "src/fruit/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"

#define NOT_WAITING UINT32_MAX

/* Priority classes, in the order in which they run. */
typedef enum priority {
    FITS,
    TIGHT,
    BROKEN,
    NOBODY,
} priority;

/* The queue's record of one fruit. */
typedef struct schedule_job {
    int64_t due_ns;
    uint64_t order;
    uint64_t queued;     /* bit v: view v */
    uint64_t spared;     /* the same, of those that are not to be evicted */
    uint32_t waiting_at; /* index in `waiting` while a view is queued, otherwise NOT_WAITING */
    bool begun, lost;    /* at least one of its views has started, or was lost */
} schedule_job;

/* What the last views cost. */
typedef struct recent_costs {
    uint32_t measured;                   /* number of valid costs */
    uint32_t latest;                     /* index in `costs` of the next one */
    int64_t costs[CRN_SCHEDULE_COSTS];   /* ring buffer in order of arrival */
    int64_t by_size[CRN_SCHEDULE_COSTS]; /* the same, sorted ascending */
    int64_t typical_ns, slow_ns;
} recent_costs;

struct crn_schedule {
    int64_t workers, running; /* views */
    int64_t brief_ns; /* views are submitted ahead while their typical cost is at most this */
    schedule_job *jobs;
    uint32_t *waiting; /* entries of the fruits with queued views, unordered */
    uint32_t waiting_count;
    uint32_t barren;     /* discards since a view last started */
    recent_costs whole;  /* of the views */
    recent_costs needed; /* less the steps that are skipped where time is short */
};

int crn_schedule_create(int32_t entries, int32_t workers, int64_t brief_ns,
                        crn_schedule **ret_schedule)
{
    if (entries < 1 || workers < 1)
        return -EINVAL;
    crn_schedule *schedule = calloc(1, sizeof *schedule);
    if (!schedule)
        return -ENOMEM;
    schedule->workers = workers;
    schedule->brief_ns = brief_ns;
    schedule->jobs = calloc((size_t)entries, sizeof *schedule->jobs);
    schedule->waiting = calloc((size_t)entries, sizeof *schedule->waiting);
    if (!schedule->jobs || !schedule->waiting) {
        crn_schedule_free(&schedule);
        return -ENOMEM;
    }
    *ret_schedule = schedule;
    return 0;
}

void crn_schedule_free(crn_schedule **schedule)
{
    if (!schedule || !*schedule)
        return;
    free((*schedule)->jobs);
    free((*schedule)->waiting);
    free(*schedule);
    *schedule = NULL;
}

void crn_schedule_set_workers(crn_schedule *schedule, int32_t workers)
{
    schedule->workers = workers;
}

static void forget(recent_costs *recent)
{
    recent->measured = recent->latest = 0;
    recent->typical_ns = recent->slow_ns = 0;
}

static void forget_costs(crn_schedule *schedule)
{
    schedule->barren = 0;
    forget(&schedule->whole);
    forget(&schedule->needed);
}

void crn_schedule_forget_costs(crn_schedule *schedule, int64_t brief_ns)
{
    schedule->brief_ns = brief_ns;
    forget_costs(schedule);
}

void crn_schedule_open(crn_schedule *schedule, uint32_t entry, uint64_t order)
{
    schedule->jobs[entry] =
        (schedule_job){.due_ns = CRN_NEVER_NS, .order = order, .waiting_at = NOT_WAITING};
}

void crn_schedule_set_due(crn_schedule *schedule, uint32_t entry, int64_t due_ns)
{
    schedule->jobs[entry].due_ns = due_ns;
}

/* Removes the fruit from `waiting` once it has no queued view. */
static void leave_waiting(crn_schedule *schedule, schedule_job *leaving)
{
    if (leaving->queued || leaving->waiting_at == NOT_WAITING)
        return;
    uint32_t last = schedule->waiting[--schedule->waiting_count];
    schedule->waiting[leaving->waiting_at] = last;
    schedule->jobs[last].waiting_at = leaving->waiting_at;
    leaving->waiting_at = NOT_WAITING;
}

void crn_schedule_close(crn_schedule *schedule, uint32_t entry)
{
    schedule_job *closing = &schedule->jobs[entry];
    closing->queued = 0;
    leave_waiting(schedule, closing);
}

void crn_schedule_queue(crn_schedule *schedule, uint32_t entry, uint32_t view)
{
    schedule_job *queueing = &schedule->jobs[entry];
    queueing->queued |= UINT64_C(1) << view;
    if (queueing->waiting_at != NOT_WAITING)
        return;
    queueing->waiting_at = schedule->waiting_count;
    schedule->waiting[schedule->waiting_count++] = entry;
}

void crn_schedule_spare(crn_schedule *schedule, uint32_t entry, uint32_t view)
{
    schedule->jobs[entry].spared |= UINT64_C(1) << view;
}

void crn_schedule_lose(crn_schedule *schedule, uint32_t entry)
{
    schedule->jobs[entry].lost = true;
}

static priority priority_of(const crn_schedule *schedule, const schedule_job *job, int64_t now_ns)
{
    if (job->lost)
        return BROKEN;
    int64_t halves = 2 * __builtin_popcountll(job->queued) + schedule->running;
    int64_t rounds = (halves + 2 * schedule->workers - 1) / (2 * schedule->workers);
    int64_t last_ns = job->begun ? schedule->whole.typical_ns : schedule->whole.slow_ns;
    return job->due_ns - now_ns >= (rounds - 1) * schedule->whole.typical_ns + last_ns ? FITS
                                                                                       : TIGHT;
}

/* Order of two fruits of the same priority class. */
static bool is_before(const schedule_job *a, const schedule_job *b, priority both)
{
    if (both == TIGHT)
        return a->begun != b->begun ? a->begun : a->order > b->order;
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

static void discard(crn_schedule *schedule, schedule_job *losing, uint32_t view)
{
    losing->queued &= ~(UINT64_C(1) << view);
    losing->lost = true;
    leave_waiting(schedule, losing);
    if (++schedule->barren >= CRN_SCHEDULE_BARREN)
        forget_costs(schedule);
}

crn_next crn_schedule_next(crn_schedule *schedule, int64_t now_ns, uint32_t *ret_entry,
                           uint32_t *ret_view)
{
    if (schedule->running >= schedule->workers && schedule->whole.typical_ns > schedule->brief_ns)
        return CRN_NEXT_NONE;
    schedule_job *best = NULL;
    priority best_priority = NOBODY;
    for (uint32_t i = 0; i < schedule->waiting_count; i++) {
        schedule_job *job = &schedule->jobs[schedule->waiting[i]];
        if (job->due_ns - now_ns < schedule->needed.typical_ns) {
            *ret_entry = schedule->waiting[i];
            *ret_view = (uint32_t)__builtin_ctzll(job->queued);
            discard(schedule, job, *ret_view);
            return CRN_NEXT_DISCARD;
        }
        priority current = priority_of(schedule, job, now_ns);
        if (current < best_priority ||
            (current == best_priority && is_before(job, best, current))) {
            best = job;
            best_priority = current;
        }
    }
    if (!best)
        return CRN_NEXT_NONE;
    *ret_entry = schedule->waiting[best->waiting_at];
    *ret_view = (uint32_t)__builtin_ctzll(best->queued);
    best->queued &= ~(UINT64_C(1) << *ret_view);
    best->begun = true;
    leave_waiting(schedule, best);
    schedule->running++;
    schedule->barren = 0;
    return CRN_NEXT_RUN;
}

bool crn_schedule_evict(crn_schedule *schedule, uint32_t entry, uint32_t *ret_entry,
                        uint32_t *ret_view)
{
    schedule_job *worst = &schedule->jobs[entry];
    for (uint32_t i = 0; i < schedule->waiting_count; i++) {
        schedule_job *job = &schedule->jobs[schedule->waiting[i]];
        bool is_worse = job->lost != worst->lost ? job->lost : job->order > worst->order;
        if (is_worse && job->queued & ~job->spared)
            worst = job;
    }
    if (worst == &schedule->jobs[entry])
        return false;
    *ret_entry = schedule->waiting[worst->waiting_at];
    *ret_view = 63 - (uint32_t)__builtin_clzll(worst->queued & ~worst->spared);
    worst->queued &= ~(UINT64_C(1) << *ret_view);
    worst->lost = true;
    leave_waiting(schedule, worst);
    return true;
}

static void measure(recent_costs *recent, int64_t cost_ns)
{
    int64_t *sizes = recent->by_size;
    uint32_t known = recent->measured;
    if (known == CRN_SCHEDULE_COSTS) {
        uint32_t oldest = 0;
        while (sizes[oldest] != recent->costs[recent->latest])
            oldest++;
        known--;
        memmove(&sizes[oldest], &sizes[oldest + 1], (known - oldest) * sizeof *sizes);
    }
    recent->costs[recent->latest] = cost_ns;
    recent->latest = (recent->latest + 1) % CRN_SCHEDULE_COSTS;
    uint32_t at = known;
    for (; at > 0 && sizes[at - 1] > cost_ns; at--)
        sizes[at] = sizes[at - 1];
    sizes[at] = cost_ns;
    recent->measured = known + 1;
    recent->typical_ns = sizes[known / 2];
    recent->slow_ns = sizes[known - known / 10];
}

void crn_schedule_end(crn_schedule *schedule, int64_t cost_ns, int64_t optional_ns)
{
    if (schedule->running > 0)
        schedule->running--;
    if (cost_ns <= 0)
        return;
    measure(&schedule->whole, cost_ns);
    measure(&schedule->needed, cost_ns > optional_ns ? cost_ns - optional_ns : 0);
}

void crn_schedule_give_up(crn_schedule *schedule, int64_t at_least_ns)
{
    recent_costs *whole = &schedule->whole, *needed = &schedule->needed;
    if (whole->measured < CRN_SCHEDULE_FEW || at_least_ns <= whole->typical_ns)
        return;
    if (needed->typical_ns == whole->typical_ns) /* else it may have been in an optional step */
        measure(needed, at_least_ns);
    measure(whole, at_least_ns);
}
