#include "src/formats/view/reason.h"

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
