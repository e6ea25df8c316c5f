/* Ranklets, reference implementation: a histogram of each quarter, counted from scratch for
 * every window. */
#include "stages/serial/ranklet.h"

#include <errno.h>
#include <string.h>

#include "stages/context.h"

enum { SLOT_RANKS, SLOT_COUNTS };

#define VALUES 65536

int crn_ranklet_check(const crn_ranklet_params *params, const crn_image *in, const crn_image *out)
{
    if (!params || !crn_image_is_usable(in) || !crn_image_is_usable(out))
        return -EINVAL;
    if ((in->type != CRN_U8 && in->type != CRN_U16) || in->planes > INT32_MAX / 3)
        return -EINVAL;
    if (params->width < 2 || params->width % 2 || params->width > in->width)
        return -EINVAL;
    if (params->height < 2 || params->height % 2 || params->height > in->height)
        return -EINVAL;
    if ((int64_t)params->width * params->height / 2 > CRN_RANKLET_HALF_MAX)
        return -EINVAL;
    if (out->type != CRN_F32 || out->planes != 3 * in->planes ||
        out->height != in->height - params->height + 1 ||
        out->width != in->width - params->width + 1)
        return -EINVAL;
    return 0;
}

static uint16_t value_at(const crn_image *in, int32_t plane, int32_t y, int32_t x)
{
    ptrdiff_t index = crn_image_index(in, plane, y, x);
    return in->type == CRN_U8 ? ((const uint8_t *)in->data)[index]
                              : ((const uint16_t *)in->data)[index];
}

/* Histograms of the quarters of a window: top left, top right, bottom left, bottom right. */
typedef struct counts {
    int64_t of[VALUES][4];
    uint16_t rank[VALUES]; /* of a value among those that occur in the plane */
} counts;

/* Replaces a plane's values by their ranks. Ranklets depend on comparisons only, so results do not
 * change, but there are fewer histogram bins to run through. Returns the number of ranks. */
static int32_t rank_plane(const crn_image *in, int32_t plane, counts *c, uint16_t *ranks,
                          crn_pace *pace)
{
    memset(c->rank, 0, sizeof c->rank);
    for (int32_t y = 0; y < in->height && !crn_pace_over(pace, 8 * (int64_t)in->width); y++)
        for (int32_t x = 0; x < in->width; x++)
            c->rank[value_at(in, plane, y, x)] = 1;
    int32_t values = 0;
    for (int32_t v = 0; v < VALUES; v++)
        if (c->rank[v])
            c->rank[v] = (uint16_t)values++;
    for (int32_t y = 0; y < in->height; y++)
        for (int32_t x = 0; x < in->width; x++)
            *ranks++ = c->rank[value_at(in, plane, y, x)];
    return values;
}

/* Computes the histograms of the window at `ranks`, whose rows are `stride` elements apart. */
static void count_window(const crn_ranklet_params *params, const uint16_t *ranks, ptrdiff_t stride,
                         int32_t values, counts *c, crn_pace *pace)
{
    memset(c->of, 0, (size_t)values * sizeof c->of[0]);
    for (int32_t y = 0; y < params->height && !crn_pace_over(pace, 8 * params->width);
         y++, ranks += stride)
        for (int32_t x = 0; x < params->width; x++)
            c->of[ranks[x]][2 * (y >= params->height / 2) + (x >= params->width / 2)]++;
}

/* The sum of sign(t - c) over all pairs, with T two of the quarters and C the others: the number of
 * pairs with t > c less the number with t < c. */
static int64_t sum_of_signs(const counts *c, int32_t values, const int treatment[2],
                            const int control[2])
{
    int64_t sum = 0, t_below = 0, c_below = 0;
    for (int32_t v = 0; v < values; v++) {
        int64_t t = c->of[v][treatment[0]] + c->of[v][treatment[1]];
        int64_t u = c->of[v][control[0]] + c->of[v][control[1]];
        sum += t * c_below - u * t_below;
        t_below += t;
        c_below += u;
    }
    return sum;
}

int crn_ranklet_serial(crn_context *context, const crn_ranklet_params *params, const crn_image *in,
                       crn_image *out)
{
    static const int treatment[3][2] = {{0, 2}, {0, 1}, {0, 3}};
    static const int control[3][2] = {{1, 3}, {2, 3}, {1, 2}};
    int r = crn_ranklet_check(params, in, out);
    if (r < 0)
        return r;
    size_t pixels = (size_t)in->height * (size_t)in->width;
    uint16_t *ranks = crn_context_scratch(context, SLOT_RANKS, pixels * sizeof *ranks);
    counts *c = crn_context_scratch(context, SLOT_COUNTS, sizeof *c);
    if (!ranks || !c)
        return -ENOMEM;
    int64_t half = (int64_t)params->width * params->height / 2;
    crn_pace pace = crn_pace_start(context);
    for (int32_t plane = 0; plane < in->planes; plane++) {
        int32_t values = rank_plane(in, plane, c, ranks, &pace);
        for (int32_t y = 0; y < out->height; y++)
            for (int32_t x = 0; x < out->width; x++) {
                if (crn_pace_over(&pace, 8 * (int64_t)values))
                    return crn_context_status(context);
                count_window(params, ranks + (ptrdiff_t)y * in->width + x, in->width, values, c,
                             &pace);
                for (int i = 0; i < 3; i++) {
                    int64_t sum = sum_of_signs(c, values, treatment[i], control[i]);
                    ((float *)out->data)[crn_image_index(out, 3 * plane + i, y, x)] =
                        (float)((double)sum / (double)(half * half));
                }
            }
    }
    return crn_context_status(context);
}
