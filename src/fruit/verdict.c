/* Derives a fruit's verdict and its views' reasons. */
#include "src/fruit/fruit.h"

const char *const crn_view_reason_names[CRN_REASONS] = {
    [CRN_REASON_NONE] = "",
    [CRN_REASON_NO_SLOT] = "no_slot",
    [CRN_REASON_DISCARDED] = "discarded",
    [CRN_REASON_UNFINISHED] = "unfinished",
    [CRN_REASON_FAILED] = "failed",
    [CRN_REASON_DEVICE_LOST] = "device_lost",
    [CRN_REASON_NOT_FINITE] = "not_finite",
    [CRN_REASON_OUT_OF_RANGE] = "out_of_range",
    [CRN_REASON_MASK_VALUES] = "mask_values",
    [CRN_REASON_ALL_ZERO] = "all_zero",
    [CRN_REASON_DIVIDED] = "divided_by_255",
    [CRN_REASON_LABELS] = "labels",
    [CRN_REASON_PER_CENT] = "per_cent",
    [CRN_REASON_WRONG_SUM] = "wrong_sum",
};

const char *const crn_fruit_close_names[CRN_CLOSES] = {
    [CRN_CLOSE_VIEWS] = "views",       [CRN_CLOSE_TIME] = "time",
    [CRN_CLOSE_DEADLINE] = "deadline", [CRN_CLOSE_OPEN_FRUITS] = "open_fruits",
    [CRN_CLOSE_STOP] = "stop",
};

const char *const crn_verdict_kind_names[] = {"complete", "partial", "late"};

crn_verdict_kind crn_fruit_verdict(const crn_fruit *fruit)
{
    if (fruit->judged == 0)
        return CRN_VERDICT_LATE;
    if (fruit->judged < fruit->received || fruit->received < fruit->expected || fruit->refused > 0)
        return CRN_VERDICT_PARTIAL;
    uint16_t seen = 0;
    for (const crn_fruit_view *view = fruit->views; seen < fruit->judged; view++) {
        if (view->state != CRN_VIEW_JUDGED)
            continue;
        if (view->judgement.skipped || view->judgement.truncated || view->values.reason)
            return CRN_VERDICT_PARTIAL;
        seen++;
    }
    return CRN_VERDICT_COMPLETE;
}

int64_t crn_fruit_latency_ns(const crn_fruit *fruit, int64_t now_ns)
{
    return fruit->closed_ns < now_ns ? now_ns - fruit->closed_ns : 0;
}

crn_view_reason crn_fruit_view_reason(const crn_fruit_view *view)
{
    switch (view->state) {
    case CRN_VIEW_ARRIVED:
        return CRN_REASON_NO_SLOT;
    case CRN_VIEW_QUEUED:
        return CRN_REASON_DISCARDED;
    case CRN_VIEW_RUNNING:
        return CRN_REASON_UNFINISHED;
    case CRN_VIEW_LOST:
        return view->reason;
    case CRN_VIEW_JUDGED:
        return view->values.reason;
    default:
        return CRN_REASON_NONE;
    }
}
