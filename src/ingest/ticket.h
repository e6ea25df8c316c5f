/* A view by name, and why it was not judged, or not judged whole. Plain data, in C and in C++. */
#ifndef CRN_SRC_INGEST_TICKET_H
#define CRN_SRC_INGEST_TICKET_H

#include <stdint.h>

#include "stages/base/cplusplus.h"

CRN_C_BEGIN

/* Which view of which open fruit: given by
 * crn_fruits_arrive, and stale once that fruit was judged. */
typedef struct crn_ticket {
    uint32_t fruit;  /* place in the table of open fruits */
    uint32_t serial; /* tells the fruits apart that stood in this place */
    uint32_t view;   /* index of the view within the fruit */
} crn_ticket;

/* Why a view was not judged, or not judged whole. CRN_REASON_NONE is 0. */
typedef enum crn_view_reason {
    CRN_REASON_NONE,
    CRN_REASON_NO_SLOT,      /* no slot was free, or a view of more worth took its slot */
    CRN_REASON_DISCARDED,    /* could not have finished in time */
    CRN_REASON_UNFINISHED,   /* its time ran out while it ran */
    CRN_REASON_FAILED,       /* the chain reported an error */
    CRN_REASON_DEVICE_LOST,  /* its maps were on a device that was lost */
    CRN_REASON_NOT_FINITE,   /* a class with a level holds NaN or infinity */
    CRN_REASON_OUT_OF_RANGE, /* a class with a level holds values that are no probabilities */
    CRN_REASON_MASK_VALUES,  /* a u8 view of zeros and ones: a mask, where 255 is certainty */
    CRN_REASONS,
} crn_view_reason;

/* "", "no_slot", "discarded", …: as verdicts and counters name them. */
extern const char *const crn_view_reason_names[CRN_REASONS];

/* What is wrong with the values of a view's maps. */
typedef struct crn_value_fault {
    crn_view_reason reason; /* NOT_FINITE, OUT_OF_RANGE, MASK_VALUES, or NONE: nothing is wrong */
    int32_t class_index;    /* the first class with a level that has such values; -1: all classes */
    uint64_t count;         /* such values in that class */
} crn_value_fault;

CRN_C_END

#endif
