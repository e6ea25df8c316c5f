/*
 * What rules may ask of a fruit: one table, from which the compiler, the checks, the evaluation and
 * the reference in README.md are made. A new field is a row in fields.c.
 */
#ifndef CRN_TOOLS_COMMON_RULES_FIELDS_H
#define CRN_TOOLS_COMMON_RULES_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

#include "src/formats/verdict/decode.h"
#include "tools/common/rules/truth.h"

typedef enum crn_rule_scope {
    CRN_SCOPE_FRUIT,  /* written alone: lane */
    CRN_SCOPE_CLASS,  /* of a class: rot.area_px */
    CRN_SCOPE_DEFECT, /* within any(): area_px */
    CRN_SCOPES,
} crn_rule_scope;

typedef enum crn_rule_type {
    CRN_RULE_NUMBER,
    CRN_RULE_KIND, /* one of crn_verdict_kind_names */
    CRN_RULE_TEXT,
    CRN_RULE_FLAG, /* written without a comparison: stale */
} crn_rule_type;

/* Which defects any() looks at: the outlines of the views, or the spots of the fruit's surface. */
typedef enum crn_rule_defects {
    CRN_DEFECTS_OUTLINES,
    CRN_DEFECTS_SPOTS,
} crn_rule_defects;

/* What the value of a field is read from. */
typedef struct crn_rule_source {
    const crn_decoded *verdict;
    const crn_decoded_total *total;     /* of the class; NULL: it was not looked for */
    const crn_decoded_measure *measure; /* of the class; NULL: it was not measured */
    const crn_decoded_defect *defect;   /* NULL outside of any(), and where that looks at spots */
    const crn_decoded_spot *spot;       /* NULL elsewhere */
} crn_rule_source;

typedef struct crn_rule_field {
    const char *name; /* NULL ends the table */
    crn_rule_scope scope;
    crn_rule_type type;
    const char *unit; /* fields of different units are not compared */
    double min, max;  /* of a NUMBER */
    bool whole;       /* a NUMBER without a fraction */
    crn_rule_defects defects;
    /* Of all but a TEXT: a FLAG's is 0 or 1, a KIND's its index. */
    crn_range (*read)(const crn_rule_source *source);
    const char *(*text)(const crn_rule_source *source); /* of a TEXT */
    const char *help;                                   /* one clause of Markdown */
} crn_rule_field;

extern const crn_rule_field crn_rule_fields[];

/* NULL: there is none of that name in that scope. */
const crn_rule_field *crn_rule_field_find(crn_rule_scope scope, const char *name);

/* The nearest name in that scope, for "did you mean", or NULL. */
const char *crn_rule_field_nearest(crn_rule_scope scope, const char *name);

/* The names of all fields of that scope, "a, b, c". */
#define CRN_RULE_KNOWN_BYTES 160
void crn_rule_field_list(crn_rule_scope scope, char ret_text[CRN_RULE_KNOWN_BYTES]);

#endif
