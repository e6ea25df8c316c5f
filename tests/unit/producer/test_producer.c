/* Views through slots: what the daemon's side gets, and what a producer sees of it. */
#include "stages/producer/cernita_producer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/formats/view/wire.h"
#include "stages/stage/classes.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"
#include "tests/support/folder.h"
#include "tests/support/slots/slots_peer.h"

#define PATIENCE_MS 60000

typedef struct producer_fixture {
    slots_peer peer;
    crn_producer *producer;
    crn_producer_view view;
    unsigned char packet[256];
} producer_fixture;

static void connect_to_peer(producer_fixture *f, uint32_t slots)
{
    char path[96];
    snprintf(path, sizeof path, "%s/slots", test_folder);
    slots_peer_listen(&f->peer, path, slots);
    slots_peer_accept(&f->peer);
    if (!f->producer) {
        const crn_producer_settings settings = {path, crn_producer_view_bytes(&f->view), 5};
        assert_int_equal(crn_producer_create(&settings, &f->producer), 0);
    }
    assert_int_equal(crn_producer_connect(f->producer, PATIENCE_MS), 0);
    slots_peer_join(&f->peer);
}

static int set_up(void **state)
{
    producer_fixture *f = calloc(1, sizeof *f);
    *state = f;
    if (!f || test_folder_make(NULL) != 0)
        return -1;
    f->view = (crn_producer_view){.sequence = 0x1112131415161718,
                                  .epoch = 0x2122232425262728,
                                  .fruit = 0x3132333435363738,
                                  .captured_ns = 0x4142434445464748,
                                  .deadline_ns = 0x5152535455565758,
                                  .encoder = 0x6162636465666768,
                                  .class_set = 0x7172737475767778,
                                  .lane = 0x81828384,
                                  .view = 2,
                                  .views = 0x1234,
                                  .height = 5,
                                  .width = 7,
                                  .channels = 3,
                                  .type = CRN_PRODUCER_F32,
                                  .layout = CRN_PRODUCER_HWC,
                                  .has_intensity = 1};
    connect_to_peer(f, 3);
    return 0;
}

static int tear_down(void **state)
{
    producer_fixture *f = *state;
    crn_producer_free(&f->producer);
    slots_peer_close(&f->peer);
    free(f);
    return test_folder_remove(NULL);
}

static void take(producer_fixture *f, crn_producer_slot *ret_slot)
{
    assert_int_equal(crn_producer_take(f->producer, &f->view, 0, ret_slot), 0);
}

/* Receives a packet of that size, and reads the reference where there is one. */
static void receive(producer_fixture *f, size_t size, crn_slots_reference *ret_reference)
{
    assert_int_equal(slots_peer_receive(&f->peer, f->packet, sizeof f->packet), size);
    if (ret_reference)
        assert_true(crn_slots_parse_reference(f->packet + CRN_WIRE_HEADER_BYTES,
                                              size - CRN_WIRE_HEADER_BYTES, ret_reference));
}

static void the_hello_says_what_is_wanted(void **state)
{
    producer_fixture *f = *state;
    assert_int_equal(f->peer.hello.version, CRN_SLOTS_VERSION);
    assert_int_equal(f->peer.hello.kind, CRN_SLOTS_MEMFD);
    assert_int_equal(f->peer.hello.slots, 5);
    assert_int_equal(f->peer.hello.slot_bytes, 448 + 35); /* 5 x 7 x 3 x 4, rounded up by 64 */
    assert_int_equal(f->peer.hello.slot_bytes, crn_slots_view_bytes(420, 35));
}

static void the_header_is_that_of_every_view(void **state)
{
    producer_fixture *f = *state;
    const crn_producer_view *view = &f->view;
    f->view.has_pose = 1;
    f->view.pose = (crn_producer_pose){55.5F, 47, 40, 38, -1.5F};
    const crn_view_header header = {
        view->sequence,    view->epoch,
        view->fruit,       view->captured_ns,
        view->deadline_ns, view->encoder,
        view->class_set,   420,
        view->lane,        CRN_WIRE_FLAG_INTENSITY | CRN_SLOTS_FLAG_IN_SLOT | CRN_WIRE_FLAG_POSE,
        view->view,        view->views,
        view->height,      view->width,
        view->channels,    CRN_F32,
        CRN_HWC,           {55.5F, 47, 40, 38, -1.5F}};
    unsigned char expected[CRN_WIRE_HEADER_BYTES];
    crn_producer_slot slot;
    crn_wire_pack(&header, expected);
    take(f, &slot);
    assert_int_equal(crn_producer_send(f->producer, view, &slot), 0);
    receive(f, 152, NULL);
    assert_memory_equal(f->packet, expected, sizeof expected);
}

