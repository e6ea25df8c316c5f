/* The index against a plain search, with hashes that collide. */
#include <stdbool.h>

#include "stages/base/hash_index.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"

enum { ENTRIES = 13, STEPS = 20000 };

typedef struct owner {
    uint32_t hash[ENTRIES];
    bool there[ENTRIES];
} owner;

static uint32_t hash_of(const void *context, uint32_t number)
{
    return ((const owner *)context)->hash[number];
}

static bool finds(const crn_hash_index *index, const owner *all, uint32_t number)
{
    uint32_t at = all->hash[number], found;
    while ((found = crn_hash_index_at(index, at)) != CRN_HASH_INDEX_NONE && found != number)
        at++;
    return found == number;
}

static void what_was_added_is_found_until_it_is_removed(void **state)
{
    (void)state;
    crn_random random = {7};
    crn_hash_index index = {0};
    owner all = {0};
    assert_int_equal(crn_hash_index_init(&index, ENTRIES), 0);
    for (int step = 0; step < STEPS; step++) {
        uint32_t number = (uint32_t)crn_random_below(&random, ENTRIES);
        if (all.there[number]) {
            crn_hash_index_remove(&index, number, hash_of, &all);
        } else {
            /* The last ones lie at the end of the index, and go on at its beginning. */
            all.hash[number] = UINT32_MAX - (uint32_t)crn_random_below(&random, 5);
            crn_hash_index_add(&index, all.hash[number], number);
        }
        all.there[number] = !all.there[number];
        for (uint32_t i = 0; i < ENTRIES; i++)
            assert_int_equal(finds(&index, &all, i), all.there[i]);
    }
    crn_hash_index_done(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_added_is_found_until_it_is_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
