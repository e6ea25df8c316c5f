/* Derives a fruit's verdict and its views' reasons. */
#include "src/fruit/fruit.h"

crn_verdict_kind crn_fruit_verdict(const crn_fruit *fruit)
{
    if (fruit->judged == 0)
        return CRN_VERDICT_LATE;
    if (fruit->judged < fruit->received || fruit->received < fruit->expected ||
        fruit->refused > 0 || fruit->surface_skipped)
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
