#include "src/engine/cost_model.h"

#include <stdlib.h>

crn_cost crn_cost_fit(size_t small_bytes, int64_t small_ns, size_t large_bytes, int64_t large_ns)
{
    double slope = (double)(large_ns - small_ns) / (double)(large_bytes - small_bytes);
    if (slope < 0)
        return (crn_cost){.fixed_ns = (double)large_ns, .per_byte_ns = 0};
    double fixed = (double)large_ns - slope * (double)large_bytes;
    if (fixed < 0)
        return (crn_cost){.fixed_ns = 0, .per_byte_ns = (double)large_ns / (double)large_bytes};
    return (crn_cost){.fixed_ns = fixed, .per_byte_ns = slope};
}

int64_t crn_cost_ns(const crn_cost *cost, size_t bytes)
{
    return (int64_t)(cost->fixed_ns + cost->per_byte_ns * (double)bytes);
}

bool crn_cost_model_is_device(const crn_cost *processor, const crn_cost *device, size_t bytes)
{
    return crn_cost_ns(device, bytes) < crn_cost_ns(processor, bytes);
}

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

int64_t crn_cost_model_median_ns(int64_t *ns, int32_t count)
{
    qsort(ns, (size_t)count, sizeof *ns, compare);
    return count % 2 ? ns[count / 2] : (ns[count / 2 - 1] + ns[count / 2]) / 2;
}
