/* Reads comparisons: the fields, numbers and texts on both sides, and whether they go together. */
#include <stdio.h>
#include <string.h>

#include "stages/base/utf8.h"
#include "tools/common/rules/internal.h"

typedef enum side_kind {
    SIDE_NUMBER,
    SIDE_FIELD,
    SIDE_WORD, /* an unquoted word that names no field */
    SIDE_TEXT,
} side_kind;

/* One side of a comparison. */
typedef struct comparison_side {
    side_kind kind;
    crn_token token;
    crn_rule_operand operand;       /* NUMBER, FIELD */
    char text[CRN_RULE_NAME_BYTES]; /* WORD, TEXT; shortened */
    size_t text_length;
} comparison_side;

void crn_rule_operand_name(const crn_rules *rules, const crn_rule_operand *operand,
                           char ret_name[CRN_RULE_NAME_BYTES])
{
    bool named = operand->field->scope == CRN_SCOPE_CLASS;
    snprintf(ret_name, CRN_RULE_NAME_BYTES, "%s%s%s", named ? rules->classes[operand->class] : "",
             named ? "." : "", operand->field->name);
}

/* Copies the token without its quotes, so that it may be shown. */
static size_t copy_word(const crn_rule_parser *parser, const crn_token *token, char *text,
                        size_t text_bytes)
{
    size_t quotes = token->kind == CRN_TOKEN_QUOTED;
    size_t length = token->length - 2 * quotes;
    crn_utf8_show(parser->text + token->at + quotes, length, text, text_bytes);
    return length;
}

int32_t crn_rule_read_class(crn_rule_parser *parser)
{
    char name[CRN_RULE_NAME_BYTES];
    size_t at = parser->token.at;
    size_t length = copy_word(parser, &parser->token, name, sizeof name);
    crn_rules *rules = parser->rules;
    crn_rule_next(parser);
    if (length >= CRN_CLASS_NAME_MAX || strlen(name) != length || !length) {
        crn_rule_fault_add(parser, at,
                           "'%.60s' is not a class, the name of one expected: printable, at most "
                           "%d bytes",
                           name, CRN_CLASS_NAME_MAX - 1);
        return -1;
    }
    for (int32_t i = 0; i < rules->class_count; i++)
        if (strcmp(rules->classes[i], name) == 0)
            return i;
    if (rules->class_count == CRN_RULE_CLASSES_MAX) {
        crn_rule_fault_add(parser, at, "'%s' is one class too many, at most %d expected", name,
                           CRN_RULE_CLASSES_MAX);
        return -1;
    }
    memcpy(rules->classes[rules->class_count], name, length + 1);
    return rules->class_count++;
}

/* A field of that name exists elsewhere, or one of a similar name here. */
static void report_field(crn_rule_parser *parser, size_t at, crn_rule_scope scope, const char *name)
{
    static const char *const places[CRN_SCOPES] = {
        [CRN_SCOPE_FRUIT] = "a field of the fruit: write %s alone, outside of any()",
        [CRN_SCOPE_CLASS] = "a field of a class: write CLASS.%s",
        [CRN_SCOPE_DEFECT] = "a field of a single defect: write any(CLASS, %s ...)",
    };
    for (int other = 0; other < CRN_SCOPES; other++) {
        if (!crn_rule_field_find((crn_rule_scope)other, name))
            continue;
        const char *cure = strchr(places[other], '%');
        crn_rule_fault_add(parser, at, "'%s' is %.*s%s%s", name, (int)(cure - places[other]),
                           places[other], name, cure + 2);
        return;
    }
    const char *nearest = crn_rule_field_nearest(scope, name);
    char known[CRN_RULE_KNOWN_BYTES];
    crn_rule_field_list(scope, known);
    if (nearest)
        crn_rule_fault_add(parser, at, "unknown field '%s', did you mean '%s'?", name, nearest);
    else
        crn_rule_fault_add(parser, at, "unknown field '%s', known here: %s", name, known);
}

/* Reads CLASS.FIELD, whose dot is the next token. */
static void read_class_field(crn_rule_parser *parser, int32_t class, size_t at,
                             comparison_side *side)
{
    char name[CRN_RULE_NAME_BYTES];
    crn_rule_next(parser);
    if (parser->token.kind != CRN_TOKEN_WORD) {
        crn_rule_fault_end(parser, parser->token.at, "a field of the class expected after the dot");
        return;
    }
    copy_word(parser, &parser->token, name, sizeof name);
    if (parser->any >= 0)
        crn_rule_fault_add(parser, at,
                           "a field of a class within any(), a field of the single defect "
                           "expected, without a class");
    side->operand.class = class;
    side->operand.field = crn_rule_field_find(CRN_SCOPE_CLASS, name);
    if (!side->operand.field)
        report_field(parser, parser->token.at, CRN_SCOPE_CLASS, name);
    crn_rule_next(parser);
}

