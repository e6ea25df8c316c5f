/*
 * What workers make of a view besides the chain's results, and how it becomes a judgement whose
 * defects are in the result store: for the line, and for cernita-reprocess, whose verdicts are to
 * be the line's.
 */
#ifndef CRN_SRC_LINE_OUTPUTS_H
#define CRN_SRC_LINE_OUTPUTS_H

#include "src/engine/worker.h"
#include "src/fruit/values/values.h"
#include "src/publish/result_store.h"

/* For crn_engine_open: packs the defects, finds the view's part in the fruit's measures, and
 * samples its values while they are in the cache. */
extern const crn_output_hook crn_line_hook;

/* What the worker sampled, of an output whose view has a `check`. */
const crn_values_sample *crn_line_sample(const crn_output *output);

/* The judgement of an output whose status is 0, with its result in the store; truncated, and
 * without a result, if that is full. */
crn_judgement crn_line_keep(crn_result_store *store, const crn_output *output);

/* Bytes of a result store for that many open fruits. */
size_t crn_line_store_bytes(const crn_config *config);

#endif
