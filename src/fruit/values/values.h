/*
 * Checks a view's values: whether its maps can be probabilities, and whether the CNN still updates
 * them. A view that fails is judged nevertheless, but its fruit is at best partial.
 *
 * f16 and f32: the first class with a level that holds NaN or infinity (not_finite), otherwise
 * numbers outside -0.001 to 1.001 (out_of_range); a class with both is not_finite. Classes without
 * a level are ignored, because no contours are traced in them. u8: a view whose maximum over all
 * classes is 1 is taken for a mask of zeros and ones (mask_values), since 255 means probability 1.
 *
 * Values that are all valid may still have a wrong scale, or come from a dead CNN: scale.h. Views
 * of u8 are not judged by that under ingest.values: small_u8, unless ingest.sum is 1.
 *
 * A CNN that hangs, or a sender that resends an old buffer: CRN_VALUES_FROZEN_VIEWS consecutive
 * views of a lane with identical samples (64 values, spread over pixels and classes) that are not
 * all 0 or 1, as those of an empty belt may be; all 0 are, where the values of a pixel have to sum
 * to 1. This is logged and counted; verdicts do not change.
 *
 * The quick check is part of copying the maps (stages/openmp/values.h), or where they are
 * not copied of the chain's first read of them; of the rest, only the samples of values and sums
 * are looked at in each view. No allocation, no clock except the log's; used by one thread.
 */
#ifndef CRN_SRC_FRUIT_VALUES_VALUES_H
#define CRN_SRC_FRUIT_VALUES_VALUES_H

#include "stages/base/log.h"
#include "src/fruit/values/scale.h"
#include "stages/config/config.h"
#include "src/ingest/view.h"
#include "stages/openmp/values.h"

#define CRN_VALUES_SAMPLES      CRN_VALUES_PROBES
#define CRN_VALUES_FROZEN_VIEWS 10

typedef struct crn_values {
    const crn_config *config;
    const crn_values_kernels *kernels;
    crn_values_stats stats;
    bool has_background; /* among the classes: crn_scale_has_background */
    crn_log_gate fault_gate[CRN_REASONS], frozen_gate, unproven_gate, decision_gate;
} crn_values;

/* `config` must outlive it. The classes' names are its own for good. */
void crn_values_init(const crn_config *config, crn_values *ret_values);

/* The settings for the next view; the caller's. */
static inline void crn_values_use(crn_values *values, const crn_config *config)
{
    values->config = config;
}

/* Returns the function that copies maps of that type: with the
 * check, or without (ingest.values: trust). */
crn_values_copy_fn *crn_values_copier(const crn_values *values, crn_type type);

/* Samples of a view's maps, which lie apart in memory: whoever has read the maps has them in its
 * cache. */
typedef struct crn_values_sample {
    crn_scale_sums sums;
    uint64_t hash;   /* of the values, for the comparison with the views before */
    bool is_between; /* not all of these are 0 or 1 */
} crn_values_sample;

crn_values_sample crn_values_take_sample(const crn_view_header *header, const unsigned char *maps);

/* What it looks at. */
void crn_values_probe_maps(const crn_view_header *header, const unsigned char *maps,
                           crn_values_probe *ret_probe);

/* The same of what a device has read of maps in its memory. */
crn_values_sample crn_values_sample_of(const crn_view_header *header,
                                       const crn_values_probe *probe);

/* Call after the copy, with its result: sets view->values, counts and logs. `lane`: of the view's.
 * `sample` NULL: it is taken now. */
void crn_values_check(crn_values *values, crn_values_lane *lane, crn_view *view,
                      const crn_values_seen *seen, const crn_values_sample *sample);

#endif
