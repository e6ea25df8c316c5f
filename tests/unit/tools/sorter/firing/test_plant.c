/*
 * A virtual plant in simulated time: a belt with ramps, stops, reversals and slip, its counter of
 * 16 bits with jumps and false readings, a PLC that goes away, ejectors and light barriers. No
 * fruit may be fired into another outlet than its own, and what is counted as fired, confirmed,
 * missed, lost and too late must be what happened.
 *
 * CRN_CASES is the number of fruits. All of them: CRN_CASES=1000000 build/bin/test_plant
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"
#include "tools/sorter/firing/firing.h"

#define LANES    4
#define OUTLETS  4 /* the first has no ejector: the belt's end */
#define EJECTORS (LANES * (OUTLETS - 1))
#define PITCH    400 /* ticks between two fruits of a lane */
#define HALF     60  /* of a fruit's length */
#define SPEED    4000.0
#define STEP_NS  (500 * CRN_NS_PER_US)
#define POLL_NS  (5 * CRN_NS_PER_MS)
#define DELAY_MS 10
#define PULSE_MS 15
#define BARRIER  (60 * CRN_NS_PER_MS) /* from the ejector to the light barrier */
#define PERIOD   64 /* fruits of a lane that are between camera and end, at most */
#define VERDICTS 1024
#define DISTANCE 1000 /* of the first ejector; the others follow at 700 ticks each */
#define SPACING  700
#define FLIGHT   (DISTANCE + SPACING * (OUTLETS - 1) + PITCH)

/* Light barriers tell of a fruit, and coils move, some time later. */
typedef struct event {
    int64_t time_ns;
    int32_t ejector;
    bool on;
} event;

typedef struct events {
    event item[256];
    uint32_t first, count;
} events;

typedef struct verdict {
    int64_t time_ns; /* of its arrival */
    crn_firing_fruit fruit;
} verdict;

typedef struct physical_fruit {
    int32_t outlet; /* its own */
    bool is_gone;
} physical_fruit;

/* What happened. */
typedef struct truth {
    uint64_t meant;       /* fruits with an ejector of their own */
    uint64_t pulses;      /* that the PLC made */
    uint64_t ejected;     /* fruits, into their own outlet */
    uint64_t wrong;       /* into another one */
    uint64_t unsure_idle; /* pulses whose acknowledgement was lost, and that hit nothing */
} truth;

static crn_random chance;
static crn_firing *firing;
static crn_ejectors ejectors;
static truth seen;
static int64_t now_ns, lead_ns;

/* The belt. */
static double position, speed, wanted_speed, change /* ticks/s² */;
static double offset;                    /* the counter's, by slip and jumps */
static double slip, slip_left, slip_end; /* ticks per second; ticks; the position of the next one */
static int64_t maneuver_ns /* the next one */, silent_until_ns, gone_until_ns;
static uint64_t next_fruit[LANES]; /* that the camera will see; each once */
static physical_fruit fruits[LANES][PERIOD];

static verdict verdicts[VERDICTS];
static uint32_t verdict_count;
static uint64_t ended[CRN_FIRING_RESULTS];
static unsigned char *has_ended; /* of each fruit */

/* The PLC. */
static events coils, barriers;
static struct {
    bool is_on, has_hit, is_unsure;
    int64_t off_ns;
} ejector[EJECTORS];

static double uniform(double from, double to)
{
    return from + (to - from) * crn_random_unit(&chance);
}

static int64_t uniform_ms(double from, double to)
{
    return (int64_t)(uniform(from, to) * CRN_NS_PER_MS);
}

static void push(events *queue, event one)
{
    assert_true(queue->count < 256);
    uint32_t at = queue->count++;
    for (; at > 0 && queue->item[(queue->first + at - 1) % 256].time_ns > one.time_ns; at--)
        queue->item[(queue->first + at) % 256] = queue->item[(queue->first + at - 1) % 256];
    queue->item[(queue->first + at) % 256] = one;
}

