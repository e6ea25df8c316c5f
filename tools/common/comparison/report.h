/*
 * The report of two runs: report.html with the fruits that changed most drawn with both verdicts'
 * contours, fruits.csv, report.json. The files appear complete, or not at all and the former ones
 * stay. Memory does not grow with the number of fruits.
 */
#ifndef CRN_TOOLS_COMMON_COMPARISON_REPORT_H
#define CRN_TOOLS_COMMON_COMPARISON_REPORT_H

#include "stages/base/error.h"
#include "tools/common/comparison/changes.h"
#include "tools/common/drawing/photo.h"

typedef struct crn_comparison_report crn_comparison_report;

typedef struct crn_comparison_settings {
    const char *dir;                    /* of the report; made if it is missing */
    const char *run[CRN_COMPARED_RUNS]; /* what the runs are called: the folders of their logs */
    double tolerance_px;                /* of areas, see crn_fruit_change_find */
    const crn_texts *outlets;           /* their names; NULL: outlets are not decided */
} crn_comparison_settings;

/* Before long work: makes the folder and begins the files. The settings' texts must outlive the
 * report. 0, or a negative errno with one line in *error. */
int crn_comparison_report_open(const crn_comparison_settings *settings,
                               crn_comparison_report **ret_report, crn_error *error);

/* Which fruit two verdicts are on, by how many differences of any sort the caller told them apart
 * (0: they are equal), and to which outlets they send it. */
typedef struct crn_comparison_key {
    uint64_t lane, epoch, fruit, differences;
    int32_t outlet[CRN_COMPARED_RUNS]; /* CRN_NO_OUTLET: not decided. Not looked at without names */
} crn_comparison_key;

/* Adds a fruit; NULL: that run has no verdict on it. A verdict that cannot be decoded is counted,
 * and its fruit is not compared. 0, or a negative errno with one line in *error. */
int crn_comparison_report_add(crn_comparison_report *report, const crn_comparison_key *key,
                              const crn_messagepack_json *before, const crn_messagepack_json *after,
                              crn_error *error);

/* Counts a further verdict of a run on a fruit that was added: it is not compared. */
void crn_comparison_report_second(crn_comparison_report *report);

/* The photograph of a view, with pixels of malloc(), which the report frees; zeroed: there is none.
 * Fruits are asked for in the order in which they were added. */
typedef crn_photo crn_comparison_find_photo(void *context, const crn_worst_fruit *fruit,
                                            uint64_t view);

/* Draws, and writes the files. `find` NULL: there are no photographs. 0, or a negative errno with
 * one line in *error: none of the files is there then, or only some of them. */
int crn_comparison_report_finish(crn_comparison_report *report, crn_comparison_find_photo *find,
                                 void *context, crn_error *error);

/* Also before it was finished: it leaves nothing then but the folder. NULL is allowed. */
void crn_comparison_report_free(crn_comparison_report **report);

#endif
