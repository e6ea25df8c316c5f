/* A publisher with its peers for tests: real sockets, a simulated clock, one lane's fruits. */
#ifndef CRN_TESTS_SUPPORT_PUBLISHING_H
#define CRN_TESTS_SUPPORT_PUBLISHING_H

#include <stdbool.h>
#include <stdint.h>

#include "src/publish/publish.h"

#define CRN_PUBLISHING_LANE   7
#define CRN_PUBLISHING_POINTS 20000

typedef struct crn_publishing {
    void *zmq;
    crn_config config;
    crn_lanes *lanes;
    crn_result_store *store;
    crn_publish *publish;
    void *peers[4]; /* connected; NULL: unused */
    crn_fruit_view view;
    int64_t now_ns;    /* the publisher's clock */
    uint32_t points;   /* size of the next verdict's only defect */
    int64_t budget_ns; /* from the next verdict's publication to its deadline */
} crn_publishing;

/* cmocka fixture: *state is the crn_publishing, not opened yet. */
int crn_publishing_set_up(void **state);
int crn_publishing_tear_down(void **state);

/* Opens the publisher with the settings in `config`. */
void crn_publishing_open(crn_publishing *f);

const crn_publish_stats *crn_publishing_stats(const crn_publishing *f);

/* Publishes a fruit of one view with one defect. */
void crn_publishing_give(crn_publishing *f);

/*
 * Serves as the daemon does, sleeping on the descriptors only (so that a lost event would block for
 * ever), until one of the counters reaches the value or the peer has something to read.
 */
void crn_publishing_serve_until(crn_publishing *f, const uint64_t *counter, uint64_t value);
void crn_publishing_serve_peer(crn_publishing *f, void *peer);

/* Serves until one of the counters of viewers reaches the value. The viewers' thread cannot wake
 * the line's, so the counter is polled every millisecond. */
void crn_publishing_serve_viewers(crn_publishing *f, const uint64_t *counter, uint64_t value);

/* Connects a peer; tear_down closes those left open. `little`: see crn_peer_connect. */
void *crn_publishing_connect(crn_publishing *f, int type, crn_outlet outlet, bool little);
void *crn_publishing_grader(crn_publishing *f);
void *crn_publishing_viewer(crn_publishing *f, const char *topic);
void crn_publishing_leave(crn_publishing *f, void *peer);

#endif
