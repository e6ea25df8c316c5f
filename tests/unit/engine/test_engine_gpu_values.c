/* The values of views that a worker is to check: a device that judges them has seen them. */
#include <errno.h>
#include <math.h>

#include "tests/unit/engine/engine_bench.h"

/* Views that a worker checked itself. */
static atomic_int checked;

static crn_values_seen check(void *restrict to, const void *restrict from, size_t bytes)
{
    (void)to;
    (void)from;
    (void)bytes;
    atomic_fetch_add(&checked, 1);
    return (crn_values_seen){.max = 99};
}

/* Discs, and the given rest of the file; all views are to be checked. */
static void start_checked(bench *it, const char *rest)
{
    char all[256];
    snprintf(all, sizeof all, "run: {backend: cuda, workers: 1, threads: 1}\n%s", rest);
    start(it, plain_chain, all, crn_fake_gpu(1, false));
    show(it, 20, 40);
    for (int32_t i = 0; i < CRN_ENGINE_VIEWS; i++)
        it->views[i].check = check;
}

/* Judges the first view. */
static crn_values_seen seen_of(bench *it)
{
    it->views[0].seen = (crn_values_seen){.max = -1};
    judgement_of(it);
    return it->views[0].seen;
}

static void a_device_sees_what_it_judges(void **state)
{
    (void)state;
    bench it;
    start_checked(&it, "");
    run_on_device(&it, 1);
    atomic_store(&checked, 0);
    float max = 0;
    for (int32_t i = 0; i < 20 * 40 * CRN_ENGINE_CLASSES; i++)
        max = it.maps[i] > max ? it.maps[i] : max;
    crn_values_seen seen = seen_of(&it);
    assert_false(seen.suspect);
    assert_true(seen.max == max);
    it.maps[1234] = NAN;
    assert_true(seen_of(&it).suspect);
    assert_int_equal(atomic_load(&checked), 0);
    stop(&it);
    expect_all_given_back();
}

static void views_of_a_batch_are_seen_apart(void **state)
{
    (void)state;
    bench it;
    start_checked(&it, "");
    run_on_device(&it, 1);
    atomic_store(&checked, 0);
    it.maps[1234] = NAN;
    int32_t batched = atomic_load(&crn_fake_gpu_used.batched);
    int32_t launches = atomic_load(&crn_fake_gpu_used.launches);
    while (atomic_load(&crn_fake_gpu_used.batched) - batched ==
           atomic_load(&crn_fake_gpu_used.launches) - launches) {
        for (int32_t i = 0; i < CRN_ENGINE_VIEWS; i++) {
            it.views[i].maps = (unsigned char *)(i % 3 ? it.empty : it.maps);
            it.views[i].seen = (crn_values_seen){.max = -1};
        }
        run_views(&it, CRN_ENGINE_VIEWS, NULL);
        for (int32_t i = 0; i < CRN_ENGINE_VIEWS; i++) {
            assert_int_equal(it.views[i].seen.suspect, i % 3 == 0);
            assert_true(i % 3 == 0 || it.views[i].seen.max == 0);
        }
    }
    assert_int_equal(atomic_load(&checked), 0);
    stop(&it);
}

static void what_runs_on_the_processor_is_checked_there(void **state)
{
    (void)state;
    bench it;
    start_checked(&it, "limits: {points: 40}\n");
    while (crn_engine_get_stats(it.engine)->device_cut < 3)
        run_views(&it, 1, NULL);
    atomic_store(&checked, 0);
    assert_true(seen_of(&it).max == 99);
    assert_int_equal(atomic_load(&checked), 1);
    stop(&it);
}

static void what_is_trusted_is_not_seen(void **state)
{
    (void)state;
    bench it;
    start_checked(&it, "ingest: {values: trust}\n");
    run_on_device(&it, 1);
    it.views[0].check = NULL;
    uint64_t before = crn_engine_get_stats(it.engine)->device;
    assert_true(seen_of(&it).max == -1);
    assert_int_equal(crn_engine_get_stats(it.engine)->device, before + 1);
    stop(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_sees_what_it_judges),
        cmocka_unit_test(views_of_a_batch_are_seen_apart),
        cmocka_unit_test(what_runs_on_the_processor_is_checked_there),
        cmocka_unit_test(what_is_trusted_is_not_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
