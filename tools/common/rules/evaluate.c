/* Evaluates compiled rules over a verdict, without allocating. */
#include <string.h>

#include "tools/common/rules/internal.h"

/* What one evaluation looks at. */
typedef struct evaluation {
    const crn_rules *rules;
    crn_rule_source source; /* of the fruit, or of a defect within any() */
    const crn_decoded_total *totals[CRN_RULE_CLASSES_MAX];     /* by class of the rules */
    const crn_decoded_measure *measures[CRN_RULE_CLASSES_MAX]; /* likewise */
} evaluation;

static void find_totals(evaluation *e)
{
    const crn_decoded *verdict = e->source.verdict;
    for (int32_t class = 0; class < e->rules->class_count; class ++) {
        e->totals[class] = NULL;
        for (uint32_t i = 0; i < verdict->total_count && !e->totals[class]; i++)
            if (strcmp(verdict->totals[i].name, e->rules->classes[class]) == 0)
                e->totals[class] = &verdict->totals[i];
        e->measures[class] = NULL;
        for (uint32_t i = 0; i < verdict->surface.measure_count && !e->measures[class]; i++)
            if (strcmp(verdict->surface.measures[i].name, e->rules->classes[class]) == 0)
                e->measures[class] = &verdict->surface.measures[i];
    }
}

static crn_range value_of(const evaluation *e, const crn_rule_operand *operand)
{
    if (!operand->field)
        return crn_range_of(operand->number);
    crn_rule_source source = e->source;
    source.total = operand->class < 0 ? NULL : e->totals[operand->class];
    source.measure = operand->class < 0 ? NULL : e->measures[operand->class];
    return operand->field->read(&source);
}

static crn_truth compare_text(const evaluation *e, const crn_rule_step *step)
{
    bool equal = strcmp(step->left.field->text(&e->source), step->text) == 0;
    return equal == (step->comparison == CRN_EQUAL) ? CRN_TRUE : CRN_FALSE;
}

static crn_truth run(evaluation *e, const crn_rule_step *step, size_t count);

/* Without measures nothing tells the spots of the surface apart. */
static crn_truth run_any_spot(evaluation *e, const crn_rule_step *any, const char *class,
                              crn_truth found)
{
    const crn_decoded_surface *surface = &e->source.verdict->surface;
    for (uint32_t i = 0; i < surface->spot_count && found != CRN_TRUE; i++) {
        if (strcmp(surface->spots[i].name, class) != 0)
            continue;
        e->source.spot = &surface->spots[i];
        crn_truth one = run(e, any + 1, (size_t)any->length);
        found = one > found ? one : found;
    }
    e->source.spot = NULL;
    return found;
}

/* A fruit that was not judged whole may have further defects. */
static crn_truth run_any(evaluation *e, const crn_rule_step *any)
{
    const crn_decoded *verdict = e->source.verdict;
    const crn_decoded_total *total = e->totals[any->class];
    if (!total)
        return CRN_UNKNOWN;
    bool is_whole = verdict->kind == CRN_VERDICT_COMPLETE;
    if (any->defects == CRN_DEFECTS_SPOTS && verdict->surface.is_measured)
        return run_any_spot(e, any, total->name, is_whole ? CRN_FALSE : CRN_UNKNOWN);
    if (any->defects == CRN_DEFECTS_SPOTS)
        return is_whole && total->count == 0 ? CRN_FALSE : CRN_UNKNOWN;
    crn_truth found = is_whole ? CRN_FALSE : CRN_UNKNOWN;
    for (uint32_t i = 0; i < verdict->defect_count && found != CRN_TRUE; i++) {
        const crn_decoded_defect *defect = &verdict->defects[i];
        if (defect->hole || strcmp(defect->name, total->name) != 0)
            continue;
        e->source.defect = defect;
        crn_truth one = run(e, any + 1, (size_t)any->length);
        found = one > found ? one : found;
    }
    e->source.defect = NULL;
    return found;
}

static crn_truth least(crn_truth a, crn_truth b)
{
    return a < b ? a : b;
}

static crn_truth greatest(crn_truth a, crn_truth b)
{
    return a > b ? a : b;
}

static crn_truth run(evaluation *e, const crn_rule_step *step, size_t count)
{
    crn_truth values[CRN_RULE_DEPTH + 1];
    int32_t top = -1;
    for (const crn_rule_step *end = step + count; step < end; step++) {
        switch (step->op) {
        case CRN_OP_COMPARE:
            values[++top] = crn_range_compare(value_of(e, &step->left), step->comparison,
                                              value_of(e, &step->right));
            break;
        case CRN_OP_TEXT:
            values[++top] = compare_text(e, step);
            break;
        case CRN_OP_FLAG:
            values[++top] = crn_range_compare(value_of(e, &step->left), CRN_EQUAL, crn_range_of(1));
            break;
        case CRN_OP_AND:
            top--;
            values[top] = least(values[top], values[top + 1]);
            break;
        case CRN_OP_OR:
            top--;
            values[top] = greatest(values[top], values[top + 1]);
            break;
        case CRN_OP_NOT:
            values[top] = CRN_TRUE - values[top];
            break;
        case CRN_OP_ANY:
            values[++top] = run_any(e, step);
            step += step->length;
            break;
        }
    }
    return values[0];
}

static crn_truth evaluate(evaluation *e, int32_t rule)
{
    const crn_rule *one = &e->rules->rule[rule];
    return run(e, e->rules->steps + one->first, one->count);
}

crn_truth crn_rules_evaluate(const crn_rules *rules, int32_t rule, const crn_decoded *verdict)
{
    evaluation e = {.rules = rules, .source = {.verdict = verdict}};
    find_totals(&e);
    return evaluate(&e, rule);
}

crn_rules_outcome crn_rules_decide(const crn_rules *rules, const crn_decoded *verdict,
                                   int32_t *ret_rule)
{
    evaluation e = {.rules = rules, .source = {.verdict = verdict}};
    find_totals(&e);
    for (int32_t rule = 0; rule < rules->rule_count; rule++) {
        crn_truth truth = evaluate(&e, rule);
        if (truth == CRN_FALSE)
            continue;
        *ret_rule = rule;
        return truth == CRN_TRUE ? CRN_RULES_HOLDS : CRN_RULES_UNKNOWN;
    }
    return CRN_RULES_NONE;
}
