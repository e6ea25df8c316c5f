/*
 * Hellos, answers and references of slots: random ones come back as they were packed, and mutated
 * and random bytes are refused, or packed again give themselves; each hello is answered with a ring
 * that the line can have, or a reason. CRN_CASES is the number of cases
 * (100000 by default), CRN_SEED the first seed (default: the clock); a failing run names the case's
 * own seed, and CRN_CASES=1 with it repeats that case alone.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/ingest/slots/answer.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"

#define BYTES_MAX 256

/* An exactly sized block, so that a sanitizer detects reads past the end; the caller frees it. */
static unsigned char *exactly(const unsigned char *bytes, size_t size)
{
    unsigned char *copy = malloc(size + !size);
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    return copy;
}

static void fill(crn_random *random, unsigned char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)crn_random_next(random);
}

/* What the line answers: a ring that it can have, or one line of text. */
static void decide(const unsigned char *bytes, size_t size, bool is_hello)
{
    static const crn_config config = {
        .ingest.slots = {.slots = 16,
                         .producers = 4,
                         .kinds = {.count = 2, .item = {"memfd", "vmm"}}},
        .limits.view_mib = 4};
    static const crn_slots_gpus gpus = {.count = 1};
    uint64_t max = crn_slots_slot_bytes_max(&config);
    crn_slots_decision decision;
    crn_slots_decide(&config, &gpus, bytes, size, &decision);
    crn_slots_answer answer = decision.answer;
    assert_int_equal(answer.status == EPROTO, !is_hello);
    unsigned char packed[CRN_SLOTS_ANSWER_BYTES];
    crn_slots_pack_answer(&answer, packed);
    assert_true(crn_slots_parse_answer(packed, sizeof packed, &answer));
    if (answer.status)
        assert_true(answer.text[0] && !strchr(answer.text, '\n'));
    else
        assert_true(answer.slots <= 16 && answer.slot_bytes <= max);
}

static bool parse_hello(const unsigned char *bytes, size_t size)
{
    crn_slots_hello hello;
    decide(bytes, size, crn_slots_parse_hello(bytes, size, &hello));
    if (!crn_slots_parse_hello(bytes, size, &hello))
        return false;
    unsigned char packed[CRN_SLOTS_HELLO_BYTES];
    crn_slots_pack_hello(&hello, packed);
    assert_memory_equal(packed, bytes, sizeof packed);
    return true;
}

static bool parse_answer(const unsigned char *bytes, size_t size)
{
    crn_slots_answer answer;
    if (!crn_slots_parse_answer(bytes, size, &answer))
        return false;
    assert_true(memchr(answer.text, '\0', sizeof answer.text) != NULL);
    if (answer.status == 0) {
        assert_true(answer.slots > 0);
        assert_true(answer.slot_bytes > 0 && answer.slot_bytes % CRN_SLOTS_PAGE_BYTES == 0);
        assert_true((__uint128_t)answer.slots * answer.slot_bytes <= PTRDIFF_MAX);
    }
    unsigned char packed[CRN_SLOTS_ANSWER_BYTES];
    crn_slots_pack_answer(&answer, packed);
    assert_memory_equal(packed, bytes, sizeof packed - 1); /* the text may have had no end */
    return true;
}

static bool parse_reference(const unsigned char *bytes, size_t size)
{
    crn_slots_reference reference;
    if (!crn_slots_parse_reference(bytes, size, &reference))
        return false;
    unsigned char packed[CRN_SLOTS_REFERENCE_BYTES];
    crn_slots_pack_reference(&reference, packed);
    assert_memory_equal(packed, bytes, sizeof packed);
    return true;
}

/* A packet of each kind, as the protocol has it. */
static size_t pack_random(crn_random *random, int32_t kind, unsigned char *bytes)
{
    crn_slots_hello hello = {.version = CRN_SLOTS_VERSION,
                             .kind = (uint16_t)crn_random_between(random, 0, 4),
                             .slots = (uint32_t)crn_random_next(random),
                             .slot_bytes = crn_random_next(random) >> crn_random_below(random, 64)};
    crn_slots_answer answer = {.slots = 1 + crn_random_below(random, 64),
                               .ring = crn_random_next(random),
                               .slot_bytes = (uint64_t)CRN_SLOTS_PAGE_BYTES
                                             << crn_random_below(random, 20),
                               .text = "no"};
    crn_slots_reference reference = {.ring = crn_random_next(random),
                                     .slot = (uint32_t)crn_random_next(random),
                                     .generation = crn_random_next(random)};
    switch (kind) {
    case 0:
        crn_slots_pack_hello(&hello, bytes);
        return CRN_SLOTS_HELLO_BYTES;
    case 1:
        crn_slots_pack_answer(&answer, bytes);
        return CRN_SLOTS_ANSWER_BYTES;
    default:
        crn_slots_pack_reference(&reference, bytes);
        return CRN_SLOTS_REFERENCE_BYTES;
    }
}

