/* The page /verdicts: what the flight recorder keeps, oldest first, as a segment of the verdict log
 * (src/formats/verdict_log/README.md), so that whoever reads logs can read it. For the HTTP thread.
 */
#ifndef CRN_SRC_MONITOR_HTTP_RESPONSES_VERDICTS_H
#define CRN_SRC_MONITOR_HTTP_RESPONSES_VERDICTS_H

#include <microhttpd.h>

#include "src/monitor/fruits/flight.h"

CRN_C_BEGIN

/*
 * A response that sends the verdicts kept now, to be queued and destroyed by the caller; NULL if
 * memory is short. It copies one verdict at a time; those that are dropped before their turn are
 * left out.
 */
struct MHD_Response *crn_verdicts_open(const crn_flight *flight);

CRN_C_END

#endif
