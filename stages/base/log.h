/**
 * @file
 * Logging: one line per event on stderr, `2026-11-20T21:05:00.123Z level text`, or `<4>text` if
 * that is the systemd journal, which stores time and level itself. Nothing is logged once per view.
 */
#ifndef CRN_STAGES_BASE_LOG_H
#define CRN_STAGES_BASE_LOG_H

#include <stdint.h>

#include "stages/base/api.h"

/** Urgency of a line, from the highest. */
typedef enum crn_log_level {
    CRN_LOG_ERROR,
    CRN_LOG_WARNING,
    CRN_LOG_INFO,
    CRN_LOG_DEBUG,
} crn_log_level;

/** Their names in lines and in settings, by crn_log_level; NULL after the last. */
CRN_API extern const char *const crn_log_level_names[];

/** Lines above this level are dropped. The default is CRN_LOG_INFO. Thread-safe. */
CRN_API void crn_log_set_level(crn_log_level level);

/**
 * Checks whether stderr is connected to the systemd journal, as systemd.exec(5) describes
 * JOURNAL_STREAM. Lines then begin with a priority prefix of sd-daemon(3), `<3>` error, `<4>`
 * warning, `<6>` info or `<7>` debug, instead of time and level. Call it before threads start.
 */
CRN_API void crn_log_find_journal(void);

/** Lines go to this descriptor in the place of standard error. */
CRN_API void crn_log_set_output(int descriptor);

/** Logs one line; thread-safe. Waits for nobody: a line that finds a pipe or socket full is lost,
 * and the next one that is not says how many were. (Of a file see process/log_relay.h.) */
CRN_API __attribute__((format(printf, 2, 3))) void crn_log(crn_log_level level, const char *format,
                                                           ...);

/** Rate limit for one kind of message: at most one line per second. A gate belongs to one thread
 * and starts zeroed. */
typedef struct crn_log_gate {
    int64_t next_ns;
    uint64_t held; /**< events suppressed since crn_log_through() */
} crn_log_gate;

/**
 * Asks the gate whether to log this event.
 *
 * @param now_ns CLOCK_MONOTONIC
 * @return false while the last line is younger than a second
 */
CRN_API _Bool crn_log_gate_open(crn_log_gate *gate, int64_t now_ns);

/** Logs the line that the gate was opened for, and behind it "; 3 more like it were not logged" if
 * some were suppressed. */
CRN_API __attribute__((format(printf, 3, 4))) void
crn_log_through(crn_log_gate *gate, crn_log_level level, const char *format, ...);

/** Both: crn_log_through() if the gate opens. */
CRN_API __attribute__((format(printf, 4, 5))) void
crn_log_gated(crn_log_gate *gate, int64_t now_ns, crn_log_level level, const char *format, ...);

#endif
