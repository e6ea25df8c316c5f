/* Reads a rule's text by recursive descent, and emits its steps in postfix order. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/buffer/array.h"
#include "tools/common/rules/internal.h"

int crn_rules_create(crn_rules **ret_rules)
{
    *ret_rules = calloc(1, sizeof **ret_rules);
    return *ret_rules ? 0 : -ENOMEM;
}

void crn_rules_free(crn_rules **rules)
{
    if (!*rules)
        return;
    free((*rules)->steps);
    free(*rules);
    *rules = NULL;
}

int32_t crn_rules_count(const crn_rules *rules)
{
    return rules->rule_count;
}

int32_t crn_rules_class_count(const crn_rules *rules)
{
    return rules->class_count;
}

const char *crn_rules_class(const crn_rules *rules, int32_t at)
{
    return rules->classes[at];
}

__attribute__((format(printf, 3, 0))) static void add_fault(crn_rule_parser *parser, size_t at,
                                                            const char *format, va_list arguments)
{
    crn_rule_faults *faults = parser->faults;
    if (faults->count == CRN_RULE_FAULTS_MAX)
        return;
    crn_rule_fault *fault = &faults->item[faults->count++];
    fault->at = at;
    vsnprintf(fault->text, sizeof fault->text, format, arguments);
}

void crn_rule_fault_add(crn_rule_parser *parser, size_t at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add_fault(parser, at, format, arguments);
    va_end(arguments);
}

void crn_rule_fault_end(crn_rule_parser *parser, size_t at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (!parser->stop)
        add_fault(parser, at, format, arguments);
    va_end(arguments);
    parser->stop = true;
}

void crn_rule_next(crn_rule_parser *parser)
{
    parser->token =
        crn_token_read(parser->text, parser->length, parser->token.at + parser->token.length);
    if (parser->token.kind == CRN_TOKEN_BAD)
        crn_rule_fault_end(parser, parser->token.at, "%s", parser->token.fault);
}

static bool at_word(const crn_rule_parser *parser, const char *word)
{
    return !parser->stop && crn_token_is(parser->text, &parser->token, word);
}

/* Passes over a word or mark that must stand here. */
static void expect(crn_rule_parser *parser, const char *word, const char *where)
{
    if (at_word(parser, word))
        crn_rule_next(parser);
    else
        crn_rule_fault_end(parser, parser->token.at, "'%s' expected here, %s", word, where);
}

/* How many values a step takes from those that wait. */
static int32_t taken_by(crn_rule_op op)
{
    return op == CRN_OP_AND || op == CRN_OP_OR ? 2 : op == CRN_OP_NOT ? 1 : 0;
}

crn_rule_step *crn_rule_emit(crn_rule_parser *parser, crn_rule_op op)
{
    crn_rules *rules = parser->rules;
    const crn_rule *rule = &rules->rule[rules->rule_count];
    if (parser->faults->count || parser->stop)
        return NULL; /* it will not be evaluated */
    parser->values += 1 - taken_by(op);
    if (parser->values > CRN_RULE_DEPTH || rules->step_count - rule->first == CRN_RULE_STEPS) {
        crn_rule_fault_end(parser, parser->token.at,
                           "the rule is too long, several rules with the same outlet expected");
        return NULL;
    }
    if (crn_array_grow(&rules->steps, rules->step_count, sizeof *rules->steps) < 0) {
        parser->stop = parser->no_memory = true;
        return NULL;
    }
    crn_rule_step *step = &rules->steps[rules->step_count++];
    *step = (crn_rule_step){.op = op, .left = {.class = -1}, .right = {.class = -1}};
    return step;
}

static void read_or(crn_rule_parser *parser, crn_rule_bounds *bounds);

/* Reads any(CLASS, predicate), behind the word. */
static void read_any(crn_rule_parser *parser)
{
    size_t at = parser->token.at;
    crn_rule_bounds bounds;
    if (parser->any >= 0)
        crn_rule_fault_end(parser, at, "any() within any(), one of them expected");
    crn_rule_next(parser);
    expect(parser, "(", "as in any(rot, area_px > 50)");
    if (parser->stop)
        return;
    if (parser->token.kind != CRN_TOKEN_WORD && parser->token.kind != CRN_TOKEN_QUOTED) {
        crn_rule_fault_end(parser, parser->token.at, "a class expected here, any(CLASS, ...)");
        return;
    }
    int32_t class = crn_rule_read_class(parser);
    expect(parser, ",", "after the class");
    size_t first = parser->rules->step_count;
    crn_rule_step *step = crn_rule_emit(parser, CRN_OP_ANY);
    if (step)
        step->class = class;
    int32_t waiting = parser->values;
    parser->any = class < 0 ? 0 : class;
    parser->any_field = NULL;
    if (!parser->stop)
        read_or(parser, &bounds);
    parser->any = -1;
    parser->values = waiting;
    expect(parser, ")", "after the condition of any()");
    if (parser->stop || parser->faults->count)
        return;
    step = &parser->rules->steps[first];
    step->length = (int32_t)(parser->rules->step_count - first - 1);
    step->defects = parser->any_field ? parser->any_field->defects : CRN_DEFECTS_OUTLINES;
}

