/*
 * Distribution counting (Smeraldi, ICIP 2009): the values of a window's treatment and control are
 * counted in two histograms of 256 bins, equal values get their mean rank, and the sum of the
 * treatment's ranks gives R.
 *
 * Incremental, per orientation: along a row of windows each histogram adds the column that enters
 * and removes the one that leaves, then one pass runs over the 256 values. This is the form whose
 * cost fits published figures (a pyramid of 1024 x 1024 in 6.4 s on one core of a Xeon X5650): its
 * 23 million windows and orientations at 277 ns each are a pass over 256 values and a few hundred
 * counts. Recounting whole windows would take 10^12 counts. It also grows as those figures do, by
 * more than 4 from side to side of the pyramid: a slide costs the side.
 */
#include "tools/bench/idc.h"

#include <stdbool.h>
#include <string.h>

/* Uses twice the sum of ranks, so that mean ranks are integers;
 * 2 W - m (m + 1) - m n over m n is R for m = n = half. */
static float ranklet(const int32_t *treatment, const int32_t *control, int64_t half)
{
    int64_t sum = 0, below = 0;
    for (int32_t v = 0; v < 256; v++) {
        int64_t here = treatment[v] + control[v];
        sum += treatment[v] * (2 * below + here + 1);
        below += here;
    }
    sum -= half * (half + 1) + half * half;
    return (float)((double)sum / (double)(half * half));
}

/* A window sliding along a row. */
typedef struct window {
    const crn_image *in;
    int32_t width, height, y;
    int32_t counts[2][256]; /* control, treatment */
} window;

static void count(window *w, int which, int32_t x, int32_t y, int32_t rows, int32_t by)
{
    const uint8_t *p = (const uint8_t *)w->in->data + crn_image_index(w->in, 0, w->y + y, x);
    int32_t *counts = w->counts[which];
    for (int32_t i = 0; i < rows; i++, p += w->in->row_stride)
        counts[*p] += by;
}

/* Adds (by = 1) or removes (-1) a column of the window's left or right half. */
static void count_column(window *w, int orientation, bool left, int32_t x, int32_t by)
{
    int32_t half = w->height / 2;
    if (orientation == 0) {
        count(w, left, x, 0, w->height, by);
        return;
    }
    bool top = orientation == 1 || left;
    count(w, top, x, 0, half, by);
    count(w, !top, x, half, half, by);
}

static void slide(window *w, int orientation, int32_t x)
{
    count_column(w, orientation, true, x, -1);
    if (orientation != 1) { /* for top and bottom the column's half does not matter */
        count_column(w, orientation, false, x + w->width / 2, -1);
        count_column(w, orientation, true, x + w->width / 2, 1);
    }
    count_column(w, orientation, false, x + w->width, 1);
}

void crn_bench_idc_part(const crn_image *in, int32_t width, int32_t height, bool counting,
                        crn_image *out)
{
    int64_t half = (int64_t)width * height / 2;
    window w = {.in = in, .width = width, .height = height};
    for (int orientation = 0; orientation < 3; orientation++)
        for (w.y = 0; w.y < out->height; w.y++) {
            memset(w.counts, 0, sizeof w.counts);
            for (int32_t x = 0; x < width; x++)
                count_column(&w, orientation, x < width / 2, x, 1);
            float *to = (float *)out->data + crn_image_index(out, orientation, w.y, 0);
            for (int32_t x = 0; x < out->width; x++, to += out->step) {
                *to = counting ? ranklet(w.counts[1], w.counts[0], half)
                               : (float)w.counts[1][x & 255];
                if (x + 1 < out->width)
                    slide(&w, orientation, x);
            }
        }
}

void crn_bench_idc(const crn_image *in, int32_t width, int32_t height, crn_image *out)
{
    crn_bench_idc_part(in, width, height, true, out);
}
