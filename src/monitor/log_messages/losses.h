/* Every counter of something that was lost, or out of the ordinary: its name in the log, and what
 * helps. README.md of systemd/ explains each to users. */
#ifndef CRN_SRC_MONITOR_LOG_MESSAGES_LOSSES_H
#define CRN_SRC_MONITOR_LOG_MESSAGES_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "src/monitor/metrics.h"

#define CRN_LOSSES_MAX 96

typedef struct crn_loss {
    const char *name;
    bool lost;        /* a view, verdict or copy was lost or came too late; else the line coped */
    bool refused;     /* views that were refused: counts messages */
    const char *hint; /* cause and cure, one clause; NULL: the name says it */
    uint64_t count;
} crn_loss;

/* Reads all of them, those with count 0 included; their order does not depend on the counts.
 * Returns their number. */
int crn_losses_read(const crn_metrics *metrics, crn_loss ret_losses[CRN_LOSSES_MAX]);

/* The same since `before`: what was lost between the two. */
int crn_losses_since(const crn_metrics *now, const crn_metrics *before,
                     crn_loss ret_losses[CRN_LOSSES_MAX]);

/* Cause and cure of a view's loss, one clause; NULL: a message of its own says it. */
const char *crn_losses_view_hint(crn_view_reason reason);

#endif
