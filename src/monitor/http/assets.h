/* The files of the pages (page/), and the chart library, embedded when the daemon is built. */
#ifndef CRN_SRC_MONITOR_HTTP_ASSETS_H
#define CRN_SRC_MONITOR_HTTP_ASSETS_H

#include <stddef.h>

#include "stages/base/api.h"

CRN_C_BEGIN

typedef struct crn_asset {
    const char *name; /* as in addresses: /page/NAME */
    const char *type; /* media type */
    const unsigned char *start, *end;
} crn_asset;

/* The folder of their addresses. */
#define CRN_ASSETS_PATH "/page/"

/* NULL: there is no such file. */
const crn_asset *crn_assets_find(const char *name);

CRN_C_END

#endif