static void a_view_lies_where_its_reference_says(void **state)
{
    producer_fixture *f = *state;
    crn_producer_slot first, slot;
    crn_slots_reference reference;
    take(f, &first);
    take(f, &slot);
    assert_int_equal(f->peer.words[1], crn_slots_word(0, CRN_SLOTS_FILLING));
    memset(slot.tensor, 0x5a, 420);
    memset(slot.intensity, 0xa5, 35);
    assert_int_equal(crn_producer_send(f->producer, &f->view, &slot), 0);
    assert_null(slot.tensor);
    receive(f, 152, &reference);
    assert_int_equal(reference.ring, f->peer.answer.ring);
    assert_int_equal(reference.slot, 1);
    assert_int_equal(reference.generation, 0);
    assert_int_equal(f->peer.words[1], crn_slots_word(0, CRN_SLOTS_SENT));
    const unsigned char *memory = f->peer.memory + f->peer.answer.slot_bytes;
    assert_int_equal(memory[0], 0x5a);
    assert_int_equal(memory[419], 0x5a);
    assert_int_equal(memory[420], 0);
    assert_int_equal(memory[448], 0xa5);
    assert_int_equal(memory[448 + 34], 0xa5);
    assert_int_equal(memory[448 + 35], 0);
}

static void without_a_photograph_there_is_no_place_for_it(void **state)
{
    producer_fixture *f = *state;
    crn_producer_slot slot;
    f->view.has_intensity = 0;
    take(f, &slot);
    assert_null(slot.intensity);
    assert_int_equal(crn_producer_send(f->producer, &f->view, &slot), 0);
    receive(f, 152, NULL);
    assert_int_equal(f->packet[6], CRN_SLOTS_FLAG_IN_SLOT);
}

static void send_all(producer_fixture *f)
{
    crn_producer_slot slot;
    for (uint32_t i = 0; i < f->peer.answer.slots; i++) {
        take(f, &slot);
        assert_int_equal(crn_producer_send(f->producer, &f->view, &slot), 0);
        receive(f, 152, NULL);
    }
}

static void a_header_alone_says_that_no_slot_was_free(void **state)
{
    producer_fixture *f = *state;
    crn_producer_slot slot = {0};
    send_all(f);
    assert_int_equal(crn_producer_take(f->producer, &f->view, 0, &slot), -EAGAIN);
    assert_null(slot.tensor);
    assert_non_null(strstr(crn_producer_error(f->producer), "none of 3 slots is free"));
    assert_int_equal(crn_producer_send_without(f->producer, &f->view), 0);
    receive(f, 128, NULL);
    assert_int_equal(f->packet[6], CRN_SLOTS_FLAG_NO_SLOT | CRN_WIRE_FLAG_INTENSITY);
}

static void a_slot_comes_back_with_the_next_generation(void **state)
{
    producer_fixture *f = *state;
    crn_producer_slot slot;
    crn_slots_reference reference;
    send_all(f);
    slots_peer_free_slot(&f->peer, 2);
    take(f, &slot);
    assert_int_equal(slot.index, 2);
    assert_int_equal(crn_producer_send(f->producer, &f->view, &slot), 0);
    receive(f, 152, &reference);
    assert_int_equal(reference.generation, 1);
}

/* Waits until the test's own thread, whose id is the process's, sleeps. */
static void await_sleep(void)
{
    char line[512], path[64], thread_state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", getpid());
    while (thread_state != 'S') {
        FILE *file = fopen(path, "r");
        if (file && fgets(line, sizeof line, file))
            thread_state = strrchr(line, ')')[2];
        if (file)
            fclose(file);
    }
}

