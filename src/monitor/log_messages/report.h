/*
 * What the log says of the line as a whole: rates and latency once a minute, totals at the stop.
 *
 * A minute with fruits is one line at level info: rates, verdicts, latency against the budget,
 * verdicts that wait for the grader. What was lost in it is a second line, a warning, and what else
 * was out of the ordinary a third. A line without fruits or views is reported after one minute and
 * then every hour.
 */
#ifndef CRN_SRC_MONITOR_LOG_MESSAGES_REPORT_H
#define CRN_SRC_MONITOR_LOG_MESSAGES_REPORT_H

#include <stdint.h>

#include "src/monitor/metrics.h"

/* State of the last report. Used by one thread. */
typedef struct crn_report {
    crn_metrics metrics;
    int64_t at_ns;
    int64_t busy_ns; /* of the last report with fruits or views, or the start */
    uint64_t idle;   /* reports since then */
} crn_report;

/* The first report covers the time from now. */
void crn_report_begin(crn_report *report, const crn_metrics *metrics, int64_t now_ns);

/* Logs what happened since the last report. now_ns is CLOCK_MONOTONIC. */
void crn_report_log(crn_report *report, const crn_metrics *metrics, int64_t now_ns);

/* Logs the totals since the start. */
void crn_report_log_totals(const crn_metrics *metrics);

#endif
