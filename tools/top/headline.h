/* The one sentence that matters most, as on the live page. */
#ifndef CRN_TOOLS_TOP_HEADLINE_H
#define CRN_TOOLS_TOP_HEADLINE_H

#include "tools/top/layout.h"

typedef struct crn_headline {
    crn_style style;
    const char *glyph;
    char text[128], detail[CRN_STATE_REASON + 64];
} crn_headline;

crn_headline crn_headline_of(const crn_top_view *view);

#endif
