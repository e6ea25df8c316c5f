/*
 * Rules: conditions in the order in which they are tried, each with an outlet. They are compiled
 * once into a flat program; deciding allocates nothing. README.md has the grammar.
 */
#ifndef CRN_TOOLS_COMMON_RULES_RULES_H
#define CRN_TOOLS_COMMON_RULES_RULES_H

#include <stddef.h>
#include <stdint.h>

#include "src/formats/verdict/decode.h"
#include "tools/common/rules/truth.h"

#define CRN_RULES_MAX        64
#define CRN_RULE_BYTES_MAX   4096
#define CRN_RULE_CLASSES_MAX 64 /* distinct ones, of all rules together */
#define CRN_RULE_FAULTS_MAX  8  /* that are told of one rule */

/* What is wrong with a rule, and the cure. */
typedef struct crn_rule_fault {
    size_t at; /* byte of the rule's text */
    char text[320];
} crn_rule_fault;

typedef struct crn_rule_faults {
    int32_t count;
    crn_rule_fault item[CRN_RULE_FAULTS_MAX];
} crn_rule_faults;

typedef struct crn_rules crn_rules;

int crn_rules_create(crn_rules **ret_rules); /* 0 or -ENOMEM */
void crn_rules_free(crn_rules **rules);

/*
 * Compiles a rule and appends it. Returns 0; -EINVAL with all that is wrong in *faults, of which
 * there is at least one; -ENOMEM. In both of the latter cases the rules are as they were.
 */
int crn_rules_add(crn_rules *rules, const char *text, size_t length, crn_rule_faults *faults);

int32_t crn_rules_count(const crn_rules *rules);

/* The classes that the rules name, in the order in which they appear first. */
int32_t crn_rules_class_count(const crn_rules *rules);
const char *crn_rules_class(const crn_rules *rules, int32_t at);

/* Whether one rule holds for a fruit. */
crn_truth crn_rules_evaluate(const crn_rules *rules, int32_t rule, const crn_decoded *verdict);

typedef enum crn_rules_outcome {
    CRN_RULES_HOLDS,   /* `rule` is the first that is true, and none before it is unknown */
    CRN_RULES_UNKNOWN, /* `rule` depends on what was not measured */
    CRN_RULES_NONE,    /* all are false */
} crn_rules_outcome;

/* Tries the rules in their order. *ret_rule is written for the first two outcomes. */
crn_rules_outcome crn_rules_decide(const crn_rules *rules, const crn_decoded *verdict,
                                   int32_t *ret_rule);

#endif
