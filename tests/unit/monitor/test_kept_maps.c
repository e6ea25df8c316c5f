/* The maps that are kept: of which fruits, for how long, and copied whole while others come. */
#include "src/monitor/fruits/kept_maps.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"

#define SLOTS 3
#define KEPT  4
#define BYTES 6000

typedef struct kept_fixture {
    crn_pool *pool;
    crn_kept_maps *maps;
    crn_kept_copy copy;
} kept_fixture;

static bool lie_elsewhere;         /* views to be added, not in the pool: copies are kept */
static int64_t added_ns, pause_ns; /* when the last one was, and how long after that the next is */

static int set_up(void **state)
{
    static kept_fixture f;
    memset(&f, 0, sizeof f);
    added_ns = pause_ns = CRN_NS_PER_S;
    *state = &f;
    if (crn_pool_create(SLOTS, KEPT, BYTES, &f.pool) < 0)
        return -1;
    return crn_kept_maps_create(KEPT, f.pool, &f.maps);
}

static int set_up_elsewhere(void **state)
{
    lie_elsewhere = true;
    return set_up(state);
}

static int tear_down(void **state)
{
    kept_fixture *f = *state;
    lie_elsewhere = false;
    free(f->copy.bytes);
    crn_kept_maps_free(&f->maps);
    crn_pool_free(&f->pool);
    return 0;
}

/* A number that all bytes of a view follow from. */
static unsigned char value_of(uint64_t fruit, uint16_t view)
{
    return (unsigned char)(fruit * 7 + view);
}

static void add(kept_fixture *f, uint64_t fruit, uint16_t view, bool intensity)
{
    unsigned char bytes[5200];
    crn_view elsewhere = {.maps = bytes};
    crn_view *added = lie_elsewhere ? &elsewhere : crn_pool_acquire(f->pool);
    assert_non_null(added);
    added->header = (crn_view_header){.lane = 3,
                                      .epoch = 8, /* of a sender that is joined to that of 9 */
                                      .fruit = fruit,
                                      .view = view,
                                      .height = 10,
                                      .width = 20,
                                      .payload_bytes = 5000,
                                      .flags = intensity ? CRN_WIRE_FLAG_INTENSITY : 0};
    added->epoch = 9;
    added->received_ns = crn_now_ns() - 5 * CRN_NS_PER_S;
    added->intensity = intensity ? added->maps + 5000 : NULL;
    memset(added->maps, value_of(fruit, view), 5200);
    added_ns += pause_ns;
    if (lie_elsewhere)
        crn_kept_maps_add_copy(f->maps, added, added_ns);
    else
        crn_kept_maps_add(f->maps, added);
    memset(bytes, 0, sizeof bytes);
    assert_int_equal(crn_pool_free_slots(f->pool), SLOTS); /* kept or not: none is missing */
}

/* Expects exactly these views, numbered by digits, of a fruit. */
static void expect(kept_fixture *f, uint64_t fruit, const char *views)
{
    crn_kept_fruit name = {3, 9, fruit};
    uint32_t next = 0;
    for (; *views; views++) {
        uint16_t view = (uint16_t)(*views - '0');
        assert_int_equal(crn_kept_maps_copy(f->maps, &name, next, &f->copy), 1);
        assert_int_equal(f->copy.header.view, view);
        assert_int_equal(f->copy.header.fruit, fruit);
        for (size_t i = 0; i < f->copy.size; i++)
            assert_int_equal(f->copy.bytes[i], value_of(fruit, view));
        next = view + 1u;
    }
    assert_int_equal(crn_kept_maps_copy(f->maps, &name, next, &f->copy), 0);
}

static void views_are_copied_in_their_order(void **state)
{
    kept_fixture *f = *state;
    add(f, 1, 2, false);
    add(f, 1, 0, true);
    expect(f, 1, "02");
    crn_kept_fruit name = {3, 9, 1};
    assert_int_equal(crn_kept_maps_copy(f->maps, &name, 0, &f->copy), 1);
    assert_int_equal(f->copy.size, 5200);
    int64_t ago_ns = crn_realtime_ns() - (int64_t)f->copy.arrived_ns;
    assert_true(ago_ns >= 5 * CRN_NS_PER_S && ago_ns < 65 * CRN_NS_PER_S);
    assert_int_equal(crn_kept_maps_copy(f->maps, &name, 1, &f->copy), 1);
    assert_int_equal(f->copy.size, 5000);
    expect(f, 2, "");
    name.epoch = 8;
    assert_int_equal(crn_kept_maps_copy(f->maps, &name, 0, &f->copy), 0);
    name = (crn_kept_fruit){4, 9, 1};
    assert_int_equal(crn_kept_maps_copy(f->maps, &name, 0, &f->copy), 0);
}

