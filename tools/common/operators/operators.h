/* The list of operators: what each is called, what the values of its options may be, and what it
 * writes. Command lines and forms are made from it. */
#ifndef CRN_TOOLS_COMMON_OPERATORS_OPERATORS_H
#define CRN_TOOLS_COMMON_OPERATORS_OPERATORS_H

#include "tools/common/options.h"

typedef enum crn_value_kind {
    CRN_VALUE_TEXT, /* also of a switch, which has none */
    CRN_VALUE_INTEGER,
    CRN_VALUE_REAL,
    CRN_VALUE_SIZE, /* N or WxH; the range is of each side */
    CRN_VALUE_CHOICE,
} crn_value_kind;

/* What the value of one option may be. */
typedef struct crn_value_range {
    crn_value_kind kind;
    bool required;
    double min, max;            /* of numbers and sizes */
    const char *const *choices; /* NULL-terminated */
    const char *initial;        /* the value without the option; NULL: none */
} crn_value_range;

/* One operator. */
typedef struct crn_operator {
    const char *name;     /* as on the command line */
    const crn_tool *tool; /* its options, which end with the common ones */
    /* Of its own options, in the order of tool->options. */
    const crn_value_range *values;
    int32_t value_count;
    bool generates;             /* it has no IN */
    const char *const *endings; /* of OUT, with the dot; NULL-terminated */
    /* argv[0] is the operator's name. Returns the exit status, or exits with it. */
    int (*run)(int argc, char **argv);
} crn_operator;

#define CRN_OPERATORS 6

extern const crn_operator *const crn_operators[CRN_OPERATORS];

/* NULL if there is none of that name. */
const crn_operator *crn_operator_find(const char *name);

/* Parse the value of own option `number` within its range; exit 2 otherwise. */
int64_t crn_operator_integer(const crn_operator *of, int number, const char *text);
double crn_operator_real(const crn_operator *of, int number, const char *text);
int crn_operator_choice(const crn_operator *of, int number, const char *text);
void crn_operator_size(const crn_operator *of, int number, const char *text, int32_t *ret_width,
                       int32_t *ret_height);

#endif
