/* The parser of ZMTP streams: memory held, limits, commands, any segmentation of the stream. */
#include <string.h>

#include "src/ingest/peers/frames.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"

#define STREAM_BYTES 4096

typedef struct frames_stream {
    unsigned char bytes[STREAM_BYTES];
    size_t size;
} frames_stream;

static const crn_frames_rules sender = {.part_bytes = 100000, .message_bytes = 250000, .parts = 4};
static const crn_frames_rules viewer = {.message_bytes = 1000, .parts = 1, .total_bytes = 1000};
static const crn_frames_rules grader = {.parts = 0};

static void add(frames_stream *s, const void *bytes, size_t size)
{
    assert_true(s->size + size <= STREAM_BYTES);
    memcpy(s->bytes + s->size, bytes, size);
    s->size += size;
}

/* Adds a frame header of short or long length, without body. */
static void add_head(frames_stream *s, int flags, uint64_t size)
{
    unsigned char head[9] = {(unsigned char)flags, (unsigned char)size};
    for (int i = 0; i < 8 && flags & 2; i++)
        head[1 + i] = (unsigned char)(size >> (56 - 8 * i));
    add(s, head, flags & 2 ? 9 : 2);
}

static void add_frame(frames_stream *s, int flags, const char *body)
{
    add_head(s, flags, strlen(body));
    add(s, body, strlen(body));
}

static void greet(frames_stream *s, unsigned char version)
{
    unsigned char greeting[64] = {[0] = 0xff, [9] = 0x7f, [10] = version};
    s->size = 0;
    add(s, greeting, sizeof greeting);
    add_frame(s, 4, "\5READY\13Socket-Type");
}

static crn_frames_fault follow(crn_frames *frames, const crn_frames_rules *rules,
                               const frames_stream *s)
{
    crn_frames_begin(frames);
    return crn_frames_follow(frames, rules, s->bytes, s->size);
}

static void views_are_counted_and_leave_nothing_behind(void **state)
{
    (void)state;
    frames_stream s;
    crn_frames frames;
    greet(&s, 3);
    for (int i = 0; i < 5; i++) {
        add_frame(&s, 1, "header");
        add_frame(&s, 4, "\4PING\0\1"); /* a heartbeat is allowed between parts */
        add_frame(&s, 0, "a tensor that does not lie inside libzmq's record of it");
    }
    assert_int_equal(follow(&frames, &sender, &s), CRN_FRAMES_GOOD);
    assert_true(frames.introduced);
    assert_int_equal(frames.messages, 5);
    assert_int_equal(frames.held_bytes, 0);
    add_head(&s, 3, 70000);
    assert_int_equal(follow(&frames, &sender, &s), CRN_FRAMES_GOOD);
    assert_in_range(frames.held_bytes, 70000, 80000);
}

static void parts_without_end_are_a_fault(void **state)
{
    (void)state;
    frames_stream s;
    crn_frames frames;
    greet(&s, 3);
    for (uint32_t i = 0; i < sender.parts; i++)
        add_frame(&s, 1, "");
    assert_int_equal(follow(&frames, &sender, &s), CRN_FRAMES_GOOD);
    /* A command with the MORE flag is buffered like a part. */
    frames_stream command = s;
    size_t whole = s.size;
    add_frame(&s, 1, "");
    assert_int_equal(follow(&frames, &sender, &s), CRN_FRAMES_PARTS);
    assert_int_equal(frames.whole_bytes, whole);
    add_frame(&command, 5, "\4PING");
    assert_int_equal(follow(&frames, &sender, &command), CRN_FRAMES_PARTS);
}

static void sizes_count_when_they_are_announced(void **state)
{
    (void)state;
    frames_stream s;
    crn_frames frames;
    greet(&s, 3);
    add_head(&s, 3, sender.part_bytes + 1);
    assert_int_equal(follow(&frames, &sender, &s), CRN_FRAMES_PART);
    greet(&s, 3);
    add_head(&s, 2, UINT64_MAX);
    assert_int_equal(follow(&frames, &sender, &s), CRN_FRAMES_PART);
    crn_frames_rules any_part = sender;
    any_part.part_bytes = 0;
    assert_int_equal(follow(&frames, &any_part, &s), CRN_FRAMES_BYTES);

    crn_frames_begin(&frames);
    greet(&s, 3);
    assert_int_equal(crn_frames_follow(&frames, &sender, s.bytes, s.size), CRN_FRAMES_GOOD);
    static const unsigned char body[90000];
    for (int part = 0; part < 3; part++) {
        s.size = 0;
        add_head(&s, 3, sizeof body);
        assert_int_equal(crn_frames_follow(&frames, &sender, s.bytes, s.size),
                         part < 2 ? CRN_FRAMES_GOOD : CRN_FRAMES_BYTES);
        if (part < 2)
            assert_int_equal(crn_frames_follow(&frames, &sender, body, sizeof body),
                             CRN_FRAMES_GOOD);
    }
}

