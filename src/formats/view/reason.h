/* Why a view was not judged, or not completely. Usable from C and C++. */
#ifndef CRN_SRC_FORMATS_VIEW_REASON_H
#define CRN_SRC_FORMATS_VIEW_REASON_H

#include "stages/base/api.h"

CRN_C_BEGIN

/* CRN_REASON_NONE is 0. */
typedef enum crn_view_reason {
    CRN_REASON_NONE,
    CRN_REASON_NO_SLOT,      /* no slot was free, or its slot went to a view of higher priority */
    CRN_REASON_DISCARDED,    /* could not have finished in time */
    CRN_REASON_UNFINISHED,   /* its time ran out while it ran */
    CRN_REASON_FAILED,       /* the chain returned an error */
    CRN_REASON_DEVICE_LOST,  /* its maps were on a device that was lost */
    CRN_REASON_NOT_FINITE,   /* a class with a level holds NaN or infinity */
    CRN_REASON_OUT_OF_RANGE, /* a class with a level holds values that are not probabilities */
    CRN_REASON_MASK_VALUES, /* a u8 view of zeros and ones: a mask, where 255 means probability 1 */
    /* The values of a pixel have to sum to 1 (ingest.sum), and do not: */
    CRN_REASON_ALL_ZERO, /* the whole view is 0 */
    CRN_REASON_DIVIDED,  /* f16 or f32: they sum to 1/255 */
    CRN_REASON_LABELS,   /* u8: small numbers, as of class labels or of masks */
    CRN_REASON_PER_CENT, /* u8: they sum to 100 */
    CRN_REASON_WRONG_SUM,
    CRN_REASONS,
} crn_view_reason;

/* "", "no_slot", "discarded", …: as in verdicts and counters. */
extern const char *const crn_view_reason_names[CRN_REASONS];

CRN_C_END

#endif
