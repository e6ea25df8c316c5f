#include "tools/common/rules/truth.h"

static crn_truth less(crn_range left, crn_range right)
{
    return left.high < right.low ? CRN_TRUE : left.low >= right.high ? CRN_FALSE : CRN_UNKNOWN;
}

static crn_truth less_equal(crn_range left, crn_range right)
{
    return left.high <= right.low ? CRN_TRUE : left.low > right.high ? CRN_FALSE : CRN_UNKNOWN;
}

static crn_truth equal(crn_range left, crn_range right)
{
    if (left.low == left.high && right.low == right.high && left.low == right.low)
        return CRN_TRUE;
    return left.high < right.low || right.high < left.low ? CRN_FALSE : CRN_UNKNOWN;
}

crn_truth crn_range_compare(crn_range left, crn_comparison comparison, crn_range right)
{
    switch (comparison) {
    case CRN_LESS:
        return less(left, right);
    case CRN_LESS_EQUAL:
        return less_equal(left, right);
    case CRN_GREATER:
        return less(right, left);
    case CRN_GREATER_EQUAL:
        return less_equal(right, left);
    case CRN_EQUAL:
        return equal(left, right);
    default:
        return CRN_TRUE - equal(left, right);
    }
}
