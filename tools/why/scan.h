/* Reads a log's verdicts, without their defects, and sums up what the log covers. */
#ifndef CRN_TOOLS_WHY_SCAN_H
#define CRN_TOOLS_WHY_SCAN_H

#include <stdio.h>

#include "src/formats/verdict_log/reader.h"
#include "src/formats/verdict/decode.h"
#include "tools/common/verdicts/sequence_check.h"

#define CRN_COVERAGE_LANES 16 /* named individually */

/* What was read so far. */
typedef struct crn_coverage {
    uint64_t verdicts;
    uint64_t first_ns, last_ns; /* published_ns, CLOCK_REALTIME; the earliest and the latest */
    uint64_t lanes[CRN_COVERAGE_LANES];
    uint32_t lane_count; /* of these */
    int64_t longest_ns;  /* longest life of a fruit, from its first reception to its verdict */
} crn_coverage;

typedef struct crn_scan {
    crn_verdict_reader *reader;
    crn_sequence_check *sequences;
    crn_coverage coverage;
} crn_scan;

/* 0, or a negative errno with one line in *error. crn_scan_close frees it in any case. */
int crn_scan_open(crn_scan *ret_scan, const char *dir, crn_error *error);
void crn_scan_close(crn_scan *scan);

/*
 * The next verdict, owned by the caller: 1, or 0 at the end. A negative errno, with one line in
 * *error, is a notice: something was skipped that cannot be read, and the next call goes on.
 */
int crn_scan_next(crn_scan *scan, crn_decoded **ret_verdict, crn_error *error);

/* "1234 verdicts of 2 runs on lanes 0, 1, from 2026-11-23 01:12:03 to 04:05:06; 3 are missing" */
void crn_coverage_print(const crn_scan *scan, FILE *out);

/* "2026-11-23 01:12:03.123", local time. */
#define CRN_TIME_TEXT_BYTES 32
void crn_time_text(uint64_t realtime_ns, char text[CRN_TIME_TEXT_BYTES]);

#endif
