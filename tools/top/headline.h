/* The one sentence that matters most, as on the live page. */
#ifndef CRN_TOOLS_TOP_HEADLINE_H
#define CRN_TOOLS_TOP_HEADLINE_H

#include "tools/top/layout.h"

typedef struct crn_headline {
    crn_style style;
    const char *glyph;
    char text[CRN_STATE_SENTENCE + 1], detail[CRN_STATE_SENTENCE];
} crn_headline;

crn_style crn_level_style(crn_state_level level);

crn_headline crn_headline_of(const crn_top_view *view);

#endif
