/* The flight recorder: what it keeps, in which form, and what it lets go. */
#include "src/monitor/fruits/flight.h"
#include "src/monitor/fruits/last_fruits.h"

#include "src/formats/verdict_log/format.h"
#include "tests/unit/publish/verdict_bench.h"

typedef struct flight_fixture {
    verdict_fixture *verdict;
    crn_flight *flight;
} flight_fixture;

static int open_flight(void **state)
{
    static flight_fixture f;
    set_up(state);
    f.verdict = *state;
    assert_int_equal(crn_flight_create(&f.verdict->config, &f.flight), 0);
    *state = &f;
    return 0;
}

static int close_flight(void **state)
{
    flight_fixture *f = *state;
    crn_flight_free(&f->flight);
    *state = f->verdict;
    return tear_down(state);
}

/* Gives the fixture's fruit, as verdict `sequence`, in JSON of that size only. */
static void offer(flight_fixture *f, uint64_t sequence, size_t bytes)
{
    f->verdict->facts.sequence = sequence;
    crn_published published = {.facts = f->verdict->facts, .grader_bytes = bytes};
    crn_flight_offer(f->flight, &f->verdict->fruit, &published, f->verdict->store);
}

/* Parses the verdict kept under this number, and checks its record. */
static const msgpack_object *kept(flight_fixture *f, uint64_t number)
{
    uint32_t lane;
    size_t size;
    const crn_flight_fruit *fruit = crn_flight_at(f->flight, number);
    const unsigned char *bytes = fruit->record + CRN_VERDICT_RECORD_BYTES;
    crn_verdict_record_parse(fruit->record, &lane, &size);
    assert_int_equal(lane, f->verdict->facts.lane);
    assert_int_equal(size + CRN_VERDICT_RECORD_BYTES, fruit->size);
    assert_true(crn_verdict_record_is_whole(fruit->record, bytes, size));
    msgpack_unpacked_destroy(&f->verdict->unpacked);
    assert_int_equal(msgpack_unpack_next(&f->verdict->unpacked, (const char *)bytes, size, NULL),
                     MSGPACK_UNPACK_SUCCESS);
    return &f->verdict->unpacked.data;
}

static void expect_range(const flight_fixture *f, uint64_t first, uint64_t end)
{
    crn_flight_range range = crn_flight_kept(f->flight);
    assert_int_equal(range.first, first);
    assert_int_equal(range.end, end);
}

static void it_keeps_what_was_published(void **state)
{
    flight_fixture *f = *state;
    crn_defect only[] = {make_defect(1, -1, true, false, 12)};
    judge(f->verdict, 0, only, 1, 2);
    offer(f, 5, 1000);
    f->verdict->facts.now_ns = f->verdict->fruit.deadline_ns + 1;
    offer(f, 6, 1000);
    expect_range(f, 0, 0); /* queued */
    crn_flight_take(f->flight);
    expect_range(f, 0, 2);
    const msgpack_object *verdict = kept(f, 0);
    crn_expect_unsigned(crn_decoded_field(verdict, "sequence"), 5);
    crn_expect_bool(crn_decoded_field(verdict, "stale"), false);
    crn_expect_items(crn_decoded_field(verdict, "defects"), 1);
    verdict = kept(f, 1);
    crn_expect_unsigned(crn_decoded_field(verdict, "sequence"), 6);
    crn_expect_bool(crn_decoded_field(verdict, "stale"), true);
}

static void a_large_verdict_is_kept_without_its_defects(void **state)
{
    flight_fixture *f = *state;
    crn_defect only[] = {make_defect(1, -1, true, false, 12)};
    judge(f->verdict, 0, only, 1, 2);
    offer(f, 1, CRN_FLIGHT_WHOLE_BYTES);
    offer(f, 2, CRN_FLIGHT_WHOLE_BYTES + 1);
    crn_flight_take(f->flight);
    crn_expect_items(crn_decoded_field(kept(f, 0), "defects"), 1);
    const msgpack_object *verdict = kept(f, 1);
    crn_expect_items(crn_decoded_field(verdict, "defects"), 0);
    crn_expect_unsigned(
        crn_decoded_field(crn_decoded_field(crn_decoded_field(verdict, "totals"), "rot"), "count"),
        1);
}

