/*
 * Random hellos, and random packets and messages that refer to rings, through crn_ingest: an honest
 * view after every ten arrives whole, whatever came before, and each view that is accepted lies in
 * a slot. And random hellos alone, each by a connection of its own. CRN_CASES is the number of
 * cases (20000 by default), CRN_SEED the first seed (default: the clock).
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <zmq.h>

#include "src/ingest/ingest.h"
#include "src/ingest/slots/answer.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "stages/stage/classes.h"
#include "tests/support/gpu/fake_export.h"
#include "tests/support/gpu/fake_gpu.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/random.h"
#include "tests/support/slots/raw_producer.h"

#define FIRST_SLOT 7
#define SLOTS      4
#define PRODUCERS  16
#define HEIGHT     5
#define WIDTH      7
#define CLASSES    2
#define BYTES      (HEIGHT * WIDTH * CLASSES)
#define HELLO_MAX  256

typedef struct random_rings {
    void *zmq;
    crn_config config;
    crn_slots_devices devices;
    crn_slots *slots;
    crn_ingest *ingest;
    crn_raw_producer producer;
    uint64_t accepted, refused, hellos;
} random_rings;

/* What became of hellos. */
typedef struct hello_counts {
    uint64_t accepted, no_ring, refused, hung_up;
} hello_counts;

static random_rings f;

static int set_up(void **state)
{
    crn_error error;
    if (test_folder_make(state) != 0)
        return -1;
    crn_log_set_level(CRN_LOG_ERROR);
    f.zmq = zmq_ctx_new();
    f.config = (crn_config){.ingest = {.high_water_mark = 16,
                                       .slots = {.slots = SLOTS,
                                                 .producers = PRODUCERS,
                                                 .kinds = {.count = 2, .item = {"memfd", "vmm"}}}},
                            .limits = {.view_mib = 1, .views = 5, .peers = 256, .peer_mib = 4},
                            .classes = {.count = CLASSES, .name = {"ground", "rot"}},
                            .latency.assemble_ms = 1};
    f.config.ingest.bind.count = 1;
    snprintf(f.config.ingest.bind.item[0], CRN_TEXT_BYTES, "ipc://%s/in", test_folder);
    snprintf(f.config.ingest.slots.path, CRN_TEXT_BYTES, "%s/slots", test_folder);
    f.devices.gpu = crn_fake_gpu(1, false);
    f.devices.gpus.count = 1;
    crn_fake_gpu_uuid(0, f.devices.gpus.of[0].uuid);
    int r = crn_slots_open(&f.config, FIRST_SLOT, &f.devices, &f.slots, &error);
    if (r == 0)
        r = crn_ingest_open(f.zmq, &f.config, &f.ingest, &error);
    if (r < 0) {
        print_error("%s\n", error.text);
        return r;
    }
    crn_ingest_use_slots(f.ingest, f.slots);
    return 0;
}

static int tear_down(void **state)
{
    crn_ingest_close(&f.ingest);
    crn_slots_close(&f.slots);
    zmq_ctx_term(f.zmq);
    return test_folder_remove(state);
}

static crn_view_header good_header(uint64_t sequence)
{
    return (crn_view_header){.sequence = sequence,
                             .views = 4,
                             .height = HEIGHT,
                             .width = WIDTH,
                             .channels = CLASSES,
                             .type = CRN_U8,
                             .layout = CRN_HWC,
                             .class_set = crn_classes_hash(&f.config.classes),
                             .payload_bytes = BYTES};
}

/* The next view of the connection, or NULL once there is no packet: what was refused is counted. */
static crn_view *next_view(crn_view_header *ret_header)
{
    crn_slots_service(f.slots, crn_now_ns());
    int r = crn_ingest_receive(f.ingest, ret_header);
    assert_true(r == 0 || r == 1);
    return r ? crn_ingest_view_in_slot(f.ingest) : NULL;
}

static void wait_for_packet(void)
{
    struct pollfd polled = {.fd = crn_slots_descriptor(f.slots), .events = POLLIN};
    assert_int_equal(poll(&polled, 1, 60000), 1);
}

static void expect_honest_view(crn_random *random, uint64_t sequence)
{
    unsigned char maps[BYTES];
    crn_view_header header = good_header(sequence), got;
    crn_view *view;
    for (int i = 0; i < BYTES; i++)
        maps[i] = (unsigned char)crn_random_next(random);
    uint32_t slot = crn_raw_producer_take(&f.producer);
    crn_raw_producer_fill(&f.producer, slot, &header, maps, NULL);
    crn_raw_producer_send(&f.producer, slot, &header);
    wait_for_packet();
    while (!(view = next_view(&got)))
        wait_for_packet();
    assert_int_equal(got.sequence, sequence);
    assert_memory_equal(view->maps, maps, BYTES);
    crn_slots_release(f.slots, view);
}

