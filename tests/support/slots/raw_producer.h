/*
 * A program that leaves its views in slots, as simple as can be, and able to do everything that one
 * should not. Waits are for events, with a timeout that only a failure reaches.
 */
#ifndef CRN_TESTS_SUPPORT_SLOTS_RAW_PRODUCER_H
#define CRN_TESTS_SUPPORT_SLOTS_RAW_PRODUCER_H

#include <stdatomic.h>

#include "src/formats/slots/slots.h"
#include "src/formats/view/wire.h"

typedef struct crn_raw_producer {
    int connection; /* -1: closed */
    int descriptor[CRN_SLOTS_DESCRIPTORS];
    crn_slots_answer answer;
    unsigned char *slots;
    _Atomic uint64_t *states;
    uint16_t kind; /* of its slots, on a simulated device if CRN_SLOTS_VMM; 0: CRN_SLOTS_MEMFD */
} crn_raw_producer;

/* Connects to the path; the connection. */
int crn_raw_producer_connect(const char *path);

/* Sends these bytes as a hello and reads the answer, with its descriptors (-1: none). False if the
 * line hung up without an answer. */
bool crn_raw_producer_ask(int connection, const void *hello, size_t size,
                          crn_slots_answer *ret_answer, int ret_descriptors[CRN_SLOTS_DESCRIPTORS]);

/* Connects and maps a ring; fails the test if the line refuses it. */
void crn_raw_producer_open(const char *path, uint32_t slots, uint64_t slot_bytes,
                           crn_raw_producer *ret_producer);

/* The same of kind vmm, on that simulated device: its memory is mapped as any other. */
void crn_raw_producer_open_vmm(const char *path, int32_t device, uint64_t slot_bytes,
                               crn_raw_producer *ret_producer);

/* What the line answers to a hello of kind vmm that it refuses; the connection is over. */
void crn_raw_producer_expect_refusal(const char *path, int32_t device, uint32_t status,
                                     const char *part);

/* The handle of the slot's signal, of kind vmm. */
const unsigned char *crn_raw_producer_signal(const crn_raw_producer *producer, uint32_t slot);

/* The same, until the line has a ring for one more. */
void crn_raw_producer_open_when_free(const char *path, uint32_t slots, uint64_t slot_bytes,
                                     crn_raw_producer *ret_producer);

/* Hangs up; the mapping stays. */
void crn_raw_producer_hang_up(crn_raw_producer *producer);

/* Hangs up and unmaps. */
void crn_raw_producer_close(crn_raw_producer *producer);

/* A free slot, now filling; waits for one. */
uint32_t crn_raw_producer_take(crn_raw_producer *producer);

/* True if that slot is free. */
bool crn_raw_producer_is_free(const crn_raw_producer *producer, uint32_t slot);

unsigned char *crn_raw_producer_slot(const crn_raw_producer *producer, uint32_t slot);

/* What refers to the slot as it is now. */
crn_slots_reference crn_raw_producer_refer(const crn_raw_producer *producer, uint32_t slot);

/* Marks the slot as sent and sends its header by the connection. */
void crn_raw_producer_send(crn_raw_producer *producer, uint32_t slot,
                           const crn_view_header *header);

/* Sends the header of a view that got no slot. */
void crn_raw_producer_send_none(crn_raw_producer *producer, const crn_view_header *header);

/* Sends a packet as it is: the header, and unless it is NULL the reference. */
void crn_raw_producer_send_packet(crn_raw_producer *producer, const crn_view_header *header,
                                  const crn_slots_reference *reference);

/* Writes a view into a slot: these maps, and the intensity unless it is NULL. */
void crn_raw_producer_fill(crn_raw_producer *producer, uint32_t slot, const crn_view_header *header,
                           const void *maps, const void *intensity);

#endif
