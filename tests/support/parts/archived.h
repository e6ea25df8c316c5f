/* A log of made-up verdicts and its archive, for tests; on the folder of logged.h. */
#ifndef CRN_TESTS_SUPPORT_ARCHIVED_H
#define CRN_TESTS_SUPPORT_ARCHIVED_H

#include <stdbool.h>
#include <stdint.h>

#include "src/formats/encoding/encoder.h"
#include "src/formats/verdict_log/writer.h"
#include "tests/support/parts/made_verdict.h"
#include "tools/archive/import.h"

#define CRN_ARCHIVED_RUN   "18a1b2c3d4e5f607"
#define CRN_ARCHIVED_LANES 3

/* The archive of logged_folder; set up with logged_setup. */
extern char archived_path[];
int archived_setup(void **state);

/* Appends verdicts of all lanes in turn, as the lanes' sequences go on, with `writer`, or in a new
 * segment, or several, of so many bytes; their sums are added up. */
typedef struct archived_line {
    crn_random random;
    crn_verdict_writer *writer; /* NULL: made for each call */
    uint32_t lanes;             /* 0: CRN_ARCHIVED_LANES */
    const char *run;            /* NULL: CRN_ARCHIVED_RUN */
    uint64_t verdicts;          /* so far */
    crn_made_sums sums;
} archived_line;
void archived_write(archived_line *line, crn_format format, uint64_t segment_bytes,
                    uint64_t verdicts);

/* Opens the archive, imports to the log's end, with `follow` looks there twice again, and closes.
 * The result of the step that failed, with *ret_error, or 0. Notices are kept below. */
int archived_import(bool follow, crn_intake_stats *ret_stats, crn_error *ret_error);
extern char archived_notice[1024]; /* the last one of that import; empty: none */
extern int archived_notices;       /* number of that import's */

/* The same, and it has to succeed with so many new verdicts, none of them known. */
void archived_expect_added(uint64_t added);

/* A number that SQL answers; the test fails at an error. */
double archived_ask(const char *sql);

/* The integrity check, and all sums. */
void archived_expect_sums(const crn_made_sums *sums);

/* The sums of another archive, of which `ask` answers as archived_ask does. */
void archived_expect_sums_of(double (*ask)(const char *sql), const crn_made_sums *sums);

#endif