static void *free_a_slot(void *argument)
{
    await_sleep();
    slots_peer_free_slot(argument, 1);
    return NULL;
}

static void a_take_waits_for_a_slot(void **state)
{
    producer_fixture *f = *state;
    pthread_t thread;
    crn_producer_slot slot;
    for (int i = 0; i < 20; i++) {
        take(f, &slot);
        assert_int_equal(crn_producer_send(f->producer, &f->view, &slot), 0);
        receive(f, 152, NULL);
        if (i < 2)
            continue;
        assert_int_equal(pthread_create(&thread, NULL, free_a_slot, &f->peer), 0);
        assert_int_equal(crn_producer_take(f->producer, &f->view, i % 2 ? -1 : PATIENCE_MS, &slot),
                         0);
        pthread_join(thread, NULL);
        assert_string_equal(crn_producer_error(f->producer), "");
        crn_producer_drop(f->producer, &slot);
    }
}

static void a_take_does_not_wait_longer_than_it_may(void **state)
{
    producer_fixture *f = *state;
    crn_producer_slot slot;
    send_all(f);
    assert_int_equal(crn_producer_take(f->producer, &f->view, 1, &slot), -EAGAIN);
}

/* A slot that is free before its byte is read, and bytes of slots that were taken since. */
static void bytes_that_wait_end_no_take(void **state)
{
    producer_fixture *f = *state;
    crn_producer_slot slot;
    for (int i = 0; i < 1000; i++) {
        take(f, &slot);
        assert_int_equal(slot.index, 0);
        assert_int_equal(crn_producer_send(f->producer, &f->view, &slot), 0);
        receive(f, 152, NULL);
        slots_peer_free_slot(&f->peer, 0);
        slots_peer_free_slot(&f->peer, 0);
    }
    send_all(f);
    assert_int_equal(crn_producer_take(f->producer, &f->view, 1, &slot), -EAGAIN);
}

static void a_dropped_slot_is_free_again(void **state)
{
    producer_fixture *f = *state;
    crn_producer_slot slot, again;
    take(f, &slot);
    crn_producer_drop(f->producer, &slot);
    assert_null(slot.tensor);
    take(f, &again);
    assert_int_equal(again.index, 0);
    assert_int_equal(again.generation, 0);
    crn_producer_drop(f->producer, &slot); /* all 0: nothing happens */
    assert_int_equal(f->peer.words[0], crn_slots_word(0, CRN_SLOTS_FILLING));
}

static void *die(void *argument)
{
    await_sleep();
    slots_peer_die(argument);
    return NULL;
}

static void a_take_ends_with_its_daemon(void **state)
{
    producer_fixture *f = *state;
    pthread_t thread;
    crn_producer_slot slot;
    send_all(f);
    assert_int_equal(pthread_create(&thread, NULL, die, &f->peer), 0);
    assert_int_equal(crn_producer_take(f->producer, &f->view, -1, &slot), -ENOTCONN);
    pthread_join(thread, NULL);
}

static void the_same_message_may_go_through_zeromq(void **state)
{
    producer_fixture *f = *state;
    unsigned char message[CRN_PRODUCER_MESSAGE_BYTES];
    crn_producer_slot slot;
    take(f, &slot);
    assert_int_equal(crn_producer_pack(f->producer, &f->view, &slot, message), 0);
    assert_int_equal(f->peer.words[0], crn_slots_word(0, CRN_SLOTS_SENT));
    assert_int_equal(crn_producer_send(f->producer, &f->view, &slot), 0);
    receive(f, 152, NULL);
    assert_memory_equal(f->packet, message, sizeof message);
    assert_int_equal(crn_producer_pack(f->producer, &f->view, NULL, message), 0);
    assert_int_equal(crn_producer_send_without(f->producer, &f->view), 0);
    receive(f, 128, NULL);
    assert_memory_equal(f->packet, message, CRN_PRODUCER_HEADER_BYTES);
}

static void a_message_that_zeromq_refuses_gives_its_slot_back(void **state)
{
    producer_fixture *f = *state;
    unsigned char message[CRN_PRODUCER_MESSAGE_BYTES];
    crn_producer_slot slot;
    take(f, &slot);
    assert_int_equal(crn_producer_pack(f->producer, &f->view, &slot, message), 0);
    crn_producer_drop(f->producer, &slot);
    assert_int_equal(f->peer.words[0], 0);
}

