/*
 * The metric families of /metrics: one table, with the rows of src/counts, from which the
 * exposition (Prometheus' text format 0.0.4) and the reference in README.md are printed. Names
 * follow Prometheus' rules: base units,
 * `_total` for counters; no label has values without bound.
 */
#ifndef CRN_SRC_MONITOR_FAMILIES_H
#define CRN_SRC_MONITOR_FAMILIES_H

#include <stdio.h>

#include "src/formats/outlets/report.h"
#include "src/http/exposition.h"
#include "src/monitor/alarms/book.h"
#include "src/service/machine.h"
#include "src/monitor/minutes/totals.h"
#include "src/monitor/drift/feed.h"
#include "src/monitor/resources/resources.h"
#include "src/monitor/snapshot.h"

CRN_C_BEGIN

/* Facts of this start. */
typedef struct crn_monitor_facts {
    const crn_config *config; /* resolved */
    const char *processor;    /* the processor's operators: "serial" or "openmp"; static */
    char run[24];             /* id of the start, as in verdicts */
    int64_t started_ns;       /* CLOCK_REALTIME, as it was set then */
    int64_t began_ns;         /* the same on CLOCK_MONOTONIC, which is never set */
} crn_monitor_facts;

/* Status codes that the server answers with. */
typedef enum crn_http_code {
    CRN_HTTP_OK,
    CRN_HTTP_BAD,
    CRN_HTTP_FORBIDDEN,
    CRN_HTTP_NOT_FOUND,
    CRN_HTTP_METHOD,
    CRN_HTTP_CONFLICT,
    CRN_HTTP_TOO_LARGE,
    CRN_HTTP_HOST,
    CRN_HTTP_UNAVAILABLE,
    CRN_HTTP_CODES,
} crn_http_code;

extern const char *const crn_http_codes[CRN_HTTP_CODES]; /* "200", "400", … */

/* Counters of the HTTP thread itself. */
typedef struct crn_http_stats {
    uint64_t responses[CRN_HTTP_CODES];
    uint64_t connections, streams; /* open now */
    uint64_t connections_dropped;  /* closed because they were idle or slow */
    uint64_t streams_dropped;      /* ended because they were not read */
} crn_http_stats;

/* All that a page is made of. */
typedef struct crn_observation {
    const crn_monitor_facts *facts;
    const crn_histogram_edges *edges; /* CRN_SCALES of them */
    const crn_snapshot *snapshot;
    const crn_snapshot *before; /* of two minutes ago, or of the start (events/history.h) */
    const crn_condition_list *conditions;
    crn_alarm_summary alarms;
    const crn_minutes_totals *totals; /* NULL: not asked for */
    crn_minutes_hour hour;            /* without a fruit: the same */
    crn_drift *drift;                 /* NULL: no fruits are compared */
    crn_machine machine;
    crn_resource_disk disks[CRN_RESOURCE_DISKS];
    crn_http_stats http;
    const crn_outlet_report *sorter; /* NULL: none reports */
    int64_t now_ns;
} crn_observation;

/* The name of what ran views on this side; NULL: nothing does. */
const char *crn_observation_backend(const crn_observation *observation, crn_side side);

/* latency.budget_ms in force. */
int64_t crn_observation_budget_ms(const crn_observation *observation);

typedef struct crn_family crn_family;

/* Prints the samples of a family; none if it does not apply. */
typedef void crn_family_samples(const crn_family *family, const crn_observation *observation,
                                FILE *out);

/* What a count says of the line's health. */
typedef enum crn_loss_kind {
    CRN_LOSS_NONE,    /* nothing */
    CRN_LOSS_LOST,    /* a view, verdict or copy was lost or came too late */
    CRN_LOSS_REFUSED, /* the same, of messages that were refused */
    CRN_LOSS_NOTICE,  /* out of the ordinary; the line coped with it */
} crn_loss_kind;

/* Counts by the reasons of another table; their names in the log are those of that table. */
typedef enum crn_loss_group {
    CRN_LOSSES_NONE,
    CRN_LOSSES_REFUSED,
    CRN_LOSSES_ELSEWHERE,
    CRN_LOSSES_CUTS,
    CRN_LOSSES_ACCESS,
    CRN_LOSSES_VALUES,
} crn_loss_group;

/* A family of /metrics, a sample of such a family, or a count that appears in the log alone. */
struct crn_family {
    const char *name; /* NULL: not a family */
    crn_family_type type;
    const char *labels; /* names of its labels, separated by ", "; "" for none */
    const char *help;
    crn_family_samples *samples;
    size_t offset; /* of the value, for the functions that need one */

    const char *sample_of, *value; /* of a sample: its family, and the value of that one's label */

    crn_loss_kind loss;
    const char *log; /* name of the loss in the log; NULL: not there */
    const char *hint;
    crn_view_reason reason; /* whose hint it has, or CRN_REASON_NONE */
    const char *about;      /* for the log's reference; NULL: `help` says it */
    size_t log_offset;      /* of the count in crn_metrics */
    crn_loss_group group;   /* other losses, which the log names here */
};

/* In the order in which the log names them. */
extern const crn_family crn_counts[];
extern const int crn_counts_count;

/* Sum over the samples of a counter whose rows lie among the metrics. */
uint64_t crn_counts_sum(const char *family, const crn_metrics *metrics);

/* The family behind that one, the first for NULL; NULL behind the last. */
const crn_family *crn_families_next(const crn_family *family);

/* Prints HELP, TYPE and samples of every family. */
void crn_families_print(const crn_observation *observation, FILE *out);

/* Prints the table of README.md. */
void crn_families_print_reference(FILE *out);

CRN_C_END

#endif
