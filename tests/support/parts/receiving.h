/* An ingest under test: context, settings, one sender, and event-driven waiting. */
#ifndef CRN_TESTS_SUPPORT_RECEIVING_H
#define CRN_TESTS_SUPPORT_RECEIVING_H

#include "src/ingest/ingest.h"
#include "tests/support/peers/bad_messages.h"

#define CRN_PATIENCE_MS 60000

typedef struct crn_receiving {
    void *zmq;
    crn_config config;    /* 4 classes, 1 MiB a view, 5 views a fruit */
    crn_wire_rules rules; /* rules that follow from config */
    crn_view_header good; /* a valid header */
    crn_ingest *ingest;
    void *push; /* connected to the first endpoint */
} crn_receiving;

/* Binds `address` and connects a sender. Fails the test on errors. */
void crn_receiving_open(const char *address, crn_receiving *ret_receiving);
void crn_receiving_close(crn_receiving *receiving);

/* Connects another sender; the caller closes it. */
void *crn_receiving_connect(const crn_receiving *receiving);

/* Receives the next valid message as the daemon does; fails the test if none comes. */
void crn_receiving_next(crn_receiving *receiving, crn_view_header *ret_header);

/* Reads the monitor until so many peers have connected, disconnected and failed the handshake;
 * fails the test otherwise. */
void crn_receiving_wait_peers(crn_receiving *receiving, uint64_t connected, uint64_t disconnected,
                              uint64_t failed_handshakes);

/* Sends the valid header's message with this sequence. */
void crn_receiving_send_good(crn_receiving *receiving, void *push, uint64_t sequence);

#endif
