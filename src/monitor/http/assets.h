/* The files of the daemon's pages. */
#ifndef CRN_SRC_MONITOR_HTTP_ASSETS_H
#define CRN_SRC_MONITOR_HTTP_ASSETS_H

#include "src/http/assets.h"

CRN_C_BEGIN

/* The folder of their addresses. */
#define CRN_ASSETS_PATH "/page/"

/* NULL: there is no such file. */
const crn_asset *crn_assets_find(const char *name);

CRN_C_END

#endif
