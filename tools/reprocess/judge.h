/*
 * Judges the recorded views of a segment as a line does that has all the time it needs: by the
 * line's own fruit table, engine, checks and packing of verdicts, on a clock that follows the
 * views' recorded arrival. So nothing in a verdict depends on the machine, or on what else runs.
 *
 * A fruit belongs to the segment in which its first view stands. Its other views are looked for in
 * the segments behind it; of those before it the headers are read, to know which fruits began
 * there.
 */
#ifndef CRN_TOOLS_REPROCESS_JUDGE_H
#define CRN_TOOLS_REPROCESS_JUDGE_H

#include "src/formats/view/wire.h"
#include "stages/config/config.h"
#include "tools/reprocess/result.h"
#include "tools/reprocess/segments.h"
#include "tools/reprocess/views_ahead.h"

/* What came of a segment; zeroed at first. */
typedef struct crn_reprocess_outcome {
    uint64_t fruits;
    uint64_t views, refused, failed; /* refused and failed ones are among the views */
    crn_wire_fault why_refused;      /* of the first one */
    crn_error damage;                /* empty: the recording was read to its end */
} crn_reprocess_outcome;

typedef struct crn_reprocess_judge crn_reprocess_judge;

/* Settings for judging: without what serves a line alone; `workers` threads for each judge. The
 * config is resolved afterwards. */
void crn_reprocess_prepare(crn_config *config, int32_t workers, int32_t cores);

/* `config` is prepared; it and `meter` must outlive the judge, which is for one thread. 0, or a
 * negative errno with one line in *error. */
int crn_reprocess_judge_create(const crn_config *config, crn_reprocess_meter *meter,
                               crn_reprocess_judge **ret_judge, crn_error *error);
void crn_reprocess_judge_free(crn_reprocess_judge **judge); /* NULL is allowed */

/* Judges the segment of that index and writes its verdicts into the result. 0, or a negative errno
 * with one line in *error: the result cannot be used. */
int crn_reprocess_judge_run(crn_reprocess_judge *judge, const crn_reprocess_segments *segments,
                            int32_t index, crn_reprocess_result *result,
                            crn_reprocess_outcome *ret_outcome, crn_error *error);

#endif
