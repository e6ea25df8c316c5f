/* A line as the watch of conditions sees it, for tests that change it second by second. */
#ifndef CRN_TESTS_UNIT_MONITOR_CONDITIONS_CONDITION_FIXTURE_H
#define CRN_TESTS_UNIT_MONITOR_CONDITIONS_CONDITION_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/monitor/conditions/watch.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"

enum {
    LANES = 3,
    LONG_TIME = 60, /* seconds: longer than any row waits */
};

static const char condition_yaml[] = "classes: [{name: rot, level: 0.5}]\n"
                                     "chain: [contours]\n"
                                     "ingest: {lanes: [\"1-3\"]}\n"
                                     "limits: {lanes: 8}\n"
                                     "run: {workers: 1, threads: 1}\n";

typedef struct watch_fixture {
    crn_config config;
    crn_snapshot *now; /* changed by the tests */
    crn_condition_watch *watch;
    crn_resources resources;
    crn_drift_findings *drift; /* room for one; NULL: none */
    int64_t now_ns, realtime_ns;
    bool belt_stands, hangs;
    unsigned idle;           /* a bit for each lane that has no fruit */
    int64_t pause_ns[LANES]; /* between fruits of a lane; 0: a tenth of a second */
    int told[CRN_CONDITION_ENDED + 1];
    const crn_condition *last; /* told of */
} watch_fixture;

static void count_told(void *context, const crn_condition_held *held, crn_condition_event event)
{
    watch_fixture *f = context;
    f->told[event]++;
    f->last = held->row;
}

/* Three lanes that were seen, with a sender and a grader. */
static int set_up(void **state)
{
    watch_fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    assert_int_equal(
        crn_config_parse("f", condition_yaml, strlen(condition_yaml), stderr, &f->config), 0);
    crn_config_resolve(&f->config, 2);
    f->now = calloc(1, crn_snapshot_bytes(8));
    assert_non_null(f->now);
    f->resources.window_s = CRN_RESOURCES_WINDOW_S;
    f->resources.processor = (crn_resource_processor){.cpus = 4, .own = 0.1};
    f->resources.threads[CRN_RESOURCE_LINE] = (crn_resource_group){1, 0.1, 0};
    f->resources.threads[CRN_RESOURCE_WORKERS] = (crn_resource_group){2, 0.2, 0};
    assert_int_equal(crn_lane_ranges_parse(&f->config.ingest.lanes, &f->now->settings.lanes), 0);
    f->now_ns = 1000 * CRN_NS_PER_S;
    f->realtime_ns = 5000 * CRN_NS_PER_S;
    f->now->state = CRN_STATE_RUNNING;
    f->now->lane_count = LANES;
    f->now->levels.senders = f->now->metrics.publish.graders = 1;
    for (uint32_t i = 0; i < LANES; i++) {
        f->now->lanes[i].number = i + 1;
        f->now->lanes[i].meters.serial = i + 1;
    }
    assert_int_equal(crn_condition_watch_create(&f->config, f->now_ns, count_told, f, &f->watch),
                     0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    watch_fixture *f = *state;
    crn_condition_watch_free(&f->watch);
    crn_config_done(&f->config);
    free(f->now);
    free(f->drift);
    free(f);
    return 0;
}

/* A second of ten fruits of two views on every lane, all judged. */
static void pass_second(watch_fixture *f)
{
    f->now_ns += CRN_NS_PER_S;
    f->realtime_ns += CRN_NS_PER_S;
    if (!f->hangs) {
        f->now->number++;
        f->now->taken_ns = f->now_ns;
    }
    for (int i = 0; !f->belt_stands && i < f->now->lane_count; i++) {
        if (i < 32 && f->idle >> i & 1)
            continue;
        f->now->lanes[i].stats.views += 20;
        f->now->metrics.lanes.views += 20;
        f->now->lanes[i].meters.verdicts[CRN_VERDICT_COMPLETE] += 10;
        f->now->lanes[i].meters.arrived_ns = f->now_ns;
        f->now->lanes[i].meters.pause_ns =
            i < LANES && f->pause_ns[i] > 0 ? f->pause_ns[i] : CRN_NS_PER_S / 10;
        f->now->metrics.publish.verdicts += 10;
        f->now->metrics.publish.sent += 10;
    }
}

static void look(watch_fixture *f)
{
    crn_condition_watch_look(f->watch, f->now, &f->resources, f->drift, f->now_ns, f->realtime_ns);
}

#endif
