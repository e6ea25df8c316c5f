#include "tools/common/operators/operators.h"

#include <string.h>

#include "tools/common/operators/apply.h"

const crn_operator *const crn_operators[CRN_OPERATORS] = {
    &crn_apply_contours, &crn_apply_morphology, &crn_apply_convolve,
    &crn_apply_haar,     &crn_apply_ranklet,    &crn_apply_diamond_square,
};

const crn_operator *crn_operator_find(const char *name)
{
    for (size_t i = 0; i < CRN_OPERATORS; i++)
        if (strcmp(crn_operators[i]->name, name) == 0)
            return crn_operators[i];
    return NULL;
}
