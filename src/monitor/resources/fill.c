#include "src/monitor/resources/fill.h"

void crn_fill_add(crn_fill *fill, int64_t now_ns, int64_t free_bytes)
{
    const crn_fill_point *last = &fill->points[(fill->count - 1) % CRN_FILL_POINTS];
    fill->latest = (crn_fill_point){.ns = now_ns, .free_bytes = free_bytes};
    if (fill->count > 0 && now_ns - last->ns < CRN_FILL_STEP_NS)
        return;
    fill->points[fill->count++ % CRN_FILL_POINTS] = fill->latest;
}

/* The first point of the highest free space in that range. */
static crn_fill_point highest(const crn_fill *fill, uint32_t from, uint32_t to)
{
    crn_fill_point best = fill->points[from % CRN_FILL_POINTS];
    for (uint32_t i = from + 1; i < to; i++)
        if (fill->points[i % CRN_FILL_POINTS].free_bytes > best.free_bytes)
            best = fill->points[i % CRN_FILL_POINTS];
    return best;
}

/* As crn_fill_rate, from one to the other. */
static double rate_between(crn_fill_point former, crn_fill_point latter)
{
    if (latter.free_bytes >= former.free_bytes)
        return -1;
    return (double)(former.free_bytes - latter.free_bytes) /
           ((double)(latter.ns - former.ns) / (double)CRN_NS_PER_S);
}

double crn_fill_rate(const crn_fill *fill)
{
    uint32_t kept = fill->count < CRN_FILL_POINTS ? fill->count : CRN_FILL_POINTS;
    uint32_t first = fill->count - kept, second = first + kept / 3, third = second + kept / 3;
    if (kept < CRN_FILL_MIN)
        return -1;
    crn_fill_point best[] = {highest(fill, first, second), highest(fill, second, third),
                             highest(fill, third, fill->count)};
    if (fill->latest.free_bytes > best[2].free_bytes)
        best[2] = fill->latest;
    double former = rate_between(best[0], best[1]), latter = rate_between(best[1], best[2]);
    return former < latter ? former : latter;
}
