/* A view in the line: a pool slot's memory, what came with it, and what happened to it when. */
#ifndef CRN_VIEW_H
#define CRN_VIEW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/ingest/ticket.h"
#include "src/ingest/wire.h"

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
