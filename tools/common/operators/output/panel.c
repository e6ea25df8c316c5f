#include "tools/common/operators/output/panel.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "tools/common/drawing/font.h"

#define COLUMNS   4
#define GAP       4 /* pixels between cells */
#define DARK      24
#define BRIGHT    225
#define PNG_SIDE  1000000 /* libpng's default limit */
#define FONT_SIZE 12
#define LINE      15                     /* line height of captions in pixels */
#define CELL_MIN  (CRN_PANEL_LEFT - GAP) /* width of a caption */

int crn_panel_plan(int32_t picture_width, int32_t picture_height, int64_t rows,
                   crn_panel *ret_panel)
{
    int64_t cell_width = (picture_width > CELL_MIN ? picture_width : CELL_MIN) + (int64_t)GAP;
    int64_t cell_height = (picture_height > 2 * LINE ? picture_height : 2 * LINE) + (int64_t)GAP;
    int64_t width = CRN_PANEL_LEFT + COLUMNS * cell_width - GAP;
    if (width > PNG_SIDE || rows > PNG_SIDE / cell_height)
        return -EFBIG;
    *ret_panel = (crn_panel){(int32_t)width, (int32_t)(CRN_PANEL_TOP + rows * cell_height - GAP),
                             (int32_t)cell_width, (int32_t)cell_height};
    return 0;
}

/* Draws text with its top left at x, y on the dark background; nothing if memory is lacking. */
static void write_text(const crn_image *to, int32_t x, int32_t y, const char *text)
{
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_A8, CELL_MIN, LINE);
    cairo_t *cairo = cairo_create(surface);
    crn_font_set(cairo, FONT_SIZE, false);
    cairo_move_to(cairo, 0, FONT_SIZE);
    cairo_show_text(cairo, text);
    cairo_surface_flush(surface);
    const unsigned char *alpha = cairo_image_surface_get_data(surface);
    int stride = cairo_image_surface_get_stride(surface);
    for (int32_t row = 0; alpha && row < LINE && y + row < to->height; row++)
        for (int32_t column = 0; column < CELL_MIN && x + column < to->width; column++)
            crn_map_put(to, 0, y + row, x + column,
                        DARK + (BRIGHT - DARK) * (float)alpha[row * stride + column] / 255);
    cairo_destroy(cairo);
    cairo_surface_destroy(surface);
}

void crn_panel_begin(const crn_panel *panel, const crn_image *to)
{
    static const char *const captions[COLUMNS] = {"vertical", "horizontal", "diagonal", "sum"};
    for (int32_t y = 0; y < to->height; y++)
        for (int32_t x = 0; x < to->width; x++)
            crn_map_put(to, 0, y, x, DARK);
    write_text(to, GAP, GAP, "window");
    for (int32_t column = 0; column < COLUMNS; column++)
        write_text(to, CRN_PANEL_LEFT + column * panel->cell_width, GAP, captions[column]);
}

static float sum_at(const crn_image *ranklets, int32_t y, int32_t x)
{
    return crn_image_at(ranklets, 0, y, x) + crn_image_at(ranklets, 1, y, x) +
           crn_image_at(ranklets, 2, y, x);
}

static float largest_sum(const crn_image *ranklets)
{
    float largest = 0;
    for (int32_t y = 0; y < ranklets->height; y++)
        for (int32_t x = 0; x < ranklets->width; x++)
            largest = fmaxf(largest, fabsf(sum_at(ranklets, y, x)));
    return largest;
}

void crn_panel_row(const crn_panel *panel, const crn_image *ranklets, crn_size window,
                   int32_t plane, int32_t row, const crn_image *to)
{
    int32_t top = CRN_PANEL_TOP + row * panel->cell_height;
    char text[32];
    snprintf(text, sizeof text, "%dx%d", window.width, window.height);
    write_text(to, GAP, top, text);
    snprintf(text, sizeof text, "plane %d", plane);
    if (plane >= 0)
        write_text(to, GAP, top + LINE, text);
    float largest = largest_sum(ranklets);
    for (int32_t column = 0; column < COLUMNS; column++) {
        int32_t left = CRN_PANEL_LEFT + column * panel->cell_width;
        float scale = column < 3 ? 127.5f : largest > 0 ? 127.5f / largest : 0;
        for (int32_t y = 0; y < ranklets->height; y++)
            for (int32_t x = 0; x < ranklets->width; x++) {
                float value =
                    column < 3 ? crn_image_at(ranklets, column, y, x) : sum_at(ranklets, y, x);
                crn_map_put(to, 0, top + y + window.height / 2, left + x + window.width / 2,
                            127.5f + value * scale);
            }
    }
}
