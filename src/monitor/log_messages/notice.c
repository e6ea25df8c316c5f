#include "src/monitor/log_messages/notice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "src/monitor/log_messages/losses.h"
#include "stages/base/clock.h"
#include "stages/base/process/priority.h"

void crn_notice_ready(const crn_config *config, const crn_ingest *ingest,
                      const crn_publish *publish, const crn_engine *engine, const char *http)
{
    char views[700] = "";
    const char *endpoint;
    for (int i = 0; (endpoint = crn_ingest_endpoint(ingest, i)); i++) {
        size_t used = strlen(views);
        snprintf(views + used, sizeof views - used, "%s%s", i ? ", " : "", endpoint);
    }
    crn_log(CRN_LOG_INFO,
            "ready: cernitad " CRN_VERSION "%s%s; views at %s, grader at %s, viewers at %s%s%s; %d "
            "class%s, %d stage%s; %s%s",
            config->file ? ", " : "", config->file ? config->file : "", views,
            crn_publish_endpoint(publish, CRN_OUTLET_GRADER),
            crn_publish_endpoint(publish, CRN_OUTLET_VIEWERS),
            http[0] ? ", live page and metrics at http://" : "", http, config->classes.count,
            config->classes.count == 1 ? "" : "es", config->steps, config->steps == 1 ? "" : "s",
            crn_engine_describe(engine),
            crn_priority_is_real_time()
                ? ""
                : "; no permission for real-time scheduling, so workers run at a lower priority");
}

/* Why a fruit is not complete: the views' reasons, and causes that are not a view's. */
enum cause {
    CAUSE_REFUSED = CRN_REASONS,
    CAUSE_MISSING,
    CAUSE_SKIPPED,
    CAUSE_TRUNCATED,
    CAUSES,
};

static const char *const hints[CAUSES] = {
    [CAUSE_REFUSED] = "the log says of each refused message what is wrong with it",
    [CAUSE_MISSING] = "see whether the sender sends every view, and within latency.assemble_ms",
    [CAUSE_SKIPPED] = "optional stages are skipped when time is short (latency.budget_ms)",
    [CAUSE_TRUNCATED] = "more defects than limits.points or limits.defects allow",
};

static const char *cause_name(int cause)
{
    return cause == CAUSE_REFUSED     ? "refused"
           : cause == CAUSE_MISSING   ? "missing"
           : cause == CAUSE_SKIPPED   ? "with stages skipped"
           : cause == CAUSE_TRUNCATED ? "truncated"
                                      : crn_view_reason_names[cause];
}

/* Why this view keeps its fruit from being complete; CRN_REASON_NONE if it does not. */
static int cause_of(const crn_fruit_view *view, bool expected)
{
    crn_view_reason reason = crn_fruit_view_reason(view);
    if (reason)
        return reason;
    switch (view->state) {
    case CRN_VIEW_ABSENT:
        return expected ? CAUSE_MISSING : CRN_REASON_NONE;
    case CRN_VIEW_REFUSED:
        return CAUSE_REFUSED;
    default:
        return view->judgement.skipped     ? CAUSE_SKIPPED
               : view->judgement.truncated ? CAUSE_TRUNCATED
                                           : CRN_REASON_NONE;
    }
}

