/*
 * Verdicts out: PUSH to the one grader, XPUB to any number of viewers. The only outbound sockets.
 * Owned and used by one thread; no call waits.
 */
#ifndef CRN_PUBLISH_H
#define CRN_PUBLISH_H

#include "src/base/error.h"
#include "src/config.h"
#include "src/fruit.h"
#include "src/store.h"

typedef struct crn_publish crn_publish;

typedef struct crn_publish_stats {
    uint64_t verdicts; /* packed, one per fruit */
    uint64_t sent;     /* taken by libzmq for the grader */
    uint64_t stale;    /* of those, past their deadline */
    uint64_t dropped;  /* oldest ones pushed out of the full queue */
    uint64_t waiting;  /* in the queue now */
    uint64_t graders;  /* connected now; a second one is alarmed */
    uint64_t grader_connects, grader_disconnects;
    uint64_t viewer_subscriptions; /* subscriptions seen since the start */
} crn_publish_stats;

/* `zmq` is the caller's context, `config` and `lanes` the caller's; all outlive the publisher. */
int crn_publish_open(void *zmq, const crn_config *config, crn_lanes *lanes,
                     crn_publish **ret_publish, crn_error *error);

/* Closes both sockets, lets libzmq linger for linger_ms, nulls; NULL is fine. */
void crn_publish_close(crn_publish **publish, int linger_ms);

/*
 * Packs and sends the verdict of one fruit: to the grader (or into the bounded queue while there is
 * none) and to the viewers under topic fruit/<lane>. Its defects are read from the store, which
 * keeps them. Takes the lane's next sequence number.
 */
void crn_publish_verdict(crn_publish *publish, const crn_fruit *fruit, const crn_store *store,
                         int64_t now_ns);

/*
 * What is to be done between verdicts, without waiting: queued verdicts to a grader that came,
 * peers' comings and goings, subscriptions, the status message once a second. `state` is the
 * daemon's word for itself.
 */
void crn_publish_service(crn_publish *publish, const char *state, int64_t now_ns);

/* Descriptors to poll for reading before waiting. Returns their number (<= 4). */
int crn_publish_descriptors(const crn_publish *publish, int descriptors[4]);

/* When service wants to be called although no descriptor is ready. */
int64_t crn_publish_wake_ns(const crn_publish *publish);

const crn_publish_stats *crn_publish_get_stats(const crn_publish *publish);

#endif
