/* Which outlets the fruits of two runs go to, counted. */
#ifndef CRN_TOOLS_COMMON_COMPARISON_OUTLET_CHANGES_H
#define CRN_TOOLS_COMMON_COMPARISON_OUTLET_CHANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/common/outlets/outlets.h"

typedef struct crn_outlet_changes {
    uint64_t fruits[CRN_OUTLETS_MAX][CRN_OUTLETS_MAX]; /* [outlet before][after] */
    uint64_t differ;                                   /* the sum beside the diagonal */
} crn_outlet_changes;

/* Adds a fruit; both are indexes of outlets. True if they differ. */
static inline bool crn_outlet_changes_add(crn_outlet_changes *changes, const int32_t outlet[2])
{
    bool differs = outlet[0] != outlet[1];
    changes->fruits[outlet[0]][outlet[1]]++;
    changes->differ += differs;
    return differs;
}

#endif
