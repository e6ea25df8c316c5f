/* The queue of fruits that are measured (src/surface/surfaces.h): when there is no time or no place
 * for one, and what is counted. Times are the test's; the thread only runs. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "src/surface/surfaces.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/config_text.h"

#define LINE                                                                                       \
    "classes: [{name: rot, level: 0.5}]\n"                                                         \
    "chain: [contours]\n"

#define MS CRN_NS_PER_MS

typedef struct queue_fixture {
    crn_config config;
    crn_result_store *store;
    crn_surfaces *surfaces;
    int done;
    crn_fruit_view views[64];
    crn_fruit fruits[CRN_SURFACES_MAX + 1];
} queue_fixture;

static queue_fixture the;

/* Fruits with one judged view each, of which nothing is known. */
static void open_with(const char *yaml)
{
    memset(&the, 0, sizeof the);
    config_text_load(yaml, &the.config);
    crn_config_resolve(&the.config, 2);
    assert_int_equal(crn_result_store_create(1 << 20, &the.store), 0);
    the.done = eventfd(0, EFD_CLOEXEC);
    assert_true(the.done >= 0);
    assert_int_equal(crn_surfaces_open(&the.config, the.store, the.done, &the.surfaces), 0);
    the.views[0] =
        (crn_fruit_view){.state = CRN_VIEW_JUDGED, .judgement = {.result = CRN_RESULT_NONE}};
    for (int i = 0; i <= CRN_SURFACES_MAX; i++)
        the.fruits[i] = (crn_fruit){.config = &the.config, .judged = 1, .views = the.views};
}

static void close_all(void)
{
    crn_surfaces_close(&the.surfaces);
    assert_null(the.surfaces);
    crn_result_store_free(&the.store);
    crn_config_done(&the.config);
    close(the.done);
}

/* The next fruit that is done, found so at that time. */
static crn_measurement *collect(int64_t now_ns)
{
    crn_measurement *it = NULL;
    while (!(it = crn_surfaces_collect(the.surfaces, now_ns))) {
        struct pollfd done = {.fd = the.done, .events = POLLIN};
        uint64_t count;
        assert_true(poll(&done, 1, 60000) == 1);
        assert_true(read(the.done, &count, sizeof count) == sizeof count);
    }
    return it;
}

/* A fruit that is measured for so long. */
static void measure_for(int64_t took_ns)
{
    assert_true(crn_surfaces_begin(the.surfaces, &the.fruits[0], INT64_MAX, 0));
    crn_measurement *it = collect(took_ns);
    assert_int_equal(it->packed.took_ns, took_ns);
    crn_surfaces_release(the.surfaces, it);
}

static void an_optional_measurement_needs_its_recent_time(void **state)
{
    (void)state;
    open_with(LINE "geometry: {mm_per_px: 1}\n");
    assert_true(the.config.geometry.surface.optional);
    for (int i = 0; i < 64; i++)
        measure_for(40 * MS);
    assert_false(crn_surfaces_begin(the.surfaces, &the.fruits[1], 1000 * MS + 5 * MS, 1000 * MS));
    assert_null(crn_surfaces_find(the.surfaces, &the.fruits[1]));
    assert_true(crn_surfaces_begin(the.surfaces, &the.fruits[1], 2000 * MS, 1000 * MS));
    crn_surfaces_release(the.surfaces, collect(1001 * MS));
    close_all();
}

/* An overload that ends: after a while one is tried again. */
static void what_was_skipped_is_tried_again(void **state)
{
    (void)state;
    open_with(LINE "geometry: {mm_per_px: 1}\n");
    for (int i = 0; i < 64; i++)
        measure_for(40 * MS);
    int skipped = 0;
    while (skipped < 100000 &&
           !crn_surfaces_begin(the.surfaces, &the.fruits[1], 1005 * MS, 1000 * MS))
        skipped++;
    assert_in_range(skipped, 1, 99999);
    crn_surfaces_release(the.surfaces, collect(1001 * MS));
    close_all();
}

static void one_that_is_not_optional_is_begun_at_any_time(void **state)
{
    (void)state;
    open_with(LINE "geometry: {mm_per_px: 1, surface: {optional: false}}\n");
    for (int i = 0; i < 64; i++)
        measure_for(40 * MS);
    assert_true(crn_surfaces_begin(the.surfaces, &the.fruits[1], 1005 * MS, 1000 * MS));
    crn_surfaces_release(the.surfaces, collect(1001 * MS));
    close_all();
}

static void it_has_so_many_places_until_they_are_released(void **state)
{
    (void)state;
    open_with(LINE "geometry: {mm_per_px: 1}\n");
    for (int i = 0; i < CRN_SURFACES_MAX; i++)
        assert_true(crn_surfaces_begin(the.surfaces, &the.fruits[i], INT64_MAX, 0));
    crn_fruit *last = &the.fruits[CRN_SURFACES_MAX];
    assert_false(crn_surfaces_begin(the.surfaces, last, INT64_MAX, 0));
    crn_measurement *it = collect(1);
    assert_false(crn_surfaces_begin(the.surfaces, last, INT64_MAX, 0)); /* still read */
    assert_ptr_equal(crn_surfaces_find(the.surfaces, it->fruit), it);
    crn_surfaces_release(the.surfaces, it);
    assert_true(crn_surfaces_begin(the.surfaces, last, INT64_MAX, 0));
    close_all(); /* with all that it has */
}

static void results_are_counted(void **state)
{
    (void)state;
    open_with(LINE "geometry: {mm_per_px: 1}\n");
    measure_for(1);
    crn_surfaces_skip(the.surfaces);
    crn_surfaces_skip(the.surfaces);
    const crn_surfaces_stats *stats = crn_surfaces_get_stats(the.surfaces);
    assert_int_equal(stats->measured, 0);
    assert_int_equal(stats->unmeasured, 1); /* no view shows where the fruit is */
    assert_int_equal(stats->skipped, 2);
    assert_int_equal(stats->poses[CRN_POSE_NONE], 1);
    assert_int_equal(stats->rolls[CRN_POSE_NONE], 0); /* of the first view there is none */
    close_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_optional_measurement_needs_its_recent_time),
        cmocka_unit_test(what_was_skipped_is_tried_again),
        cmocka_unit_test(one_that_is_not_optional_is_begun_at_any_time),
        cmocka_unit_test(it_has_so_many_places_until_they_are_released),
        cmocka_unit_test(results_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
