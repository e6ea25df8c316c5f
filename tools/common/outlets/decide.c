#include "tools/common/outlets/outlets.h"

const char *const crn_decision_reason_names[CRN_DECISION_REASONS] = {
    "rule", "default", "unmeasured", "partial", "late", "stale", "lost", "silence"};

static crn_outlet_decision decide_by_rules(const crn_outlets *outlets, const crn_decoded *verdict)
{
    int32_t rule = -1;
    switch (crn_rules_decide(outlets->rules, verdict, &rule)) {
    case CRN_RULES_HOLDS:
        return (crn_outlet_decision){outlets->rule_outlet[rule], CRN_DECIDED_RULE, rule};
    case CRN_RULES_UNKNOWN:
        return (crn_outlet_decision){outlets->choice.unmeasured, CRN_DECIDED_UNMEASURED, rule};
    default:
        return (crn_outlet_decision){outlets->choice.by_default, CRN_DECIDED_DEFAULT, -1};
    }
}

/* Late and stale verdicts first: their fruits may have passed the ejector. */
crn_outlet_decision crn_outlets_decide(const crn_outlets *outlets, const crn_decoded *verdict,
                                       bool is_past)
{
    const crn_outlet_choice *choice = &outlets->choice;
    if (verdict->kind == CRN_VERDICT_LATE)
        return (crn_outlet_decision){choice->late, CRN_DECIDED_LATE, -1};
    if (verdict->stale || is_past)
        return (crn_outlet_decision){choice->late, CRN_DECIDED_STALE, -1};
    if (verdict->kind == CRN_VERDICT_PARTIAL && choice->partial != CRN_NO_OUTLET)
        return (crn_outlet_decision){choice->partial, CRN_DECIDED_PARTIAL, -1};
    return decide_by_rules(outlets, verdict);
}
