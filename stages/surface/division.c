#include "stages/surface/division.h"

#include <math.h>
#include <string.h>

#include "stages/surface/surface.h"

enum {
    SAMPLES = 8192, /* pixels that the threshold is found from, about */
};

#define SHADED  0.2  /* from the background's level to the fruit's: it is darker at its edge */
#define PROFILE 0.25 /* of the longest line of the fruit: shorter ones are not its box */

static const uint8_t *pixel_at(const crn_image *image, int32_t x, int32_t y)
{
    return (const uint8_t *)image->data + y * image->row_stride + x * image->step;
}

/* Otsu's threshold of a histogram, where the variance between both sides is greatest, and the means
 * of these. */
static double otsu(const uint32_t histogram[256], double ret_means[2])
{
    double count = 0, sum = 0, below = 0, sum_below = 0, best = 0, threshold = 255;
    for (int i = 0; i < 256; i++) {
        count += histogram[i];
        sum += (double)i * histogram[i];
    }
    ret_means[0] = ret_means[1] = sum / count;
    for (int i = 0; i < 255; i++) {
        below += histogram[i];
        sum_below += (double)i * histogram[i];
        double apart = sum * below - count * sum_below, product = below * (count - below);
        if (product == 0 || apart * apart <= best * product)
            continue;
        best = apart * apart / product;
        threshold = i + 0.5;
        ret_means[0] = sum_below / below;
        ret_means[1] = (sum - sum_below) / (count - below);
    }
    return threshold;
}

/* The median along the picture's border is the background's. */
static double border_level(const crn_image *image)
{
    uint32_t histogram[256] = {0}, count = 0, sum = 0;
    int32_t right = image->width - 1, bottom = image->height - 1;
    for (int32_t x = 0; x <= right; x++) {
        histogram[*pixel_at(image, x, 0)]++;
        histogram[*pixel_at(image, x, bottom)]++;
    }
    for (int32_t y = 0; y <= bottom; y++) {
        histogram[*pixel_at(image, 0, y)]++;
        histogram[*pixel_at(image, right, y)]++;
    }
    for (int i = 0; i < 256; i++)
        count += histogram[i];
    for (int i = 0; i < 256; i++) {
        sum += histogram[i];
        if (2 * sum >= count)
            return i;
    }
    return 255;
}

int32_t crn_division_stride(const crn_image *image)
{
    return (int32_t)fmax(1, sqrt((double)image->height * image->width / SAMPLES));
}

bool crn_division_find_levels(const crn_image *image, double ret_means[2])
{
    /* Two histograms, as neighbours are alike and would wait for each other. */
    uint32_t histogram[2][256] = {{0}};
    int32_t stride = crn_division_stride(image);
    for (int32_t y = 0; y < image->height; y += stride)
        for (int32_t x = 0, k = 0; x < image->width; x += stride, k ^= 1)
            histogram[k][*pixel_at(image, x, y)]++;
    for (int i = 0; i < 256; i++)
        histogram[0][i] += histogram[1][i];
    double threshold = otsu(histogram[0], ret_means);
    return border_level(image) < threshold;
}

crn_division crn_division_of(const crn_image *image, const double means[2], bool is_dark)
{
    double behind = means[is_dark ? 0 : 1], fruit = means[is_dark ? 1 : 0];
    double limit = behind + SHADED * (fruit - behind);
    return (crn_division){image, limit, is_dark ? 1 : -1, is_dark ? (int)floor(limit) + 1 : 0,
                          is_dark ? 255 : (int)ceil(limit) - 1};
}

/* The longest stretch of lines of which enough belong to the fruit; gaps of one line do not count.
 */
static double find_stretch(const uint32_t *profile, int32_t count, double *ret_middle)
{
    uint32_t most = 1;
    int32_t longest = 0, from = 0, begin = 0, gap = 2;
    for (int32_t i = 0; i < count; i++)
        most = profile[i] > most ? profile[i] : most;
    for (int32_t i = 0; i < count; i++) {
        if (profile[i] < PROFILE * most) {
            gap++;
            continue;
        }
        if (gap > 1)
            begin = i;
        gap = 0;
        if (i - begin + 1 > longest) {
            longest = i - begin + 1;
            from = begin;
        }
    }
    *ret_middle = from + (longest - 1) / 2.0;
    return longest / 2.0;
}

/* Adds to `counts` which pixels of a line are the fruit's. */
static void count_line(const crn_division *division, const uint8_t *line, ptrdiff_t step,
                       int32_t count, uint32_t *counts)
{
    int least = division->least, greatest = division->greatest;
    if (step == 1)
        for (int32_t i = 0; i < count; i++)
            counts[i] += (line[i] >= least) & (line[i] <= greatest);
    else
        for (int32_t i = 0; i < count; i++)
            counts[i] += (line[i * step] >= least) & (line[i * step] <= greatest);
}

void crn_division_find_box(crn_surface *surface, const crn_division *division, int32_t stride,
                           crn_surface_pose *box)
{
    const crn_image *image = division->image;
    memset(surface->profile, 0, (size_t)image->width * sizeof *surface->profile);
    for (int32_t y = 0; y < image->height; y += stride)
        count_line(division, pixel_at(image, 0, y), image->step, image->width, surface->profile);
    box->rx = find_stretch(surface->profile, image->width, &box->x);
    box->ry = 0;
    if (box->rx < CRN_DIVISION_RADIUS_MIN)
        return;
    int32_t from = (int32_t)fmax(0, box->x - box->rx);
    int32_t to = (int32_t)fmin(image->width - 1, box->x + box->rx);
    memset(surface->profile, 0, (size_t)image->height * sizeof *surface->profile);
    for (int32_t x = from; x <= to; x += stride)
        count_line(division, pixel_at(image, x, 0), image->row_stride, image->height,
                   surface->profile);
    box->ry = find_stretch(surface->profile, image->height, &box->y);
}
