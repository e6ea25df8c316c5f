/* The maps of a known fruit: how much of a pixel each class covers. */
#include <string.h>

#include "tools/common/known/known.h"

#define SPLIT  3    /* a pixel has SPLIT x SPLIT rays */
#define BESIDE (-2) /* no class: there is no fruit */

/* The class at a place; BESIDE where there is no fruit. */
static int class_at(const crn_known_fruit *fruit, int view, double px, double py)
{
    crn_known_vector point;
    return crn_known_hit(fruit, view, px, py, &point) ? crn_known_class_of(fruit, point) : BESIDE;
}

/* Whether all corners of a pixel, and of those around it, are of one class: rows above, of and
 * below it. */
static bool is_even(signed char *const rows[3], int x, int width)
{
    if (x == 0 || x == width - 1)
        return false;
    for (int k = 0; k < 9; k++)
        if (rows[k / 3][x + k % 3 - 1] != rows[1][x])
            return false;
    return true;
}

static void look_at_row(const crn_known_fruit *fruit, int view, int y, signed char *row)
{
    for (int x = 0; x < fruit->width; x++)
        row[x] = (signed char)class_at(fruit, view, x, y);
}

static void render_pixel(const crn_known_fruit *fruit, int view, int x, int y, float *pixel)
{
    size_t plane = (size_t)fruit->height * (size_t)fruit->width;
    for (int k = 0; k < SPLIT * SPLIT; k++) {
        int channel = class_at(fruit, view, x + (k % SPLIT + 0.5) / SPLIT - 0.5,
                               y + (k / SPLIT + 0.5) / SPLIT - 0.5);
        if (channel >= 0)
            pixel[(size_t)channel * plane] += 1.0f / (SPLIT * SPLIT);
    }
}

void crn_known_render(const crn_known_fruit *fruit, int view, float *ret_maps)
{
    static _Thread_local signed char lines[3][CRN_KNOWN_SIDE];
    size_t width = (size_t)fruit->width, plane = (size_t)fruit->height * width;
    memset(ret_maps, 0, sizeof *ret_maps * (size_t)fruit->classes * plane);
    for (int y = -1; y < fruit->height; y++) {
        signed char *const rows[3] = {lines[(y + 2) % 3], lines[(y + 3) % 3], lines[(y + 4) % 3]};
        look_at_row(fruit, view, y + 1, rows[2]);
        for (int x = 0; x < fruit->width && y >= 0; x++) {
            float *pixel = ret_maps + (size_t)y * width + x;
            if (y == 0 || !is_even(rows, x, fruit->width))
                render_pixel(fruit, view, x, y, pixel);
            else if (rows[1][x] >= 0)
                pixel[(size_t)rows[1][x] * plane] = 1;
        }
    }
}
