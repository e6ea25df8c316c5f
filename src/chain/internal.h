/* A chain's parts: of one that the engine creates, and of one that a program opens with cernita.h.
 */
#ifndef CRN_SRC_CHAIN_INTERNAL_H
#define CRN_SRC_CHAIN_INTERNAL_H

#include "gpu/gpu.h"
#include "src/chain/chain.h"

/* What crn_chain_open() adds. */
typedef struct crn_chain_opened {
    crn_config config;
    crn_context *callers; /* context: has the backend, and takes the text of errors */
    crn_defects defects;  /* with arrays as large as the file's limits allow */
    /* On a device alone. The chain itself then runs the finish halves, in a context of its own. */
    const crn_gpu *gpu;
    crn_job *job; /* pinned, as the device writes into it; so are the arrays of its contours */
    void *maps;   /* pinned: the view's maps for the finish halves */
    size_t maps_bytes;
} crn_chain_opened;

struct crn_chain {
    const crn_config *config;
    const crn_ops *ops;
    bool shares_context, shares_contours; /* these are another's */
    crn_context *context;
    crn_contours contours;
    crn_recent recent[CRN_STAGES_MAX];
    crn_chain_opened *opened; /* NULL: crn_chain_create */
};

/* crn_chain_create() in a context of the caller's, which must outlive the chain. */
int crn_chain_create_in(const crn_config *config, const crn_ops *ops, crn_context *context,
                        crn_chain **ret_chain);

/* NULL is allowed. */
void crn_chain_opened_free(crn_chain_opened **opened);

/* Device part of crn_chain_open(): what has to be pinned. 0 or -ENOMEM; crn_chain_opened_free()
 * frees it in any case. */
int crn_chain_open_device(crn_chain_opened *opened);
void crn_chain_close_device(crn_chain_opened *opened);

/* crn_chain_judge() on maps in device memory. */
int crn_chain_judge_device(crn_chain *chain, const crn_chain_input *input);

#endif
