/* The answers to /alarms and /alarms.csv. For the HTTP thread. */
#ifndef CRN_SRC_MONITOR_HTTP_RESPONSES_ALARMS_H
#define CRN_SRC_MONITOR_HTTP_RESPONSES_ALARMS_H

#include <microhttpd.h>

#include "src/monitor/alarms/thread.h"

CRN_C_BEGIN

/* How many alarms that are over /alarms has unless the request says it. */
#define CRN_ALARMS_MOST 200

/* Of cleared ones that are open or shelved it has at least so many. */
#define CRN_ALARMS_OPEN_MOST 1000

/*
 * Responses to be queued and destroyed by the caller; NULL if memory is short. Each makes an alarm
 * when the one before has been sent, so that a reader takes no more memory than one alarm.
 *
 * As JSON the newest first: all that are active; of the cleared ones that are open or shelved at
 * most CRN_ALARMS_OPEN_MOST, or `most` if that is more; of the others at most `most`, raised at
 * `from_ms` or later. As CSV all, the oldest first.
 */
struct MHD_Response *crn_alarms_open_json(crn_alarms *alarms, int64_t from_ms, uint64_t most);
struct MHD_Response *crn_alarms_open_csv(crn_alarms *alarms);

CRN_C_END

#endif
