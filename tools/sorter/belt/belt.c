#include "tools/sorter/belt/belt.h"

#include <math.h>
#include <stddef.h>

#include "stages/base/clock.h"

#define FIT_NS    (40 * CRN_NS_PER_MS) /* readings that the line is fitted to, and two at least */
#define FIT_MAX   32
#define SLACK     2.0 /* ticks by which distances deviate: they are whole numbers */
#define CAMERA_NS (20 * CRN_NS_PER_MS) /* by which a camera's time may deviate from its tick's */

static double seconds(int64_t ns)
{
    return (double)ns / CRN_NS_PER_S;
}

void crn_belt_init(crn_belt *belt, const crn_belt_plan *plan)
{
    *belt = (crn_belt){.plan = *plan};
}

static const crn_belt_point *point(const crn_belt *belt, uint64_t index)
{
    return &belt->history[index % CRN_BELT_HISTORY];
}

static const crn_belt_point *newest(const crn_belt *belt)
{
    return point(belt, belt->count - 1);
}

/* From a position to a tick, the shorter way around the counter. */
static int64_t difference(const crn_belt *belt, uint64_t tick, int64_t position)
{
    int32_t unused = 64 - belt->plan.bits;
    return (int64_t)((tick - (uint64_t)position) << unused) >> unused;
}

/* A speed that was observed over dt seconds up to a point. */
typedef struct observed_speed {
    double speed, dt, slack; /* slack: ticks by which the distance may deviate */
} observed_speed;

/* Ticks by which the distance between two readings may deviate. */
static double slack_of(const crn_belt *belt, const crn_belt_point *a, const crn_belt_point *b)
{
    return SLACK + belt->plan.speed_max * seconds(a->uncertain_ns + b->uncertain_ns);
}

/* The speed at the newest point, over at least that time where there are such readings. */
static observed_speed latest_speed(const crn_belt *belt, int64_t over_ns)
{
    const crn_belt_point *last = newest(belt), *base = last;
    for (uint64_t back = 1;
         back < belt->count && back < FIT_MAX && last->time_ns - base->time_ns < over_ns; back++)
        base = point(belt, belt->count - 1 - back);
    double dt = seconds(last->time_ns - base->time_ns);
    return (observed_speed){.speed = dt > 0 ? (double)(last->position - base->position) / dt : 0,
                            .dt = dt,
                            .slack = slack_of(belt, base, last)};
}

/* True if the belt may get from one point to the other: neither too fast nor, if its speed at the
 * first is known, too soon faster or slower. The counter must not be able to go halfway around. */
static bool is_reachable(const crn_belt *belt, const crn_belt_point *from,
                         const observed_speed *known, const crn_belt_point *to)
{
    const crn_belt_plan *plan = &belt->plan;
    double s = seconds(to->time_ns - from->time_ns), slack = slack_of(belt, from, to);
    double moved = (double)(to->position - from->position);
    if (plan->speed_max * s >= ldexp(0.5, plan->bits) || fabs(moved) > plan->speed_max * s + slack)
        return false;
    if (!known || known->dt <= 0)
        return true;
    /* The observed speed is that half of dt ago. */
    double change = plan->speed_max / seconds(plan->stop_ns) * (s + known->dt) * s / 2;
    return fabs(moved - known->speed * s) <= change + slack + known->slack * s / known->dt;
}

/* Fits a line to the latest points by least squares. */
static void fit(crn_belt *belt)
{
    const crn_belt_point *last = newest(belt);
    uint64_t limit = belt->count < CRN_BELT_HISTORY ? belt->count : CRN_BELT_HISTORY;
    double n = 0, sum_t = 0, sum_p = 0, sum_tt = 0, sum_tp = 0;
    for (uint64_t back = 0; back < limit && back < FIT_MAX; back++) {
        const crn_belt_point *one = point(belt, belt->count - 1 - back);
        if (back > 1 && last->time_ns - one->time_ns > FIT_NS)
            break;
        double t = seconds(one->time_ns - last->time_ns);
        double p = (double)(one->position - last->position);
        n++;
        sum_t += t;
        sum_p += p;
        sum_tt += t * t;
        sum_tp += t * p;
    }
    double spread = n * sum_tt - sum_t * sum_t;
    double speed = spread > 0 ? (n * sum_tp - sum_t * sum_p) / spread : 0;
    belt->motion =
        (crn_belt_motion){.time_ns = last->time_ns,
                          .position = (double)last->position + (sum_p - speed * sum_t) / n,
                          .speed = speed};
}

static void append(crn_belt *belt, const crn_belt_point *one)
{
    belt->history[belt->count++ % CRN_BELT_HISTORY] = *one;
    belt->has_suspect = false;
    fit(belt);
}

