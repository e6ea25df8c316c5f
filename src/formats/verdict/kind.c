#include "src/formats/verdict/kind.h"

#include <string.h>

const char *const crn_fruit_close_names[CRN_CLOSES] = {
    [CRN_CLOSE_VIEWS] = "views",       [CRN_CLOSE_TIME] = "time",
    [CRN_CLOSE_DEADLINE] = "deadline", [CRN_CLOSE_OPEN_FRUITS] = "open_fruits",
    [CRN_CLOSE_STOP] = "stop",
};

const char *const crn_verdict_kind_names[] = {"complete", "partial", "late"};

bool crn_verdict_kind_find(const char *name, crn_verdict_kind *ret_kind)
{
    for (int kind = CRN_VERDICT_COMPLETE; kind <= CRN_VERDICT_LATE; kind++)
        if (strcmp(crn_verdict_kind_names[kind], name) == 0) {
            *ret_kind = (crn_verdict_kind)kind;
            return true;
        }
    return false;
}
