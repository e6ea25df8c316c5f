#include "tests/support/programs/rule_fruit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"

void crn_rule_fruit_init(crn_rule_fruit *fruit)
{
    memset(fruit, 0, sizeof *fruit);
    fruit->verdict.kind = CRN_VERDICT_COMPLETE;
    fruit->verdict.lane = 3;
    fruit->verdict.views_expected = fruit->verdict.views_received = 4;
    fruit->verdict.views_judged = 4;
    fruit->verdict.budget_ms = fruit->verdict.total_ms = fruit->verdict.assembly_ms = NAN;
    fruit->verdict.defects = fruit->defects;
}

void crn_rule_fruit_look_for(crn_rule_fruit *fruit, const char *name)
{
    assert_true(fruit->verdict.total_count < CRN_CLASSES_MAX);
    snprintf(fruit->verdict.totals[fruit->verdict.total_count++].name, CRN_DECODED_TEXT_BYTES, "%s",
             name);
}

crn_decoded_defect *crn_rule_fruit_add(crn_rule_fruit *fruit, const char *name, double area_px,
                                       double mean_probability)
{
    crn_decoded *verdict = &fruit->verdict;
    assert_true(verdict->defect_count < CRN_RULE_FRUIT_DEFECTS);
    crn_decoded_defect *defect = &fruit->defects[verdict->defect_count++];
    *defect = (crn_decoded_defect){.closed = true,
                                   .area_px = area_px,
                                   .mean_probability = mean_probability,
                                   .bbox = {10, 20, 15, 40}};
    snprintf(defect->name, sizeof defect->name, "%s", name);
    for (uint32_t i = 0; i < verdict->total_count; i++)
        if (strcmp(verdict->totals[i].name, name) == 0) {
            verdict->totals[i].count++;
            verdict->totals[i].area_px += area_px;
        }
    return defect;
}
