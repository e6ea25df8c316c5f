/* Rings of slots whose producer leaves: what still counts, and what becomes of the memory. */
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/ingest/rings_fixture.h"

static void what_a_killed_producer_sent_is_read(void **state)
{
    (void)state;
    crn_raw_producer producer;
    crn_raw_producer_open(config.ingest.slots.path, 4, 4096, &producer);
    /* Wakes that it did not read make its end look like a failure of the connection. */
    assert_int_equal(judge(crn_raw_producer_refer(&producer, 3), 100), CRN_WIRE_OK);
    pid_t child = fork();
    if (child == 0) {
        for (uint32_t slot = 0; slot < 3; slot++) {
            crn_view_header header = header_of(slot);
            crn_raw_producer_send(&producer, slot, &header);
        }
        raise(SIGKILL);
    }
    crn_raw_producer_hang_up(&producer);
    assert_int_equal(waitpid(child, NULL, 0), child);
    crn_view *view[3];
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t sequence;
        view[i] = take_next(&sequence);
        assert_int_equal(sequence, i);
    }
    wait_for_left(1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(view[i]->maps[0], 0); /* still there */
        crn_slots_release(slots, view[i]);
    }
    crn_raw_producer_close(&producer);
}

/* Not by dup(): the thread sanitizer would take it for a use of the descriptors that the line's own
 * thread closes meanwhile, of which a copy, or none, does no harm. */
static int copy_of(int fd)
{
    return (int)syscall(SYS_dup, fd);
}

/* Or it would wake the line again and again. Among the copies is that of the line's connection. */
static void an_end_is_read_once_where_copies_are_open(void **state)
{
    (void)state;
    int copies[64];
    crn_raw_producer producer;
    crn_raw_producer_open(config.ingest.slots.path, 4, 4096, &producer);
    for (int fd = 0; fd < 64; fd++)
        copies[fd] = fd == producer.connection ? -1 : copy_of(fd);
    crn_raw_producer_close(&producer);
    wait_for_left(1);
    struct pollfd polled = {.fd = crn_slots_descriptor(slots), .events = POLLIN};
    assert_int_equal(poll(&polled, 1, 0), 0);
    for (int fd = 0; fd < 64; fd++)
        close(copies[fd]);
}

/* However long the line's thread takes for the packets before it. */
static void what_came_before_the_end_counts_whenever_it_is_read(void **state)
{
    (void)state;
    crn_raw_producer producer;
    crn_view *view[2];
    crn_raw_producer_open(config.ingest.slots.path, 4, 4096, &producer);
    for (uint32_t slot = 0; slot < 2; slot++) {
        crn_view_header header = header_of(slot);
        crn_raw_producer_send(&producer, slot, &header);
    }
    crn_raw_producer_hang_up(&producer);
    view[0] = take_next(NULL);
    assert_int_equal(crn_slots_get_stats(slots).left, 1); /* the end was read as well */
    crn_clock_move(61 * CRN_NS_PER_S);
    view[1] = take_next(NULL);
    for (int i = 0; i < 2; i++)
        crn_slots_release(slots, view[i]);
    crn_raw_producer_close(&producer);
}

static void late_headers_count_and_then_the_ring_is_freed(void **state)
{
    (void)state;
    crn_raw_producer one, other, third;
    crn_view *view;
    crn_raw_producer_open(config.ingest.slots.path, 4, 4096, &one);
    crn_raw_producer_open(config.ingest.slots.path, 4, 4096, &other);
    crn_slots_reference reference = crn_raw_producer_refer(&one, 0);
    crn_raw_producer_hang_up(&one);
    wait_for_left(1);
    crn_view_header header = header_of(0);
    assert_int_equal(crn_slots_take(slots, CRN_SLOTS_ANY_RING, &header, &reference, &view),
                     CRN_WIRE_OK);
    int64_t now_ns = crn_now_ns();
    crn_clock_move(61 * CRN_NS_PER_S);
    assert_int_equal(judge(crn_raw_producer_refer(&one, 1), 100), CRN_WIRE_RING);
    crn_slots_service(slots, now_ns + 62 * CRN_NS_PER_S);
    assert_int_equal(view->maps[0], 0); /* not freed: a view is in it */
    crn_slots_release(slots, view);
    crn_slots_service(slots, now_ns + 63 * CRN_NS_PER_S);
    crn_raw_producer_open_when_free(config.ingest.slots.path, 4, 4096, &third);
    assert_true(third.answer.ring != one.answer.ring);
    assert_int_equal(judge(crn_raw_producer_refer(&third, 0), 100), CRN_WIRE_OK);
    /* Whoever still has the old memory writes into nobody's. */
    memset(one.slots, 0xff, 4096);
    assert_int_equal(crn_raw_producer_slot(&third, 0)[0], 0);
    crn_raw_producer_close(&one);
    crn_raw_producer_close(&other);
    crn_raw_producer_close(&third);
}

/* Memory that the descriptor's file takes. */
static int64_t bytes_of(int descriptor)
{
    struct stat about;
    assert_int_equal(fstat(descriptor, &about), 0);
    return about.st_blocks * 512;
}

/* Or a program that connects again and again would fill the machine. */
static void a_producer_that_left_keeps_no_memory_by_its_mapping(void **state)
{
    (void)state;
    static crn_raw_producer left[50];
    for (uint64_t i = 0; i < 50; i++) {
        crn_raw_producer_open_when_free(config.ingest.slots.path, 4, 65536, &left[i]);
        memset(left[i].slots, 7, 4 * 65536);
        int64_t bytes = 0;
        for (uint64_t k = 0; k <= i; k++)
            bytes += bytes_of(left[k].descriptor[0]) + bytes_of(left[k].descriptor[1]);
        assert_int_equal(bytes, 4 * 65536 + 4096);
        crn_raw_producer_hang_up(&left[i]);
        wait_for_left(i + 1);
        crn_clock_move(61 * CRN_NS_PER_S);
        crn_slots_service(slots, crn_now_ns());
    }
    assert_int_equal(left[0].slots[0], 0); /* its mapping is valid */
    for (int i = 0; i < 50; i++)
        crn_raw_producer_close(&left[i]);
}

/* Its program may still read what it wrote, to send it to the next one. */
static void the_end_of_the_daemon_leaves_maps_to_their_producer(void **state)
{
    (void)state;
    crn_raw_producer producer;
    crn_raw_producer_open(config.ingest.slots.path, 4, 4096, &producer);
    memset(producer.slots, 7, 4 * 4096);
    crn_slots_close(&slots);
    assert_int_equal(producer.slots[4096], 7);
    crn_raw_producer_close(&producer);
}

int main(void)
{
#define WITH_SLOTS(test) cmocka_unit_test_setup_teardown(test, open_slots, close_slots)
    const struct CMUnitTest tests[] = {
        WITH_SLOTS(what_a_killed_producer_sent_is_read),
        WITH_SLOTS(an_end_is_read_once_where_copies_are_open),
        WITH_SLOTS(what_came_before_the_end_counts_whenever_it_is_read),
        WITH_SLOTS(late_headers_count_and_then_the_ring_is_freed),
        WITH_SLOTS(a_producer_that_left_keeps_no_memory_by_its_mapping),
        WITH_SLOTS(the_end_of_the_daemon_leaves_maps_to_their_producer),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
