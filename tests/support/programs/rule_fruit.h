/* A fruit's verdict for tests of rules, put together by hand. */
#ifndef CRN_TESTS_SUPPORT_PROGRAMS_RULE_FRUIT_H
#define CRN_TESTS_SUPPORT_PROGRAMS_RULE_FRUIT_H

#include "src/formats/verdict/decode.h"

#define CRN_RULE_FRUIT_DEFECTS 8

typedef struct crn_rule_fruit {
    crn_decoded verdict;
    crn_decoded_defect defects[CRN_RULE_FRUIT_DEFECTS];
} crn_rule_fruit;

/* A complete fruit of lane 3 with four views, for which no class was looked for. */
void crn_rule_fruit_init(crn_rule_fruit *fruit);

/* The class was looked for; the fruit has nothing of it so far. */
void crn_rule_fruit_look_for(crn_rule_fruit *fruit, const char *name);

/* Adds a closed defect to the class and to its totals; returns it. */
crn_decoded_defect *crn_rule_fruit_add(crn_rule_fruit *fruit, const char *name, double area_px,
                                       double mean_probability);

#endif
