/* What the chain says of a view. Plain data, in C and in C++. */
#ifndef CRN_SRC_CHAIN_JUDGEMENT_H
#define CRN_SRC_CHAIN_JUDGEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/config/config.h"
#include "stages/base/cplusplus.h"

CRN_C_BEGIN

#define CRN_RESULT_NONE UINT32_MAX /* the handle of no defects */

/* What became of a view that the chain finished. */
typedef struct crn_judgement {
    int64_t queue_ns;                 /* from reception to its start */
    int64_t run_ns;                   /* from its start to its end, waits between halves included */
    int64_t cost_ns;                  /* what it cost the machine; a device does several at once */
    int64_t stage_ns[CRN_STAGES_MAX]; /* one per step of the chain; 0 for a skipped one */
    uint32_t skipped;                 /* bit per step of the chain */
    uint32_t defect_count;
    uint32_t result; /* handle in the store of results (src/publish), which whoever judges the fruit
                        gives back; the chain leaves it at CRN_RESULT_NONE */
    bool truncated;
    bool on_device; /* its enqueue halves ran on a device */
} crn_judgement;

CRN_C_END

#endif