/* A reference that is right, nearly so, or any. */
static crn_slots_reference random_reference(crn_random *random)
{
    crn_slots_reference refers =
        crn_raw_producer_refer(&f.producer, crn_random_below(random, SLOTS));
    if (crn_random_once_in(random, 3))
        refers.slot = (uint32_t)crn_random_next(random) >> crn_random_below(random, 32);
    if (crn_random_once_in(random, 4))
        refers.generation += (uint64_t)(int64_t)crn_random_between(random, -2, 2);
    if (crn_random_once_in(random, 5))
        refers.ring ^= UINT64_C(1) << crn_random_below(random, 64);
    return refers;
}

static void send_random_packet(crn_random *random)
{
    unsigned char bytes[CRN_WIRE_HEADER_BYTES + CRN_SLOTS_REFERENCE_BYTES + CRN_SPOILT_MORE];
    crn_view_header header = good_header(crn_random_next(random));
    crn_slots_reference refers = random_reference(random);
    size_t size = CRN_WIRE_HEADER_BYTES + CRN_SLOTS_REFERENCE_BYTES;
    header.flags = (uint16_t)(crn_random_once_in(random, 4) ? crn_random_below(random, 8)
                                                            : CRN_SLOTS_FLAG_IN_SLOT);
    if (crn_random_once_in(random, 3)) { /* a size around that of the slot */
        header.height = 1;
        header.width = (uint32_t)crn_random_between(random, 2000, 2100);
        header.payload_bytes = (uint64_t)header.width * CLASSES;
    }
    crn_wire_pack(&header, bytes);
    crn_slots_pack_reference(&refers, bytes + CRN_WIRE_HEADER_BYTES);
    if (crn_random_once_in(random, 4))
        size = crn_random_spoil(random, bytes, size);
    if (size > 0) /* an empty packet is the end */
        assert_int_equal(send(f.producer.connection, bytes, size, 0), size);
}

/* Any word, as a producer without sense would leave them; then as the line has them. */
static void spoil_states(crn_random *random)
{
    uint32_t slot = crn_random_below(random, SLOTS);
    uint64_t word = atomic_load(&f.producer.states[slot]);
    atomic_store(&f.producer.states[slot], crn_random_next(random));
    crn_slots_service(f.slots, crn_now_ns());
    atomic_store(&f.producer.states[slot], word);
}

static void read_all(void)
{
    const crn_ingest_stats *stats = crn_ingest_get_stats(f.ingest);
    uint64_t before = stats->messages;
    crn_view_header header;
    uint64_t accepted = 0;
    do {
        crn_view *view = next_view(&header);
        if (!view)
            continue;
        size_t at = (size_t)(view->slot - FIRST_SLOT);
        assert_true(at < PRODUCERS * SLOTS);
        uint64_t bytes =
            crn_slots_view_bytes(header.payload_bytes, view->intensity ? HEIGHT * WIDTH : 0);
        assert_true(bytes <= f.producer.answer.slot_bytes);
        assert_int_equal(view->maps[bytes - 1], view->maps[bytes - 1]); /* can be read */
        crn_slots_release(f.slots, view);
        accepted++;
    } while (crn_ingest_pending(f.ingest));
    f.accepted += accepted;
    f.refused += stats->messages - before - accepted;
}

