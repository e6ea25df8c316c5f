/* A chain's parts: of one that the engine creates, and of one that a program opens with cernita.h.
 */
#ifndef CRN_STAGES_CHAIN_INTERNAL_H
#define CRN_STAGES_CHAIN_INTERNAL_H

#include "gpu/gpu.h"
#include "stages/chain/chain.h"

/* How the finish halves read maps on a device, and pinned memory for what they exchange with it. */
typedef struct crn_chain_device {
    crn_job_device job; /* first: the stages know no more of it */
    const crn_gpu *gpu;
    struct {
        void *memory;
        size_t bytes;
    } shared[CRN_SCRATCH_SLOTS];
} crn_chain_device;

/* What crn_chain_open() adds. */
typedef struct crn_chain_opened {
    crn_config config;
    crn_context *callers; /* context: has the backend, and takes the text of errors */
    crn_defects defects;  /* with arrays as large as the file's limits allow */
    /* On a device alone. The chain itself then runs the finish halves, in a context of its own. */
    const crn_gpu *gpu;
    crn_job *job; /* pinned, as the device writes into it; so are the arrays of its contours */
    crn_chain_device device;
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

/* Changes a config as loaded: its recipe, its levels; settings may be NULL. 0 or negative errno
 * with *error; the config then stays one for crn_config_done(). `path` is for messages. */
int crn_chain_use_settings(const crn_chain_settings *settings, const char *path, crn_config *config,
                           crn_error *error);

/* NULL is allowed. */
void crn_chain_opened_free(crn_chain_opened **opened);

/* Device part of crn_chain_open(): what has to be pinned. 0 or -ENOMEM; crn_chain_opened_free()
 * frees it in any case. */
int crn_chain_open_device(crn_chain_opened *opened);
void crn_chain_close_device(crn_chain_opened *opened);

/* The finish halves on maps that lie on a device, and on all contours that it found there. */
int crn_chain_finish_there(crn_chain *chain, const crn_chain_input *input,
                           const crn_contours *contours, crn_job_device *device,
                           crn_defects *defects);

/* crn_chain_judge() on maps in device memory. */
int crn_chain_judge_device(crn_chain *chain, const crn_chain_input *input);

#endif
