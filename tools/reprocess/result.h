/*
 * The result of a segment: a segment of a verdict log (src/formats/verdict_log), which appears
 * whole and synced, or not at all. Two processes that write it at the same time write the same
 * bytes.
 */
#ifndef CRN_TOOLS_REPROCESS_RESULT_H
#define CRN_TOOLS_REPROCESS_RESULT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stages/base/file/new_file.h"
#include "tools/reprocess/segments.h"

typedef struct crn_reprocess_result {
    char path[PATH_MAX];
    crn_new_file file;
    uint64_t verdicts;
} crn_reprocess_result;

/* `begun_ns`: for the log's header. The result must stay where it is until it is finished or
 * dropped. 0, or a negative errno with one line in *error, as do all of these. */
int crn_reprocess_result_open(const char *dir, int32_t number, uint64_t begun_ns,
                              crn_reprocess_result *ret_result, crn_error *error);

int crn_reprocess_result_add(crn_reprocess_result *result, uint32_t lane, const void *verdict,
                             size_t size, crn_error *error);

/* `again`: something was wrong with the recording, and the next run is to look at it again
 * (crn_reprocess_result_is_there). */
int crn_reprocess_result_finish(crn_reprocess_result *result, bool again, crn_error *error);

/* Leaves no file; also after it was finished. */
void crn_reprocess_result_drop(crn_reprocess_result *result);

/* True if the segment of that index has a result that is newer than its recording and those beside
 * it, whose views may belong to its fruits. */
bool crn_reprocess_result_is_there(const char *dir, const crn_reprocess_segments *segments,
                                   int32_t index);

#endif
