/* Numbers, times and signs as they stand on the screen. */
#ifndef CRN_TOOLS_TOP_TEXTS_H
#define CRN_TOOLS_TOP_TEXTS_H

#include <stdbool.h>

typedef struct crn_short_text {
    char text[40];
} crn_short_text;

/* Each is "-" if its value is unknown: no finite number. */
crn_short_text crn_figure_text(double value); /* three digits */
crn_short_text crn_count_text(double value);
crn_short_text crn_clock_text(double seconds);   /* time of day; since 1970 */
crn_short_text crn_lasting_text(double seconds); /* "9 s", "2 min" */
crn_short_text crn_bytes_text(double bytes);

/* The signs; of a lane by its state, crn_lane_state. */
typedef struct crn_glyphs {
    const char *good, *warning, *bad, *none, *bar, *line, *lane[3];
} crn_glyphs;

const crn_glyphs *crn_glyphs_of(bool ascii);

#endif
