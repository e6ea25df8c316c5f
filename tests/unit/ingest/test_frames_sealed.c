/* Sealed connections (CURVE): what can be limited although only sizes are seen; and the rate of
 * failed handshakes. */
#include <string.h>

#include "stages/base/clock.h"
#include "src/ingest/peers/attempts.h"
#include "src/ingest/peers/frames.h"
#include "tests/support/cmocka_prelude.h"

#define SEAL 33

static const crn_frames_rules sender = {
    .part_bytes = 1000, .message_bytes = 100000, .waiting_bytes = 50000, .parts = 4};
static const crn_frames_rules viewer = {
    .part_bytes = 128, .message_bytes = 1000, .parts = 1, .total_bytes = 1000};
static const crn_frames_rules grader = {.parts = 0};

static unsigned char zeros[4096];

static crn_frames_fault greet(crn_frames *frames, const char *mechanism)
{
    unsigned char greeting[64] = {[0] = 0xff, [9] = 0x7f, [10] = 3};
    memcpy(greeting + 12, mechanism, strlen(mechanism));
    crn_frames_begin_sealed(frames);
    return crn_frames_follow(frames, &sender, greeting, sizeof greeting);
}

/* A frame of `size` bytes, in two pieces. */
static crn_frames_fault pass(crn_frames *frames, const crn_frames_rules *rules, int flags,
                             size_t size)
{
    unsigned char head[9] = {(unsigned char)(flags | 2)};
    for (int i = 0; i < 8; i++)
        head[1 + i] = (unsigned char)((uint64_t)size >> (56 - 8 * i));
    crn_frames_fault fault = crn_frames_follow(frames, rules, head, sizeof head);
    return fault ? fault : crn_frames_follow(frames, rules, zeros, size);
}

static void shake_hands(crn_frames *frames)
{
    assert_int_equal(greet(frames, "CURVE"), CRN_FRAMES_GOOD);
    assert_int_equal(pass(frames, &sender, 4, 200), CRN_FRAMES_GOOD);
    assert_int_equal(pass(frames, &sender, 4, 277), CRN_FRAMES_GOOD);
    assert_int_equal(frames->handshake, 2);
    assert_false(frames->introduced);
}

static void other_mechanisms_are_told(void **state)
{
    (void)state;
    static const char *const others[] = {"NULL", "PLAIN", "GSSAPI", "", "CURVE2", "curve"};
    crn_frames frames;
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_int_equal(greet(&frames, others[i]), CRN_FRAMES_PLAIN);
    assert_int_equal(greet(&frames, "CURVE"), CRN_FRAMES_GOOD);
}

static void the_handshake_is_two_small_commands(void **state)
{
    (void)state;
    crn_frames frames;
    greet(&frames, "CURVE");
    assert_int_equal(pass(&frames, &sender, 0, 200), CRN_FRAMES_GREETING);
    greet(&frames, "CURVE");
    assert_int_equal(pass(&frames, &sender, 4, 1025), CRN_FRAMES_COMMAND);
    shake_hands(&frames);
    assert_int_equal(pass(&frames, &sender, 0, SEAL + 128), CRN_FRAMES_GOOD);
    assert_true(frames.introduced);
}

static void what_is_not_read_counts_until_it_is(void **state)
{
    (void)state;
    crn_frames frames;
    shake_hands(&frames);
    int parts = 0;
    while (pass(&frames, &sender, 0, SEAL + 1000) == CRN_FRAMES_GOOD)
        parts++;
    assert_int_equal(parts, (int)(150000 / crn_frames_part_cost(1000)));
    shake_hands(&frames);
    for (int i = 0; i < 10 * parts; i++) {
        assert_int_equal(pass(&frames, &sender, 0, SEAL + 1000), CRN_FRAMES_GOOD);
        crn_frames_read(&frames, crn_frames_part_cost(1000));
    }
    assert_int_equal(frames.held_bytes, 0);
    crn_frames_read(&frames, 1000); /* of an earlier connection with the descriptor */
    assert_int_equal(frames.held_bytes, 0);
    assert_int_equal(pass(&frames, &sender, 0, SEAL + 1001), CRN_FRAMES_PART);
}

