#include "src/formats/view/refusal.h"

#include <stddef.h>
#include <string.h>

#define NAME(constant, name, fault)  [CRN_REFUSAL_##constant - CRN_WIRE_FAULTS] = name,
#define FAULT(constant, name, fault) [CRN_REFUSAL_##constant - CRN_WIRE_FAULTS] = fault,

static const char *const names[] = {CRN_REFUSAL_ROWS(NAME)};
static const char *const faults[] = {CRN_REFUSAL_ROWS(FAULT)};

const char *crn_refusal_name(crn_refusal why)
{
    return (int)why < CRN_WIRE_FAULTS ? crn_wire_fault_names[why] : names[why - CRN_WIRE_FAULTS];
}

const char *crn_refusal_hint(const char *name)
{
    for (int why = CRN_REFUSAL_NONE + 1; why < CRN_REFUSALS; why++)
        if (strcmp(name, crn_refusal_name((crn_refusal)why)) == 0)
            return why < CRN_WIRE_FAULTS ? crn_wire_fault_hints[why]
                                         : faults[why - CRN_WIRE_FAULTS];
    return NULL;
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
