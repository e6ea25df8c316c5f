/*
 * Where a view is better run, by what was measured at the start: a small and a large view on either
 * side give a straight line of time over bytes. Arithmetic alone.
 */
#ifndef CRN_SRC_ENGINE_COST_MODEL_H
#define CRN_SRC_ENGINE_COST_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a view of that many bytes costs: fixed_ns + per_byte_ns * bytes, neither below 0. */
typedef struct crn_cost {
    double fixed_ns, per_byte_ns;
} crn_cost;

/* The line through two measurements; one that falls, or that meets 0 bytes below 0, is laid through
 * the larger and level, or through 0. small_bytes < large_bytes, both above 0. */
crn_cost crn_cost_fit(size_t small_bytes, int64_t small_ns, size_t large_bytes, int64_t large_ns);

int64_t crn_cost_ns(const crn_cost *cost, size_t bytes);

/* Whether a device is worth the way: its time is less than the processor's. */
bool crn_cost_model_is_device(const crn_cost *processor, const crn_cost *device, size_t bytes);

/* The median; sorts what it is given. count >= 1. */
int64_t crn_cost_model_median_ns(int64_t *ns, int32_t count);

#endif