static void photographs_are_copied_without_maps(void **state)
{
    kept_fixture *f = *state;
    crn_kept_fruit name = {3, 9, 1};
    add(f, 1, 0, true);
    add(f, 1, 1, false);
    assert_int_equal(crn_kept_maps_copy_photo(f->maps, &name, 0, &f->copy), 1);
    assert_int_equal(f->copy.size, 200);
    assert_int_equal(f->copy.capacity, 200);
    for (size_t i = 0; i < f->copy.size; i++)
        assert_int_equal(f->copy.bytes[i], value_of(1, 0));
    assert_int_equal(crn_kept_maps_copy_photo(f->maps, &name, 1, &f->copy), 1);
    assert_int_equal(f->copy.header.view, 1);
    assert_int_equal(f->copy.size, 0);
    assert_int_equal(crn_kept_maps_copy_photo(f->maps, &name, 2, &f->copy), 0);
}

static void the_oldest_fruit_goes_as_a_whole(void **state)
{
    kept_fixture *f = *state;
    add(f, 1, 0, false);
    add(f, 1, 1, false);
    add(f, 2, 0, false);
    add(f, 3, 0, false);
    expect(f, 1, "01");
    add(f, 4, 0, false);
    expect(f, 1, "");
    add(f, 4, 1, false);
    expect(f, 2, "0");
    add(f, 4, 2, false);
    expect(f, 2, "");
    expect(f, 3, "0");
    expect(f, 4, "012");
}

static void a_fruit_of_many_views_keeps_its_first(void **state)
{
    kept_fixture *f = *state;
    add(f, 1, 0, false);
    for (uint16_t view = 0; view < 7; view++)
        add(f, 2, view, false);
    expect(f, 1, "");
    expect(f, 2, "0123");
    add(f, 3, 0, false);
    expect(f, 2, "");
    expect(f, 3, "0");
}

/* The line's thread copies them, and needs its time most when many fruits are late. */
static void copies_are_of_one_fruit_at_a_time(void **state)
{
    kept_fixture *f = *state;
    pause_ns = 0;
    add(f, 1, 0, false);
    add(f, 2, 0, false);
    add(f, 1, 1, false);
    expect(f, 1, "01");
    expect(f, 2, "");
    pause_ns = 99 * CRN_NS_PER_MS;
    add(f, 3, 0, false);
    pause_ns = CRN_NS_PER_MS;
    add(f, 3, 1, false);
    expect(f, 3, "1");
    add(f, 1, 2, false);
    expect(f, 1, "01");
}

#define FRUITS 20000
#define NAMES  6 /* of these fruits, again and again: two are kept at a time */

static atomic_bool all_added;

static void *add_many(void *argument)
{
    for (uint64_t i = 0; i < FRUITS; i++)
        for (uint16_t view = 0; view < 2; view++)
            add(argument, i % NAMES, view, true);
    atomic_store(&all_added, true);
    return NULL;
}

/* Whatever is copied is one view, not parts of two. */
static void copies_are_whole_while_others_come(void **state)
{
    kept_fixture *f = *state;
    pthread_t adder;
    crn_kept_copy copy = {0};
    uint64_t copied = 0, mixed = 0;
    assert_int_equal(pthread_create(&adder, NULL, add_many, f), 0);
    for (uint64_t i = 0; !atomic_load(&all_added) || copied == 0; i++) {
        crn_kept_fruit name = {3, 9, i % NAMES};
        if (crn_kept_maps_copy(f->maps, &name, i / NAMES % 2, &copy) != 1)
            continue;
        unsigned char value = value_of(name.fruit, copy.header.view);
        mixed += copy.header.fruit != name.fruit || copy.size != 5200;
        for (size_t byte = 0; byte < copy.size; byte++)
            mixed += copy.bytes[byte] != value;
        copied++;
    }
    assert_int_equal(pthread_join(adder, NULL), 0);
    assert_int_equal(mixed, 0);
    free(copy.bytes);
}

#define ON_KEPT(test)                                                                              \
    cmocka_unit_test_setup_teardown(test, set_up, tear_down),                                      \
        cmocka_unit_test_setup_teardown(test, set_up_elsewhere, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_KEPT(photographs_are_copied_without_maps),
        ON_KEPT(views_are_copied_in_their_order),
        ON_KEPT(the_oldest_fruit_goes_as_a_whole),
        ON_KEPT(a_fruit_of_many_views_keeps_its_first),
        cmocka_unit_test_setup_teardown(copies_are_of_one_fruit_at_a_time, set_up_elsewhere,
                                        tear_down),
        ON_KEPT(copies_are_whole_while_others_come),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
