#include "src/monitor/events/reasons.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "src/monitor/log_messages/losses.h"
#include "src/monitor/log_messages/notice.h"
#include "stages/base/clock.h"

int64_t crn_reasons_silence_ns(const crn_observation *observation)
{
    const crn_snapshot *snapshot = observation->snapshot;
    return snapshot->number > 0 ? observation->now_ns - snapshot->taken_ns : 0;
}

bool crn_reasons_is_healthy(const crn_observation *observation)
{
    return crn_reasons_silence_ns(observation) < CRN_REASONS_SILENCE_NS;
}

bool crn_reasons_is_ready(const crn_observation *observation)
{
    crn_state state = observation->snapshot->state;
    return crn_reasons_is_healthy(observation) && state != CRN_STATE_STARTING &&
           state != CRN_STATE_STOPPING;
}

__attribute__((format(printf, 4, 5))) static void add(crn_reasons *list, const char *code,
                                                      uint64_t count, const char *format, ...)
{
    if (list->count == CRN_REASONS_MAX)
        return;
    crn_reason *reason = &list->at[list->count++];
    reason->code = code;
    reason->count = count;
    reason->refused = false;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason->text, CRN_REASON_BYTES, format, arguments);
    va_end(arguments);
}

static void add_state(const crn_observation *observation, crn_reasons *list)
{
    const crn_snapshot *snapshot = observation->snapshot;
    const crn_levels *levels = &snapshot->levels;
    switch (snapshot->state) {
    case CRN_STATE_STARTING:
        add(list, "starting", 0, "memory is being reserved, devices are being prepared");
        break;
    case CRN_STATE_READY:
        add(list, "ready", 0, "no view has arrived yet");
        break;
    case CRN_STATE_STOPPING:
        add(list, "stopping", levels->fruits_open,
            "no more views are read, %" PRIu64 " open fruit%s judged", levels->fruits_open,
            levels->fruits_open == 1 ? " is" : "s are");
        break;
    default:
        break;
    }
    if (levels->devices_lost > 0)
        add(list, "devices_lost_now", levels->devices_lost,
            "%" PRIu64 " of %" PRIu64 " devices lost: their views run on the others or on the "
            "processor until restart",
            levels->devices_lost, levels->devices);
    if (levels->devices_left_out > 0)
        add(list, "devices_left_out", levels->devices_left_out,
            "%s: left out at the start, views run on %s until restart",
            snapshot->metrics.engine.left_out_why,
            levels->devices > 0 ? "the other devices" : "the processor");
}

static void add_unproven(const crn_levels *levels, crn_reasons *list)
{
    if (levels->lanes_unproven > 0)
        add(list, "unproven", levels->lanes_unproven,
            "nothing shows that the CNN of %" PRIu64 " lane%s works, such as lane %" PRIu32
            ": no value of 0.5 (u8: 128) in %d views or more: dead, a wrong scale, or sound "
            "fruit only",
            levels->lanes_unproven, levels->lanes_unproven == 1 ? "" : "s", levels->unproven_lane,
            CRN_SCALE_VIEWS);
}

static void add_grader(const crn_snapshot *snapshot, crn_reasons *list)
{
    const crn_publish_stats *publish = &snapshot->metrics.publish;
    if (publish->graders > 1)
        add(list, "graders_extra", publish->graders,
            "%" PRIu64 " graders are connected, each gets a part of the verdicts: stop all but one",
            publish->graders);
    else if (publish->graders == 0)
        add(list, "no_grader", publish->waiting,
            "no grader is connected, %" PRIu64 " verdict%s for it, %" PRIu64 " %s dropped",
            publish->waiting, publish->waiting == 1 ? " waits" : "s wait", publish->dropped,
            publish->dropped == 1 ? "was" : "were");
}

static void add_hang(int64_t quiet_ns, const char *code, const char *clause, crn_reasons *list)
{
    if (quiet_ns >= CRN_REASONS_SILENCE_NS)
        add(list, code, (uint64_t)crn_seconds(quiet_ns), "%s for %.0f s: sorting continues", clause,
            crn_seconds(quiet_ns));
}

/* Threads that the line does without. */
static void add_hangs(const crn_metrics *metrics, crn_reasons *list)
{
    add_hang(metrics->recorder.quiet_ns, "record_hangs",
             "record.dir: the disk has taken no view that is to be recorded", list);
    add_hang(metrics->publish.log.quiet_ns, "log_hangs",
             "publish.log: the disk has taken no verdict", list);
    add_hang(metrics->publish.viewers_quiet_ns, "viewers_hang",
             "publish.viewers: the thread for viewers has sent nothing", list);
}

/* What was lost of late, and which peers were disconnected. */
static void add_losses(const crn_observation *observation, crn_reasons *list)
{
    crn_loss losses[CRN_LOSSES_MAX];
    int rows =
        crn_losses_since(&observation->snapshot->metrics, &observation->before->metrics, losses);
    for (int i = 0; i < rows; i++) {
        uint32_t at = list->count;
        if (losses[i].count > 0 && losses[i].hint)
            add(list, losses[i].name, losses[i].count,
                "%s: %" PRIu64 " in the last two minutes: %s", losses[i].name, losses[i].count,
                losses[i].hint);
        if (list->count > at)
            list->at[at].refused = losses[i].kind == CRN_LOSS_REFUSED;
    }
}

/* Senders of one lane that are there at once and cannot be joined. */
static void add_senders(const crn_observation *observation, crn_reasons *list)
{
    const crn_metrics *now = &observation->snapshot->metrics;
    uint64_t before = observation->before->metrics.lanes.mixed;
    char text[CRN_NOTICE_MIXED_BYTES];
    if (now->lanes.mixed > before)
        add(list, "senders_mixed", now->lanes.mixed - before, "%s",
            crn_notice_mixed(&now->mixed, text));
}

void crn_reasons_find(const crn_observation *observation, crn_reasons *list)
{
    list->count = 0;
    if (!crn_reasons_is_healthy(observation))
        add(list, "thread_hangs", (uint64_t)crn_seconds(crn_reasons_silence_ns(observation)),
            "the line's thread has not answered for %.0f s",
            crn_seconds(crn_reasons_silence_ns(observation)));
    add_state(observation, list);
    if (observation->snapshot->number > 0)
        add_grader(observation->snapshot, list);
    add_unproven(&observation->snapshot->levels, list);
    add_hangs(&observation->snapshot->metrics, list);
    add_senders(observation, list);
    add_losses(observation, list);
}
