#include "src/monitor/log_messages/report.h"

#include <inttypes.h>
#include <stdio.h>

#include "src/monitor/log_messages/losses.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"

/* An idle line is reported with the first of this many reports. */
#define IDLE_REPORTS 60

#define BYTES_PER_MIB (1 << 20)

static const crn_metrics nothing;

static void add_loss(const crn_loss *loss, char *text, size_t size, int *used)
{
    if (loss->count > 0 && (size_t)*used + 64 < size)
        *used +=
            snprintf(text + *used, size - (size_t)*used, " %s=%" PRIu64, loss->name, loss->count);
}

/* Logs what was lost between the two, and what else was out of the ordinary. */
static void log_losses(const crn_metrics *now, const crn_metrics *before, const char *when)
{
    crn_loss losses[CRN_LOSSES_MAX];
    int rows = crn_losses_since(now, before, losses);
    char lost[900] = "", unusual[900] = "";
    int lost_used = 0, unusual_used = 0;
    uint64_t most = 0;
    const crn_loss *main_loss = NULL;
    for (int i = 0; i < rows; i++) {
        const crn_loss *loss = &losses[i];
        if (loss->kind == CRN_LOSS_NOTICE) {
            add_loss(loss, unusual, sizeof unusual, &unusual_used);
            continue;
        }
        add_loss(loss, lost, sizeof lost, &lost_used);
        if (loss->count > most) {
            most = loss->count;
            main_loss = loss;
        }
    }
    if (main_loss)
        crn_log(CRN_LOG_WARNING, "%s, lost or too late:%s; mostly %s%s%s", when, lost,
                main_loss->name, main_loss->hint ? ": " : "",
                main_loss->hint ? main_loss->hint : "");
    if (unusual_used > 0)
        crn_log(CRN_LOG_INFO, "%s, out of the ordinary:%s", when, unusual);
}

static uint64_t fruits_of(const crn_metrics *metrics)
{
    return metrics->fruits.complete + metrics->fruits.partial + metrics->fruits.late;
}

/* "latency p50 4.1 ms, p99 12.9 ms of 100 ms", or empty without fruits. */
static const char *latency_text(const crn_metrics *now, const crn_metrics *before, char text[96])
{
    crn_quantiles since = crn_quantiles_since(&now->latency, &before->latency);
    text[0] = '\0';
    if (crn_quantiles_count(&since) > 0)
        snprintf(text, 96, "; latency p50 %.1f ms, p99 %.1f ms of %" PRId64 " ms",
                 crn_quantiles_at_ns(&since, 0.5) / CRN_NS_PER_MS,
                 crn_quantiles_at_ns(&since, 0.99) / CRN_NS_PER_MS, now->budget_ns / CRN_NS_PER_MS);
    return text;
}

/* "; 2380 of 2400 views on 2 of 2 devices", or empty without devices. */
static const char *devices_text(const crn_metrics *now, const crn_metrics *before, char text[96])
{
    const crn_engine_stats *engine = &now->engine;
    uint64_t device = engine->device - before->engine.device;
    uint64_t processor = engine->processor - before->engine.processor;
    text[0] = '\0';
    if (engine->devices > 0)
        snprintf(text, 96, "; %" PRIu64 " of %" PRIu64 " views on %d of %d devices", device,
                 device + processor, engine->devices - (int32_t)engine->lost, engine->devices);
    return text;
}

/* "; 36.4 MiB recorded, 0.8 MiB of verdicts logged", or empty if nothing was written. */
static const char *written_text(const crn_metrics *now, const crn_metrics *before, char text[96])
{
    uint64_t recorded = now->recorder.bytes - before->recorder.bytes;
    uint64_t logged = now->publish.log.bytes - before->publish.log.bytes;
    int used = 0;
    text[0] = '\0';
    if (recorded > 0)
        used = snprintf(text, 96, "; %.1f MiB recorded", (double)recorded / BYTES_PER_MIB);
    if (logged > 0)
        snprintf(text + used, 96 - (size_t)used, "%s %.1f MiB of verdicts logged",
                 used > 0 ? "," : ";", (double)logged / BYTES_PER_MIB);
    return text;
}

static const char *waiting_text(const crn_metrics *metrics, char text[64])
{
    text[0] = '\0';
    if (metrics->publish.waiting > 0)
        snprintf(text, 64, "; %" PRIu64 " verdict%s for the grader", metrics->publish.waiting,
                 metrics->publish.waiting == 1 ? " waits" : "s wait");
    return text;
}

static void log_rates(const crn_metrics *now, const crn_metrics *before, double seconds,
                      const char *when)
{
    char latency[96], devices[96], written[96], waiting[64];
    crn_log(CRN_LOG_INFO,
            "%s: %.1f fruits/s, %.1f views/s; %" PRIu64 " complete, %" PRIu64 " partial, %" PRIu64
            " late%s%s%s%s",
            when, (double)(fruits_of(now) - fruits_of(before)) / seconds,
            (double)(now->lanes.views - before->lanes.views) / seconds,
            now->fruits.complete - before->fruits.complete,
            now->fruits.partial - before->fruits.partial, now->fruits.late - before->fruits.late,
            latency_text(now, before, latency), devices_text(now, before, devices),
            written_text(now, before, written), waiting_text(now, waiting));
}

static void log_idle(const crn_report *report, const crn_metrics *metrics, int64_t now_ns)
{
    char waiting[64];
    int64_t idle_ns = now_ns - report->busy_ns;
    crn_log(CRN_LOG_INFO, "no fruit for %" PRId64 " min%s",
            (idle_ns + 30 * CRN_NS_PER_S) / (60 * CRN_NS_PER_S), waiting_text(metrics, waiting));
}

void crn_report_begin(crn_report *report, const crn_metrics *metrics, int64_t now_ns)
{
    *report = (crn_report){.metrics = *metrics, .at_ns = now_ns, .busy_ns = now_ns};
}

void crn_report_log(crn_report *report, const crn_metrics *metrics, int64_t now_ns)
{
    const crn_metrics *before = &report->metrics;
    double seconds = (double)(now_ns - report->at_ns) / CRN_NS_PER_S;
    if (seconds <= 0)
        return;
    char when[32];
    snprintf(when, sizeof when, "last %.0f s", seconds);
    if (fruits_of(metrics) > fruits_of(before) || metrics->lanes.views > before->lanes.views) {
        report->busy_ns = now_ns;
        report->idle = 0;
        log_rates(metrics, before, seconds, when);
    } else if (report->idle++ % IDLE_REPORTS == 0) {
        log_idle(report, metrics, now_ns);
    }
    log_losses(metrics, before, when);
    report->metrics = *metrics;
    report->at_ns = now_ns;
}

void crn_report_log_totals(const crn_metrics *metrics)
{
    const crn_fruit_stats *fruits = &metrics->fruits;
    char latency[96], devices[96], written[96], waiting[64];
    crn_log(CRN_LOG_INFO,
            "since the start: %" PRIu64 " messages on %d lane%s, %" PRIu64 " fruits: %" PRIu64
            " complete, %" PRIu64 " partial, %" PRIu64 " late%s%s%s; %" PRIu64
            " verdicts to the grader%s",
            metrics->ingest.messages, metrics->lane_count, metrics->lane_count == 1 ? "" : "s",
            fruits_of(metrics), fruits->complete, fruits->partial, fruits->late,
            latency_text(metrics, &nothing, latency), devices_text(metrics, &nothing, devices),
            written_text(metrics, &nothing, written), metrics->publish.sent,
            waiting_text(metrics, waiting));
    log_losses(metrics, &nothing, "since the start");
}
