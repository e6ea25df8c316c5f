/* Snapshots pass from one thread to another: whole, in order, without waiting. */
#include <pthread.h>
#include <stdatomic.h>

#include "src/monitor/snapshot.h"
#include "tests/support/cmocka_prelude.h"

#define LANES  16
#define ROUNDS 100000

static void what_was_published_is_read(void **state)
{
    (void)state;
    crn_snapshots *snapshots;
    assert_int_equal(crn_snapshots_create(LANES, &snapshots), 0);
    assert_int_equal(crn_snapshots_latest(snapshots)->number, 0);
    assert_int_equal(crn_snapshots_latest(snapshots)->state, CRN_STATE_STARTING);
    crn_snapshots_begin(snapshots)->number = 1;
    assert_int_equal(crn_snapshots_latest(snapshots)->number, 0);
    crn_snapshots_publish(snapshots);
    crn_snapshots_begin(snapshots)->number = 2;
    crn_snapshots_publish(snapshots);
    const crn_snapshot *latest = crn_snapshots_latest(snapshots);
    assert_int_equal(latest->number, 2);
    for (uint64_t number = 3; number < 9; number++) { /* none of these buffers is the reader's */
        crn_snapshots_begin(snapshots)->number = number;
        crn_snapshots_publish(snapshots);
        assert_int_equal(latest->number, 2);
    }
    assert_int_equal(crn_snapshots_latest(snapshots)->number, 8);
    assert_int_equal(crn_snapshots_latest(snapshots)->number, 8);
    crn_snapshots_free(&snapshots);
    crn_snapshots_free(&snapshots);
}

static void *write_snapshots(void *argument)
{
    crn_snapshots *snapshots = argument;
    for (uint64_t number = 1; number <= ROUNDS; number++) {
        crn_snapshot *snapshot = crn_snapshots_begin(snapshots);
        snapshot->number = number;
        for (int i = 0; i < LANES; i++)
            snapshot->lanes[i].stats.views = number;
        crn_snapshots_publish(snapshots);
    }
    return NULL;
}

static void a_reader_sees_whole_ones_in_order(void **state)
{
    (void)state;
    crn_snapshots *snapshots;
    pthread_t writer;
    assert_int_equal(crn_snapshots_create(LANES, &snapshots), 0);
    assert_int_equal(pthread_create(&writer, NULL, write_snapshots, snapshots), 0);
    uint64_t number = 0, torn = 0, backwards = 0;
    while (number < ROUNDS) {
        const crn_snapshot *snapshot = crn_snapshots_latest(snapshots);
        backwards += snapshot->number < number;
        number = snapshot->number;
        for (int i = 0; i < LANES; i++)
            torn += snapshot->lanes[i].stats.views != number;
    }
    pthread_join(writer, NULL);
    assert_int_equal(torn, 0);
    assert_int_equal(backwards, 0);
    crn_snapshots_free(&snapshots);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_published_is_read),
        cmocka_unit_test(a_reader_sees_whole_ones_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
