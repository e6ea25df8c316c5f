/**
 * @file
 * The chain's result for one view. Plain data, usable from C and C++.
 */
#ifndef CRN_SRC_CHAIN_JUDGEMENT_H
#define CRN_SRC_CHAIN_JUDGEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/config/config.h"
#include "stages/base/api.h"

CRN_C_BEGIN

#define CRN_RESULT_NONE UINT32_MAX /**< handle that stands for no defects */

/** Outcome of a view that the chain finished. */
typedef struct crn_judgement {
    int64_t queue_ns; /**< from reception to its start */
    int64_t run_ns;   /**< from its start to its end, waits between the halves included */
    int64_t cost_ns;  /**< machine time it took; a device runs several views at once */
    int64_t stage_ns[CRN_STAGES_MAX]; /**< per step of the chain; 0 for a skipped one */
    uint32_t skipped;                 /**< bit per step of the chain */
    uint32_t defect_count;
    uint32_t result; /**< handle in the result store (src/publish), released by whoever publishes
                        the fruit; the chain leaves it at CRN_RESULT_NONE */
    bool truncated;
    bool on_device; /**< its enqueue halves ran on a device */
} crn_judgement;

CRN_C_END

#endif
