/* The state of a running daemon's line, from its page /healthz: no verdict tells it. */
#ifndef CRN_TOOLS_WHY_DAEMON_STATE_H
#define CRN_TOOLS_WHY_DAEMON_STATE_H

#include <stdio.h>

#include "src/client/daemon_state.h"
#include "stages/base/error.h"

/* `endpoint` is the daemon's monitor.http. Returns 0, or a negative errno with one line in *error;
 * then *ret_state is undefined. */
int crn_state_fetch(const char *endpoint, crn_daemon_state *ret_state, crn_error *error);

/* "the line now: running" and each condition: what, what to do, details, since when. */
void crn_state_print(const crn_daemon_state *state, FILE *out);

/* One line of JSON: {"state": …, "headline": …, "conditions": […]}. 0 or -ENOMEM. */
int crn_state_print_json(const crn_daemon_state *state, FILE *out);

#endif