/* Reads a word or a quoted text, which is the next token. */
static void read_name(crn_rule_parser *parser, comparison_side *side)
{
    crn_token after =
        crn_token_read(parser->text, parser->length, parser->token.at + parser->token.length);
    side->kind = SIDE_FIELD;
    if (crn_token_is(parser->text, &after, ".")) {
        int32_t class = crn_rule_read_class(parser);
        read_class_field(parser, class < 0 ? 0 : class, side->token.at, side);
        return;
    }
    side->text_length = copy_word(parser, &parser->token, side->text, sizeof side->text);
    if (parser->token.kind == CRN_TOKEN_QUOTED) {
        side->kind = SIDE_TEXT;
    } else {
        crn_rule_scope scope = parser->any >= 0 ? CRN_SCOPE_DEFECT : CRN_SCOPE_FRUIT;
        side->operand.field = crn_rule_field_find(scope, side->text);
        if (!side->operand.field)
            side->kind = SIDE_WORD;
    }
    crn_rule_next(parser);
}

/* Within any() all fields are of the same kind of defects. */
static void note_defects(crn_rule_parser *parser, const comparison_side *side)
{
    const crn_rule_field *field = side->operand.field;
    if (side->kind != SIDE_FIELD || !field || field->scope != CRN_SCOPE_DEFECT)
        return;
    if (!parser->any_field)
        parser->any_field = field;
    else if (parser->any_field->defects != field->defects)
        crn_rule_fault_add(parser, side->token.at,
                           "%s and %s in one any(): outlines in the views have pixels, defects of "
                           "the fruit's surface millimetres; one of both expected",
                           parser->any_field->name, field->name);
}

/* Reads one side; false where there is none, which is reported. */
static bool read_side(crn_rule_parser *parser, comparison_side *ret_side)
{
    *ret_side = (comparison_side){.token = parser->token, .operand = {.class = -1}};
    if (parser->token.kind == CRN_TOKEN_NUMBER) {
        ret_side->operand.number = parser->token.number;
        crn_rule_next(parser);
    } else if (parser->token.kind == CRN_TOKEN_WORD || parser->token.kind == CRN_TOKEN_QUOTED) {
        read_name(parser, ret_side);
        note_defects(parser, ret_side);
    } else if (parser->token.kind != CRN_TOKEN_BAD) {
        crn_rule_fault_end(parser, parser->token.at, "a field or a number expected here");
    }
    return !parser->stop;
}

static crn_comparison mirrored(crn_comparison comparison)
{
    static const crn_comparison other[CRN_COMPARISONS] = {
        [CRN_LESS] = CRN_GREATER, [CRN_LESS_EQUAL] = CRN_GREATER_EQUAL,
        [CRN_GREATER] = CRN_LESS, [CRN_GREATER_EQUAL] = CRN_LESS_EQUAL,
        [CRN_EQUAL] = CRN_EQUAL,  [CRN_UNEQUAL] = CRN_UNEQUAL,
    };
    return other[comparison];
}

static void emit_text(crn_rule_parser *parser, const comparison_side *left,
                      const comparison_side *right, crn_comparison comparison)
{
    crn_rule_step *step = NULL;
    if (right->kind != SIDE_TEXT || right->text_length >= sizeof step->text ||
        strlen(right->text) != right->text_length)
        crn_rule_fault_add(parser, right->token.at,
                           "%s is a text, a printable one of at most %zu bytes in quotes expected",
                           left->operand.field->name, sizeof step->text - 1);
    else
        step = crn_rule_emit(parser, CRN_OP_TEXT);
    if (!step)
        return;
    step->left = left->operand;
    step->comparison = comparison;
    memcpy(step->text, right->text, right->text_length + 1);
}

/* The index of a kind of verdicts; -1, reported, for another word. */
static int32_t kind_of(crn_rule_parser *parser, const comparison_side *side)
{
    const char *const *names = crn_verdict_kind_names;
    if (side->kind == SIDE_WORD || side->kind == SIDE_TEXT)
        for (int32_t kind = CRN_VERDICT_COMPLETE; kind < CRN_VERDICT_LATE; kind++)
            if (strcmp(names[kind], side->text) == 0)
                return kind;
    crn_rule_fault_add(parser, side->token.at,
                       "%s or %s expected; the outlet of late ones is that "
                       "of `late`, whatever the rules",
                       names[0], names[1]);
    return -1;
}

static void emit_numbers(crn_rule_parser *parser, const comparison_side *left,
                         const comparison_side *right, crn_comparison comparison,
                         crn_rule_bounds *bounds)
{
    crn_rule_step *step = crn_rule_emit(parser, CRN_OP_COMPARE);
    if (step) {
        step->comparison = comparison;
        step->left = left->operand;
        step->right = right->operand;
    }
    if (!right->operand.field)
        crn_rule_bound_comparison(
            parser,
            &(crn_rule_condition){left->operand, comparison, right->operand.number, left->token.at},
            bounds);
}

