/*
 * The check of a view's values: which maps cannot be probabilities, and whether the CNN still
 * works. A view that fails is judged all the same, but its fruit is at best partial.
 *
 * f16 and f32: the first class with a level that holds NaN or infinity (not_finite), or else
 * numbers outside -0.001 to 1.001 (out_of_range); a class that holds both is not_finite. What
 * classes without a level hold does not matter, as nothing is outlined there. u8: a view whose
 * greatest value, all classes together, is 1 is taken for a mask of zeros and ones (mask_values):
 * 255 is certainty.
 *
 * A CNN that hangs, or a sender that sends an old buffer: CRN_VALUES_FROZEN_VIEWS views of a lane
 * in a row whose samples (64 values, spread over the picture and the classes) are the same, and not
 * all of them 0 or 1, as an empty belt's may be. That is logged and counted; verdicts do not
 * change.
 *
 * The quick check is done while the maps are copied (stages/openmp/values/values.h), everything
 * else here only where that fires. No memory, no clock but the log's; one thread owns it.
 */
#ifndef CRN_SRC_FRUIT_VALUES_H
#define CRN_SRC_FRUIT_VALUES_H

#include "stages/base/log.h"
#include "src/config/config.h"
#include "src/fruit/lane.h"
#include "src/ingest/view.h"
#include "stages/openmp/values/values.h"

#define CRN_VALUES_SAMPLES      64
#define CRN_VALUES_FROZEN_VIEWS 10

typedef struct crn_values_stats {
    uint64_t faulty[CRN_REASONS]; /* views, by the reason why their values are none */
    uint64_t frozen;              /* views like the nine or more of their lane before */
} crn_values_stats;

typedef struct crn_values {
    const crn_config *config;
    const crn_values_kernels *kernels;
    crn_values_stats stats;
    crn_log_gate fault_gate[CRN_REASONS], frozen_gate;
} crn_values;

/* `config` outlives it. */
void crn_values_init(const crn_config *config, crn_values *ret_values);

/* How maps of that type are copied: checked, or (ingest.values) not. */
crn_values_copy_fn *crn_values_copier(const crn_values *values, crn_type type);

/* After the copy, which said whether the maps need
 * a closer look: sets view->values, counts, logs. */
void crn_values_check(crn_values *values, crn_lane *lane, crn_view *view, bool suspect);

#endif
