/* The state of a running daemon's line, from its page /healthz: no verdict tells it. */
#ifndef CRN_TOOLS_WHY_DAEMON_STATE_H
#define CRN_TOOLS_WHY_DAEMON_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "stages/base/error.h"

#define CRN_STATE_REASONS_MAX 16

typedef struct crn_line_state {
    char state[32]; /* running, degraded, … */
    uint32_t count; /* of reasons: what is out of the ordinary */
    char reasons[CRN_STATE_REASONS_MAX][320];
} crn_line_state;

/* `endpoint` is the daemon's monitor.http. Returns 0, or a negative errno with one line in *error.
 */
int crn_state_fetch(const char *endpoint, crn_line_state *ret_state, crn_error *error);

/* "the line now: running" and a line for each reason. */
void crn_state_print(const crn_line_state *state, FILE *out);

/* One line of JSON: {"state": …, "reasons": […]}. 0 or -ENOMEM. */
int crn_state_print_json(const crn_line_state *state, FILE *out);

#endif
