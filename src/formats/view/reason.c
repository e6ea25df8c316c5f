#include "src/formats/view/reason.h"

#include <string.h>

#define NAME(constant, name, meaning, hint)    [CRN_REASON_##constant] = name,
#define MEANING(constant, name, meaning, hint) [CRN_REASON_##constant] = meaning,
#define HINT(constant, name, meaning, hint)    [CRN_REASON_##constant] = hint,

const char *const crn_view_reason_names[CRN_REASONS] = {"", CRN_VIEW_REASONS(NAME)};
const char *const crn_view_reason_meanings[CRN_REASONS] = {"", CRN_VIEW_REASONS(MEANING)};
const char *const crn_view_reason_hints[CRN_REASONS] = {CRN_VIEW_REASONS(HINT)};

crn_view_reason crn_view_reason_find(const char *name)
{
    crn_view_reason reason = CRN_REASONS;
    while (--reason > CRN_REASON_NONE && strcmp(crn_view_reason_names[reason], name) != 0)
        ;
    return reason;
}