/* The bytes on the socket, if they are MessagePack: told by a sequence number of their own. */
static void packed_bytes_are_copied(void **state)
{
    flight_fixture *f = *state;
    crn_defect only[] = {make_defect(1, -1, true, false, 12)};
    judge(f->verdict, 0, only, 1, 2);
    f->verdict->facts.sequence = 5;
    crn_published published = {.facts = f->verdict->facts, .grader_bytes = 1 << 20};
    assert_int_equal(crn_verdict_pack(f->verdict->verdict, f->verdict->encoders[CRN_FORMAT_MSGPACK],
                                      &f->verdict->fruit, &published.facts, f->verdict->store,
                                      &published.msgpack),
                     0);
    published.facts.sequence = 6;
    crn_flight_offer(f->flight, &f->verdict->fruit, &published, f->verdict->store);
    published.facts.now_ns = f->verdict->fruit.deadline_ns + 1;
    crn_flight_offer(f->flight, &f->verdict->fruit, &published, f->verdict->store);
    published.msgpack.size = CRN_FLIGHT_WHOLE_BYTES + 1; /* too large: packed again, not copied */
    crn_flight_offer(f->flight, &f->verdict->fruit, &published, f->verdict->store);
    crn_flight_take(f->flight);
    const msgpack_object *verdict = kept(f, 0);
    crn_expect_unsigned(crn_decoded_field(verdict, "sequence"), 5);
    crn_expect_bool(crn_decoded_field(verdict, "stale"), false);
    crn_expect_items(crn_decoded_field(verdict, "defects"), 1);
    crn_expect_bool(crn_decoded_field(kept(f, 1), "stale"), true);
    verdict = kept(f, 2);
    crn_expect_unsigned(crn_decoded_field(verdict, "sequence"), 6);
    crn_expect_items(crn_decoded_field(verdict, "defects"), 0);
}

/* Nobody takes: the queue fills, and the rest is counted. */
static void a_full_queue_is_counted(void **state)
{
    flight_fixture *f = *state;
    uint64_t offered = 0;
    while (crn_flight_dropped(f->flight) == 0)
        offer(f, offered++, 1000);
    crn_flight_take(f->flight);
    expect_range(f, 0, offered - 1);
    crn_expect_unsigned(crn_decoded_field(kept(f, offered - 2), "sequence"), offered - 2);
    offer(f, offered, 1000);
    assert_int_equal(crn_flight_dropped(f->flight), 1);
}

static void the_oldest_make_room(void **state)
{
    flight_fixture *f = *state;
    uint64_t offered = 0;
    while (crn_flight_kept(f->flight).first == 0) {
        offer(f, offered++, 1000);
        crn_flight_take(f->flight);
    }
    crn_flight_range range = crn_flight_kept(f->flight);
    assert_int_equal(range.end, offered);
    crn_expect_unsigned(crn_decoded_field(kept(f, range.first), "sequence"), range.first);
    uint64_t bytes = 0;
    for (uint64_t number = range.first; number < range.end; number++)
        bytes += crn_flight_at(f->flight, number)->size;
    assert_true(bytes <= CRN_FLIGHT_BYTES);
    assert_true(bytes > CRN_FLIGHT_BYTES / 2 || range.end - range.first > 10000);
    /* Around the memory several times, in sizes that leave a different rest at its end. */
    for (uint64_t more = 0; more < 3 * range.end; more++) {
        f->verdict->fruit.received = more % 3 != 0;
        f->verdict->views[0].state = more % 3 ? CRN_VIEW_LOST : CRN_VIEW_ABSENT;
        offer(f, offered++, 1000);
        crn_flight_take(f->flight);
    }
    range = crn_flight_kept(f->flight);
    assert_int_equal(range.end, offered);
    for (uint64_t number = range.first; number < range.end; number++)
        crn_expect_unsigned(crn_decoded_field(kept(f, number), "sequence"), number);
}

