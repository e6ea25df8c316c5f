/* The answer to /fruits/LANE/EPOCH/FRUIT.json: all that is known of one of the last fruits. */
#ifndef CRN_SRC_MONITOR_HTTP_RESPONSES_FRUIT_PAGE_H
#define CRN_SRC_MONITOR_HTTP_RESPONSES_FRUIT_PAGE_H

#include <microhttpd.h>

#include "src/monitor/fruits/last_fruits.h"

CRN_C_BEGIN

/*
 * {verdict, views, photos}: the verdict as publish/README.md describes it; of the views received
 * [{view, width_px, height_px, y_px}]; the number of their sheet, in which each begins at y_px,
 * or null. If maps of the fruit are kept (`maps`, which may be NULL) its sheet is made of them.
 * NULL: the fruit is not in the flight recorder (*ret_error 0), or -ENOMEM.
 */
struct MHD_Response *crn_fruit_page_open(const crn_flight *flight, crn_kept_maps *maps,
                                         crn_sheets *sheets, const crn_kept_fruit *name,
                                         int *ret_error);

CRN_C_END

#endif
