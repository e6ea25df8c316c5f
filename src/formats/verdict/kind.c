#include "src/formats/verdict/kind.h"

const char *const crn_fruit_close_names[CRN_CLOSES] = {
    [CRN_CLOSE_VIEWS] = "views",       [CRN_CLOSE_TIME] = "time",
    [CRN_CLOSE_DEADLINE] = "deadline", [CRN_CLOSE_OPEN_FRUITS] = "open_fruits",
    [CRN_CLOSE_STOP] = "stop",
};

const char *const crn_verdict_kind_names[] = {"complete", "partial", "late"};
