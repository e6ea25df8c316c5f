/**
 * @file
 * The daemon's messages about itself. No sockets, no clock, no state.
 *
 * Topic `status`, to the viewers once a second: {v, run, state, published_ns, lanes, refused,
 * refused_elsewhere, verdicts, sent, stale, dropped, waiting, graders, possibly_lost, viewers,
 * log_dropped, log_failed, slots, classes}; the counts from `verdicts` to `viewers` are those of
 * crn_publish_stats, the two after them those of its verdict log.
 *
 * - `state`: ready (no view has arrived yet), running, degraded (a device is lost), stopping
 * - `lanes`: [{lane, sequence, refused}]: sequence of the last verdict, null before the first;
 *   refused {reason: count} of the lane's messages since the start
 * - `refused`: {reason: count} of all messages, of any lane
 * - `refused_elsewhere`: those of them whose lane is not open, or whose header could not be read
 * - `slots`: limits.slots, the views that can wait or run at a time
 * - `classes`: the names of the line's classes, in channel order
 *
 * A lane that was silent for limits.lane_idle_s may be freed for another and leave `lanes`; when it
 * comes again its sequence goes on.
 *
 *
 * Reasons are those of crn_refusal_name(); one that never occurred is omitted.
 *
 * Topic `alive`, to the grader after publish.grader.alive_ms without a verdict: {v, run, state,
 * published_ns, alive_ms, lanes}, `lanes` as above but without `refused`.
 */
#ifndef CRN_SRC_PUBLISH_STATUS_H
#define CRN_SRC_PUBLISH_STATUS_H

#include "stages/config/config.h"
#include "src/formats/encoding/encoder.h"
#include "src/fruit/lane/lane.h"
#include "src/publish/publish.h"

/** Input of both messages; all pointers are the caller's. */
typedef struct crn_status {
    const char *run;       /**< id of the daemon's start */
    const char *state;     /**< the daemon's state */
    uint64_t published_ns; /**< CLOCK_REALTIME */
    int64_t alive_ms;
    crn_lanes *lanes;
    const crn_publish_stats *publish;
    const crn_config *config;
} crn_status;

/**
 * Packs one message.
 *
 * @param ret_bytes the encoder's, until its next begin
 * @return 0 or -ENOMEM
 */
typedef int crn_status_packer(crn_encoder *encoder, const crn_status *status,
                              const unsigned char **ret_bytes, size_t *ret_size);

crn_status_packer crn_status_pack;       /**< topic `status` */
crn_status_packer crn_status_pack_alive; /**< topic `alive` */

#endif