/* However many fruits a lane has. */
static void lanes_are_shown_in_turn(void **state)
{
    static const uint32_t lanes[] = {7, 0, 2, 0, 0, 0, 0, 0}, turns[] = {2, 7, 0, 2, 7};
    flight_fixture *f = *state;
    crn_last_fruits fruits = {.shown_count = 0};
    for (uint64_t i = 0; i < sizeof lanes / sizeof *lanes; i++) {
        f->verdict->facts.lane = lanes[i];
        f->verdict->fruit.fruit = i;
        offer(f, i, 1000);
    }
    crn_flight_take(f->flight);
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        crn_last_fruits_show(&fruits, f->flight, NULL, NULL);
        assert_int_equal(fruits.lane, turns[i]);
    }
    assert_int_equal(fruits.shown_count, 3); /* none twice */
    assert_int_equal(fruits.shown[2].lane, 0);
    assert_int_equal(fruits.shown[2].fruit, 7); /* its latest */
}

static void expect_counts(flight_fixture *f, const crn_class_counts *counts, int64_t now_ns,
                          const char *wanted)
{
    crn_encoder *encoder = f->verdict->encoders[CRN_FORMAT_JSON];
    const unsigned char *bytes;
    size_t size;
    crn_encoder_begin(encoder);
    crn_class_counts_put(counts, now_ns, encoder);
    assert_int_equal(crn_encoder_end(encoder, &bytes, &size), 0);
    assert_int_equal(size, strlen(wanted));
    assert_memory_equal(bytes, wanted, size);
}

#define COUNTS(rot) "{\"rot\":" rot ",\"stem \\\"end\\\"\":0,\"caf\xc3\xa9\":0}"

/* Fruits, not defects; those that have a class, out of all in which it was looked for. */
static void classes_are_counted_for_a_minute(void **state)
{
    flight_fixture *f = *state;
    crn_defect two[] = {make_defect(1, -1, true, false, 12), make_defect(1, -1, true, false, 12)};
    crn_last_fruits fruits = {.shown_count = 0};
    int64_t second_ns = 1000 * CRN_NS_PER_S;
    expect_counts(f, &fruits.classes, second_ns, "{}");
    f->verdict->facts.now_ns = second_ns;
    offer(f, 0, 1000);
    judge(f->verdict, 0, two, 2, 2);
    offer(f, 1, 1000);
    f->verdict->facts.now_ns = second_ns + 30 * CRN_NS_PER_S;
    offer(f, 2, 1000);
    crn_flight_take(f->flight);
    crn_last_fruits_update(&fruits, f->flight);
    expect_counts(f, &fruits.classes, second_ns + 59 * CRN_NS_PER_S, COUNTS("2"));
    expect_counts(f, &fruits.classes, second_ns + 60 * CRN_NS_PER_S, COUNTS("1"));
    expect_counts(f, &fruits.classes, second_ns + 90 * CRN_NS_PER_S, COUNTS("0"));
}

#define ON_FLIGHT(test) cmocka_unit_test_setup_teardown(test, open_flight, close_flight)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FLIGHT(it_keeps_what_was_published),
        ON_FLIGHT(packed_bytes_are_copied),
        ON_FLIGHT(a_large_verdict_is_kept_without_its_defects),
        ON_FLIGHT(a_full_queue_is_counted),
        ON_FLIGHT(the_oldest_make_room),
        ON_FLIGHT(lanes_are_shown_in_turn),
        ON_FLIGHT(classes_are_counted_for_a_minute),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
