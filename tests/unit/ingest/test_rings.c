/* Rings of slots: hello and answer, the book, producers that err. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/ingest/rings_fixture.h"

/* --- hello --- */

static void refuse(crn_slots_hello hello, size_t size, uint32_t status, const char *part)
{
    unsigned char bytes[CRN_SLOTS_HELLO_BYTES + 8] = {0};
    int descriptors[CRN_SLOTS_DESCRIPTORS];
    crn_slots_answer answer;
    crn_slots_pack_hello(&hello, bytes);
    int connection = crn_raw_producer_connect(config.ingest.slots.path);
    assert_true(crn_raw_producer_ask(connection, bytes, size, &answer, descriptors));
    assert_int_equal(answer.status, status);
    if (!strstr(answer.text, part))
        fail_msg("'%s' does not have '%s'", answer.text, part);
    assert_true(strlen(answer.text) < CRN_SLOTS_TEXT_BYTES - 1); /* nothing was cut off */
    assert_int_equal(descriptors[0], -1);
    assert_int_equal(recv(connection, bytes, 1, 0), 0); /* and hangs up */
    close(connection);
}

static void a_hello_that_cannot_be_granted_is_answered_with_the_reason(void **state)
{
    (void)state;
    const crn_slots_hello good = {1, CRN_SLOTS_MEMFD, 4, CRN_RINGS_VIEW_BYTES, {0}};
    crn_slots_hello bad = good;
    refuse(good, CRN_SLOTS_HELLO_BYTES - 1, EPROTO, "40 bytes");
    refuse(good, CRN_SLOTS_HELLO_BYTES + 1, EPROTO, "40 bytes");
    bad.version = 2;
    refuse(bad, CRN_SLOTS_HELLO_BYTES, EPROTONOSUPPORT, "version 1");
    bad = good;
    bad.kind = CRN_SLOTS_VMM;
    refuse(bad, CRN_SLOTS_HELLO_BYTES, EOPNOTSUPP, "vmm");
    bad.kind = 77;
    refuse(bad, CRN_SLOTS_HELLO_BYTES, EOPNOTSUPP, "77 (unknown)");
    bad = good;
    bad.device[15] = 1;
    refuse(bad, CRN_SLOTS_HELLO_BYTES, EINVAL, "device");
    bad = good;
    bad.slot_bytes = 0;
    refuse(bad, CRN_SLOTS_HELLO_BYTES, EINVAL, "largest view");
    bad.slot_bytes = UINT64_MAX;
    refuse(bad, CRN_SLOTS_HELLO_BYTES, EMSGSIZE, "limits.view_mib");
    assert_int_equal(crn_slots_get_stats(slots).producers_refused, 8);
}

