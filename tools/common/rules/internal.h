/* Shared by compile.c, operands.c, bounds.c and evaluate.c: the compiled form of rules. */
#ifndef CRN_TOOLS_COMMON_RULES_INTERNAL_H
#define CRN_TOOLS_COMMON_RULES_INTERNAL_H

#include <stdbool.h>

#include "stages/stage/classes.h"
#include "tools/common/rules/fields.h"
#include "tools/common/rules/rules.h"
#include "tools/common/rules/tokens.h"

/* Most values that wait at once while a rule is evaluated, and most brackets within brackets. */
#define CRN_RULE_DEPTH 32
#define CRN_RULE_STEPS 512 /* of one rule */

typedef enum crn_rule_op {
    CRN_OP_COMPARE, /* two operands, of which the left one is a field */
    CRN_OP_TEXT,    /* a text field with a constant text */
    CRN_OP_FLAG,    /* the left operand */
    CRN_OP_AND,     /* of the two newest values */
    CRN_OP_OR,
    CRN_OP_NOT,
    CRN_OP_ANY, /* the next `length` steps for each defect of the class */
} crn_rule_op;

typedef struct crn_rule_operand {
    const crn_rule_field *field; /* NULL: a number */
    int32_t class;               /* index of the field's class; -1: of none */
    double number;
} crn_rule_operand;

/* One step of a rule in postfix order; it leaves one value. */
typedef struct crn_rule_step {
    crn_rule_op op;
    crn_comparison comparison;
    crn_rule_operand left, right;
    char text[CRN_DECODED_TEXT_BYTES]; /* TEXT */
    int32_t class, length;             /* ANY */
    crn_rule_defects defects;          /* ANY */
} crn_rule_step;

typedef struct crn_rule {
    size_t first, count; /* steps */
} crn_rule;

struct crn_rules {
    crn_rule rule[CRN_RULES_MAX];
    int32_t rule_count;
    crn_rule_step *steps;
    size_t step_count;
    char classes[CRN_RULE_CLASSES_MAX][CRN_CLASS_NAME_MAX];
    int32_t class_count;
};

/* --- compiling --- */

/* What one conjunction requires of a field. */
typedef struct crn_rule_bound {
    crn_rule_operand of;
    double low, high;
    bool low_open, high_open; /* the end itself is excluded */
} crn_rule_bound;

/* A comparison of a field with a number, and its place in the text. */
typedef struct crn_rule_condition {
    crn_rule_operand of;
    crn_comparison comparison;
    double number;
    size_t at;
} crn_rule_condition;

#define CRN_RULE_BOUNDS_MAX 16 /* of one conjunction; what is beyond is not checked */
typedef struct crn_rule_bounds {
    int32_t count;
    crn_rule_bound item[CRN_RULE_BOUNDS_MAX];
} crn_rule_bounds;

typedef struct crn_rule_parser {
    crn_rules *rules;
    const char *text;
    size_t length;
    crn_token token; /* the next one */
    crn_rule_faults *faults;
    bool stop; /* the rest cannot be understood, or memory ran out */
    bool no_memory;
    int32_t depth;                   /* of brackets and `not` */
    int32_t values;                  /* that wait when it is evaluated */
    int32_t any;                     /* class of the any() that is being read; -1: none */
    crn_rule_field const *any_field; /* the first one within it that is of a defect */
} crn_rule_parser;

__attribute__((format(printf, 3, 4))) void crn_rule_fault_add(crn_rule_parser *parser, size_t at,
                                                              const char *format, ...);

/* Reports what cannot be understood: the rest of the rule is not read. */
__attribute__((format(printf, 3, 4))) void crn_rule_fault_end(crn_rule_parser *parser, size_t at,
                                                              const char *format, ...);

/* Moves on to the next token. */
void crn_rule_next(crn_rule_parser *parser);

/* Appends a step; NULL without memory, or beyond the limits, which is reported. */
crn_rule_step *crn_rule_emit(crn_rule_parser *parser, crn_rule_op op);

/* Reads a name, quoted or not, which the next token is, into a class's index; -1 is reported. */
int32_t crn_rule_read_class(crn_rule_parser *parser);

/* Reads a comparison or a flag, and emits it; *bounds is what it requires. */
void crn_rule_read_comparison(crn_rule_parser *parser, crn_rule_bounds *bounds);

/* Adds what a comparison of a field with a number requires; reports one that no value of the field
 * fulfils, or every one. */
void crn_rule_bound_comparison(crn_rule_parser *parser, const crn_rule_condition *condition,
                               crn_rule_bounds *bounds);

/* Both hold: adds one conjunction's bounds to another's, and reports where none is left. */
void crn_rule_bounds_join(crn_rule_parser *parser, size_t at, crn_rule_bounds *bounds,
                          const crn_rule_bounds *more);

/* "rot.area_px", "lane": as a message names it. */
#define CRN_RULE_NAME_BYTES (CRN_CLASS_NAME_MAX + 40)
void crn_rule_operand_name(const crn_rules *rules, const crn_rule_operand *operand,
                           char ret_name[CRN_RULE_NAME_BYTES]);

#endif
