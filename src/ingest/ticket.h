/* Identifies a view, and says what was wrong with its values. Plain data, usable from C and C++. */
#ifndef CRN_SRC_INGEST_TICKET_H
#define CRN_SRC_INGEST_TICKET_H

#include <stdint.h>

#include "src/formats/view/reason.h"
#include "stages/base/api.h"

CRN_C_BEGIN

/* A view of an open fruit: issued by crn_fruits_arrive, stale once that fruit was judged. */
typedef struct crn_ticket {
    uint32_t fruit;  /* index in the table of open fruits */
    uint32_t serial; /* distinguishes successive fruits in that entry */
    uint32_t view;   /* index of the view within the fruit */
} crn_ticket;

/* Result of checking the values of a view's maps. */
typedef struct crn_value_fault {
    crn_view_reason reason; /* NOT_FINITE and those after it; NONE: values are valid */
    int32_t class_index;    /* the first class with a level that has such values; -1: all classes */
    uint64_t count;         /* number of such values in that class; from ALL_ZERO on: of pixels,
                               among those sampled */
} crn_value_fault;

CRN_C_END

#endif
