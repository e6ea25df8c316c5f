/* Philox4x32-10 against the authors' test vectors. */
#include "stages/philox.h"
#include "tests/support/cmocka_prelude.h"

/* Random123's known answers (kat_vectors, philox4x32 10). */
static void test_known_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4];
        uint64_t key;
        uint32_t words[4];
    } known[] = {
        {{0, 0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         UINT64_C(0x299f31d0a4093822),
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t words[4];
        crn_philox(known[i].counter, known[i].key, words);
        assert_memory_equal(words, known[i].words, sizeof words);
    }
}

/* Counter and result may share memory. */
static void test_in_place(void **state)
{
    (void)state;
    uint32_t words[4] = {0, 0, 0, 0};
    crn_philox(words, 0, words);
    assert_int_equal(words[0], 0x6627e8d5);
    assert_int_equal(words[3], 0x9b00dbd8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
