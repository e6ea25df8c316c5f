/* Slots without a line, for their tests. */
#ifndef CRN_TESTS_UNIT_INGEST_RINGS_FIXTURE_H
#define CRN_TESTS_UNIT_INGEST_RINGS_FIXTURE_H

#include <poll.h>
#include <stdio.h>

#include "src/ingest/slots/slots.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/slots/raw_producer.h"

#define CRN_RINGS_FIRST_SLOT 100
#define CRN_RINGS_VIEW_BYTES (3 * 5 * 7)

static crn_config config;
static crn_slots *slots;

/* For up to two producers, with so many slots each, on a GPU if there is one. */
static inline int open_slots_for(int64_t count, crn_slots_devices devices)
{
    crn_error error;
    config = (crn_config){.ingest.slots = {.slots = count, .producers = 2},
                          .limits.view_mib = 1,
                          .latency.assemble_ms = 60000};
    if (devices.gpu)
        config.ingest.slots.kinds = (crn_texts){.item = {"vmm"}, .count = 1};
    snprintf(config.ingest.slots.path, sizeof config.ingest.slots.path, "%s/slots", test_folder);
    int r = crn_slots_open(&config, CRN_RINGS_FIRST_SLOT, &devices, &slots, &error);
    if (r < 0)
        print_error("%s\n", error.text);
    return r;
}

static inline int open_slots(void **state)
{
    (void)state;
    return open_slots_for(4, (crn_slots_devices){0});
}

static inline int close_slots(void **state)
{
    (void)state;
    crn_slots_close(&slots);
    return 0;
}

static inline crn_view_header header_of(uint64_t sequence)
{
    return (crn_view_header){.sequence = sequence,
                             .height = 5,
                             .width = 7,
                             .channels = 3,
                             .type = CRN_U8,
                             .layout = CRN_HWC,
                             .payload_bytes = CRN_RINGS_VIEW_BYTES};
}

/* The next packet of any producer; waits for it. */
static inline void next_packet(crn_slots_packet *ret_packet)
{
    while (!crn_slots_receive(slots, ret_packet)) {
        struct pollfd polled = {.fd = crn_slots_descriptor(slots), .events = POLLIN};
        crn_slots_service(slots, crn_now_ns());
        if (poll(&polled, 1, 60000) != 1)
            fail_msg("no packet came");
    }
}

static inline crn_slots_reference reference_of(const crn_slots_packet *packet)
{
    crn_slots_reference reference;
    assert_int_equal(packet->size, CRN_WIRE_HEADER_BYTES + CRN_SLOTS_REFERENCE_BYTES);
    assert_true(crn_slots_parse_reference(packet->bytes + CRN_WIRE_HEADER_BYTES,
                                          CRN_SLOTS_REFERENCE_BYTES, &reference));
    return reference;
}

/* Takes the view of the next packet. */
static inline crn_view *take_next(uint64_t *ret_sequence)
{
    crn_slots_packet packet;
    crn_view_header header;
    crn_view *view;
    next_packet(&packet);
    crn_slots_reference reference = reference_of(&packet);
    crn_wire_peek(packet.bytes, &header);
    assert_int_equal(crn_slots_take(slots, packet.ring, &header, &reference, &view), CRN_WIRE_OK);
    if (ret_sequence)
        *ret_sequence = header.sequence;
    return view;
}

/* What the line says to a reference that came by ZeroMQ. */
static inline crn_wire_fault judge(crn_slots_reference reference, uint64_t payload_bytes)
{
    crn_view *view;
    crn_view_header header = header_of(0);
    header.payload_bytes = payload_bytes;
    crn_wire_fault fault = crn_slots_take(slots, CRN_SLOTS_ANY_RING, &header, &reference, &view);
    if (fault == CRN_WIRE_OK)
        crn_slots_release(slots, view);
    return fault;
}

/* True once the line has noticed that so many producers left. */
static inline void wait_for_left(uint64_t left)
{
    crn_slots_packet packet;
    while (crn_slots_get_stats(slots).left < left) {
        struct pollfd polled = {.fd = crn_slots_descriptor(slots), .events = POLLIN};
        crn_slots_service(slots, crn_now_ns());
        assert_int_equal(poll(&polled, 1, 60000), 1);
        assert_false(crn_slots_receive(slots, &packet));
    }
}

#endif