void crn_notice_fruit(crn_notices *notices, const crn_fruit *fruit, int64_t views, int64_t now_ns)
{
    crn_verdict_kind kind = crn_fruit_verdict(fruit);
    if (kind == CRN_VERDICT_COMPLETE || !crn_log_gate_open(&notices->fruit[kind], now_ns))
        return;
    int count[CAUSES] = {0}, first[CAUSES] = {0}, main_cause = CRN_REASON_NONE;
    for (int v = 0; v < views; v++) {
        int cause = cause_of(&fruit->views[v], v < fruit->expected);
        if (cause != CRN_REASON_NONE && count[cause]++ == 0)
            first[cause] = v;
        if (cause != CRN_REASON_NONE && count[cause] > count[main_cause])
            main_cause = cause;
    }
    if (main_cause == CRN_REASON_NONE && fruit->surface_skipped)
        main_cause = CAUSE_SKIPPED;
    char why[400] = "";
    for (int cause = CRN_REASON_NONE + 1; cause < CAUSES; cause++) {
        size_t used = strlen(why);
        if (count[cause] > 0)
            snprintf(why + used, sizeof why - used, "%s %d %s (%sview %d)", used ? "," : ":",
                     count[cause], cause_name(cause), count[cause] > 1 ? "first " : "",
                     first[cause]);
    }
    const char *hint =
        main_cause == CAUSE_MISSING && fruit->closed_by == CRN_CLOSE_DEADLINE
            ? "the fruit was closed by the deadline_ns that a view's header has, not "
              "by latency.assemble_ms: let the sender give more time than its views "
              "take, or 0"
        : main_cause < CRN_REASONS ? crn_view_reason_hints[main_cause]
                                   : hints[main_cause];
    char expected[32] = "";
    if (fruit->expected > 0)
        snprintf(expected, sizeof expected, " of %u", (unsigned)fruit->expected);
    crn_log_through(
        &notices->fruit[kind], CRN_LOG_WARNING,
        "lane %" PRIu32 ", fruit %" PRIu64 " is %s, with %u%s views received and %u judged%s%s%s",
        fruit->lane->number, fruit->fruit, crn_verdict_kind_names[kind], (unsigned)fruit->received,
        expected, (unsigned)fruit->judged, why, hint ? "; " : "", hint ? hint : "");
}

void crn_notice_failure(crn_notices *notices, const crn_output *output, int64_t now_ns)
{
    const crn_view_header *header = &output->view->header;
    crn_log_gated(
        &notices->failed, now_ns, CRN_LOG_ERROR,
        "lane %" PRIu32 ", fruit %" PRIu64 ", view %u: the chain failed: %s, %" PRIu32 " x %" PRIu32
        " x %" PRIu32 " as H x W x C; its fruit is judged without it%s",
        header->lane, header->fruit, (unsigned)header->view, strerror(-output->status),
        header->height, header->width, header->channels,
        output->status == -ENOMEM ? "; fewer run.workers or smaller views need less memory" : "");
}

void crn_notice_epoch(crn_notices *notices, const crn_view_header *header, int64_t now_ns)
{
    crn_log_gated(
        &notices->epoch, now_ns, CRN_LOG_WARNING,
        "lane %" PRIu32 ": the sequence begins again at %" PRIu64 " within epoch %" PRIu64
        ", with fruit %" PRIu64 ": fruits that have the numbers of some that were judged less than "
        "latency.straggler_ms before get no verdict; a sender must choose a new epoch at each "
        "start, such as its time of day in ns",
        header->lane, header->sequence, header->epoch, header->fruit);
}

void crn_notice_jump(crn_notices *notices, const crn_view_header *header, int64_t now_ns)
{
    crn_log_gated(
        &notices->jump, now_ns, CRN_LOG_WARNING,
        "lane %" PRIu32 ": the sequence jumps to %" PRIu64 " within epoch %" PRIu64
        ", with fruit %" PRIu64 ", view %u: more than %d away is not counted as missing; a "
        "sender's sequence must rise by 1 with every view, and begin again only with a new "
        "epoch",
        header->lane, header->sequence, header->epoch, header->fruit, (unsigned)header->view,
        CRN_LANE_GAP_MAX);
}

void crn_notice_returned(crn_notices *notices, const crn_view_header *header,
                         const crn_fruits *fruits, const crn_fruit_stats *before, int64_t now_ns)
{
    crn_log_gate unlimited = {0};
    const crn_fruit_stats *stats = crn_fruits_get_stats(fruits);
    bool early = stats->returned_early > before->returned_early;
    if (!early && stats->returned == before->returned)
        return;
    if (early ? !crn_log_gate_open(&notices->early, now_ns) : now_ns < notices->returned_ns)
        return;
    if (!early)
        notices->returned_ns = now_ns + CRN_NOTICE_RETURNED_NS;
    crn_log_through(
        early ? &notices->early : &unlimited, CRN_LOG_WARNING,
        "lane %" PRIu32 ": the number of fruit %" PRIu64
        " came again %.1f s after its verdict, with another fruit, which %s: numbers must not "
        "return within an epoch (64 bits are there), or not before latency.straggler_ms",
        header->lane, header->fruit, (double)crn_fruits_returned_after_ns(fruits) / CRN_NS_PER_S,
        early ? "gets no verdict, as this is too soon to distinguish it from late views"
              : "gets a verdict of its own");
}

