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

int64_t crn_operator_integer(const crn_operator *of, int number, const char *text)
{
    const crn_value_range *range = &of->values[number];
    int64_t max = range->max >= 0x1p63 ? INT64_MAX : (int64_t)range->max;
    return crn_option_integer(of->tool, of->tool->options[number].name, text, (int64_t)range->min,
                              max);
}

double crn_operator_real(const crn_operator *of, int number, const char *text)
{
    const crn_value_range *range = &of->values[number];
    return crn_option_real(of->tool, of->tool->options[number].name, text, range->min, range->max);
}

int crn_operator_choice(const crn_operator *of, int number, const char *text)
{
    return crn_option_choice(of->tool, of->tool->options[number].name, text,
                             of->values[number].choices);
}

void crn_operator_size(const crn_operator *of, int number, const char *text, int32_t *ret_width,
                       int32_t *ret_height)
{
    const crn_value_range *range = &of->values[number];
    crn_option_size(of->tool, of->tool->options[number].name, text, (int64_t)range->min,
                    (int64_t)range->max, ret_width, ret_height);
}