static bool (*const parsers[])(const unsigned char *, size_t) = {parse_hello, parse_answer,
                                                                 parse_reference};

static void run_case(uint64_t seed, uint32_t *accepted)
{
    crn_random random = {seed};
    unsigned char bytes[BYTES_MAX];
    int32_t kind = crn_random_between(&random, 0, 2);
    size_t size = pack_random(&random, kind, bytes);
    unsigned char *whole = exactly(bytes, size);
    if (!parsers[kind](whole, size))
        fail_msg("CRN_SEED=%" PRIu64 ": kind %d was refused as packed", seed, kind);
    for (int i = 0; i < 3; i++)
        if (i != kind && parsers[i](whole, size))
            fail_msg("CRN_SEED=%" PRIu64 ": kind %d was taken for %d", seed, kind, i);
    free(whole);
    if (crn_random_once_in(&random, 4)) {
        size = crn_random_below(&random, BYTES_MAX);
        fill(&random, bytes, size);
    } else {
        size = crn_random_spoil(&random, bytes, size);
    }
    unsigned char *spoilt = exactly(bytes, size);
    for (int i = 0; i < 3; i++)
        accepted[i] += parsers[i](spoilt, size);
    free(spoilt);
}

static void packets_come_back_and_others_are_refused(void **state)
{
    (void)state;
    uint32_t cases = crn_random_cases(100000), accepted[3] = {0};
    uint64_t seed = crn_random_seed();
    for (uint32_t i = 0; i < cases; i++)
        run_case(seed + i, accepted);
    for (int i = 0; i < 3; i++)
        assert_true(cases < 10000 || accepted[i] > 0);
}

static void the_parts_of_a_view_must_fit_without_overflow(void **state)
{
    (void)state;
    assert_int_equal(crn_slots_view_bytes(100, 0), 100);
    assert_int_equal(crn_slots_view_bytes(100, 10), 138);
    assert_int_equal(crn_slots_view_bytes(128, 10), 138);
    assert_true(crn_slots_view_bytes(UINT64_MAX - 3, 10) == UINT64_MAX);
    assert_true(crn_slots_view_bytes(10, UINT64_MAX - 3) == UINT64_MAX);
    assert_int_equal(crn_slots_states_bytes(1), 4096);
    assert_int_equal(crn_slots_states_bytes(513), 8192);
}

static void bytes_are_those_of_the_protocol(void **state)
{
    (void)state;
    static const unsigned char expected[CRN_SLOTS_HELLO_BYTES] = {
        'C', 'R', 'N', 'S', 1, 0, 1, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0x90, 0x23};
    crn_slots_hello hello = {
        .version = 1, .kind = CRN_SLOTS_MEMFD, .slots = 16, .slot_bytes = 0x239000};
    unsigned char bytes[CRN_SLOTS_HELLO_BYTES];
    crn_slots_pack_hello(&hello, bytes);
    assert_memory_equal(bytes, expected, sizeof bytes);
    static const unsigned char refers[CRN_SLOTS_REFERENCE_BYTES] = {8, 7, 6, 5, 4, 3, 2, 1, 9,
                                                                    0, 0, 0, 0, 0, 0, 0, 2, 1};
    crn_slots_reference reference = {.ring = 0x0102030405060708, .slot = 9, .generation = 0x102};
    unsigned char packed[CRN_SLOTS_REFERENCE_BYTES];
    crn_slots_pack_reference(&reference, packed);
    assert_memory_equal(packed, refers, sizeof packed);
    assert_int_equal(crn_slots_word(5, CRN_SLOTS_SENT), 22);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_those_of_the_protocol),
        cmocka_unit_test(the_parts_of_a_view_must_fit_without_overflow),
        cmocka_unit_test(packets_come_back_and_others_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