static void heartbeats_are_free_at_their_rate(void **state)
{
    (void)state;
    static const crn_frames_rules *const rules[] = {&sender, &viewer, &grader};
    crn_frames frames;
    for (size_t r = 0; r < sizeof rules / sizeof rules[0]; r++) {
        shake_hands(&frames);
        for (int i = 0; i < 100000; i++) {
            assert_int_equal(pass(&frames, rules[r], 0, SEAL + (i & 1 ? 5 : 7)), CRN_FRAMES_GOOD);
            crn_frames_forgive(&frames, 1);
        }
        assert_int_equal(frames.held_bytes, 0);
        assert_int_equal(frames.total, 0);
    }
    /* A flood of parts of that size is none. */
    int beats = 0;
    while (pass(&frames, &grader, 0, SEAL + 5) == CRN_FRAMES_GOOD)
        beats++;
    assert_true(beats < 100);
    shake_hands(&frames);
    assert_int_equal(pass(&frames, &grader, 0, SEAL + 8), CRN_FRAMES_PARTS);
}

static void subscriptions_have_a_total(void **state)
{
    (void)state;
    crn_frames frames;
    shake_hands(&frames);
    int parts = 0;
    while (pass(&frames, &viewer, 0, SEAL + 18) == CRN_FRAMES_GOOD)
        parts++;
    assert_int_equal(parts, 1000 / 20);
    shake_hands(&frames);
    assert_int_equal(pass(&frames, &viewer, 0, SEAL + 129), CRN_FRAMES_PART);
}

static void an_address_that_fails_often_waits(void **state)
{
    (void)state;
    crn_attempts attempts = {0};
    int64_t now_ns = 1000 * CRN_NS_PER_S;
    int failed = 0;
    for (; crn_attempts_allowed(&attempts, 1, now_ns); failed++)
        crn_attempts_failed(&attempts, 1, now_ns);
    assert_int_equal(failed, 16);
    assert_true(crn_attempts_allowed(&attempts, 2, now_ns));
    assert_true(crn_attempts_allowed(&attempts, 1, now_ns + 1));
    crn_attempts_failed(&attempts, 1, now_ns + 1);
    assert_false(crn_attempts_allowed(&attempts, 1, now_ns + CRN_NS_PER_S / 10));
    assert_true(crn_attempts_allowed(&attempts, 1, now_ns + CRN_NS_PER_S / 5));
    /* Whatever was let in at once. */
    for (int i = 0; i < 1000; i++)
        crn_attempts_failed(&attempts, 1, now_ns);
    assert_false(crn_attempts_allowed(&attempts, 1, now_ns + CRN_NS_PER_S / 10));
    assert_true(crn_attempts_allowed(&attempts, 1, now_ns + CRN_NS_PER_S / 5));
    memset(&attempts, 0, sizeof attempts);
    /* Many addresses have a limit together, too. */
    for (failed = 0; failed < 1000 && crn_attempts_allowed(&attempts, 0, now_ns); failed++)
        crn_attempts_failed(&attempts, (uint32_t)(3 + failed % 200), now_ns);
    assert_int_equal(failed, 128);
    assert_true(crn_attempts_allowed(&attempts, 0, now_ns + 2 * CRN_NS_PER_S));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_mechanisms_are_told),
        cmocka_unit_test(the_handshake_is_two_small_commands),
        cmocka_unit_test(what_is_not_read_counts_until_it_is),
        cmocka_unit_test(heartbeats_are_free_at_their_rate),
        cmocka_unit_test(subscriptions_have_a_total),
        cmocka_unit_test(an_address_that_fails_often_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
