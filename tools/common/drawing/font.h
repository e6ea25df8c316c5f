/* The font of everything that the tools draw. */
#ifndef CRN_TOOLS_COMMON_DRAWING_FONT_H
#define CRN_TOOLS_COMMON_DRAWING_FONT_H

#include <cairo.h>
#include <stdbool.h>

/* `size` in units of the cairo context. */
void crn_font_set(cairo_t *cairo, double size, bool bold);

#endif
