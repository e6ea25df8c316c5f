/* A chain that a test can block: each view waits in the stage `crn_gated` until it is let through.
 * One per program. */
#ifndef CRN_TESTS_SUPPORT_GATE_H
#define CRN_TESTS_SUPPORT_GATE_H

#include "stages/stage/stage.h"

/* In the place of `contours`. */
extern const crn_stage crn_gated;

/* Closes the gate; call it before each test. `status` is what the stage returns once a view is let
 * through. */
void crn_gate_close(int status);

/* Waits until one more view is at the gate. */
void crn_gate_wait(void);

/* Lets so many views through, those included that are still to come. */
void crn_gate_let_through(int views);

#endif
