/*
 * Verdicts out: PUSH to the one grader, and through viewers.h to any number of viewers. Owned and
 * used by one thread; no call waits, but for close.
 *
 * Every message has two parts: the topic (`fruit/<lane>`; on the viewers' socket also `status`, on
 * the grader's `alive`) and the verdict, or what status.h says, in the socket's own format. Further
 * topics may come: readers pass over those that they do not know.
 *
 * `alive` goes to the grader after publish.grader.alive_ms without a verdict, so that it can tell a
 * quiet belt from a dead line, and sees the loss of a last verdict. Only while no verdict waits for
 * it, and only if libzmq takes it at once: it is never kept, and has no sequence of its own.
 *
 * With no grader, or one that does not keep up, verdicts wait in a queue of
 * publish.grader.high_water_mark (and CRN_PUBLISH_QUEUE_BYTES); a full one drops its oldest. They
 * go out in order once there is a grader again, `stale` true when past their deadline; published_ns
 * stays the moment of packing. What libzmq had taken for a grader that left is lost: the lanes'
 * sequence numbers show which.
 *
 * PUSH cannot refuse a second peer: from then on it deals verdicts out to both in turn, so that
 * each misses half of them. That is an error in the log and in the counters, until one of them is
 * stopped.
 */
#ifndef CRN_SRC_PUBLISH_PUBLISH_H
#define CRN_SRC_PUBLISH_PUBLISH_H

#include "stages/base/clock.h"
#include "stages/base/error.h"
#include "src/config/config.h"
#include "src/fruit/fruit.h"
#include "src/fruit/lane.h"
#include "src/ingest/socket/peers.h"
#include "src/publish/result_store.h"

#define CRN_PUBLISH_QUEUE_BYTES (256u << 20)

/* A grader that breaks off may have missed what was sent since so long ago: longer than the
 * heartbeats need to find a dead peer. */
#define CRN_PUBLISH_DOUBT_NS (10 * CRN_NS_PER_S)

typedef enum crn_outlet {
    CRN_OUTLET_GRADER,
    CRN_OUTLET_VIEWERS,
    CRN_OUTLETS,
} crn_outlet;

typedef struct crn_publish crn_publish;

typedef struct crn_publish_stats {
    uint64_t verdicts; /* given, one per fruit: waiting + sent + dropped + failed */
    uint64_t sent;     /* taken by libzmq for the grader */
    uint64_t stale;    /* of those, past their deadline */
    uint64_t dropped;  /* oldest ones pushed out of the full queue */
    uint64_t failed;   /* without memory even for a verdict that has no defects */
    uint64_t bare;     /* given without their defects, for want of memory */
    uint64_t waiting;  /* in the queue now */
    uint64_t graders;  /* connected now */
    uint64_t grader_connects, grader_disconnects;
    uint64_t extra_graders; /* connects while another grader was there */
    /* Of `sent`, those that may not have reached a grader that left: sent CRN_PUBLISH_DOUBT_NS or
     * less before it was seen to leave, or while or shortly before it was not reading. And those
     * that libzmq took while no grader was left. Each counts once. */
    uint64_t possibly_lost;
    uint64_t viewers;              /* connected now */
    uint64_t refused;              /* connections to either socket that spoke no ZeroMQ, or the
                                      wrong kind of it */
    crn_peers_stats peers;         /* of either socket, cut because they took too much */
    uint64_t viewer_subscriptions; /* subscriptions seen since the start */
    uint64_t viewers_dropped;      /* messages that found the queue to the viewers' thread full */
} crn_publish_stats;

/* `zmq` is the caller's context, `config` (resolved) and `lanes` the caller's; all outlive the
 * publisher. 0 or negative errno with the endpoint and the cure in *error. */
int crn_publish_open(void *zmq, const crn_config *config, crn_lanes *lanes,
                     crn_publish **ret_publish, crn_error *error);

/*
 * Gives what waits to a grader that is there, then closes both sockets and nulls; NULL is fine.
 * Takes at most linger_ms itself; what libzmq then still holds goes out in the background within
 * what is left of them (zmq_ctx_term waits for it).
 */
void crn_publish_close(crn_publish **publish, int linger_ms);

/*
 * Packs and sends the verdict of one fruit: to the grader (or into the bounded queue while there is
 * none) and to the viewers under topic fruit/<lane>. Its defects are read from the store, which
 * keeps them. Takes the lane's next sequence number.
 */
void crn_publish_verdict(crn_publish *publish, const crn_fruit *fruit,
                         const crn_result_store *store, int64_t now_ns);

/*
 * What is to be done between verdicts, without waiting: queued verdicts to a grader that came,
 * its comings and goings, the status message once a second. `state` is the daemon's word for
 * itself. It leaves nothing unread, so that the descriptors, which only tell of news, may be polled
 * afterwards.
 */
void crn_publish_service(crn_publish *publish, const char *state, int64_t now_ns);

/* Descriptors to poll for reading before waiting. Returns their number (<= 2). Viewers' news shows
 * in the counters with the next service. */
int crn_publish_descriptors(const crn_publish *publish, int descriptors[2]);

/* When service wants to be called although no descriptor is ready. */
int64_t crn_publish_wake_ns(const crn_publish *publish);

const crn_publish_stats *crn_publish_get_stats(const crn_publish *publish);

/* The id of this start, as in every verdict: the start's CLOCK_REALTIME in ns, 16 hex digits. */
const char *crn_publish_run(const crn_publish *publish);

/* The endpoint as bound: a wildcard port replaced by the real one. */
const char *crn_publish_endpoint(const crn_publish *publish, crn_outlet which);

#endif
