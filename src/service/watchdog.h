/*
 * Which of this process's threads make no progress although they should: told by their pulses
 * alone, so that nothing waits, locks or calls the system on their side. Time while the process
 * itself did not run (it was stopped, the machine was suspended) is not counted against anybody.
 */
#ifndef CRN_SRC_SERVICE_WATCHDOG_H
#define CRN_SRC_SERVICE_WATCHDOG_H

#include "src/service/pulse.h"

/* Watches one more thread, until crn_watchdog_remove; `name` is copied. From any thread. */
void crn_watchdog_add(crn_pulse *pulse, crn_pulse_kind kind, const char *name);

/* Watches it no longer, if it did; nothing reads the pulse once this returned. From any thread. */
void crn_watchdog_remove(crn_pulse *pulse);

/* Compares all pulses with those of the last call; no more than `step_ns` are counted for the time
 * since. Called by one thread, a few times a second. */
void crn_watchdog_look(int64_t now_ns, int64_t step_ns);

/* Finds a thread on which the line depends and that has not moved for limit_ns, as of the last
 * look; its name, or false. */
bool crn_watchdog_stuck(int64_t limit_ns, char ret_name[CRN_PULSE_NAME_BYTES]);

#endif
