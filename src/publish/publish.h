/*
 * Outbound verdicts: PUSH to the one grader and, through viewers.h, to any number of viewers. Used
 * by one thread; no call waits except close.
 *
 * Every message has two parts: the topic (`fruit/<lane>`; on the viewers' socket also `status`, on
 * the grader's `alive`) and the verdict, or the message described in status.h, in the socket's own
 * format. Further topics may be added: readers must ignore those that they do not know.
 *
 * `alive` is sent to the grader after publish.grader.alive_ms without a verdict, so that the grader
 * can tell a quiet belt from a dead line, and detects the loss of a last verdict. It is sent only
 * while no verdict waits and only if libzmq accepts it at once: it is never queued, and has no
 * sequence number.
 *
 * Without a grader, or if it does not keep up, verdicts wait in a queue of
 * publish.grader.high_water_mark (and CRN_PUBLISH_QUEUE_BYTES); a full queue drops its oldest. They
 * are sent in order once there is a grader, with `stale` true when past their deadline;
 * published_ns remains the time of packing. What libzmq had accepted for a grader that disconnected
 * is lost: the lanes' sequence numbers show which.
 *
 * PUSH cannot refuse a second peer: it would then distribute verdicts to both in turn, so that each
 * misses half of them. The counters tell it until one of them is stopped.
 *
 * With publish.log each verdict's bytes for the grader also go to the verdict log, when it is
 * packed: dropped verdicts are in it, and `stale` of one that had to wait may differ.
 */
#ifndef CRN_SRC_PUBLISH_PUBLISH_H
#define CRN_SRC_PUBLISH_PUBLISH_H

#include "stages/base/clock.h"
#include "stages/base/error.h"
#include "stages/config/config.h"
#include "src/counts/counts.h"
#include "src/fruit/fruit.h"
#include "src/fruit/lane/lane.h"
#include "src/ingest/peers/peers.h"
#include "src/recorder/verdict_log.h"
#include "src/publish/result_store.h"
#include "src/publish/verdict.h"

#define CRN_PUBLISH_QUEUE_BYTES (256u << 20)

/* A grader that disconnects may have missed what was sent within this time: longer than the
 * heartbeats need to detect a dead peer. */
#define CRN_PUBLISH_DOUBT_NS (10 * CRN_NS_PER_S)

typedef enum crn_outlet {
    CRN_OUTLET_GRADER,
    CRN_OUTLET_VIEWERS,
    CRN_OUTLETS,
} crn_outlet;

typedef struct crn_publish crn_publish;

/*
 * possibly_lost: of `sent`, those that may not have reached a grader that disconnected: sent
 * CRN_PUBLISH_DOUBT_NS or less before that was detected, or while or shortly before it did not
 * read. Also those that libzmq accepted while no grader was left. Each counts once.
 */
typedef struct crn_publish_stats {
    uint64_t verdicts; /* one per fruit: waiting + sent + dropped + failed */
    CRN_PUBLISH_COUNTS(CRN_COUNT_MEMBER)
    uint64_t waiting_bytes; /* of `waiting` */
    crn_peers_stats peers;  /* of either socket, cut because they exceeded a limit; CRN_CUT_SILENT:
                               viewers only, as graders that leave are counted above */
    uint64_t viewer_subscriptions; /* subscriptions seen since the start */
    uint64_t viewers_unread_bytes; /* what waits for viewers now */
    int64_t viewers_quiet_ns;      /* how long that thread has not taken what waits for it */
    crn_verdict_log_stats log;     /* zeros without publish.log */
} crn_publish_stats;

/* `zmq` is the caller's context, `config` (resolved) and `lanes` the caller's; all must outlive the
 * publisher. Returns 0 or a negative errno with the endpoint and a hint in *error. */
int crn_publish_open(void *zmq, const crn_config *config, crn_lanes *lanes,
                     crn_publish **ret_publish, crn_error *error);

/*
 * Sends what waits if there is a grader, then closes both sockets and sets *publish to NULL; NULL
 * is allowed. Blocks for at most linger_ms; messages that libzmq then still holds are sent in the
 * background within the rest of that time (zmq_ctx_term waits for it).
 */
void crn_publish_close(crn_publish **publish, int linger_ms);

/*
 * Packs and sends the verdict of one fruit: to the grader (or to the queue while there is none) and
 * to the viewers under topic fruit/<lane>. Reads its defects from the store, which keeps them. Uses
 * the lane's next sequence number.
 */
void crn_publish_verdict(crn_publish *publish, const crn_fruit *fruit,
                         const crn_result_store *store, int64_t now_ns);

/* The last verdict; its bytes are valid until the next call of any other function here. */
const crn_published *crn_publish_last(const crn_publish *publish);

/*
 * Work between verdicts, without waiting: queued verdicts to a grader that connected, connection
 * events, the status message once a second. `state` is the daemon's state as reported. Leaves
 * nothing unread, so that the edge-triggered descriptors may be polled afterwards.
 */
void crn_publish_service(crn_publish *publish, const char *state, int64_t now_ns);

/* To be called after each poll: true if neither descriptor was readable. The service then leaves
 * them out until the next call, which saves libzmq's system calls. */
void crn_publish_set_quiet(crn_publish *publish, bool quiet);

/* Descriptors to poll for input before waiting. Returns their number (<= 2). Viewers' events show
 * in the counters after the next service. */
int crn_publish_descriptors(const crn_publish *publish, int descriptors[2]);

/* When to call service although no descriptor is ready. */
int64_t crn_publish_wake_ns(const crn_publish *publish);

const crn_publish_stats *crn_publish_get_stats(const crn_publish *publish);

/* Id of this start, as in every verdict: CLOCK_REALTIME of the start in ns, 16 hex digits. */
const char *crn_publish_run(const crn_publish *publish);

/* The endpoint as bound: a wildcard port replaced by the actual one. */
const char *crn_publish_endpoint(const crn_publish *publish, crn_outlet which);

#endif
