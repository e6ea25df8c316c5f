/* The answer to /trace: what the flight recorder keeps of the last seconds, as a trace. */
#ifndef CRN_SRC_MONITOR_HTTP_RESPONSES_TRACES_H
#define CRN_SRC_MONITOR_HTTP_RESPONSES_TRACES_H

#include <microhttpd.h>

#include "src/monitor/fruits/flight.h"

CRN_C_BEGIN

/* A response that sends the trace (src/monitor/fruits/trace.h), to be queued and destroyed by the
 * caller; NULL if memory is short. *open is the caller's count of such answers: 1 more until this
 * one is over.
 */
struct MHD_Response *crn_traces_open(const crn_config *config, const crn_flight *flight, int *open);

CRN_C_END

#endif
