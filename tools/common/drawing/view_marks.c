#include "tools/common/drawing/view_marks.h"

#include <math.h>

#include "tools/common/drawing/labels.h"
#include "tools/common/verdicts/view_text.h"

#define HATCH_STEP 13
#define HATCH_LINE 2.2
#define FONT_LARGE 16
#define FONT_SMALL 12
#define PAD        9
#define EDGE       6 /* between a small mark and the frame */

static const crn_color warning_color = {0.98, 0.76, 0.18};
static const crn_color dim_color = {0.75, 0.77, 0.80};

/* Lines from bottom left to top right. */
static void hatch(cairo_t *cairo, double width, double height)
{
    for (double x = -height; x < width; x += HATCH_STEP) {
        cairo_move_to(cairo, x, height);
        cairo_line_to(cairo, x + height, 0);
    }
    cairo_set_line_width(cairo, HATCH_LINE);
    cairo_set_source_rgba(cairo, warning_color.red, warning_color.green, warning_color.blue, 0.5);
    cairo_stroke(cairo);
}

static void darken(cairo_t *cairo, double width, double height)
{
    cairo_rectangle(cairo, 0, 0, width, height);
    cairo_set_source_rgba(cairo, 0.04, 0.045, 0.055, 0.72);
    cairo_fill(cairo);
}

/* Draws text on a dark plate with its top left at x, y. */
static void draw_plate(cairo_t *cairo, const cairo_text_extents_t *extents, double x, double y,
                       double font, crn_color color, const char *text)
{
    crn_label_frame(cairo, x, y, extents->x_advance + 2 * PAD, 1.7 * font, 5);
    cairo_set_source_rgba(cairo, 0.05, 0.055, 0.07, 0.86);
    cairo_fill(cairo);
    cairo_set_source_rgb(cairo, color.red, color.green, color.blue);
    cairo_move_to(cairo, x + PAD, y + 1.2 * font);
    cairo_show_text(cairo, text);
}

void crn_view_marks_draw(cairo_t *cairo, const crn_decoded_view *view, double width, double height)
{
    char text[CRN_VIEW_TEXT_BYTES];
    if (!crn_view_text(view, text))
        return;
    bool judged = crn_decoded_view_is(view, "judged"), lost = crn_decoded_view_is(view, "lost");
    if (lost)
        hatch(cairo, width, height);
    else if (!judged)
        darken(cairo, width, height);
    double font = judged ? FONT_SMALL : FONT_LARGE;
    cairo_set_font_size(cairo, font);
    cairo_text_extents_t extents;
    cairo_text_extents(cairo, text, &extents);
    double x = judged ? EDGE : (width - extents.x_advance) / 2 - PAD;
    double y = judged ? height - 1.7 * font - EDGE : height / 2 - 0.85 * font;
    draw_plate(cairo, &extents, fmax(x, 0), fmax(y, 0), font,
               judged || lost ? warning_color : dim_color, text);
}
