/* A view in a slot: its memory, its header, and the times of its processing. */
#ifndef CRN_SRC_INGEST_VIEW_H
#define CRN_SRC_INGEST_VIEW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "stages/chain/chain.h"
#include "src/ingest/ticket.h"
#include "src/formats/view/wire.h"
#include "stages/openmp/values.h"

/* Where a view lies in the memory of a GPU. Its maps and intensity part in host memory are then
 * copies, and not there until something has needed them. */
typedef struct crn_view_on_gpu {
    const unsigned char *maps; /* the device's memory, the intensity part behind; NULL: it does not
                                  lie there */
    void *signal;              /* crn_gpu.signal_query: 0 once its producer has written it */
    int32_t device;            /* number */
    atomic_bool is_copied;     /* `maps` and `intensity` of the view are there */
} crn_view_on_gpu;

typedef struct crn_view {
    uint32_t slot; /* index in the pool, or behind those of the pool in the rings (slots.h) */
    crn_ticket ticket;
    const crn_config *config; /* the settings that its fruit is judged by; NULL: the start's */
    crn_view_header header;
    uint64_t epoch; /* of its fruit, the header's unless several senders are joined */
    crn_value_fault values;
    /* How the worker is to check the values if the chain does not (crn_chain_input.watch), and what
     * was seen; NULL: they were checked at the view's arrival. */
    crn_values_copy_fn *check;
    crn_values_seen seen;
    unsigned char
        *maps; /* the tensor as received, 64-byte aligned; owned by the pool or the ring */
    unsigned char *intensity; /* lies behind the maps; NULL for none */
    crn_view_on_gpu gpu;
    int64_t received_ns;
    int64_t deadline_ns; /* time by which it must finish; set when it is submitted to the engine */
    atomic_bool cancelled; /* its fruit was judged: a worker that has not started it skips it */
    bool in_ring;          /* in a producer's ring, not in the pool */
    bool set_aside;        /* the pool's */
    bool keep_maps;        /* its fruit has its verdict, and its maps are to be kept */
    bool record_maps;      /* they are to be recorded, and the recorder was not yet asked to */
    bool is_lent;          /* the recorder reads them */
    bool is_left;          /* meanwhile its fruit has no more use for the slot */
} crn_view;

/* True if its maps are in host memory. */
static inline bool crn_view_has_maps(const crn_view *view)
{
    return !view->gpu.maps || atomic_load_explicit(&view->gpu.is_copied, memory_order_acquire);
}

/* The view as input of the chain: images over its memory. */
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
