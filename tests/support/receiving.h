/* An ingest under test: its context, its settings, one sender, and waiting that is not sleeping. */
#ifndef CRN_TESTS_SUPPORT_RECEIVING_H
#define CRN_TESTS_SUPPORT_RECEIVING_H

#include "src/ingest/ingest.h"
#include "tests/support/bad_messages.h"

#define CRN_PATIENCE_MS 20000

typedef struct crn_receiving {
    void *zmq;
    crn_config config;    /* 4 classes, 1 MiB a view, 5 views a fruit */
    crn_wire_rules rules; /* what these settings amount to */
    crn_view_header good; /* a header that they accept */
    crn_ingest *ingest;
    void *push; /* connected to the first endpoint */
} crn_receiving;

/* Binds `address` and connects a sender. Fails the test where it cannot. */
void crn_receiving_open(const char *address, crn_receiving *ret_receiving);
void crn_receiving_close(crn_receiving *receiving);

/* One sender more; the caller closes it. */
void *crn_receiving_connect(const crn_receiving *receiving);

/* The next good message, waiting for it as the daemon does; fails the test when none comes. */
void crn_receiving_next(crn_receiving *receiving, crn_view_header *ret_header);

/* Reads the monitor until so many peers have come, gone and been strangers; or fails the test. */
void crn_receiving_wait_peers(crn_receiving *receiving, uint64_t connected, uint64_t disconnected,
                              uint64_t strangers);

/* Sends the good header's message with this sequence. */
void crn_receiving_send_good(crn_receiving *receiving, void *push, uint64_t sequence);

#endif
