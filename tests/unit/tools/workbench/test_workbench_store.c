/* The workbench's files: names, and what is dropped when memory is short. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tools/workbench/store.h"

#define MIB (1 << 20)

static crn_store store;

static int set_up(void **state)
{
    crn_error error;
    (void)state;
    return crn_store_open(&store, &error);
}

static int tear_down(void **state)
{
    (void)state;
    crn_store_close(&store);
    return access(store.folder, F_OK) == 0;
}

/* Adds a file of so many bytes. */
static crn_stored *add(const char *name, off_t bytes, bool result)
{
    char reserved[CRN_STORE_NAME_BYTES];
    const crn_picture_facts facts = {.kind = CRN_PICTURE_PLAIN};
    assert_int_equal(crn_store_reserve(&store, name, reserved), 0);
    int fd = openat(store.folder_fd, reserved, O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, bytes), 0);
    close(fd);
    return crn_store_add(&store, reserved, &facts, result);
}

static bool is_there(uint64_t id)
{
    for (int i = 0; i < CRN_STORE_PICTURES_MAX; i++)
        if (store.at[i].id == id)
            return true;
    return false;
}

static void names_are_free_and_keep_their_ending(void **state)
{
    char name[CRN_STORE_NAME_BYTES], again[CRN_STORE_NAME_BYTES], wanted[400];
    (void)state;
    static const char *const cases[][2] = {
        {"a.tif", "a.tif"},         {"a.tif", "a-2.tif"}, {"../b.c/..", "_."}, {".tif", "_tif"},
        {"no ending", "no ending"}, {"x.", "x."},         {"", "picture"},     {"/", "picture-2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(crn_store_reserve(&store, cases[i][0], name), 0);
        assert_string_equal(name, cases[i][1]);
    }
    memset(wanted, 'n', sizeof wanted);
    strcpy(wanted + sizeof wanted - 6, ".tiff");
    assert_int_equal(crn_store_reserve(&store, wanted, name), 0);
    assert_int_equal(crn_store_reserve(&store, wanted, again), 0);
    assert_string_equal(name + strlen(name) - 5, ".tiff");
    assert_string_equal(again + strlen(again) - 7, "-2.tiff");
}

static void the_longest_unused_result_goes_first(void **state)
{
    (void)state;
    store.bytes_max = 10 * MIB;
    uint64_t upload = add("u.tif", 2 * MIB, false)->id;
    uint64_t one = add("1.tif", 2 * MIB, true)->id, two = add("2.tif", 2 * MIB, true)->id;
    uint64_t three = add("3.tif", 2 * MIB, true)->id;
    assert_non_null(crn_store_find(&store, one)); /* used again */
    assert_true(crn_store_has_room(&store, 4 * MIB));
    assert_false(is_there(two));
    assert_true(is_there(one) && is_there(three) && is_there(upload));
    assert_non_null(add("4.tif", 4 * MIB, true));
    assert_false(is_there(99));
    assert_true(crn_store_has_room(&store, 2 * MIB));
    assert_false(is_there(three));
    assert_true(is_there(one) && is_there(upload));
}

static void what_a_job_needs_stays(void **state)
{
    (void)state;
    store.bytes_max = 10 * MIB;
    uint64_t one = add("1.tif", 3 * MIB, true)->id, two = add("2.tif", 3 * MIB, true)->id;
    uint64_t three = add("3.tif", 3 * MIB, true)->id;
    crn_store_pin(&store, one);
    crn_store_pin(&store, one);
    crn_store_unpin(&store, one);
    assert_true(crn_store_has_room(&store, 4 * MIB));
    assert_true(is_there(one) && is_there(three));
    assert_false(is_there(two));
    crn_store_unpin(&store, one);
    crn_store_pin(&store, three);
    assert_true(crn_store_has_room(&store, 7 * MIB));
    assert_false(is_there(one));
}

/* A file that finds no room must not cost others theirs. */
static void nothing_is_dropped_in_vain(void **state)
{
    (void)state;
    store.bytes_max = 10 * MIB;
    uint64_t ids[4];
    for (int i = 0; i < 4; i++)
        ids[i] = add("r.tif", 2 * MIB, true)->id;
    assert_false(crn_store_has_room(&store, 9 * MIB));
    assert_null(add("large.tif", 9 * MIB, true));
    for (int i = 0; i < 4; i++)
        assert_true(is_there(ids[i]));
}

static void a_full_table_drops_one(void **state)
{
    (void)state;
    uint64_t first = add("r.tif", 1, true)->id;
    for (int i = 0; i < CRN_STORE_PICTURES_MAX; i++)
        assert_non_null(add("r.tif", 1, true));
    assert_false(is_there(first));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_are_free_and_keep_their_ending, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_longest_unused_result_goes_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_a_job_needs_stays, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_dropped_in_vain, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_table_drops_one, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
