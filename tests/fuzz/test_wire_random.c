/*
 * Random messages through crn_wire_check, against an independent implementation of the rules.
 * CRN_CASES is the number of cases (100000 by default), CRN_SEED the first seed; a failing run
 * names the case's own seed, and CRN_CASES=1 with it repeats that case alone.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/view/wire.h"
#include "tests/support/peers/bad_messages.h"
#include "tests/support/cmocka_prelude.h"

static const crn_wire_rules rules = {.max_bytes = 1 << 16,
                                     .channels = 3,
                                     .views = 5,
                                     .class_set = UINT64_C(0x8c7d6e5f4a3b2c1d),
                                     .slots = true};

static uint64_t setting(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 0) : fallback;
}

/* The parts in exactly sized blocks, so that a sanitizer detects reads past the end. */
static crn_wire_fault check(const crn_message *message, crn_view_header *ret_header)
{
    crn_wire_part parts[CRN_MESSAGE_PARTS_MAX];
    void *copies[CRN_MESSAGE_PARTS_MAX];
    for (size_t i = 0; i < message->parts; i++) {
        size_t size = message->part[i].size;
        copies[i] = malloc(size);
        assert_true(copies[i] || size == 0);
        if (size)
            memcpy(copies[i], message->part[i].bytes, size);
        parts[i] = (crn_wire_part){copies[i], size};
    }
    crn_wire_fault fault = crn_wire_check(parts, message->parts, &rules, ret_header);
    for (size_t i = 0; i < message->parts; i++)
        free(copies[i]);
    return fault;
}

static void run_case(uint64_t seed, uint64_t *faults)
{
    uint64_t state = seed;
    crn_view_header good = crn_message_header(&rules);
    crn_message message;
    crn_message_make_random(&state, &good, &rules, &message);
    crn_view_header untouched, header;
    memset(&untouched, 0xa5, sizeof untouched);
    memcpy(&header, &untouched, sizeof header);
    crn_wire_fault fault = check(&message, &header);
    if ((unsigned)fault >= CRN_WIRE_MESSAGE_FAULTS)
        fail_msg("CRN_SEED=%" PRIu64 ": no such fault: %d", seed, fault);
    faults[fault]++;
    if ((fault == CRN_WIRE_OK) != crn_message_is_acceptable(&message, &rules))
        fail_msg("CRN_SEED=%" PRIu64 ": %s, which the rules say otherwise", seed,
                 crn_wire_fault_names[fault]);
    if (fault) {
        if (memcmp(&header, &untouched, sizeof header) != 0)
            fail_msg("CRN_SEED=%" PRIu64 ": a refused message touched the header", seed);
    } else {
        /* Every field of an accepted header must be preserved. */
        unsigned char bytes[CRN_WIRE_HEADER_BYTES];
        crn_wire_pack(&header, bytes);
        if (memcmp(bytes, message.part[0].bytes, sizeof bytes) != 0)
            fail_msg("CRN_SEED=%" PRIu64 ": the header packs to other bytes", seed);
    }
    crn_message_done(&message);
}

static void random_messages_are_judged_by_the_rules(void **state)
{
    (void)state;
    uint64_t cases = setting("CRN_CASES", 100000), seed = setting("CRN_SEED", 1);
    uint64_t faults[CRN_WIRE_MESSAGE_FAULTS] = {0};
    for (uint64_t i = 0; i < cases; i++)
        run_case(seed + i, faults);
    for (int fault = 0; fault < CRN_WIRE_MESSAGE_FAULTS; fault++) {
        print_message("%-15s %8" PRIu64 "\n", crn_wire_fault_names[fault], faults[fault]);
        if (cases >= 10000 && faults[fault] == 0)
            fail_msg("no message of %" PRIu64 " was counted as %s", cases,
                     crn_wire_fault_names[fault]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_messages_are_judged_by_the_rules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