static bool pop(events *queue, event *ret_one)
{
    if (!queue->count || queue->item[queue->first].time_ns > now_ns)
        return false;
    *ret_one = queue->item[queue->first];
    queue->first = (queue->first + 1) % 256;
    queue->count--;
    return true;
}

/* --- the belt --------------------------------------------------------------------------------- */

static uint64_t counter(void)
{
    return (uint64_t)(int64_t)floor(position + offset) & 0xffff;
}

/* Chooses what the belt does next. */
static void maneuver(void)
{
    maneuver_ns = now_ns + uniform_ms(500, 4000);
    change = uniform(0.5, 20) * SPEED;
    switch (crn_random_below(&chance, 9)) {
    case 0: /* a stop, and in an emergency */
        wanted_speed = 0;
        change = uniform(3, 20) * SPEED;
        maneuver_ns = now_ns + uniform_ms(400, 3000);
        break;
    case 1: /* backwards; fruits that left the camera stay before it */
        wanted_speed = -uniform(0.1, 0.4) * SPEED;
        maneuver_ns = now_ns + uniform_ms(100, 800);
        break;
    case 2: /* by less than a pitch while a fruit is under way: more cannot be told from travel */
        if (position < slip_end)
            break;
        slip_left = uniform(-150, 150);
        slip = slip_left > 0 ? 700 : -700;
        slip_end = (double)next_fruit[0] * PITCH + FLIGHT;
        break;
    case 3: /* at a jump the next reading follows at once */
        offset += (crn_random_once_in(&chance, 2) ? 1 : -1) * floor(uniform(100, 30000));
        break;
    case 4:
        silent_until_ns = now_ns + uniform_ms(20, 1500);
        break;
    case 5:
        gone_until_ns = now_ns + uniform_ms(50, 2000);
        break;
    default:
        wanted_speed = uniform(0.5, 1.5) * SPEED;
        break;
    }
}

static void move(void)
{
    double s = (double)STEP_NS / CRN_NS_PER_S, step = change * s;
    double off = wanted_speed - speed;
    speed += fabs(off) < step ? off : off > 0 ? step : -step;
    position += speed * s;
    if (slip_left != 0) {
        double slipped = slip * s;
        if (fabs(slipped) >= fabs(slip_left)) {
            slipped = slip_left;
            slip_left = 0;
        } else {
            slip_left -= slipped;
        }
        offset += slipped;
    }
    if (now_ns >= maneuver_ns)
        maneuver();
}

/* --- camera and line -------------------------------------------------------------------------- */

/* The camera sees the next fruit of a lane; its verdict arrives some time later. */
static void capture(int32_t lane)
{
    uint64_t number = next_fruit[lane]++;
    int32_t outlet = (int32_t)crn_random_below(&chance, OUTLETS);
    fruits[lane][number % PERIOD] = (physical_fruit){.outlet = outlet};
    seen.meant += outlet > 0;
    if (crn_random_once_in(&chance, 200)) { /* its verdict is lost */
        seen.meant -= outlet > 0;
        fruits[lane][number % PERIOD].outlet = 0;
        return;
    }
    assert_true(verdict_count < VERDICTS);
    verdicts[verdict_count++] =
        (verdict){.time_ns = now_ns + uniform_ms(20, crn_random_once_in(&chance, 50) ? 900 : 90),
                  .fruit = {.key = {.lane = (uint64_t)lane, .sequence = number},
                            .outlet = outlet,
                            .encoder = counter(),
                            .captured_ns = now_ns}};
}

/* Whether all fruits were seen. */
static bool look(uint64_t all)
{
    for (int32_t lane = 0; lane < LANES; lane++)
        while (next_fruit[lane] * LANES < all &&
               position >= (double)next_fruit[lane] * PITCH + lane * 31)
            capture(lane);
    for (uint32_t i = 0; i < verdict_count;) {
        if (verdicts[i].time_ns > now_ns) {
            i++;
            continue;
        }
        crn_firing_add(firing, &verdicts[i].fruit);
        verdicts[i] = verdicts[--verdict_count];
    }
    return next_fruit[LANES - 1] * LANES >= all;
}

