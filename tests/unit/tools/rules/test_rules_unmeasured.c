/*
 * Rules x fruits: each comparison of each field, of fruits that lack a measurement in every way in
 * which one can be missing. None of them ends as sound, whichever way round the rule is written.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/rule_fruit.h"
#include "tools/common/rules/fields.h"
#include "tools/common/rules/rules.h"

#define SEEN_PX 30 /* of rot, on every fruit */

static bool of_class(const crn_rule_field *field)
{
    return field->scope != CRN_SCOPE_FRUIT;
}

/* In mm, mm², % or a count on the surface, of which no verdict has a measurement. */
static bool on_surface(const crn_rule_field *field)
{
    return strncmp(field->unit, "mm", 2) == 0 || strcmp(field->unit, "%") == 0 ||
           strcmp(field->unit, "defects") == 0 || strcmp(field->name, "coverage") == 0;
}

static bool is_class_area(const crn_rule_field *field)
{
    return field->scope == CRN_SCOPE_CLASS && strcmp(field->name, "area_px") == 0;
}

static bool is_mean_probability(const crn_rule_field *field)
{
    return strcmp(field->name, "mean_probability") == 0;
}

static bool is_views_expected(const crn_rule_field *field)
{
    return strcmp(field->name, "views_expected") == 0;
}

static void nothing(crn_rule_fruit *fruit)
{
    (void)fruit;
}

static void forget_class(crn_rule_fruit *fruit)
{
    fruit->verdict.total_count = 0;
}

static void forget_area(crn_rule_fruit *fruit)
{
    fruit->verdict.totals[0].area_px = NAN;
}

static void forget_probability(crn_rule_fruit *fruit)
{
    fruit->defects[0].mean_probability = NAN;
}

static void forget_views(crn_rule_fruit *fruit)
{
    fruit->verdict.views_expected = 0;
}

static void miss_a_view(crn_rule_fruit *fruit)
{
    fruit->verdict.kind = CRN_VERDICT_PARTIAL;
}

/* A way in which something is missing, and the fields that are unknown then. */
static const struct {
    const char *name;
    void (*take_away)(crn_rule_fruit *fruit);
    bool (*affects)(const crn_rule_field *field);
} ways[] = {
    {"no geometry", nothing, on_surface},
    {"no geometry, a view missing", miss_a_view, on_surface},
    {"class not looked for", forget_class, of_class},
    {"area is not a number", forget_area, is_class_area},
    {"probability is not a number", forget_probability, is_mean_probability},
    {"number of views not told", forget_views, is_views_expected},
    {"a view missing", miss_a_view, is_class_area},
};

static void make_fruit(crn_rule_fruit *fruit)
{
    crn_rule_fruit_init(fruit);
    crn_rule_fruit_look_for(fruit, "rot");
    crn_rule_fruit_add(fruit, "rot", SEEN_PX, 0.5);
}

static void write_rule(const crn_rule_field *field, const char *sign, bool negated, char text[128])
{
    /* Within every field's range; of the area more than was seen. */
    const char *number = field->max == 1 ? "0.25" : field->whole ? "40" : "40.5";
    const char *before = field->scope == CRN_SCOPE_CLASS    ? "rot."
                         : field->scope == CRN_SCOPE_DEFECT ? "any(rot, "
                                                            : "";
    snprintf(text, 128, "%s%s%s %s %s%s", negated ? "not " : "", before, field->name, sign, number,
             field->scope == CRN_SCOPE_DEFECT ? ")" : "");
}

/* The fruit's outlet by that rule alone; "sound" is that of no rule. */
static crn_rules_outcome decide(const char *text, const crn_rule_fruit *fruit)
{
    crn_rules *rules = NULL;
    crn_rule_faults faults;
    int32_t rule;
    assert_int_equal(crn_rules_create(&rules), 0);
    if (crn_rules_add(rules, text, strlen(text), &faults) < 0)
        fail_msg("%s: %s", text, faults.item[0].text);
    crn_rules_outcome outcome = crn_rules_decide(rules, &fruit->verdict, &rule);
    crn_rules_free(&rules);
    return outcome;
}

static void none_ends_as_sound(void **state)
{
    (void)state;
    static const char *const signs[] = {"<", "<=", ">", ">=", "==", "!="};
    int decided[sizeof ways / sizeof *ways] = {0};
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
        for (const crn_rule_field *field = crn_rule_fields; field->name; field++)
            for (size_t i = 0; i < 2 * sizeof signs / sizeof *signs; i++) {
                crn_rule_fruit fruit;
                char text[128];
                if (field->type != CRN_RULE_NUMBER || !ways[way].affects(field))
                    continue;
                make_fruit(&fruit);
                ways[way].take_away(&fruit);
                write_rule(field, signs[i / 2], i % 2, text);
                if (decide(text, &fruit) == CRN_RULES_NONE)
                    fail_msg("%s, %s: the fruit counts as sound", ways[way].name, text);
                decided[way]++;
            }
    for (size_t way = 0; way < sizeof ways / sizeof *ways; way++)
        assert_true(decided[way] >= 12); /* each affects a field */
}

/* The same rules of a fruit that lacks nothing decide both ways. */
static void a_whole_fruit_is_decided_about(void **state)
{
    (void)state;
    crn_rule_fruit fruit;
    make_fruit(&fruit);
    assert_int_equal(decide("rot.area_px > 40.5", &fruit), CRN_RULES_NONE);
    assert_int_equal(decide("not rot.area_px > 40.5", &fruit), CRN_RULES_HOLDS);
    assert_int_equal(decide("any(rot, mean_probability > 0.25)", &fruit), CRN_RULES_HOLDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none_ends_as_sound),
        cmocka_unit_test(a_whole_fruit_is_decided_about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
