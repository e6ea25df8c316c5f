/*
 * A line's verdicts into an archive, as its viewers get them: where the log cannot be read, as on
 * another machine. What does not arrive is missing, and counted, while this program runs or not.
 */
#ifndef CRN_TOOLS_ARCHIVE_SUBSCRIBER_H
#define CRN_TOOLS_ARCHIVE_SUBSCRIBER_H

#include "src/client/keys.h"
#include "stages/base/error.h"
#include "tools/archive/intake.h"

typedef struct crn_subscriber crn_subscriber;

typedef struct crn_subscriber_settings {
    const char *endpoint; /* publish.viewers of the line */
    crn_client_keys keys;
    crn_intake_teller *tell;
} crn_subscriber_settings;

/* Connects, to a line that runs or will; the destination and the settings' texts must outlive it.
 * 0, or a negative errno with *error. */
int crn_subscriber_open(crn_destination *destination, const crn_subscriber_settings *settings,
                        crn_subscriber **ret_subscriber, crn_error *error);
void crn_subscriber_close(crn_subscriber **subscriber);

/* Archives the verdicts that have arrived, without waiting for more. 1: there may be more; 0: all
 * are archived, or the destination cannot be reached, which is told once; a negative errno with
 * *error. */
int crn_subscriber_step(crn_subscriber *subscriber, crn_error *error);

const crn_intake_stats *crn_subscriber_get_stats(const crn_subscriber *subscriber);

#endif