/* --- PLC, ejectors and light barriers --------------------------------------------------------- */

static int write_coil(void *context, int32_t at, bool on, int64_t *ret_round_ns)
{
    (void)context;
    if (now_ns < gone_until_ns)
        return -ENOTCONN;
    int64_t there_ns = lead_ns + uniform_ms(0, 0.1);
    bool is_unsure = crn_random_once_in(&chance, 1000);
    *ret_round_ns = 2 * there_ns;
    push(&coils, (event){now_ns + there_ns + DELAY_MS * CRN_NS_PER_MS, at, on});
    if (on) {
        seen.pulses++;
        ejector[at].is_unsure = is_unsure;
    }
    if (is_unsure) {
        gone_until_ns = now_ns + uniform_ms(50, 200);
        return -EIO;
    }
    return 0;
}

static void end_pulse(int32_t at)
{
    if (ejector[at].is_on && ejector[at].is_unsure && !ejector[at].has_hit)
        seen.unsure_idle++;
    ejector[at].is_on = false;
}

/* Throws off what is before an ejector that is on. */
static void eject(int32_t at)
{
    int32_t lane = at / (OUTLETS - 1), outlet = at % (OUTLETS - 1) + 1;
    double there = position - DISTANCE - SPACING * (outlet - 1) - lane * 31;
    double number = round(there / PITCH);
    if (number < 0 || fabs(there - number * PITCH) > HALF)
        return;
    physical_fruit *fruit = &fruits[lane][(uint64_t)number % PERIOD];
    if (fruit->is_gone)
        return;
    fruit->is_gone = ejector[at].has_hit = true;
    seen.ejected += fruit->outlet == outlet;
    seen.wrong += fruit->outlet != outlet;
    push(&barriers, (event){.time_ns = now_ns + BARRIER, .ejector = at});
}

static void run_plc(void)
{
    event one;
    while (pop(&coils, &one)) {
        if (one.on) {
            end_pulse(one.ejector);
            ejector[one.ejector].is_on = true;
            ejector[one.ejector].has_hit = false;
            ejector[one.ejector].off_ns = now_ns + (PULSE_MS + 5) * CRN_NS_PER_MS;
        } else {
            end_pulse(one.ejector);
        }
    }
    for (int32_t i = 0; i < EJECTORS; i++) {
        if (ejector[i].is_on && now_ns >= ejector[i].off_ns) /* its own watchdog */
            end_pulse(i);
        if (ejector[i].is_on)
            eject(i);
    }
    while (pop(&barriers, &one))
        crn_firing_confirm(firing, one.ejector, now_ns);
}

/* --- the sorter ------------------------------------------------------------------------------- */

static void poll(void)
{
    static int64_t poll_ns;
    if (now_ns < poll_ns || now_ns < silent_until_ns)
        return;
    poll_ns = now_ns + POLL_NS;
    if (now_ns < gone_until_ns)
        return;
    crn_belt_reading reading = {counter(), now_ns, 100 * CRN_NS_PER_US};
    if (crn_random_once_in(&chance, 2000))
        reading.tick = crn_random_next(&chance) & 0xffff; /* a false one */
    if (crn_random_once_in(&chance, 50))
        reading.time_ns -= 20 * CRN_NS_PER_MS; /* a late one */
    crn_firing_read(firing, &reading);
}

static void take_ending(void *context, const crn_firing_key *key, crn_firing_result result)
{
    (void)context;
    unsigned char *one = &has_ended[key->sequence * LANES + key->lane];
    assert_int_equal(*one, 0);
    *one = 1;
    ended[result]++;
}

/* An input tells of each fruit that is fired. */
static void expect_endings(const crn_firing_counts *sum)
{
    assert_int_equal(ended[CRN_FIRING_FIRED], 0);
    assert_int_equal(ended[CRN_FIRING_CONFIRMED], sum->confirmed);
    assert_int_equal(ended[CRN_FIRING_MISSED], sum->missed);
    assert_int_equal(ended[CRN_FIRING_TOO_LATE], sum->too_late);
    assert_int_equal(ended[CRN_FIRING_LOST], sum->lost);
}