static void a_ring_is_as_large_as_granted_and_cannot_be_resized(void **state)
{
    (void)state;
    struct stat about;
    crn_raw_producer producer;
    crn_raw_producer_open(config.ingest.slots.path, 100, CRN_RINGS_VIEW_BYTES, &producer);
    assert_int_equal(producer.answer.slots, 4); /* the line's limit */
    assert_int_equal(producer.answer.slot_bytes, 4096);
    const off_t sizes[] = {4 * 4096, 4096};
    for (int i = 0; i < CRN_SLOTS_DESCRIPTORS; i++) {
        assert_int_equal(fstat(producer.descriptor[i], &about), 0);
        assert_int_equal(about.st_size, sizes[i]);
        assert_int_equal(ftruncate(producer.descriptor[i], 0), -1);
        assert_int_equal(ftruncate(producer.descriptor[i], 1 << 20), -1);
        assert_int_equal(fcntl(producer.descriptor[i], F_ADD_SEALS, F_SEAL_WRITE), -1);
    }
    for (uint32_t slot = 0; slot < 4; slot++)
        assert_true(crn_raw_producer_is_free(&producer, slot));
    assert_int_equal(stat(config.ingest.slots.path, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0660);
    crn_raw_producer_close(&producer);
}

static void connections_that_say_nothing_do_not_keep_others_out(void **state)
{
    (void)state;
    int silent[40];
    for (int i = 0; i < 40; i++)
        silent[i] = crn_raw_producer_connect(config.ingest.slots.path);
    crn_raw_producer producer;
    crn_raw_producer_open(config.ingest.slots.path, 0, CRN_RINGS_VIEW_BYTES, &producer);
    assert_int_equal(producer.answer.slots, 4);
    crn_raw_producer_close(&producer);
    for (int i = 0; i < 40; i++)
        close(silent[i]);
}

/* --- the book --- */

static void a_view_is_where_the_producer_wrote_it(void **state)
{
    (void)state;
    crn_raw_producer producer;
    crn_raw_producer_open(config.ingest.slots.path, 4, 4096, &producer);
    unsigned char maps[CRN_RINGS_VIEW_BYTES], intensity[5 * 7];
    for (uint64_t i = 0; i < 9; i++) {
        crn_view_header header = header_of(i);
        memset(maps, (int)i, sizeof maps);
        memset(intensity, (int)i + 100, sizeof intensity);
        header.flags = CRN_WIRE_FLAG_INTENSITY;
        uint32_t slot = crn_raw_producer_take(&producer);
        crn_raw_producer_fill(&producer, slot, &header, maps, intensity);
        crn_raw_producer_send(&producer, slot, &header);
        uint64_t sequence;
        crn_view *view = take_next(&sequence);
        assert_int_equal(sequence, i);
        assert_memory_equal(view->maps, maps, sizeof maps);
        assert_memory_equal(view->intensity, intensity, sizeof intensity);
        assert_true(view->in_ring && view->slot >= CRN_RINGS_FIRST_SLOT);
        assert_ptr_equal(crn_slots_at(slots, view->slot), view);
        assert_false(crn_raw_producer_is_free(&producer, slot));
        crn_slots_release(slots, view);
        assert_true(crn_raw_producer_is_free(&producer, slot));
    }
    crn_raw_producer_close(&producer);
}

static void only_the_reference_of_a_free_slot_is_taken(void **state)
{
    (void)state;
    crn_raw_producer one, other;
    crn_raw_producer_open(config.ingest.slots.path, 4, 4096, &one);
    crn_raw_producer_open(config.ingest.slots.path, 2, 4096, &other);
    crn_slots_reference good = crn_raw_producer_refer(&one, 1), bad = good;
    bad.ring++;
    assert_int_equal(judge(bad, 100), CRN_WIRE_RING);
    bad = good;
    bad.slot = 4;
    assert_int_equal(judge(bad, 100), CRN_WIRE_SLOT);
    bad.slot = UINT32_MAX;
    assert_int_equal(judge(bad, 100), CRN_WIRE_SLOT);
    bad = crn_raw_producer_refer(&other, 0);
    bad.slot = 3; /* the line could give so many, and this ring has 2 */
    assert_int_equal(judge(bad, 100), CRN_WIRE_SLOT);
    bad = good;
    bad.generation = 1;
    assert_int_equal(judge(bad, 100), CRN_WIRE_GENERATION);
    crn_view *view, *second;
    crn_view_header header = header_of(0);
    assert_int_equal(crn_slots_take(slots, CRN_SLOTS_ANY_RING, &header, &good, &view), CRN_WIRE_OK);
    assert_int_equal(crn_slots_take(slots, CRN_SLOTS_ANY_RING, &header, &good, &second),
                     CRN_WIRE_SLOT_IN_USE);
    crn_slots_release(slots, view);
    assert_int_equal(judge(good, 100), CRN_WIRE_GENERATION);
    assert_int_equal(crn_slots_take(slots, 1, &header,
                                    &(crn_slots_reference){.ring = one.answer.ring, .slot = 0},
                                    &view),
                     CRN_WIRE_RING); /* of another connection */
    crn_raw_producer_close(&one);
    crn_raw_producer_close(&other);
}

static void a_view_larger_than_its_slot_is_refused_and_the_slot_free_again(void **state)
{
    (void)state;
    crn_raw_producer producer;
    crn_view *view;
    crn_raw_producer_open(config.ingest.slots.path, 4, 8192, &producer);
    assert_int_equal(judge(crn_raw_producer_refer(&producer, 0), 8192), CRN_WIRE_OK);
    assert_int_equal(judge(crn_raw_producer_refer(&producer, 0), 8193), CRN_WIRE_SLOT_SIZE);
    assert_int_equal(judge(crn_raw_producer_refer(&producer, 0), UINT64_MAX), CRN_WIRE_SLOT_SIZE);
    assert_int_equal(crn_raw_producer_refer(&producer, 0).generation, 3);
    crn_view_header header = header_of(0);
    crn_slots_reference reference = crn_raw_producer_refer(&producer, 0);
    header.flags = CRN_WIRE_FLAG_INTENSITY;
    header.payload_bytes = 8192 - 64 + 1; /* its photograph would reach into the next slot */
    assert_int_equal(crn_slots_take(slots, CRN_SLOTS_ANY_RING, &header, &reference, &view),
                     CRN_WIRE_SLOT_SIZE);
    crn_raw_producer_close(&producer);
}

static int open_eight(void **state)
{
    (void)state;
    return open_slots_for(8, (crn_slots_devices){0});
}

/* Held until its fruit's verdict: its producer cannot have it back before. */
static void at_most_a_quarter_of_a_ring_may_be_held(void **state)
{
    (void)state;
    crn_raw_producer producer;
    crn_view *view[3];
    crn_raw_producer_open(config.ingest.slots.path, 8, 4096, &producer);
    for (uint32_t slot = 0; slot < 3; slot++) {
        crn_view_header header = header_of(slot);
        crn_raw_producer_send(&producer, slot, &header);
        view[slot] = take_next(NULL);
        assert_int_equal(crn_slots_may_hold(slots, view[slot]), slot < 2);
    }
    crn_slots_release(slots, view[0]);
    assert_true(crn_slots_may_hold(slots, view[1]));
    for (uint32_t slot = 1; slot < 3; slot++)
        crn_slots_release(slots, view[slot]);
    crn_raw_producer_close(&producer);
}

static void the_page_of_states_is_only_the_producers_business(void **state)
{
    (void)state;
    crn_raw_producer producer;
    crn_raw_producer_open(config.ingest.slots.path, 4, 4096, &producer);
    crn_slots_reference good = crn_raw_producer_refer(&producer, 2);
    atomic_store(&producer.states[2], UINT64_MAX);
    crn_slots_reference bad = crn_raw_producer_refer(&producer, 2);
    assert_int_equal(judge(bad, 100), CRN_WIRE_GENERATION);
    assert_int_equal(judge(good, 100), CRN_WIRE_OK);
    assert_true(atomic_load(&producer.states[2]) == crn_slots_word(1, CRN_SLOTS_FREE));
    crn_raw_producer_close(&producer);
}

static void a_producer_that_never_reads_its_wakes_holds_nobody_up(void **state)
{
    (void)state;
    crn_raw_producer producer;
    crn_raw_producer_open(config.ingest.slots.path, 1, 4096, &producer);
    for (uint64_t i = 0; i < 5000; i++)
        assert_int_equal(
            judge((crn_slots_reference){.ring = producer.answer.ring, .generation = i}, 100),
            CRN_WIRE_OK);
    assert_true(crn_raw_producer_is_free(&producer, 0));
    crn_raw_producer_close(&producer);
}

static void a_slot_whose_header_is_lost_is_taken_back(void **state)
{
    (void)state;
    crn_raw_producer producer;
    crn_raw_producer_open(config.ingest.slots.path, 4, 4096, &producer);
    assert_int_equal(judge(crn_raw_producer_refer(&producer, 0), 100), CRN_WIRE_OK);
    atomic_store(&producer.states[0], crn_slots_word(1, CRN_SLOTS_SENT));
    atomic_store(&producer.states[1], crn_slots_word(0, CRN_SLOTS_FILLING));
    int64_t now_ns = crn_now_ns();
    crn_slots_service(slots, now_ns + CRN_NS_PER_S);
    crn_slots_service(slots, now_ns + 10 * CRN_NS_PER_S);
    assert_false(crn_raw_producer_is_free(&producer, 0));
    unsigned char wakes[8];
    while (recv(producer.connection, wakes, sizeof wakes, MSG_DONTWAIT) > 0)
        continue;
    crn_slots_service(slots, now_ns + 12 * CRN_NS_PER_S);
    assert_int_equal(recv(producer.connection, wakes, sizeof wakes, MSG_DONTWAIT), 1);
    assert_true(atomic_load(&producer.states[0]) == crn_slots_word(2, CRN_SLOTS_FREE));
    assert_true(atomic_load(&producer.states[1]) == crn_slots_word(0, CRN_SLOTS_FILLING));
    assert_int_equal(crn_slots_get_stats(slots).slots_taken_back, 1);
    crn_raw_producer_close(&producer);
}

static void no_more_rings_are_made_than_allowed(void **state)
{
    (void)state;
    crn_raw_producer one, other;
    crn_raw_producer_open(config.ingest.slots.path, 4, 4096, &one);
    crn_raw_producer_open(config.ingest.slots.path, 4, 4096, &other);
    refuse((crn_slots_hello){1, CRN_SLOTS_MEMFD, 4, 4096, {0}}, CRN_SLOTS_HELLO_BYTES, EUSERS,
           "ingest.slots.producers");
    crn_raw_producer_close(&one);
    crn_raw_producer_close(&other);
}

static void a_packet_of_any_size_is_given_on(void **state)
{
    (void)state;
    crn_raw_producer producer;
    crn_slots_packet packet;
    unsigned char bytes[1000] = {7};
    crn_raw_producer_open(config.ingest.slots.path, 4, 4096, &producer);
    for (size_t size = 1; size <= 200; size++) {
        assert_int_equal(send(producer.connection, bytes, size, 0), size);
        next_packet(&packet);
        assert_int_equal(packet.size, size < 153 ? size : 153);
    }
    crn_raw_producer_close(&producer);
}

static void without_a_path_there_are_no_slots(void **state)
{
    (void)state;
    crn_slots *none = NULL;
    crn_error error;
    crn_config plain = {.ingest.slots = {.slots = 4, .producers = 2}};
    crn_view *view;
    crn_slots_packet packet;
    crn_slots_reference reference = {.ring = 1};
    assert_int_equal(crn_slots_open(&plain, 0, &(crn_slots_devices){0}, &none, &error), 0);
    assert_null(none);
    assert_int_equal(crn_slots_bytes(&plain), 0);
    assert_false(crn_slots_receive(none, &packet) || crn_slots_pending(none));
    assert_int_equal(crn_slots_take(none, CRN_SLOTS_ANY_RING, NULL, &reference, &view),
                     CRN_WIRE_RING);
    crn_slots_service(none, 0);
    crn_slots_close(&none);
}

int main(void)
{
#define WITH_SLOTS(test) cmocka_unit_test_setup_teardown(test, open_slots, close_slots)
    const struct CMUnitTest tests[] = {
        WITH_SLOTS(a_hello_that_cannot_be_granted_is_answered_with_the_reason),
        WITH_SLOTS(a_ring_is_as_large_as_granted_and_cannot_be_resized),
        WITH_SLOTS(connections_that_say_nothing_do_not_keep_others_out),
        WITH_SLOTS(a_view_is_where_the_producer_wrote_it),
        WITH_SLOTS(only_the_reference_of_a_free_slot_is_taken),
        WITH_SLOTS(a_view_larger_than_its_slot_is_refused_and_the_slot_free_again),
        cmocka_unit_test_setup_teardown(at_most_a_quarter_of_a_ring_may_be_held, open_eight,
                                        close_slots),
        WITH_SLOTS(the_page_of_states_is_only_the_producers_business),
        WITH_SLOTS(a_producer_that_never_reads_its_wakes_holds_nobody_up),
        WITH_SLOTS(a_slot_whose_header_is_lost_is_taken_back),
        WITH_SLOTS(no_more_rings_are_made_than_allowed),
        WITH_SLOTS(a_packet_of_any_size_is_given_on),
        cmocka_unit_test(without_a_path_there_are_no_slots),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
