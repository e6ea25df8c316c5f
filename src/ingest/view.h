/* A view in the line: a pool slot's memory, what came with it, and what happened to it when. */
#ifndef CRN_SRC_INGEST_VIEW_H
#define CRN_SRC_INGEST_VIEW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/chain/chain.h"
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

/* The view as the chain sees it: images over its memory. */
static inline crn_chain_input crn_view_input(const crn_view *view)
{
    const crn_view_header *header = &view->header;
    int32_t channels = (int32_t)header->channels, height = (int32_t)header->height,
            width = (int32_t)header->width;
    crn_chain_input input = {
        .maps = crn_image_dense(view->maps, header->type, header->layout, channels, height, width),
        .received_ns = view->received_ns,
        .deadline_ns = view->deadline_ns,
        .cancelled = &view->cancelled};
    if (view->intensity)
        input.intensity = crn_image_dense(view->intensity, CRN_U8, CRN_CHW, 1, height, width);
    return input;
}

#endif
