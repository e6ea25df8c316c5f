#include "src/monitor/metrics.h"

#include <inttypes.h>
#include <stdio.h>

#include "stages/base/log.h"

/* A line of `name=count` being built. */
typedef struct counters {
    char text[1000];
    int used;
} counters;

static void add(counters *line, const char *name, uint64_t count)
{
    int room = (int)sizeof line->text - line->used;
    if (count == 0 || room < 64)
        return;
    line->used += snprintf(line->text + line->used, (size_t)room, " %s=%" PRIu64, name, count);
}

static void log_losses(const crn_metrics *metrics)
{
    counters line = {.text = ""};
    for (int fault = 1; fault < CRN_WIRE_FAULTS; fault++)
        add(&line, crn_wire_fault_names[fault], metrics->ingest.faults[fault]);
    uint64_t elsewhere = 0;
    for (int why = 0; why < CRN_REFUSALS; why++)
        elsewhere += metrics->refused_elsewhere.count[why];
    add(&line, "refused_elsewhere", elsewhere);
    for (int reason = 1; reason < CRN_REASONS; reason++)
        add(&line, crn_view_reason_names[reason], metrics->values.faulty[reason]);
    add(&line, "frozen", metrics->values.frozen);
    add(&line, "views_mismatch", metrics->fruits.views_mismatch);
    add(&line, "lanes", metrics->fruits.lanes);
    add(&line, "duplicate_view", metrics->fruits.duplicates);
    add(&line, "straggler", metrics->fruits.stragglers);
    add(&line, "no_slot", metrics->fruits.no_slot);
    add(&line, "discarded", metrics->fruits.discarded);
    add(&line, "unfinished", metrics->fruits.unfinished);
    add(&line, "failed", metrics->fruits.failed);
    add(&line, "forced_fruit", metrics->fruits.forced);
    add(&line, "no_place", metrics->fruits.table_full);
    add(&line, "deadline_ignored", metrics->deadlines_ignored);
    add(&line, "results_full", metrics->results_full);
    add(&line, "device_new_shape", metrics->engine.device_new);
    add(&line, "device_cut", metrics->engine.device_cut);
    add(&line, "device_lost_views", metrics->engine.device_lost);
    add(&line, "devices_lost", (uint64_t)metrics->engine.lost);
    add(&line, "sequence_missing", metrics->lanes.missing);
    add(&line, "sequence_duplicate", metrics->lanes.duplicates);
    add(&line, "sequence_reordered", metrics->lanes.reordered);
    add(&line, "sender_restart", metrics->lanes.restarts);
    add(&line, "epoch_reused", metrics->lanes.reused);
    add(&line, "verdict_dropped", metrics->publish.dropped);
    add(&line, "verdict_stale", metrics->publish.stale);
    add(&line, "viewers_dropped", metrics->publish.viewers_dropped);
    for (int reason = 0; reason < CRN_CUTS; reason++)
        add(&line, crn_peers_cut_names[reason],
            metrics->ingest.peers.cut[reason] + metrics->publish.peers.cut[reason]);
    add(&line, "log_dropped", metrics->publish.log.dropped);
    add(&line, "log_failed", metrics->publish.log.failed);
    add(&line, "recording_dropped", metrics->recorder.dropped);
    add(&line, "recording_failed", metrics->recorder.failed);
    if (line.used)
        crn_log(CRN_LOG_INFO, "dropped or out of the ordinary:%s", line.text);
}

void crn_metrics_log(const crn_metrics *metrics)
{
    const crn_fruit_stats *fruits = &metrics->fruits;
    crn_log(CRN_LOG_INFO,
            "%" PRIu64 " messages on %d lanes, %" PRIu64 " fruits: %" PRIu64 " complete, %" PRIu64
            " partial, %" PRIu64 " late; %" PRIu64 " verdicts to the grader, %" PRIu64
            " waiting for it",
            metrics->ingest.messages, metrics->lane_count,
            fruits->complete + fruits->partial + fruits->late, fruits->complete, fruits->partial,
            fruits->late, metrics->publish.sent, metrics->publish.waiting);
    if (metrics->engine.devices > 0)
        crn_log(CRN_LOG_INFO, "%" PRIu64 " views on %d of %d devices, %" PRIu64 " on the processor",
                metrics->engine.device, metrics->engine.devices - metrics->engine.lost,
                metrics->engine.devices, metrics->engine.processor);
    log_losses(metrics);
}