/* True if the field on the left can be compared with what stands on the right. */
static bool check_sides(crn_rule_parser *parser, const comparison_side *left,
                        const comparison_side *right)
{
    const crn_rule_field *field = left->operand.field, *other = right->operand.field;
    char names[2][CRN_RULE_NAME_BYTES];
    crn_rule_operand_name(parser->rules, &left->operand, names[0]);
    if (right->kind == SIDE_FIELD && strcmp(field->unit, other->unit) != 0) {
        crn_rule_operand_name(parser->rules, &right->operand, names[1]);
        crn_rule_fault_add(parser, right->token.at,
                           "%s (%s) is compared with %s (%s), a field with the same unit or a "
                           "number expected",
                           names[0], field->unit, names[1], other->unit);
        return false;
    }
    if (right->kind == SIDE_FIELD && other == field &&
        left->operand.class == right->operand.class) {
        crn_rule_fault_add(parser, right->token.at,
                           "%s is compared with itself, another field or a number expected",
                           names[0]);
        return false;
    }
    if (right->kind == SIDE_WORD || right->kind == SIDE_TEXT) {
        if (right->kind == SIDE_WORD)
            report_field(parser, right->token.at,
                         parser->any >= 0 ? CRN_SCOPE_DEFECT : CRN_SCOPE_FRUIT, right->text);
        else
            crn_rule_fault_add(parser, right->token.at,
                               "%s is compared with a text, a number expected", names[0]);
        return false;
    }
    return true;
}

/* Emits `left comparison right`, whose left side is a field. */
static void emit_comparison(crn_rule_parser *parser, const comparison_side *left,
                            const crn_token *sign, const comparison_side *right,
                            crn_rule_bounds *bounds)
{
    const crn_rule_field *field = left->operand.field;
    comparison_side kind = {.operand = {.class = -1}};
    if (field->type == CRN_RULE_FLAG) {
        crn_rule_fault_add(parser, sign->at, "%s is true or false, '%s' or 'not %s' expected",
                           field->name, field->name, field->name);
    } else if (field->type != CRN_RULE_NUMBER && sign->comparison != CRN_EQUAL &&
               sign->comparison != CRN_UNEQUAL) {
        crn_rule_fault_add(parser, sign->at, "%s has no order, == or != expected", field->name);
    } else if (field->type == CRN_RULE_TEXT) {
        emit_text(parser, left, right, sign->comparison);
    } else if (field->type == CRN_RULE_KIND) {
        kind.operand.number = kind_of(parser, right);
        if (kind.operand.number >= 0)
            emit_numbers(parser, left, &kind, sign->comparison, bounds);
    } else if (check_sides(parser, left, right)) {
        emit_numbers(parser, left, right, sign->comparison, bounds);
    }
}

/* A side that stands alone, without a comparison. */
static void emit_flag(crn_rule_parser *parser, const comparison_side *side)
{
    char name[CRN_RULE_NAME_BYTES];
    if (side->kind != SIDE_FIELD) {
        if (side->kind == SIDE_WORD && !crn_rule_field_find(CRN_SCOPE_FRUIT, side->text))
            report_field(parser, side->token.at,
                         parser->any >= 0 ? CRN_SCOPE_DEFECT : CRN_SCOPE_FRUIT, side->text);
        else
            crn_rule_fault_add(parser, side->token.at, "a field expected here");
        return;
    }
    if (!side->operand.field)
        return; /* reported */
    crn_rule_operand_name(parser->rules, &side->operand, name);
    if (side->operand.field->type != CRN_RULE_FLAG) {
        crn_rule_fault_add(parser, parser->token.at, "a comparison of %s expected, as in '%s > 5'",
                           name, name);
        return;
    }
    crn_rule_step *step = crn_rule_emit(parser, CRN_OP_FLAG);
    if (step)
        step->left = side->operand;
}

void crn_rule_read_comparison(crn_rule_parser *parser, crn_rule_bounds *bounds)
{
    comparison_side left, right;
    bounds->count = 0;
    if (!read_side(parser, &left))
        return;
    crn_token sign = parser->token;
    if (sign.kind != CRN_TOKEN_COMPARISON) {
        emit_flag(parser, &left);
        return;
    }
    crn_rule_next(parser);
    if (parser->stop || !read_side(parser, &right))
        return;
    if (parser->token.kind == CRN_TOKEN_COMPARISON) {
        crn_rule_fault_end(parser, parser->token.at,
                           "comparisons do not follow each other, 'a < b and b < c' expected");
        return;
    }
    if (left.kind != SIDE_FIELD && right.kind == SIDE_FIELD) {
        comparison_side swapped = left;
        left = right;
        right = swapped;
        sign.comparison = mirrored(sign.comparison);
    }
    if (left.kind == SIDE_WORD)
        report_field(parser, left.token.at, parser->any >= 0 ? CRN_SCOPE_DEFECT : CRN_SCOPE_FRUIT,
                     left.text);
    else if (left.kind != SIDE_FIELD)
        crn_rule_fault_add(parser, left.token.at, "no field in this comparison, one expected");
    else if (left.operand.field && (right.kind != SIDE_FIELD || right.operand.field))
        emit_comparison(parser, &left, &sign, &right, bounds);
}
