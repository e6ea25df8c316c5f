/* Finds conditions that no fruit can fulfil: ranges of a field that exclude each other. */
#include <math.h>

#include "tools/common/rules/internal.h"

static bool is_empty(const crn_rule_bound *bound)
{
    return bound->low > bound->high ||
           (bound->low == bound->high && (bound->low_open || bound->high_open));
}

/* Of a field without fractions the next whole number is the bound. */
static void round_whole(crn_rule_bound *bound)
{
    if (!bound->of.field->whole)
        return;
    double low = ceil(bound->low), high = floor(bound->high);
    bound->low = low == bound->low && bound->low_open ? low + 1 : low;
    bound->high = high == bound->high && bound->high_open ? high - 1 : high;
    bound->low_open = bound->high_open = false;
}

/* The numbers that fulfil a comparison; false for those that are not one range. */
static bool bound_of(const crn_rule_condition *condition, crn_rule_bound *ret_bound)
{
    double number = condition->number;
    crn_rule_bound bound = {.of = condition->of, .low = -INFINITY, .high = INFINITY};
    crn_comparison comparison = condition->comparison;
    if (comparison == CRN_UNEQUAL)
        return false;
    if (comparison != CRN_LESS && comparison != CRN_LESS_EQUAL)
        bound.low = number;
    if (comparison != CRN_GREATER && comparison != CRN_GREATER_EQUAL)
        bound.high = number;
    bound.low_open = comparison == CRN_GREATER;
    bound.high_open = comparison == CRN_LESS;
    round_whole(&bound);
    *ret_bound = bound;
    return true;
}

/* *bound becomes what fulfils both. */
static void intersect(crn_rule_bound *bound, const crn_rule_bound *with)
{
    if (with->low > bound->low) {
        bound->low = with->low;
        bound->low_open = with->low_open;
    } else if (with->low == bound->low) {
        bound->low_open |= with->low_open;
    }
    if (with->high < bound->high) {
        bound->high = with->high;
        bound->high_open = with->high_open;
    } else if (with->high == bound->high) {
        bound->high_open |= with->high_open;
    }
}

void crn_rule_bound_comparison(crn_rule_parser *parser, const crn_rule_condition *condition,
                               crn_rule_bounds *bounds)
{
    const crn_rule_field *field = condition->of.field;
    crn_range all = {field->min, field->max};
    crn_rule_bound bound;
    char name[CRN_RULE_NAME_BYTES];
    bounds->count = 0;
    if (!bound_of(condition, &bound))
        return;
    intersect(&bound,
              &(crn_rule_bound){.of = condition->of, .low = field->min, .high = field->max});
    bool always =
        crn_range_compare(all, condition->comparison, crn_range_of(condition->number)) == CRN_TRUE;
    crn_rule_operand_name(parser->rules, &condition->of, name);
    if (is_empty(&bound) || always)
        crn_rule_fault_add(parser, condition->at,
                           "%s%s %s %g for every fruit, a number that tells fruits apart expected "
                           "(%s lies between %g and %g)",
                           always ? "" : "not ", name, crn_comparison_names[condition->comparison],
                           condition->number, name, field->min, field->max);
    bounds->item[bounds->count++] = bound;
}

void crn_rule_bounds_join(crn_rule_parser *parser, size_t at, crn_rule_bounds *bounds,
                          const crn_rule_bounds *more)
{
    for (int32_t m = 0; m < more->count; m++) {
        const crn_rule_bound *one = &more->item[m];
        int32_t i = 0;
        while (i < bounds->count && (bounds->item[i].of.field != one->of.field ||
                                     bounds->item[i].of.class != one->of.class))
            i++;
        if (i == bounds->count) {
            if (i < CRN_RULE_BOUNDS_MAX)
                bounds->item[bounds->count++] = *one;
            continue;
        }
        bool was_empty = is_empty(&bounds->item[i]);
        intersect(&bounds->item[i], one);
        if (was_empty || is_empty(one) || !is_empty(&bounds->item[i]))
            continue;
        char name[CRN_RULE_NAME_BYTES];
        crn_rule_operand_name(parser->rules, &one->of, name);
        crn_rule_fault_add(parser, at,
                           "what is required here of %s and what is required of it before it, with "
                           "'and', never holds at once; another range, or 'or', expected",
                           name);
    }
}