/* As it does where no header comes for 10 s: say the producer was stopped, or ZeroMQ has it. */
static void a_slot_that_the_daemon_took_back_stays_the_daemons(void **state)
{
    producer_fixture *f = *state;
    unsigned char message[CRN_PRODUCER_MESSAGE_BYTES];
    crn_producer_slot slot;
    take(f, &slot);
    assert_int_equal(crn_producer_pack(f->producer, &f->view, &slot, message), 0);
    slots_peer_free_slot(&f->peer, 0);
    assert_int_equal(crn_producer_send(f->producer, &f->view, &slot), -ESTALE);
    assert_int_equal(f->peer.words[0], crn_slots_word(1, CRN_SLOTS_FREE));
    crn_producer_drop(f->producer, &slot);
    assert_int_equal(f->peer.words[0], crn_slots_word(1, CRN_SLOTS_FREE));
    take(f, &slot);
    assert_int_equal(slot.generation, 1);
}

static void a_daemon_that_reads_nothing_is_not_waited_for(void **state)
{
    producer_fixture *f = *state;
    crn_producer_slot slot;
    int result = 0;
    for (int i = 0; i < 100000 && result == 0; i++)
        result = crn_producer_send_without(f->producer, &f->view);
    assert_int_equal(result, -EAGAIN);
    take(f, &slot);
    assert_int_equal(crn_producer_send(f->producer, &f->view, &slot), -EAGAIN);
    assert_int_equal(f->peer.words[0], crn_slots_word(0, CRN_SLOTS_FILLING));
    receive(f, 128, NULL);
    while (crn_producer_send(f->producer, &f->view, &slot) == -EAGAIN)
        receive(f, 128, NULL);
    assert_null(slot.tensor);
}

static void the_ring_can_be_registered_with_a_gpu(void **state)
{
    producer_fixture *f = *state;
    crn_producer_ring ring;
    crn_producer_slot slot, next;
    assert_int_equal(crn_producer_memory(f->producer, &ring), 0);
    assert_int_equal(ring.slots, 3);
    assert_int_equal(ring.slot_bytes, 8192);
    take(f, &slot);
    take(f, &next);
    assert_ptr_equal(slot.tensor, ring.memory);
    assert_ptr_equal(next.tensor, (char *)ring.memory + ring.slot_bytes);
}

static void classes_have_the_number_of_the_line(void **state)
{
    (void)state;
    const char *const names[] = {"background", "rot", "rust"};
    crn_classes classes = {.count = 3, .name = {"background", "rot", "rust"}};
    assert_int_equal(crn_producer_class_set(names, 3), crn_classes_hash(&classes));
    classes.count = 1;
    assert_int_equal(crn_producer_class_set(names, 1), crn_classes_hash(&classes));
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hello_says_what_is_wanted),
        cmocka_unit_test(the_header_is_that_of_every_view),
        cmocka_unit_test(a_view_lies_where_its_reference_says),
        cmocka_unit_test(without_a_photograph_there_is_no_place_for_it),
        cmocka_unit_test(a_header_alone_says_that_no_slot_was_free),
        cmocka_unit_test(a_slot_comes_back_with_the_next_generation),
        cmocka_unit_test(a_take_waits_for_a_slot),
        cmocka_unit_test(a_take_does_not_wait_longer_than_it_may),
        cmocka_unit_test(bytes_that_wait_end_no_take),
        cmocka_unit_test(a_dropped_slot_is_free_again),
        cmocka_unit_test(a_take_ends_with_its_daemon),
        cmocka_unit_test(the_same_message_may_go_through_zeromq),
        cmocka_unit_test(a_message_that_zeromq_refuses_gives_its_slot_back),
        cmocka_unit_test(a_slot_that_the_daemon_took_back_stays_the_daemons),
        cmocka_unit_test(a_daemon_that_reads_nothing_is_not_waited_for),
        cmocka_unit_test(the_ring_can_be_registered_with_a_gpu),
        cmocka_unit_test(classes_have_the_number_of_the_line),
    };
    CRN_SET_FIXTURE(tests, set_up, tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
