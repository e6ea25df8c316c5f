/* Every counter of something that was lost, or out of the ordinary: its name in the log, and what
 * helps: the rows of src/counts and what other tables count by. */
#ifndef CRN_SRC_MONITOR_LOG_MESSAGES_LOSSES_H
#define CRN_SRC_MONITOR_LOG_MESSAGES_LOSSES_H

#include <stdint.h>
#include <stdio.h>

#include "src/monitor/families.h"

#define CRN_LOSSES_MAX 128

typedef struct crn_loss {
    const char *name;
    crn_loss_kind kind;
    const char *hint; /* cause and cure, one clause; NULL: the name says it */
    uint64_t count;
} crn_loss;

/* Reads all of them, those with count 0 included; their order does not depend on the counts.
 * Returns their number. */
int crn_losses_read(const crn_metrics *metrics, crn_loss ret_losses[CRN_LOSSES_MAX]);

/* The same since `before`: what was lost between the two. */
int crn_losses_since(const crn_metrics *now, const crn_metrics *before,
                     crn_loss ret_losses[CRN_LOSSES_MAX]);

/* Prints the table of systemd/README.md. */
void crn_losses_print_reference(FILE *out);

#endif