static void subscriptions_have_a_total_and_heartbeats_none(void **state)
{
    (void)state;
    frames_stream s;
    crn_frames frames;
    crn_frames_begin(&frames);
    greet(&s, 3);
    assert_int_equal(crn_frames_follow(&frames, &viewer, s.bytes, s.size), CRN_FRAMES_GOOD);
    s.size = 0;
    add_frame(&s, 4, "\4PONG");
    for (int i = 0; i < 1000; i++)
        assert_int_equal(crn_frames_follow(&frames, &viewer, s.bytes, s.size), CRN_FRAMES_GOOD);
    /* As a message (ZMTP 3.0) and as a command (3.1). */
    s.size = 0;
    add_frame(&s, 0, "\1fruit/7");
    add_frame(&s, 4, "\11SUBSCRIBEfruit/7");
    uint64_t rounds = viewer.total_bytes / s.size;
    for (uint64_t i = 0; i < rounds; i++)
        assert_int_equal(crn_frames_follow(&frames, &viewer, s.bytes, s.size), CRN_FRAMES_GOOD);
    assert_int_equal(frames.messages, 2 * rounds);
    assert_int_equal(crn_frames_follow(&frames, &viewer, s.bytes, s.size), CRN_FRAMES_TOTAL);
}

static void a_grader_sends_heartbeats_alone(void **state)
{
    (void)state;
    frames_stream s;
    crn_frames frames;
    greet(&s, 3);
    add_frame(&s, 4, "\4PING\0\1");
    assert_int_equal(follow(&frames, &grader, &s), CRN_FRAMES_GOOD);
    frames_stream message = s;
    add_frame(&message, 0, "");
    assert_int_equal(follow(&frames, &grader, &message), CRN_FRAMES_PARTS);
    add_frame(&s, 4, "\11SUBSCRIBE");
    assert_int_equal(follow(&frames, &grader, &s), CRN_FRAMES_PARTS);
}

/* With any name, and before they are complete. */
static void commands_are_short(void **state)
{
    (void)state;
    static const crn_frames_rules *const rules[] = {&sender, &viewer, &grader};
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        frames_stream s;
        crn_frames frames;
        greet(&s, 3);
        add_head(&s, 6, 1024);
        assert_int_equal(follow(&frames, rules[i], &s), CRN_FRAMES_GOOD);
        greet(&s, 3);
        size_t whole = s.size;
        add_head(&s, 6, 1025);
        assert_int_equal(follow(&frames, rules[i], &s), CRN_FRAMES_COMMAND);
        assert_int_equal(frames.whole_bytes, whole);
        s.size = 64; /* the handshake itself */
        add_head(&s, 6, 1025);
        assert_int_equal(follow(&frames, rules[i], &s), CRN_FRAMES_COMMAND);
    }
}

static void the_handshake_is_a_command(void **state)
{
    (void)state;
    frames_stream s;
    crn_frames frames;
    greet(&s, 3);
    s.bytes[64] = 0;
    assert_int_equal(follow(&frames, &sender, &s), CRN_FRAMES_GREETING);
    assert_int_equal(frames.whole_bytes, 64);
}

static void earlier_protocols_are_a_fault(void **state)
{
    (void)state;
    crn_frames frames;
    for (int version = 0; version < 5; version++) {
        frames_stream s;
        greet(&s, (unsigned char)version);
        assert_int_equal(follow(&frames, &sender, &s),
                         version < 2 ? CRN_FRAMES_GREETING : CRN_FRAMES_GOOD);
        s.bytes[0] = 'G';
        assert_int_equal(follow(&frames, &sender, &s), CRN_FRAMES_GREETING);
    }
}

/* Any segmentation by the kernel gives the same state after the same bytes. */
static void the_pieces_do_not_matter(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    uint32_t cases = crn_random_cases(300);
    for (uint32_t i = 0; i < cases; i++) {
        frames_stream s;
        greet(&s, 3);
        while (s.size < STREAM_BYTES - 400) {
            char body[300] = "\4PINGxxxxx";
            int size = (int)crn_random_below(&random, sizeof body);
            memset(body + 5, 'x', sizeof body - 6);
            body[size] = '\0';
            int flags = (int)crn_random_below(&random, 8);
            if (strlen(body) > 255)
                flags |= 2;
            add_frame(&s, flags, body);
        }
        crn_frames whole, pieces;
        crn_frames_rules rules = sender;
        rules.parts = 1 + (uint32_t)crn_random_below(&random, 8);
        crn_frames_fault expected = follow(&whole, &rules, &s), fault = CRN_FRAMES_GOOD;
        crn_frames_begin(&pieces);
        for (size_t at = 0; at < s.size && !fault;) {
            size_t size = 1 + crn_random_below(&random, i % 2 ? 3 : 200);
            if (size > s.size - at)
                size = s.size - at;
            fault = crn_frames_follow(&pieces, &rules, s.bytes + at, size);
            at += size;
        }
        assert_int_equal(fault, expected);
        assert_int_equal(pieces.messages, whole.messages);
        assert_int_equal(pieces.held_bytes, whole.held_bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_are_counted_and_leave_nothing_behind),
        cmocka_unit_test(parts_without_end_are_a_fault),
        cmocka_unit_test(sizes_count_when_they_are_announced),
        cmocka_unit_test(subscriptions_have_a_total_and_heartbeats_none),
        cmocka_unit_test(a_grader_sends_heartbeats_alone),
        cmocka_unit_test(commands_are_short),
        cmocka_unit_test(the_handshake_is_a_command),
        cmocka_unit_test(earlier_protocols_are_a_fault),
        cmocka_unit_test(the_pieces_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
