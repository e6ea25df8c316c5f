#include "src/monitor/log_messages/losses.h"

#include <stddef.h>

#define TOO_MUCH "more views arrive than this machine can process in time"
#define VALUES   "the sender's maps are not probabilities"
#define SCALE    "the sender's maps have the wrong scale: "
#define DISK     "the disk is too slow or full"

static const char *const view_hints[CRN_REASONS] = {
    [CRN_REASON_NO_SLOT] = TOO_MUCH " (limits.slots, run.workers)",
    [CRN_REASON_DISCARDED] = TOO_MUCH " (latency.budget_ms, run.workers), or "
                                      "the sender's deadline_ns had passed",
    [CRN_REASON_UNFINISHED] = TOO_MUCH " (latency.budget_ms, run.workers)",
    [CRN_REASON_NOT_FINITE] = VALUES,
    [CRN_REASON_OUT_OF_RANGE] = VALUES,
    [CRN_REASON_MASK_VALUES] = "in u8 maps 255 is certainty, not 1",
    [CRN_REASON_ALL_ZERO] = "all is 0, the background too: the CNN is dead",
    [CRN_REASON_DIVIDED] = SCALE "divided by 255 once too often",
    [CRN_REASON_LABELS] = SCALE "labels or masks, where 255 is certainty",
    [CRN_REASON_PER_CENT] = SCALE "per cent, where 255 is certainty",
    [CRN_REASON_WRONG_SUM] = SCALE "a pixel's values do not sum to 1 (after sigmoids: "
                                   "ingest.sum: none)",
};

const char *crn_losses_view_hint(crn_view_reason reason)
{
    return view_hints[reason];
}

/* The list being filled. */
typedef struct losses {
    crn_loss *at;
    int count;
} losses;

static void lost(losses *list, const char *name, uint64_t count, const char *hint)
{
    list->at[list->count++] = (crn_loss){.name = name, .lost = true, .hint = hint, .count = count};
}

static void refused(losses *list, const char *name, uint64_t count, const char *hint)
{
    lost(list, name, count, hint);
    list->at[list->count - 1].refused = true;
}

static void unusual(losses *list, const char *name, uint64_t count)
{
    list->at[list->count++] = (crn_loss){.name = name, .count = count};
}

/* No loss, but a condition. */
static void hinted(losses *list, const char *name, uint64_t count, const char *hint)
{
    list->at[list->count++] = (crn_loss){.name = name, .hint = hint, .count = count};
}

static void cut(losses *list, crn_peers_cut reason, uint64_t count)
{
    hinted(list, crn_peers_cut_names[reason], count, crn_peers_cut_hints[reason]);
}

static void read_messages(const crn_metrics *metrics, losses *list)
{
    for (int fault = 1; fault < CRN_WIRE_FAULTS; fault++)
        refused(list, crn_wire_fault_names[fault], metrics->ingest.faults[fault],
                crn_wire_fault_hints[fault]);
    uint64_t elsewhere = 0;
    for (int why = 0; why < CRN_REFUSALS; why++)
        elsewhere += metrics->refused_elsewhere.count[why];
    unusual(list, "refused_elsewhere", elsewhere);
    refused(list, "views_mismatch", metrics->fruits.views_mismatch,
            "all views of a fruit must name the same number of views");
    refused(list, "lanes", metrics->fruits.lanes,
            "more lanes than limits.lanes, and none silent for limits.lane_idle_s: list those that "
            "exist in ingest.lanes, or raise the limit");
    refused(list, "lane_not_listed", metrics->fruits.lanes_not_listed,
            "lanes that ingest.lanes does not have");
    unusual(list, "lane_freed", metrics->lanes_freed);
    lost(list, "sequence_missing", metrics->lanes.missing,
         "gaps in a sender's numbering: views were lost on their way, or refused");
    unusual(list, "sequence_duplicate", metrics->lanes.duplicates);
    unusual(list, "sequence_reordered", metrics->lanes.reordered);
    unusual(list, "sequence_jump", metrics->lanes.jumps);
    unusual(list, "senders_joined", metrics->lanes.joined);
    unusual(list, "senders_mixed", metrics->lanes.mixed);
    unusual(list, "sender_restart", metrics->lanes.restarts);
    unusual(list, "epoch_reused", metrics->lanes.reused);
    unusual(list, "deadline_ignored", metrics->deadlines_ignored);
    for (int reason = 0; reason < CRN_CUTS; reason++)
        cut(list, reason, metrics->ingest.peers.cut[reason] + metrics->publish.peers.cut[reason]);
}

/* Strangers: no loss, but worth knowing. */
static void read_access(const crn_metrics *metrics, losses *list)
{
    static const char *const names[CRN_ACCESS_REFUSALS] = {
        [CRN_ACCESS_UNKNOWN_KEY] = "access_unknown_key",
        [CRN_ACCESS_NOT_FOR_SOCKET] = "access_not_for_socket",
        [CRN_ACCESS_PLAIN] = "access_plain",
        [CRN_ACCESS_MALFORMED] = "access_malformed",
        [CRN_ACCESS_ATTEMPTS] = "access_attempts",
    };
    for (int reason = 0; reason < CRN_ACCESS_REFUSALS; reason++) {
        uint64_t count = 0;
        for (int use = 0; use < CRN_ACCESS_USES; use++)
            count += metrics->access.refused[use][reason];
        unusual(list, names[reason], count);
    }
}

