/*
 * The chain of stages on one view: all enqueues, then all finishes, each timed and counted here and
 * nowhere else. A chain is one worker's: scratch memory, the operators' results, what each step
 * cost of late.
 */
#ifndef CRN_CHAIN_H
#define CRN_CHAIN_H

#include "src/config.h"
#include "src/fruit.h"
#include "src/view.h"

typedef struct crn_chain crn_chain;

/* `config` (resolved) and `ops` outlive the chain. 0 or negative errno. */
int crn_chain_create(const crn_config *config, const crn_ops *ops, crn_chain **ret_chain);
void crn_chain_free(crn_chain **chain);

/*
 * Runs every step. `defects` (the caller's arrays) is written from the start; *ret_judgement gets
 * times, skipped steps, defect count and truncation; its `result` is left at CRN_STORE_NONE. A step
 * marked optional is skipped when the time to view->deadline_ns is less than its recent p99. 0, or
 * the negative errno of the step that failed.
 */
int crn_chain_run(crn_chain *chain, const crn_view *view, crn_defects *defects,
                  crn_judgement *ret_judgement);

/* Bytes that one chain reserves for results, for the memory that --check tells. */
size_t crn_chain_bytes(const crn_config *config);

/* Bytes of the results that the limits allow one view: defects, points, textures. */
size_t crn_chain_view_bytes(const crn_config *config);

#endif