static void set_up_plant(void)
{
    for (int32_t i = 0; i < EJECTORS; i++)
        ejectors.item[ejectors.count++] =
            (crn_ejector){.lane = i / (OUTLETS - 1),
                          .outlet = i % (OUTLETS - 1) + 1,
                          .distance = DISTANCE + SPACING * (i % (OUTLETS - 1)),
                          .coil = i,
                          .input = i,
                          .delay_ms = DELAY_MS,
                          .pulse_ms = PULSE_MS,
                          .confirm_ms = 90};
    const crn_firing_plan plan = {.ejectors = &ejectors,
                                  .belt = {.bits = 16,
                                           .speed_max = 2 * SPEED,
                                           .stop_ns = 50 * CRN_NS_PER_MS,
                                           .age_max_ns = 50 * CRN_NS_PER_MS},
                                  .tolerance = HALF / 2,
                                  .write = write_coil,
                                  .use = take_ending};
    assert_int_equal(crn_firing_create(&plan, &firing), 0);
    chance.state = crn_random_seed();
    now_ns = 1000 * CRN_NS_PER_S;
    lead_ns = CRN_NS_PER_MS;
    wanted_speed = SPEED;
    change = SPEED;
    offset = 65000;
}

static void what_is_counted_is_what_happened(void **state)
{
    (void)state;
    uint64_t all = crn_random_cases(20000);
    int64_t run_ns = 0, started_ns, end_ns = CRN_NEVER_NS;
    bool was_gone = false;
    has_ended = calloc(all + LANES, 1);
    assert_non_null(has_ended);
    set_up_plant();
    started_ns = now_ns;
    for (; now_ns < end_ns; now_ns += STEP_NS) {
        move();
        if (look(all) && end_ns == CRN_NEVER_NS)
            end_ns = now_ns + 60 * CRN_NS_PER_S;
        if (was_gone && now_ns >= gone_until_ns)
            crn_firing_reconnected(firing);
        was_gone = now_ns < gone_until_ns;
        poll();
        run_plc();
        while ((run_ns = crn_firing_run(firing, now_ns)) <= now_ns)
            continue;
    }
    crn_firing_counts sum = {.fired = 0};
    for (int32_t outlet = 0; outlet < OUTLETS; outlet++) {
        crn_firing_counts one = crn_firing_get_counts(firing, outlet);
        sum.fired += one.fired;
        sum.confirmed += one.confirmed;
        sum.missed += one.missed;
        sum.lost += one.lost;
        sum.too_late += one.too_late;
        sum.unexpected += one.unexpected;
    }
    const crn_belt_stats *belt = &crn_firing_belt(firing)->stats;
    print_message(
        "%lu fruits in %.1f h: %lu with an ejector, %lu fired, %lu ejected, %lu missed, %lu "
        "lost, %lu too late, %lu wrong; belt: %lu jumps, %lu silences, %lu refused, %lu late\n",
        all, (double)(now_ns - started_ns) / CRN_NS_PER_S / 3600, seen.meant, sum.fired,
        seen.ejected, sum.missed, sum.lost, sum.too_late, seen.wrong, belt->jumps, belt->silences,
        belt->refused, belt->late);
    assert_int_equal(seen.wrong, 0);
    assert_int_equal(sum.unexpected, 0);
    assert_int_equal(sum.confirmed, seen.ejected);
    assert_int_equal(sum.fired, seen.pulses - seen.unsure_idle);
    assert_int_equal(sum.missed, sum.fired - seen.ejected);
    assert_int_equal(sum.fired + sum.lost + sum.too_late + crn_firing_waiting(firing), seen.meant);
    expect_endings(&sum);
    free(has_ended);
    crn_firing_free(&firing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_counted_is_what_happened)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