static void read_views(const crn_metrics *metrics, losses *list)
{
    const crn_fruit_stats *fruits = &metrics->fruits;
    for (int reason = CRN_REASON_NOT_FINITE; reason < CRN_REASONS; reason++)
        hinted(list, crn_view_reason_names[reason], metrics->values.faulty[reason],
               view_hints[reason]);
    hinted(list, "frozen", metrics->values.frozen,
           "a lane's views are all alike: its CNN hangs, or an old buffer is sent");
    unusual(list, "duplicate_view", fruits->duplicates);
    lost(list, "straggler", fruits->stragglers,
         "views came after their fruit's verdict (latency.assemble_ms or the sender's deadline_ns "
         "too short, or a fruit's number used again?)");
    lost(list, "number_too_early", fruits->returned_early,
         "fruits without a verdict, as their numbers were those of fruits judged just before: let "
         "the counter have more bits, or lower latency.straggler_ms");
    hinted(list, "number_returned", fruits->returned,
           "fruits had the numbers of fruits judged not long before: let the counter have more "
           "bits, so that views that come late are told from them");
    hinted(list, "verdict_forgotten", fruits->forgotten,
           "verdicts were forgotten before the time of their stragglers was over: raise "
           "limits.judged_fruits, or lower latency.straggler_ms");
    lost(list, "no_slot", fruits->no_slot, crn_losses_view_hint(CRN_REASON_NO_SLOT));
    lost(list, "discarded", fruits->discarded, crn_losses_view_hint(CRN_REASON_DISCARDED));
    lost(list, "unfinished", fruits->unfinished, crn_losses_view_hint(CRN_REASON_UNFINISHED));
    lost(list, "failed", fruits->failed, "the chain failed, an error says why");
    unusual(list, "forced_fruit", fruits->forced);
    lost(list, "no_place", fruits->table_full, "more open fruits than limits.open_fruits");
    lost(list, "results_full", metrics->results_full,
         "more defects than there is memory for (limits.open_fruits, limits.points)");
    unusual(list, "device_new_shape", metrics->engine.device_new);
    unusual(list, "device_cut", metrics->engine.device_cut);
    unusual(list, "device_lost_views", metrics->engine.device_lost);
    hinted(list, "device_slow", metrics->engine.device_slow,
           "batches on a GPU came near the time after which it counts as "
           "lost: " CRN_DEVICE_SHARED_CURE);
    lost(list, "devices_lost", (uint64_t)metrics->engine.lost,
         "a GPU was given up, an error says why; restart to use it again");
}

static void read_verdicts(const crn_metrics *metrics, losses *list)
{
    const crn_publish_stats *publish = &metrics->publish;
    lost(list, "verdict_dropped", publish->dropped,
         "the grader is absent or does not keep up (publish.grader.high_water_mark)");
    lost(list, "verdict_stale", publish->stale,
         "sent past their deadline: the grader was away, or this process had no core to run on");
    lost(list, "verdict_possibly_lost", publish->possibly_lost,
         "a grader disconnected while verdicts were on their way to it");
    lost(list, "verdict_failed", publish->failed, "no memory");
    lost(list, "verdict_without_defects", publish->without_defects, "no memory");
    lost(list, "viewers_dropped", publish->viewers_dropped, "viewers' messages; no verdict");
    lost(list, "log_dropped", publish->log.dropped, DISK " (publish.log.dir)");
    lost(list, "log_failed", publish->log.failed, DISK " (publish.log.dir)");
    unusual(list, "flight_dropped", metrics->flight_dropped);
    lost(list, "recording_dropped", metrics->recorder.dropped, DISK " (record.dir)");
    lost(list, "recording_failed", metrics->recorder.failed, DISK " (record.dir)");
    lost(list, "recording_no_slot", metrics->recorder.missed,
         "slots were needed before the verdict (record.only): raise limits.slots");
}

int crn_losses_read(const crn_metrics *metrics, crn_loss ret_losses[CRN_LOSSES_MAX])
{
    losses list = {.at = ret_losses};
    read_messages(metrics, &list);
    read_access(metrics, &list);
    read_views(metrics, &list);
    read_verdicts(metrics, &list);
    return list.count;
}

int crn_losses_since(const crn_metrics *now, const crn_metrics *before,
                     crn_loss ret_losses[CRN_LOSSES_MAX])
{
    crn_loss earlier[CRN_LOSSES_MAX];
    int rows = crn_losses_read(now, ret_losses);
    crn_losses_read(before, earlier);
    /* sequence_missing falls when a missing message arrives late. */
    for (int i = 0; i < rows; i++)
        ret_losses[i].count =
            ret_losses[i].count > earlier[i].count ? ret_losses[i].count - earlier[i].count : 0;
    return rows;
}