static void send_random_hello(crn_random *random)
{
    unsigned char bytes[CRN_SLOTS_HELLO_BYTES + CRN_SPOILT_MORE];
    int descriptors[CRN_SLOTS_DESCRIPTORS];
    crn_slots_hello hello = {CRN_SLOTS_VERSION, CRN_SLOTS_MEMFD, SLOTS, 4096, {0}};
    crn_slots_answer answer;
    crn_slots_pack_hello(&hello, bytes);
    size_t size = crn_random_spoil(random, bytes, CRN_SLOTS_HELLO_BYTES);
    int connection = crn_raw_producer_connect(f.config.ingest.slots.path);
    if (size == 0) {
        close(connection);
        return;
    }
    if (crn_raw_producer_ask(connection, bytes, size, &answer, descriptors)) {
        assert_int_equal(answer.status == 0, descriptors[0] >= 0 && descriptors[1] >= 0);
        f.hellos++;
    }
    for (int i = 0; i < CRN_SLOTS_DESCRIPTORS; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    close(connection);
}

static void honest_views_arrive_among_random_ones(void **state)
{
    (void)state;
    uint64_t seed = crn_random_seed();
    uint32_t cases = crn_random_cases(20000);
    crn_raw_producer_open(f.config.ingest.slots.path, SLOTS, 4096, &f.producer);
    for (uint32_t i = 0; i < cases; i++) {
        crn_random random = {seed + i};
        send_random_packet(&random);
        read_all();
        if (crn_random_once_in(&random, 20))
            spoil_states(&random);
        if (i % 10 == 0)
            expect_honest_view(&random, i);
        if (i % 20 == 0)
            send_random_hello(&random);
    }
    print_message("%" PRIu64 " accepted, %" PRIu64 " refused, %" PRIu64 " hellos answered\n",
                  f.accepted, f.refused, f.hellos);
    assert_true(cases < 1000 || (f.accepted > cases / 10 && f.refused > cases / 10));
    crn_raw_producer_close(&f.producer);
}

/* A hello of any kind, valid as often as not; or any bytes. */
static size_t make_hello(crn_random *random, unsigned char bytes[HELLO_MAX])
{
    crn_slots_hello hello = {CRN_SLOTS_VERSION, CRN_SLOTS_MEMFD, SLOTS, 4096, {0}};
    if (crn_random_once_in(random, 4))
        hello.slot_bytes = crn_random_next(random) >> crn_random_between(random, 40, 63);
    if (crn_random_once_in(random, 4))
        hello.slots = (uint32_t)crn_random_next(random) >> crn_random_below(random, 32);
    if (crn_random_once_in(random, 4)) {
        hello.kind = CRN_SLOTS_VMM;
        if (!crn_random_once_in(random, 4))
            crn_fake_gpu_uuid(0, hello.device);
    }
    if (crn_random_once_in(random, 8))
        hello.kind = (uint16_t)crn_random_below(random, 5);
    crn_slots_pack_hello(&hello, bytes);
    if (crn_random_once_in(random, 3))
        return crn_random_spoil(random, bytes, CRN_SLOTS_HELLO_BYTES);
    if (crn_random_once_in(random, 8)) {
        size_t size = crn_random_below(random, HELLO_MAX + 1);
        for (size_t i = 0; i < size; i++)
            bytes[i] = (unsigned char)crn_random_next(random);
        return size;
    }
    return CRN_SLOTS_HELLO_BYTES;
}

/* Sends it by a connection of its own. The answer is that of crn_slots_decide(), but where all
 * rings are in use; without one the line has hung up. */
static void say_hello(crn_random *random, uint64_t seed, hello_counts *counts)
{
    unsigned char bytes[HELLO_MAX];
    int descriptors[CRN_SLOTS_DESCRIPTORS];
    crn_slots_decision decision;
    crn_slots_answer answer;
    size_t size = make_hello(random, bytes);
    int connection = crn_raw_producer_connect(f.config.ingest.slots.path);
    crn_slots_decide(&f.config, &f.devices.gpus, bytes, size, &decision);
    crn_slots_answer expected = decision.answer;
    bool is_answered = crn_raw_producer_ask(connection, bytes, size, &answer, descriptors);
    if (!is_answered) {
        counts->hung_up++;
    } else if (answer.status == expected.status) {
        counts->accepted += answer.status == 0;
        counts->refused += answer.status != 0;
    } else if (expected.status == 0 && answer.status == EUSERS) {
        counts->no_ring++;
    } else {
        fail_msg("CRN_SEED=%" PRIu64 ": status %u (%s), expected %u", seed, answer.status,
                 answer.text, expected.status);
    }
    for (int i = 0; i < CRN_SLOTS_DESCRIPTORS; i++) {
        assert_int_equal(descriptors[i] >= 0, is_answered && answer.status == 0);
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    }
    close(connection);
}

static void honest_views_arrive_among_random_hellos(void **state)
{
    (void)state;
    uint64_t seed = crn_random_seed();
    uint32_t cases = crn_random_cases(20000);
    hello_counts counts = {0};
    crn_raw_producer_open(f.config.ingest.slots.path, SLOTS, 4096, &f.producer);
    for (uint32_t i = 0; i < cases; i++) {
        crn_random random = {seed + i};
        say_hello(&random, seed + i, &counts);
        read_all();
        if (i % 100 == 0)
            expect_honest_view(&random, i);
    }
    print_message("%u hellos: %" PRIu64 " got a ring, %" PRIu64 " found none free, %" PRIu64
                  " were refused, %" PRIu64 " hung up on\n",
                  cases, counts.accepted, counts.no_ring, counts.refused, counts.hung_up);
    assert_true(cases < 1000 || (counts.accepted > 0 && counts.refused > cases / 10));
    crn_raw_producer_close(&f.producer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(honest_views_arrive_among_random_ones, set_up, tear_down),
        cmocka_unit_test_setup_teardown(honest_views_arrive_among_random_hellos, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
