/*
 * The verdicts of a log by the fruits that they are on, and the epochs of a recorded run.
 *
 * The recorded run is either the one that was recorded, with the recordings' own epochs, or a
 * replay of them: it gives its views epochs of its own, in order, so the n-th epoch of a replay
 * stands for the n-th of the recordings.
 */
#ifndef CRN_TOOLS_COMMON_VERDICTS_LOG_FRUITS_H
#define CRN_TOOLS_COMMON_VERDICTS_LOG_FRUITS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "src/formats/encoding/messagepack_json.h"
#include "src/formats/verdict_log/reader.h"
#include "stages/base/error.h"

/* What a verdict says whose it is. */
typedef struct crn_log_fruit {
    uint64_t lane, epoch, fruit;
} crn_log_fruit;

/* For each verdict of a log; negative errno: stop. */
typedef int crn_log_visitor(void *context, const crn_log_fruit *fruit,
                            const crn_messagepack_json *verdict, const crn_logged_verdict *logged);

/* All verdicts of a folder, from a segment on. What cannot be read whole is told, unless `tell` is
 * NULL, and passed over: its fruit then has no verdict. 0, or a negative errno with *error. */
int crn_log_visit(const char *dir, uint64_t start, crn_log_visitor *visit, void *context,
                  FILE *tell, crn_error *error);

/* The epochs of a log, and those of the recordings, which are the caller's. */
typedef struct crn_log_epochs {
    const uint64_t *recorded;
    uint32_t recorded_count;
    uint64_t *logged; /* ascending once all are added and sorted */
    size_t logged_count;
    bool as_recorded; /* the log has epochs of the recordings */
} crn_log_epochs;

/* 0 or -ENOMEM. */
int crn_log_epochs_add(crn_log_epochs *epochs, uint64_t epoch);
void crn_log_epochs_sort(crn_log_epochs *epochs);
void crn_log_epochs_done(crn_log_epochs *epochs);

/* The index among the recordings' epochs; false if the recordings do not have it. */
bool crn_log_epochs_find(const crn_log_epochs *epochs, uint64_t epoch, size_t *ret_index);

#endif
