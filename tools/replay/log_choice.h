/* The fruits of the recordings whose verdicts in a log were late, partial or over budget. */
#ifndef CRN_TOOLS_REPLAY_LOG_CHOICE_H
#define CRN_TOOLS_REPLAY_LOG_CHOICE_H

#include "tools/replay/filter.h"

typedef struct crn_log_choice {
    crn_replay_fruit *fruits; /* sorted; epoch: index among the recordings' */
    size_t count;
} crn_log_choice;

/*
 * Reads filter->log. `epochs` are those of the recordings. Of a log of replays, whose epochs are
 * others, those of the last one count. Notices are printed to stderr. 0, or a negative errno with
 * *error; -ENODATA: the log has no such verdict.
 */
int crn_log_choice_read(const crn_replay_filter *filter, const uint64_t *epochs, uint32_t count,
                        crn_log_choice *ret_choice, crn_error *error);
void crn_log_choice_done(crn_log_choice *choice);

bool crn_log_choice_has(const crn_log_choice *choice, uint32_t lane, uint32_t epoch_index,
                        uint64_t fruit);

#endif
