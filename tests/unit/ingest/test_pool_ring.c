/* The slot pool and the queue between threads. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "src/ingest/pool.h"
#include "stages/base/ring.h"
#include "tests/support/cmocka_prelude.h"

static void pool_gives_each_slot_once(void **state)
{
    (void)state;
    crn_pool *pool = NULL;
    assert_int_equal(crn_pool_create(3, 0, 1000, &pool), 0);
    crn_view *taken[3];
    for (int i = 0; i < 3; i++) {
        taken[i] = crn_pool_acquire(pool);
        assert_non_null(taken[i]);
        assert_int_equal((uintptr_t)taken[i]->maps % 64, 0);
        assert_ptr_equal(crn_pool_at(pool, taken[i]->slot), taken[i]);
        for (int before = 0; before < i; before++)
            assert_true(taken[before]->maps + 1000 <= taken[i]->maps ||
                        taken[i]->maps + 1000 <= taken[before]->maps);
    }
    assert_null(crn_pool_acquire(pool));
    crn_pool_release(pool, taken[1]);
    assert_int_equal(crn_pool_free_slots(pool), 1);
    assert_ptr_equal(crn_pool_acquire(pool), taken[1]);
    crn_pool_free(&pool);
    assert_null(pool);
    crn_pool_free(&pool);
}

/* What is set aside takes of the reserve, and never of the slots. */
static void pool_sets_slots_aside(void **state)
{
    (void)state;
    crn_pool *pool = NULL;
    assert_int_equal(crn_pool_create(2, 1, 1000, &pool), 0);
    crn_view *first = crn_pool_acquire(pool), *second = crn_pool_acquire(pool);
    assert_non_null(second);
    assert_null(crn_pool_acquire(pool));
    assert_true(crn_pool_set_aside(pool, first));
    assert_int_equal(crn_pool_free_slots(pool), 1);
    crn_view *third = crn_pool_acquire(pool);
    assert_non_null(third);
    assert_ptr_not_equal(third, first);
    assert_null(crn_pool_acquire(pool));
    assert_false(crn_pool_set_aside(pool, second));
    crn_pool_release(pool, first);
    assert_int_equal(crn_pool_free_slots(pool), 0); /* it is the reserve again */
    assert_null(crn_pool_acquire(pool));
    assert_true(crn_pool_set_aside(pool, third));
    crn_pool_release(pool, second);
    assert_int_equal(crn_pool_free_slots(pool), 2);
    crn_pool_free(&pool);
}

static void ring_refuses_when_full(void **state)
{
    (void)state;
    crn_ring ring;
    int items[5];
    assert_int_equal(crn_ring_init(&ring, 3), 0); /* rounded up to 4 */
    for (int i = 0; i < 4; i++)
        assert_int_equal(crn_ring_push(&ring, &items[i]), 0);
    assert_int_equal(crn_ring_push(&ring, &items[4]), -EAGAIN);
    for (int i = 0; i < 4; i++)
        assert_ptr_equal(crn_ring_pop(&ring), &items[i]);
    assert_null(crn_ring_pop(&ring));
    crn_ring_done(&ring);
}

#define PASSED 200000

static void *push_all(void *argument)
{
    crn_ring *ring = argument;
    for (uintptr_t i = 1; i <= PASSED; i++)
        while (crn_ring_push(ring, (void *)i) != 0)
            sched_yield();
    return NULL;
}

static void ring_keeps_order_between_threads(void **state)
{
    (void)state;
    crn_ring ring;
    assert_int_equal(crn_ring_init(&ring, 8), 0);
    pthread_t pusher;
    assert_int_equal(pthread_create(&pusher, NULL, push_all, &ring), 0);
    for (uintptr_t expected = 1; expected <= PASSED;) {
        void *item = crn_ring_pop(&ring);
        if (!item) {
            sched_yield();
            continue;
        }
        assert_int_equal((uintptr_t)item, expected);
        expected++;
    }
    pthread_join(pusher, NULL);
    crn_ring_done(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_gives_each_slot_once),
        cmocka_unit_test(pool_sets_slots_aside),
        cmocka_unit_test(ring_refuses_when_full),
        cmocka_unit_test(ring_keeps_order_between_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
