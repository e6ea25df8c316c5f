/*
 * What was decided about each fruit, and how it ended with those that are fired, in a log for
 * cernita-archive (src/formats/outcomes). It is written in the background: a slow, full or missing
 * disk costs entries, which are counted, and never time of a decision.
 */
#ifndef CRN_TOOLS_SORTER_OUTPUTS_OUTCOME_LOG_H
#define CRN_TOOLS_SORTER_OUTPUTS_OUTCOME_LOG_H

#include "src/recorder/verdict_log.h"
#include "tools/sorter/decide/decider.h"
#include "tools/sorter/firing/firing.h"

typedef struct crn_outcome_log crn_outcome_log;

/* Opens the log of outputs.log; `run` identifies this start of the sorter. A folder that cannot be
 * written is told, and each outcome counts as failed: fruits are sorted without it. 0 or -ENOMEM.
 */
int crn_outcome_log_open(const crn_sorter_settings *settings, const char *run,
                         crn_outcome_log **ret_log, crn_error *error);

/* Writes what waits; NULL is allowed. */
void crn_outcome_log_close(crn_outcome_log **log);

/* Appends a decision about fruits; those of silence, which are about lanes, are passed over. */
void crn_outcome_log_add(crn_outcome_log *log, const crn_decision *decision, const char *outlet);

/* Appends how it ended with a fruit whose decision was added. */
void crn_outcome_log_add_result(crn_outcome_log *log, const crn_firing_key *key,
                                crn_firing_result result);

crn_verdict_log_stats crn_outcome_log_get_stats(const crn_outcome_log *log);

#endif
