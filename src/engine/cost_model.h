/*
 * Cost model that decides whether a view runs on the processor or on a device. A small and a
 * large view, timed on both sides at the start, give time as a linear function of bytes.
 * Arithmetic only.
 */
#ifndef CRN_SRC_ENGINE_COST_MODEL_H
#define CRN_SRC_ENGINE_COST_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Cost of a view of a given size: fixed_ns + per_byte_ns * bytes; neither is negative. */
typedef struct crn_cost {
    double fixed_ns, per_byte_ns;
} crn_cost;

/*
 * Linear fit through two measurements, small_bytes < large_bytes, both above 0. If the times
 * decrease, the result is constant at the larger one; if the intercept is negative, the line goes
 * through 0.
 */
crn_cost crn_cost_fit(size_t small_bytes, int64_t small_ns, size_t large_bytes, int64_t large_ns);

int64_t crn_cost_ns(const crn_cost *cost, size_t bytes);

/* True if the device's estimated time is less than the processor's. */
bool crn_cost_model_is_device(const crn_cost *processor, const crn_cost *device, size_t bytes);

/* Returns the median of count >= 1 values; sorts `ns` in place. */
int64_t crn_cost_model_median_ns(int64_t *ns, int32_t count);

#endif
