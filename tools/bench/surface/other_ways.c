/* Areas by the ways that the union of outlines is compared with. */
#include <math.h>

#include "tools/bench/surface/surface.h"

double crn_surface_naive_mm2(const crn_known_seen *seen, const crn_known_fruit *fruit, int channel)
{
    double area = 0;
    for (int i = 0; i < seen->view_count; i++)
        for (uint32_t k = 0; k < seen->defects[i].defect_count; k++) {
            const crn_defect *defect = &seen->defects[i].defects[k];
            if (defect->channel == channel)
                area += defect->hole ? -defect->area_px : defect->area_px;
        }
    return area * fruit->mm_per_px * fruit->mm_per_px;
}

static double value_at(const crn_known_fruit *fruit, const float *plane, double x, double y)
{
    int32_t x0 = (int32_t)floor(x), y0 = (int32_t)floor(y), width = fruit->width;
    if (x0 < 0 || y0 < 0 || x0 + 1 >= width || y0 + 1 >= fruit->height)
        return 0;
    const float *at = plane + (size_t)y0 * (size_t)width + x0;
    double s = x - x0, t = y - y0;
    return (1 - t) * ((1 - s) * (double)at[0] + s * (double)at[1]) +
           t * ((1 - s) * (double)at[width] + s * (double)at[width + 1]);
}

/* The view whose middle is nearest to a longitude, and how far from it. */
static int facing_view(const crn_known_seen *seen, double lambda, double *ret_local)
{
    int view = 0;
    *ret_local = 4;
    for (int k = 0; k < seen->view_count; k++) {
        double from_middle = remainder(lambda + seen->views[k].pose.roll_rad, 2 * M_PI);
        if (fabs(from_middle) < fabs(*ret_local)) {
            *ret_local = from_middle;
            view = k;
        }
    }
    return view;
}

double crn_surface_grid_mm2(const crn_known_seen *seen, const crn_known_fruit *fruit, int channel)
{
    enum { ROWS = 96, COLUMNS = 192 };
    size_t plane = (size_t)fruit->height * (size_t)fruit->width * (size_t)channel;
    double area = 0;
    for (int column = 0; column < COLUMNS; column++) {
        double local;
        int view = facing_view(seen, 2 * M_PI * (column + 0.5) / COLUMNS, &local);
        const crn_surface_view *of = &seen->views[view];
        double a = of->pose.rx * of->mm_per_px, c = of->pose.ry * of->mm_per_px;
        double across_px = of->pose.rx * sin(local);
        for (int row = 0; row < ROWS; row++) {
            double v = 2 * (row + 0.5) / ROWS - 1, r = sqrt(1 - v * v);
            double value = value_at(fruit, seen->maps[view] + plane, of->pose.x + r * across_px,
                                    of->pose.y + of->pose.ry * v);
            if (value > 0.5)
                area += 4 * M_PI / (ROWS * COLUMNS) * a * hypot(c * r, a * v);
        }
    }
    return area;
}