static void begin_epoch(crn_belt *belt, const crn_belt_point *first)
{
    belt->epoch++;
    belt->count = 0;
    append(belt, first);
}

/* A reading that contradicts those before: false, unless the next agrees with it. */
static void doubt(crn_belt *belt, const crn_belt_point *one, uint64_t tick)
{
    crn_belt_point next = *one, before = belt->suspect;
    next.position = before.position + difference(belt, tick, before.position);
    belt->stats.refused++;
    if (belt->has_suspect && is_reachable(belt, &before, NULL, &next)) {
        belt->stats.jumps++;
        begin_epoch(belt, &before);
        append(belt, &next);
    } else {
        belt->suspect = *one;
        belt->has_suspect = true;
    }
}

void crn_belt_read(crn_belt *belt, const crn_belt_reading *reading)
{
    const crn_belt_point *last = belt->count ? newest(belt) : &(crn_belt_point){.time_ns = 0};
    crn_belt_point one = {.time_ns = reading->time_ns,
                          .uncertain_ns = reading->uncertain_ns,
                          .position =
                              last->position + difference(belt, reading->tick, last->position)};
    belt->stats.readings++;
    if (!belt->count) {
        append(belt, &one);
        return;
    }
    const observed_speed speed = latest_speed(belt, (one.time_ns - last->time_ns) / 2);
    if (one.time_ns <= last->time_ns ||
        (belt->has_suspect && one.time_ns <= belt->suspect.time_ns)) {
        belt->stats.late++;
    } else if (one.time_ns - last->time_ns > belt->plan.age_max_ns) {
        belt->stats.silences++;
        begin_epoch(belt, &one);
    } else if (is_reachable(belt, last, &speed, &one)) {
        append(belt, &one);
    } else {
        doubt(belt, &one, reading->tick);
    }
}

bool crn_belt_is_silent(const crn_belt *belt, int64_t now_ns)
{
    return !belt->count || now_ns - newest(belt)->time_ns > belt->plan.age_max_ns;
}

bool crn_belt_is_beginning(const crn_belt *belt, int64_t now_ns)
{
    return belt->count == 1 && !belt->has_suspect && !crn_belt_is_silent(belt, now_ns);
}

bool crn_belt_get_motion(const crn_belt *belt, int64_t now_ns, crn_belt_motion *ret_motion)
{
    if (belt->count < 2 || belt->has_suspect || crn_belt_is_silent(belt, now_ns))
        return false;
    *ret_motion = belt->motion;
    return true;
}

double crn_belt_at(const crn_belt_motion *motion, int64_t time_ns)
{
    return motion->position + motion->speed * seconds(time_ns - motion->time_ns);
}

/* The observed position at a time of the history, or shortly after it, and by how much that time
 * may deviate. */
static bool position_at(const crn_belt *belt, int64_t time_ns, double *ret_position,
                        int64_t *ret_uncertain_ns)
{
    crn_belt_motion motion;
    uint64_t first = belt->count < CRN_BELT_HISTORY ? 0 : belt->count - CRN_BELT_HISTORY;
    uint64_t end = belt->count;
    if (!belt->count || time_ns < point(belt, first)->time_ns)
        return false;
    if (time_ns == newest(belt)->time_ns) { /* also where it is the only one */
        *ret_position = (double)newest(belt)->position;
        *ret_uncertain_ns = newest(belt)->uncertain_ns;
        return true;
    }
    if (time_ns > newest(belt)->time_ns) {
        bool known = crn_belt_get_motion(belt, time_ns, &motion);
        if (known)
            *ret_position = crn_belt_at(&motion, time_ns);
        *ret_uncertain_ns = newest(belt)->uncertain_ns;
        return known;
    }
    while (end - first > 1) { /* the point at `first` is not later, that at `end` is */
        uint64_t middle = first + (end - first) / 2;
        if (point(belt, middle)->time_ns <= time_ns)
            first = middle;
        else
            end = middle;
    }
    const crn_belt_point *a = point(belt, first), *b = point(belt, first + 1);
    double part = (double)(time_ns - a->time_ns) / (double)(b->time_ns - a->time_ns);
    *ret_uncertain_ns = a->uncertain_ns > b->uncertain_ns ? a->uncertain_ns : b->uncertain_ns;
    *ret_position = (double)a->position + part * (double)(b->position - a->position);
    return true;
}

bool crn_belt_locate(const crn_belt *belt, uint64_t tick, int64_t time_ns, int64_t *ret_position)
{
    double observed;
    int64_t uncertain_ns;
    if (!position_at(belt, time_ns, &observed, &uncertain_ns))
        return false;
    int64_t near = llround(observed), off = difference(belt, tick, near);
    if (fabs((double)off) > SLACK + belt->plan.speed_max * seconds(CAMERA_NS + uncertain_ns))
        return false;
    *ret_position = near + off;
    return true;
}
