/* Contexts: allocators, capacity, and release of memory. */
#include "stages/context.h"
#include "tests/support/cmocka_prelude.h"

#include <errno.h>
#include <stdlib.h>

/* An allocator with a small capacity that counts. */
typedef struct small_home {
    size_t room_bytes, taken_bytes;
    int32_t closed;
} small_home;

static void *take(void *owner, size_t bytes)
{
    small_home *home = owner;
    if (home->taken_bytes + bytes > home->room_bytes)
        return NULL;
    home->taken_bytes += bytes;
    return malloc(bytes);
}

static void give(void *owner, void *memory, size_t bytes)
{
    small_home *home = owner;
    home->taken_bytes -= bytes;
    free(memory);
}

static void close_home(void *owner)
{
    small_home *home = owner;
    home->closed++;
}

static const crn_context_allocator small = {.take = take, .give = give, .close = close_home};
static const crn_context_allocator other = {.take = take, .give = give};

static void test_memory_is_the_homes_times_the_views(void **state)
{
    (void)state;
    small_home home = {.room_bytes = 4000};
    crn_context *context = NULL;
    assert_int_equal(crn_context_create_at(&small, &home, 0, &context), -EINVAL);
    assert_int_equal(crn_context_create_at(&small, &home, 3, &context), 0);
    assert_ptr_equal(crn_context_owner(context, &small), &home);
    assert_null(crn_context_owner(context, &other));
    assert_int_equal(crn_context_views(context), 3);
    assert_int_equal(crn_context_threads(context), 1);
    assert_non_null(crn_context_scratch(context, 0, 100));
    assert_int_equal(home.taken_bytes, 300);
    assert_null(crn_context_scratch(context, 1, SIZE_MAX / 2));
    crn_context_free(&context);
    assert_int_equal(home.taken_bytes, 0);
    assert_int_equal(home.closed, 1);
}

static void test_what_grows_gives_first_and_counts_as_moved(void **state)
{
    (void)state;
    small_home home = {.room_bytes = 1000};
    crn_context *context = NULL;
    assert_int_equal(crn_context_create_at(&small, &home, 1, &context), 0);
    void *first = crn_context_scratch(context, 5, 600);
    assert_non_null(first);
    assert_ptr_equal(crn_context_scratch(context, 5, 400), first);
    assert_int_equal(crn_context_generation(context), 0);
    assert_non_null(crn_context_scratch(context, 5, 900)); /* does not fit beside the first 600 */
    assert_int_equal(home.taken_bytes, 900);
    assert_int_equal(crn_context_generation(context), 1);
    assert_null(crn_context_scratch(context, 5, 1100));
    assert_int_equal(home.taken_bytes, 0);
    assert_int_equal(crn_context_generation(context), 2);
    assert_non_null(crn_context_scratch(context, 5, 10)); /* memory is available again */
    crn_context_advance_generation(context);
    assert_int_equal(crn_context_generation(context), 3);
    crn_context_free(&context);
    assert_int_equal(home.taken_bytes, 0);
}

static void test_the_processors_have_one_view(void **state)
{
    (void)state;
    crn_context *context = NULL;
    assert_int_equal(crn_context_create(2, &context), 0);
    assert_int_equal(crn_context_views(context), 1);
    assert_int_equal(crn_context_threads(context), 2);
    assert_null(crn_context_owner(context, &small));
    assert_non_null(crn_context_scratch(context, CRN_SCRATCH_SLOTS - 1, 1 << 20));
    crn_context_free(&context);
    assert_null(context);
    crn_context_free(&context);
}

static void count_free(void *what)
{
    ++*(int32_t *)what;
}

static void test_what_is_attached_goes_with_it(void **state)
{
    (void)state;
    int32_t freed = 0;
    crn_context *context = NULL;
    assert_int_equal(crn_context_create(1, &context), 0);
    assert_null(crn_context_attached(context));
    crn_context_attach(context, &freed, count_free);
    assert_ptr_equal(crn_context_attached(context), &freed);
    crn_context_free(&context);
    assert_int_equal(freed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_the_homes_times_the_views),
        cmocka_unit_test(test_what_grows_gives_first_and_counts_as_moved),
        cmocka_unit_test(test_the_processors_have_one_view),
        cmocka_unit_test(test_what_is_attached_goes_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
