/**
 * @file
 * The chain's result for one view. Plain data, usable from C and C++.
 */
#ifndef CRN_STAGES_CHAIN_JUDGEMENT_H
#define CRN_STAGES_CHAIN_JUDGEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/config/config.h"
#include "stages/base/api.h"

CRN_C_BEGIN

#define CRN_RESULT_NONE UINT32_MAX /**< handle that stands for no defects */

/** Where a view ran. */
typedef struct crn_run_place {
    int16_t worker; /**< that ran it, or its finish halves */
    int16_t device; /**< that ran its enqueue halves; only if on_device, as what follows */
    int16_t stream; /**< of that device */
    int16_t batch;  /**< number of views that ran with it */
} crn_run_place;

/** Outcome of a view that the chain finished. */
typedef struct crn_judgement {
    int64_t queue_ns;    /**< from reception to its start */
    int64_t run_ns;      /**< from its start to its end, waits between the halves included */
    int64_t cost_ns;     /**< machine time it took; a device runs several views at once */
    int64_t optional_ns; /**< of cost_ns, by steps that are skipped where time is short */
    int64_t stage_ns[CRN_STAGES_MAX]; /**< per step of the chain; 0 for a skipped one */
    int64_t finish_ns; /**< from its start to its finish halves, which follow the enqueue halves */
    int64_t stage_finish_ns[CRN_STAGES_MAX]; /**< of stage_ns, the finish half */
    int64_t pose_ns;  /**< of run_ns, where the view shows the fruit (src/surface); the chain leaves
                         it at 0 */
    uint32_t skipped; /**< bit per step of the chain */
    uint32_t defect_count;
    uint32_t result; /**< handle in the result store (src/publish), released by whoever publishes
                        the fruit; the chain leaves it at CRN_RESULT_NONE */
    bool truncated;
    bool on_device; /**< its enqueue halves ran on a device */
    crn_run_place place;
} crn_judgement;

CRN_C_END

#endif