/* A comparison, a flag, any() or brackets. */
static void read_primary(crn_rule_parser *parser, crn_rule_bounds *bounds)
{
    crn_token after =
        crn_token_read(parser->text, parser->length, parser->token.at + parser->token.length);
    bounds->count = 0;
    if (at_word(parser, "(")) {
        crn_rule_next(parser);
        if (!parser->stop)
            read_or(parser, bounds);
        expect(parser, ")", "for the bracket that was opened");
    } else if (at_word(parser, "any") && crn_token_is(parser->text, &after, "(")) {
        read_any(parser);
    } else if (at_word(parser, "and") || at_word(parser, "or")) {
        crn_rule_fault_end(parser, parser->token.at, "a condition expected here, before '%.*s'",
                           (int)parser->token.length, parser->text + parser->token.at);
    } else {
        crn_rule_read_comparison(parser, bounds);
    }
}

static void read_not(crn_rule_parser *parser, crn_rule_bounds *bounds)
{
    bounds->count = 0;
    if (parser->depth == CRN_RULE_DEPTH) {
        crn_rule_fault_end(parser, parser->token.at,
                           "more than %d brackets and 'not's within each "
                           "other, fewer expected",
                           CRN_RULE_DEPTH);
        return;
    }
    parser->depth++;
    if (at_word(parser, "not")) {
        crn_rule_next(parser);
        if (!parser->stop)
            read_not(parser, bounds);
        crn_rule_emit(parser, CRN_OP_NOT);
        bounds->count = 0;
    } else {
        read_primary(parser, bounds);
    }
    parser->depth--;
}

static void read_and(crn_rule_parser *parser, crn_rule_bounds *bounds)
{
    read_not(parser, bounds);
    while (at_word(parser, "and")) {
        crn_rule_bounds more = {0};
        crn_rule_next(parser);
        size_t at = parser->token.at;
        if (!parser->stop)
            read_not(parser, &more);
        crn_rule_emit(parser, CRN_OP_AND);
        crn_rule_bounds_join(parser, at, bounds, &more);
    }
}

static void read_or(crn_rule_parser *parser, crn_rule_bounds *bounds)
{
    read_and(parser, bounds);
    while (at_word(parser, "or")) {
        crn_rule_next(parser);
        if (!parser->stop)
            read_and(parser, bounds);
        crn_rule_emit(parser, CRN_OP_OR);
        bounds->count = 0;
    }
}

static void read_rule(crn_rule_parser *parser)
{
    crn_rule_bounds bounds;
    parser->token = crn_token_read(parser->text, parser->length, 0);
    if (parser->token.kind == CRN_TOKEN_BAD) {
        crn_rule_fault_end(parser, parser->token.at, "%s", parser->token.fault);
        return;
    }
    if (parser->token.kind == CRN_TOKEN_END) {
        crn_rule_fault_end(parser, 0,
                           "an empty rule, a condition expected, as in "
                           "'rot.area_px > 50'");
        return;
    }
    read_or(parser, &bounds);
    if (!parser->stop && parser->token.kind != CRN_TOKEN_END)
        crn_rule_fault_end(parser, parser->token.at,
                           "the condition ends before this; 'and' or 'or' expected between two "
                           "conditions");
}

int crn_rules_add(crn_rules *rules, const char *text, size_t length, crn_rule_faults *faults)
{
    crn_rule_parser parser = {
        .rules = rules, .text = text, .length = length, .faults = faults, .any = -1};
    size_t steps = rules->step_count;
    int32_t classes = rules->class_count;
    faults->count = 0;
    if (rules->rule_count == CRN_RULES_MAX) {
        crn_rule_fault_end(&parser, 0, "one rule too many, at most %d expected", CRN_RULES_MAX);
    } else if (length > CRN_RULE_BYTES_MAX) {
        crn_rule_fault_end(&parser, 0, "a rule of %zu bytes, at most %d expected", length,
                           CRN_RULE_BYTES_MAX);
    } else {
        rules->rule[rules->rule_count].first = steps;
        read_rule(&parser);
    }
    if (parser.no_memory || faults->count) {
        rules->step_count = steps;
        rules->class_count = classes;
        return parser.no_memory ? -ENOMEM : -EINVAL;
    }
    rules->rule[rules->rule_count++].count = rules->step_count - steps;
    return 0;
}