const char *crn_notice_mixed(const crn_met_senders *met, char text[CRN_NOTICE_MIXED_BYTES])
{
    bool same = met->meeting == CRN_MEETING_SAME;
    snprintf(text, CRN_NOTICE_MIXED_BYTES,
             "lane %" PRIu32 " has two senders at once, epochs %" PRIu64 " and %" PRIu64
             ": %s, as in fruit %" PRIu64 ", view %u: %s",
             met->lane, met->epoch, met->other,
             same ? "both send the same views" : "they do not number the fruits alike", met->fruit,
             (unsigned)met->view,
             same ? "end one of them, or give each views or a lane of its own"
                  : "each fruit gets a verdict for each of them, until they do");
    return text;
}

void crn_notice_senders(crn_notices *notices, const crn_lanes *lanes, const crn_lane *lane,
                        const crn_lane_stats *before, int64_t now_ns)
{
    char text[CRN_NOTICE_MIXED_BYTES];
    const crn_lane_stats *stats = &lane->stats;
    const crn_met_senders *joined = &crn_lanes_totals_of(lanes)->joined;
    if (stats->joined > before->joined)
        crn_log_gated(&notices->joined, now_ns, CRN_LOG_INFO,
                      "lane %" PRIu32 ": the senders of epochs %" PRIu64 " and %" PRIu64
                      " send at once, each its own views of the same fruits: they are joined",
                      joined->lane, joined->epoch, joined->other);
    if (stats->mixed > before->mixed)
        crn_log_gated(&notices->mixed, now_ns, CRN_LOG_WARNING, "%s",
                      crn_notice_mixed(&crn_lanes_totals_of(lanes)->mixed, text));
}

/* Refusals of messages that match the line: why, and the cure. */
static const char *refusal_of(crn_arrival arrival, crn_refusal *ret_why)
{
    switch ((int)arrival) {
    case CRN_ARRIVAL_VIEWS_MISMATCH:
        *ret_why = CRN_REFUSAL_VIEWS_MISMATCH;
        return "not what the fruit's first message said; all views of a fruit must name the same "
               "number";
    case CRN_ARRIVAL_NO_LANE:
        *ret_why = CRN_REFUSAL_LANES;
        return "limits.lanes other lanes are in use, none of them silent for limits.lane_idle_s; "
               "is "
               "the lane's number right, or the limit too low? ingest.lanes keeps invented ones "
               "out";
    case CRN_ARRIVAL_LANE_NOT_LISTED:
        *ret_why = CRN_REFUSAL_LANE_NOT_LISTED;
        return "ingest.lanes does not have it; correct the sender, or the list (a reload takes it "
               "in)";
    default:
        return NULL;
    }
}

void crn_notice_refused_view(crn_notices *notices, const crn_view_header *header,
                             crn_arrival arrival, int64_t now_ns)
{
    crn_refusal why;
    const char *cure = refusal_of(arrival, &why);
    if (!cure || !crn_log_gate_open(&notices->refused[why - CRN_WIRE_FAULTS], now_ns))
        return;
    char views[40] = "";
    if (why == CRN_REFUSAL_VIEWS_MISMATCH)
        snprintf(views, sizeof views, "its views is %u, ", (unsigned)header->views);
    crn_log_through(&notices->refused[why - CRN_WIRE_FAULTS], CRN_LOG_WARNING,
                    "lane %" PRIu32 ", fruit %" PRIu64 ", view %u: message refused (%s): %s%s",
                    header->lane, header->fruit, (unsigned)header->view, crn_refusal_name(why),
                    views, cure);
}

void crn_notice_deadline(crn_notices *notices, const crn_view_header *header, int64_t realtime_ns,
                         int64_t now_ns)
{
    double ahead_s = ((double)header->deadline_ns - (double)realtime_ns) / CRN_NS_PER_S;
    crn_log_gated(&notices->deadline, now_ns, CRN_LOG_WARNING,
                  "lane %" PRIu32 ", fruit %" PRIu64
                  ", view %u: deadline_ns is ignored, as it lies %.3f s "
                  "%s its reception (10 s at most): synchronise the clocks by PTP or NTP, and "
                  "send ns of CLOCK_REALTIME; until then latency.budget_ms decides",
                  header->lane, header->fruit, (unsigned)header->view,
                  ahead_s < 0 ? -ahead_s : ahead_s, ahead_s < 0 ? "before" : "after");
}
