/* Whether the line is healthy, and in words what is out of the ordinary. No sockets. */
#ifndef CRN_SRC_MONITOR_EVENTS_REASONS_H
#define CRN_SRC_MONITOR_EVENTS_REASONS_H

#include "src/monitor/families.h"

CRN_C_BEGIN

/* Without a snapshot for so long the line's thread is considered to hang. */
#define CRN_REASONS_SILENCE_NS (5 * CRN_NS_PER_S)

#define CRN_REASONS_MAX  16
#define CRN_REASON_BYTES 256

typedef struct crn_reason {
    const char *code; /* for programs and translations; static. Of a loss: its name in the log */
    uint64_t count;   /* of what the code says, or 0 */
    bool refused;     /* views were refused: their messages are counted */
    char text[CRN_REASON_BYTES]; /* a clause */
} crn_reason;

typedef struct crn_reasons {
    uint32_t count;
    crn_reason at[CRN_REASONS_MAX];
} crn_reasons;

/* How long the line's thread has not written its numbers; 0 before the first time. */
int64_t crn_reasons_silence_ns(const crn_observation *observation);

/* True unless the line's thread hangs. */
bool crn_reasons_is_healthy(const crn_observation *observation);

/* True if, in addition, views are accepted. */
bool crn_reasons_is_ready(const crn_observation *observation);

/* Finds all reasons; none if nothing is out of the ordinary. */
void crn_reasons_find(const crn_observation *observation, crn_reasons *list);

CRN_C_END

#endif
