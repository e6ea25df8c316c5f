/* A view in the line: a pool slot's memory, what came with it, and what happened to it when. */
#ifndef CRN_VIEW_H
#define CRN_VIEW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/wire.h"

/* Which view of which open fruit: given by crn_fruits_arrive, and stale once that fruit was judged.
 */
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

typedef struct crn_view {
    uint32_t slot; /* its place in the pool */
    crn_ticket ticket;
    crn_view_header header;
    crn_value_fault values;
    unsigned char *maps;      /* the tensor as it came, 64-byte aligned; the pool's */
    unsigned char *intensity; /* behind it; NULL without */
    int64_t received_ns;
    int64_t deadline_ns;   /* what remains is measured against this; set when it is handed to the
                              engine */
    atomic_bool cancelled; /* its fruit was judged: a worker that has not begun leaves it */
} crn_view;

#endif
