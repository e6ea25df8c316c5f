/* The answer to /maps/LANE/EPOCH/FRUIT (maps_format.h): the maps that are kept of a fruit. */
#ifndef CRN_SRC_MONITOR_HTTP_RESPONSES_MAPS_H
#define CRN_SRC_MONITOR_HTTP_RESPONSES_MAPS_H

#include <microhttpd.h>

#include "src/monitor/fruits/kept_maps.h"

CRN_C_BEGIN

/*
 * A response that sends what is kept of a fruit, to be queued and destroyed by the caller; NULL
 * with *ret_error 0 if nothing is, or -ENOMEM. It copies one view at a time; those that are dropped
 * before their turn are left out. *open is the caller's count of such answers: 1 more until this
 * one is over.
 */
struct MHD_Response *crn_maps_open(crn_kept_maps *maps, const crn_kept_fruit *fruit, int *open,
                                   int *ret_error);

CRN_C_END

#endif
