/* Joins runs into defects: a forest whose roots are the runs with the lowest numbers. */
#include <math.h>

#include "stages/surface/surface.h"

uint32_t crn_surface_root(crn_surface *surface, uint32_t run)
{
    crn_surface_run *runs = surface->runs;
    while (runs[run].joined != run) {
        runs[run].joined = runs[runs[run].joined].joined;
        run = runs[run].joined;
    }
    return run;
}

void crn_surface_join(crn_surface *surface, uint32_t a, uint32_t b)
{
    a = crn_surface_root(surface, a);
    b = crn_surface_root(surface, b);
    if (a < b)
        surface->runs[b].joined = a;
    else
        surface->runs[a].joined = b;
}

/* How far ranges may miss each other along the border: a pixel, and as two views' poses may. */
static double reach_of(const crn_surface *surface, const crn_surface_mark *range)
{
    return surface->settings.roll_error_rad +
           1 / surface->lenses[surface->runs[range->run].view].along_px;
}

void crn_surface_join_strips(crn_surface *surface)
{
    crn_surface_mark *ranges = surface->ranges;
    uint32_t count = surface->range_count, i = 0;
    crn_surface_sort(ranges, count);
    while (i < count) {
        /* The ranges of one class at one border: first those below it, then those above it. */
        uint32_t both = ranges[i].group / 2, a = i, j = i;
        while (j < count && ranges[j].group == both * 2)
            j++;
        uint32_t middle = j, b = middle;
        while (j < count && ranges[j].group / 2 == both)
            j++;
        while (a < middle && b < j) {
            double reach = fmax(reach_of(surface, &ranges[a]), reach_of(surface, &ranges[b]));
            if (ranges[a].from <= ranges[b].to + reach && ranges[b].from <= ranges[a].to + reach)
                crn_surface_join(surface, ranges[a].run, ranges[b].run);
            if (ranges[a].to < ranges[b].to)
                a++;
            else
                b++;
        }
        i = j;
    }
}
