/* A fruit's views as bars over time, and the sums, as text of at most 80 columns; or as JSON. */
#ifndef CRN_TOOLS_WHY_OUTPUT_WATERFALL_H
#define CRN_TOOLS_WHY_OUTPUT_WATERFALL_H

#include <stdio.h>

#include "tools/why/selection.h"

#define CRN_BAR_COLUMNS 28

/* Draws a view's bar: awaited `.`, waiting `-`, running `#`, else blank. */
void crn_waterfall_bar(const crn_timeline *timeline, const crn_timeline_view *view,
                       char bar[CRN_BAR_COLUMNS + 1]);

/* Prints a fruit: who it is, the sentence, a row per view, the sums. */
void crn_waterfall_print(const crn_chosen *fruit, FILE *out);

/* The same as one line of JSON. 0 or -ENOMEM. */
int crn_waterfall_json(const crn_chosen *fruit, FILE *out);

#endif
