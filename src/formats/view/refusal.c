#include "src/formats/view/refusal.h"

const char *crn_refusal_name(crn_refusal why)
{
    switch ((int)why) {
    case CRN_REFUSAL_VIEWS_MISMATCH:
        return "views_mismatch";
    case CRN_REFUSAL_LANES:
        return "lanes";
    case CRN_REFUSAL_LANE_NOT_LISTED:
        return "lane_not_listed";
    default:
        return crn_wire_fault_names[why];
    }
}

void crn_refusals_add(crn_refusals *sum, const crn_refusals *refusals)
{
    for (int why = 0; why < CRN_REFUSALS; why++)
        sum->count[why] += refusals->count[why];
}

void crn_refused_remember(crn_refused_views *views, const crn_view_header *header, crn_refusal why)
{
    views->at[views->next++ % CRN_REFUSED_KEPT] = (crn_refused_view){
        .epoch = header->epoch,
        .fruit = header->fruit,
        .lane = header->lane,
        .view = header->view,
        .why = why,
    };
}

crn_refusal crn_refused_recall(crn_refused_views *views, const crn_view_header *fruit,
                               uint16_t *ret_view)
{
    for (uint32_t i = 0; i < CRN_REFUSED_KEPT; i++) {
        crn_refused_view *entry = &views->at[(views->next + i) % CRN_REFUSED_KEPT];
        if (!entry->why || entry->fruit != fruit->fruit || entry->epoch != fruit->epoch ||
            entry->lane != fruit->lane)
            continue;
        crn_refusal why = entry->why;
        entry->why = CRN_REFUSAL_NONE;
        *ret_view = entry->view;
        return why;
    }
    return CRN_REFUSAL_NONE;
}
