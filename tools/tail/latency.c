#include "tools/tail/latency.h"
#include "stages/base/buffer/array.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct latency_samples {
    char name[CRN_DECODED_TEXT_BYTES];
    double *ms;     /* ring of the last CRN_LATENCY_KEPT */
    uint64_t count; /* of all */
    double max;
} latency_samples;

struct crn_latency {
    latency_samples rows[CRN_DECODED_TIMES_MAX];
    int32_t row_count;
    uint64_t verdicts[CRN_VERDICT_LATE + 1];
    uint64_t stale, truncated, over_budget;
    double budget_ms; /* latest known; NaN before */
};

int crn_latency_create(crn_latency **ret_latency)
{
    crn_latency *latency = calloc(1, sizeof *latency);
    if (!latency)
        return -ENOMEM;
    latency->budget_ms = NAN;
    *ret_latency = latency;
    return 0;
}

void crn_latency_free(crn_latency **latency)
{
    if (!*latency)
        return;
    for (int32_t i = 0; i < (*latency)->row_count; i++)
        free((*latency)->rows[i].ms);
    free(*latency);
    *latency = NULL;
}

static latency_samples *find_row(crn_latency *latency, const char *name)
{
    for (int32_t i = 0; i < latency->row_count; i++)
        if (!strcmp(latency->rows[i].name, name))
            return &latency->rows[i];
    if (latency->row_count == CRN_DECODED_TIMES_MAX)
        return NULL;
    latency_samples *row = &latency->rows[latency->row_count++];
    snprintf(row->name, sizeof row->name, "%s", name);
    row->max = -INFINITY;
    return row;
}

static int add_sample(latency_samples *row, double ms)
{
    if (row->count < CRN_LATENCY_KEPT && crn_array_grow(&row->ms, row->count, sizeof *row->ms) < 0)
        return -ENOMEM;
    row->ms[row->count % CRN_LATENCY_KEPT] = ms;
    row->count++;
    row->max = fmax(row->max, ms);
    return 0;
}

/* True if a time of 0 means that nothing ran: no view was judged, or all skipped the stage. */
static bool never_ran(const crn_decoded *verdict, const char *name)
{
    if (!verdict->views_judged && strcmp(name, "total"))
        return true;
    for (uint32_t i = 0; i < verdict->skipped_count; i++)
        if (!strcmp(verdict->skipped[i], name))
            return true;
    return false;
}

int crn_latency_add(crn_latency *latency, const crn_decoded *verdict)
{
    latency->verdicts[verdict->kind]++;
    latency->stale += verdict->stale;
    latency->truncated += verdict->truncated;
    latency->over_budget += verdict->total_ms > verdict->budget_ms;
    if (isfinite(verdict->budget_ms))
        latency->budget_ms = verdict->budget_ms;
    for (uint32_t i = 0; i < verdict->time_count; i++) {
        const crn_decoded_time *time = &verdict->times[i];
        if (!isfinite(time->ms) || (time->ms == 0 && never_ran(verdict, time->name)))
            continue;
        latency_samples *row = find_row(latency, time->name);
        if (row && add_sample(row, time->ms) < 0)
            return -ENOMEM;
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

bool crn_latency_get(crn_latency *latency, int32_t index, crn_latency_row *ret_row)
{
    if (index < 0 || index >= latency->row_count)
        return false;
    const latency_samples *row = &latency->rows[index];
    crn_latency_row result = {row->name, row->count, NAN, NAN, row->max};
    size_t kept = row->count < CRN_LATENCY_KEPT ? (size_t)row->count : CRN_LATENCY_KEPT;
    if (kept) {
        qsort(row->ms, kept, sizeof *row->ms, compare);
        result.p50 = row->ms[(kept * 50 + 99) / 100 - 1];
        result.p99 = row->ms[(kept * 99 + 99) / 100 - 1];
    }
    *ret_row = result;
    return true;
}

static void print_row(const crn_latency_row *row, double budget_ms, FILE *out)
{
    fprintf(out, "  %-14s %9.2f %9.2f %9.2f", row->name, row->p50, row->p99, row->max);
    if (budget_ms > 0)
        fprintf(out, " %8.1f %%", 100 * row->p99 / budget_ms);
    if (!strcmp(row->name, "total") && budget_ms > 0)
        fprintf(out, "  of %g ms", budget_ms);
    fputc('\n', out);
}

static void print_sequences(const crn_sequence_check_stats *followed, FILE *out)
{
    if (followed->lost)
        fprintf(out, "sequences: %" PRIu64 " verdict%s lost", followed->lost,
                followed->lost == 1 ? "" : "s");
    else
        fprintf(out, "sequences: every one was there");
    if (followed->old)
        fprintf(out, ", %" PRIu64 " again or out of order", followed->old);
    fprintf(out, " (%" PRIu64 " lane%s", followed->lanes, followed->lanes == 1 ? "" : "s");
    if (followed->runs > 1)
        fprintf(out, ", %" PRIu64 " runs of the daemon", followed->runs);
    fprintf(out, ")\n");
}

void crn_latency_print(crn_latency *latency, const crn_sequence_check_stats *followed, FILE *out)
{
    const uint64_t *kinds = latency->verdicts;
    uint64_t all =
        kinds[CRN_VERDICT_COMPLETE] + kinds[CRN_VERDICT_PARTIAL] + kinds[CRN_VERDICT_LATE];
    if (!all) {
        fprintf(out, "no verdict came\n");
        return;
    }
    bool budget = latency->budget_ms > 0;
    fprintf(out, "  %-14s %9s %9s %9s %s\n", "latency, ms", "p50", "p99", "max",
            budget ? "p99/budget" : "");
    crn_latency_row row;
    for (int32_t i = 0; crn_latency_get(latency, i, &row); i++)
        if (strcmp(row.name, "total"))
            print_row(&row, latency->budget_ms, out);
    for (int32_t i = 0; crn_latency_get(latency, i, &row); i++)
        if (!strcmp(row.name, "total"))
            print_row(&row, latency->budget_ms, out);
    fprintf(out,
            "verdicts: %" PRIu64 " (%" PRIu64 " complete, %" PRIu64 " partial, %" PRIu64
            " late), %" PRIu64 " over budget",
            all, kinds[CRN_VERDICT_COMPLETE], kinds[CRN_VERDICT_PARTIAL], kinds[CRN_VERDICT_LATE],
            latency->over_budget);
    if (latency->stale)
        fprintf(out, ", %" PRIu64 " stale", latency->stale);
    if (latency->truncated)
        fprintf(out, ", %" PRIu64 " truncated", latency->truncated);
    fputc('\n', out);
    print_sequences(followed, out);
}
