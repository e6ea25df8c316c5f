/* cernita-replay --report: the photographs of a report of two runs are those of the recordings. */
#ifndef CRN_TOOLS_REPLAY_EXPECT_REPORT_H
#define CRN_TOOLS_REPLAY_EXPECT_REPORT_H

#include "tools/common/comparison/report.h"
#include "tools/replay/schedule.h"

/* Draws and writes the report; the schedule is read for it. 0, or a negative errno with *error. */
int crn_expect_report_finish(crn_comparison_report *report, crn_replay_schedule *schedule,
                             crn_error *error);

#endif
