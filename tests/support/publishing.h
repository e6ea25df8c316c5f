/* A publisher with its peers, for tests: real sockets,
 * a clock that stands still, a lane's fruits. */
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
    void *peers[4]; /* connected; NULL: none */
    crn_fruit_view view;
    int64_t now_ns;    /* the clock the publisher sees */
    uint32_t points;   /* of the next verdict's only defect: its size */
    int64_t budget_ns; /* of the next verdict: to its deadline */
} crn_publishing;

/* cmocka's: *state is the crn_publishing, not open yet. */
int crn_publishing_set_up(void **state);
int crn_publishing_tear_down(void **state);

/* Opens the publisher with the settings in `config`. */
void crn_publishing_open(crn_publishing *f);

const crn_publish_stats *crn_publishing_stats(const crn_publishing *f);

/* A fruit of one view with one defect goes through the publisher. */
void crn_publishing_give(crn_publishing *f);

/*
 * Serves as the daemon does, asleep on the descriptors alone, so that an event the publisher had
 * lost would never end this: until one of the counters has the value, or until the peer has
 * something to read.
 */
void crn_publishing_serve_until(crn_publishing *f, const uint64_t *counter, uint64_t value);
void crn_publishing_serve_peer(crn_publishing *f, void *peer);

/* Serves until one of the counters of viewers has the value. Their thread has nothing to wake the
 * line's thread with, so the counter is looked at every millisecond. */
void crn_publishing_serve_viewers(crn_publishing *f, const uint64_t *counter, uint64_t value);

/* Peers; what a test does not close, tear_down closes. `little`: see crn_peer_connect. */
void *crn_publishing_connect(crn_publishing *f, int type, crn_outlet outlet, bool little);
void *crn_publishing_grader(crn_publishing *f);
void *crn_publishing_viewer(crn_publishing *f, const char *topic);
void crn_publishing_leave(crn_publishing *f, void *peer);

#endif
