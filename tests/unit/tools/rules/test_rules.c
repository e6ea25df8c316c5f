/* The sorter's rules: what they mean for a fruit, and what is told of a faulty one. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/readme_reference.h"
#include "tests/support/programs/rule_fruit.h"
#include "tools/common/rules/fields.h"
#include "tools/common/rules/rules.h"

static crn_rules *rules;
static crn_rule_faults faults;
static crn_rule_fruit fruit;

static int set_up(void **state)
{
    (void)state;
    crn_rule_fruit_init(&fruit);
    crn_rule_fruit_look_for(&fruit, "rot");
    crn_rule_fruit_look_for(&fruit, "fresh hail");
    return crn_rules_create(&rules);
}

static int tear_down(void **state)
{
    (void)state;
    crn_rules_free(&rules);
    return 0;
}

static void add(const char *text)
{
    int r = crn_rules_add(rules, text, strlen(text), &faults);
    if (r)
        fail_msg("%s: %s", text, faults.item[0].text);
}

/* What one rule says of `fruit`. */
static crn_truth truth(const char *text)
{
    add(text);
    return crn_rules_evaluate(rules, crn_rules_count(rules) - 1, &fruit.verdict);
}

static void expect(const char *text, crn_truth expected)
{
    crn_truth got = truth(text);
    if (got != expected)
        fail_msg("%s: %d, %d expected", text, got, expected);
}

/* The rule has a fault at the marked place, whose text has `part`. */
static void expect_fault(const char *marked, const char *part)
{
    char text[CRN_RULE_BYTES_MAX + 8];
    const char *mark = strchr(marked, '^');
    assert_non_null(mark);
    snprintf(text, sizeof text, "%.*s%s", (int)(mark - marked), marked, mark + 1);
    int32_t before = crn_rules_count(rules);
    assert_int_equal(crn_rules_add(rules, text, strlen(text), &faults), -EINVAL);
    assert_int_equal(crn_rules_count(rules), before);
    for (int32_t i = 0; i < faults.count; i++)
        if (faults.item[i].at == (size_t)(mark - marked) && strstr(faults.item[i].text, part))
            return;
    fail_msg("%s: fault 1 of %d at %zu: %s", marked, faults.count, faults.item[0].at,
             faults.item[0].text);
}

static void compares_fields_with_numbers(void **state)
{
    (void)state;
    crn_rule_fruit_add(&fruit, "rot", 50, 0.8);
    expect("rot.area_px > 49.5", CRN_TRUE);
    expect("rot.area_px > 50", CRN_FALSE);
    expect("rot.area_px >= 50", CRN_TRUE);
    expect("rot.area_px < 50", CRN_FALSE);
    expect("rot.area_px <= 50", CRN_TRUE);
    expect("rot.area_px == 50", CRN_TRUE);
    expect("rot.area_px != 50", CRN_FALSE);
    expect("49 < rot.area_px", CRN_TRUE);
    expect("50 > rot.area_px", CRN_FALSE);
    expect("rot.outlines == 1", CRN_TRUE);
    expect("lane == 3", CRN_TRUE);
    expect("views_judged < views_expected", CRN_FALSE);
    expect("'rot'.area_px > \"fresh hail\".area_px", CRN_TRUE);
}

static void a_class_looked_for_and_not_found_is_zero(void **state)
{
    (void)state;
    expect("\"fresh hail\".area_px == 0", CRN_TRUE);
    expect("\"fresh hail\".outlines >= 1", CRN_FALSE);
    expect("any(\"fresh hail\", area_px > 1)", CRN_FALSE);
    expect("any(\"fresh hail\", area_mm2 > 1)", CRN_FALSE);
}

static void what_was_not_measured_is_unknown(void **state)
{
    (void)state;
    crn_rule_fruit_add(&fruit, "rot", 50, NAN);
    expect("bruise.area_px > 5", CRN_UNKNOWN);
    expect("bruise.area_px <= 5", CRN_UNKNOWN);
    expect("any(bruise, area_px > 5)", CRN_UNKNOWN);
    expect("rot.area_mm2 > 5", CRN_UNKNOWN);
    expect("rot.area_percent < 10", CRN_UNKNOWN);
    expect("any(rot, area_mm2 > 5 and length_mm > 10)", CRN_UNKNOWN);
    expect("any(rot, mean_probability > 0.5)", CRN_UNKNOWN);
    expect("coverage > 0.9", CRN_UNKNOWN);
    expect("diameter_mm < 40", CRN_UNKNOWN);
    fruit.verdict.views_expected = 0;
    expect("views_judged < views_expected", CRN_UNKNOWN);
    fruit.verdict.totals[0].area_px = NAN;
    expect("rot.area_px > 5", CRN_UNKNOWN);
}

static void measures_are_those_of_the_surface(void **state)
{
    (void)state;
    crn_decoded_spot spots[] = {{.name = "rot", .area_mm2 = 30, .length_mm = 12, .width_mm = 4},
                                {.name = "rot", .area_mm2 = 60, .length_mm = 9, .width_mm = 8}};
    crn_decoded_surface *surface = &fruit.verdict.surface;
    crn_rule_fruit_add(&fruit, "rot", 500, 0.8);
    *surface = (crn_decoded_surface){.is_measured = true,
                                     .diameter_mm = 70,
                                     .length_mm = 65,
                                     .coverage = 0.95,
                                     .seen_mm2 = 9000,
                                     .measure_count = 2,
                                     .spot_count = 2,
                                     .spots = spots};
    surface->measures[0] = (crn_decoded_measure){"rot", 2, 90, 60, 12};
    surface->measures[1] = (crn_decoded_measure){.name = "fresh hail"};
    expect("coverage >= 0.95 and diameter_mm == 70 and length_mm == 65", CRN_TRUE);
    expect("rot.count == 2 and rot.area_mm2 == 90 and rot.area_percent == 1", CRN_TRUE);
    expect("rot.largest_mm2 == 60 and rot.longest_mm == 12", CRN_TRUE);
    expect("\"fresh hail\".area_mm2 > 0", CRN_FALSE);
    expect("bruise.area_mm2 > 5", CRN_UNKNOWN);
    expect("any(rot, area_mm2 > 50 and length_mm > 10)", CRN_FALSE);
    expect("any(rot, area_mm2 > 50 and width_mm > 7)", CRN_TRUE);
    expect("any(\"fresh hail\", area_mm2 > 0)", CRN_FALSE);
    fruit.verdict.kind = CRN_VERDICT_PARTIAL;
    expect("rot.area_mm2 < 100", CRN_UNKNOWN);
    expect("rot.area_mm2 > 80", CRN_TRUE);
    expect("any(rot, area_mm2 > 70)", CRN_UNKNOWN);
    expect("any(rot, area_mm2 > 50)", CRN_TRUE);
    surface->is_measured = false;
    expect("coverage >= 0.95", CRN_UNKNOWN);
    *surface = (crn_decoded_surface){.is_measured = false};
    expect("rot.area_mm2 > 80", CRN_UNKNOWN);
}

static void unknown_passes_through_logic(void **state)
{
    (void)state;
    expect("not diameter_mm > 5", CRN_UNKNOWN);
    expect("diameter_mm > 5 and lane == 3", CRN_UNKNOWN);
    expect("diameter_mm > 5 and lane == 4", CRN_FALSE);
    expect("diameter_mm > 5 or lane == 3", CRN_TRUE);
    expect("diameter_mm > 5 or lane == 4", CRN_UNKNOWN);
}

/* Of a fruit that was not judged whole there may be more than what was seen. */
static void a_partial_fruit_has_at_least_what_was_seen(void **state)
{
    (void)state;
    crn_rule_fruit_add(&fruit, "rot", 50, 0.8);
    fruit.verdict.kind = CRN_VERDICT_PARTIAL;
    expect("rot.area_px > 49", CRN_TRUE);
    expect("rot.area_px > 50", CRN_UNKNOWN);
    expect("rot.area_px < 50", CRN_FALSE);
    expect("rot.area_px < 51", CRN_UNKNOWN);
    expect("rot.area_px == 49", CRN_FALSE);
    expect("rot.area_px != 49", CRN_TRUE);
    expect("rot.area_px == 60", CRN_UNKNOWN);
    expect("\"fresh hail\".outlines == 0", CRN_UNKNOWN);
    expect("any(rot, area_px > 40)", CRN_TRUE);
    expect("any(rot, area_px > 60)", CRN_UNKNOWN);
    expect("any(\"fresh hail\", area_px > 60)", CRN_UNKNOWN);
    expect("any(\"fresh hail\", area_mm2 > 60)", CRN_UNKNOWN);
    expect("kind == partial", CRN_TRUE);
    expect("kind != complete", CRN_TRUE);
}

static void flags_and_texts(void **state)
{
    (void)state;
    strcpy(fruit.verdict.recipe, "apricot");
    expect("recipe == \"apricot\"", CRN_TRUE);
    expect("recipe != 'apricot'", CRN_FALSE);
    expect("'' == recipe", CRN_FALSE);
    expect("lot == ''", CRN_TRUE);
    strcpy(fruit.verdict.lot, "Hof 7");
    expect("lot == 'Hof 7'", CRN_TRUE);
    expect("truncated", CRN_FALSE);
    fruit.verdict.truncated = true;
    expect("truncated and not stale", CRN_TRUE);
}

static void precedence_and_brackets(void **state)
{
    (void)state;
    expect("lane == 3 or lane == 4 and stale", CRN_TRUE);
    expect("(lane == 3 or lane == 4) and stale", CRN_FALSE);
    expect("not lane == 3 or lane == 3", CRN_TRUE);
    expect("not (lane == 3 or lane == 4)", CRN_FALSE);
    expect("not not lane == 3", CRN_TRUE);
    expect("((lane == 3))", CRN_TRUE);
}

static void any_looks_at_one_defect_at_a_time(void **state)
{
    (void)state;
    crn_rule_fruit_add(&fruit, "rot", 100, 0.2);
    crn_rule_fruit_add(&fruit, "rot", 10, 0.9);
    crn_rule_fruit_add(&fruit, "fresh hail", 500, 0.95)->closed = false;
    expect("any(rot, area_px > 50 and mean_probability > 0.5)", CRN_FALSE);
    expect("any(rot, area_px > 50 or mean_probability > 0.5)", CRN_TRUE);
    expect("any(rot, area_px > 50) and any(rot, mean_probability > 0.5)", CRN_TRUE);
    expect("any(\"fresh hail\", not closed)", CRN_TRUE);
    expect("any(rot, width_px == 5 and height_px == 20)", CRN_TRUE);
    expect("lane == 4 or any(rot, area_px > 50) and lane == 3", CRN_TRUE);
    fruit.defects[0].hole = true;
    expect("any(rot, area_px > 50)", CRN_FALSE);
}

static void the_first_rule_that_holds_decides(void **state)
{
    (void)state;
    int32_t rule = -1;
    add("rot.area_px > 50");
    add("rot.area_px > 20");
    assert_int_equal(crn_rules_decide(rules, &fruit.verdict, &rule), CRN_RULES_NONE);
    crn_rule_fruit_add(&fruit, "rot", 30, 0.8);
    assert_int_equal(crn_rules_decide(rules, &fruit.verdict, &rule), CRN_RULES_HOLDS);
    assert_int_equal(rule, 1);
    fruit.verdict.kind = CRN_VERDICT_PARTIAL;
    assert_int_equal(crn_rules_decide(rules, &fruit.verdict, &rule), CRN_RULES_UNKNOWN);
    assert_int_equal(rule, 0);
    crn_rule_fruit_add(&fruit, "rot", 30, 0.8);
    assert_int_equal(crn_rules_decide(rules, &fruit.verdict, &rule), CRN_RULES_HOLDS);
    assert_int_equal(rule, 0);
}

static void names_the_classes_once(void **state)
{
    (void)state;
    add("rot.area_px > 50 or any(\"fresh hail\", area_px > 2)");
    add("\"rot\".outlines > 3");
    assert_int_equal(crn_rules_class_count(rules), 2);
    assert_string_equal(crn_rules_class(rules, 0), "rot");
    assert_string_equal(crn_rules_class(rules, 1), "fresh hail");
    assert_int_equal(crn_rules_add(rules, "stem.area_px > x", 16, &faults), -EINVAL);
    assert_int_equal(crn_rules_class_count(rules), 2);
}

static void tells_what_cannot_be_read(void **state)
{
    (void)state;
    expect_fault("^", "an empty rule");
    expect_fault("rot.area_px > ^", "a field or a number expected");
    expect_fault("rot.area_px ^", "a comparison of rot.area_px expected");
    expect_fault("rot.^", "a field of the class expected");
    expect_fault("rot.area_px > 50 ^lane == 3", "'and' or 'or' expected");
    expect_fault("(rot.area_px > 50^", "')' expected");
    expect_fault("rot.area_px > 50^)", "'and' or 'or' expected");
    expect_fault("^and lane == 3", "before 'and'");
    expect_fault("1 < lane ^< 3", "'a < b and b < c' expected");
    expect_fault("rot.area_px > ^50mm2", "the unit is that of the field");
    expect_fault("rot.area_px > ^0,5", "a decimal point expected");
    expect_fault("lane ^= 3", "'==");
    expect_fault("lane == 3 ^&& lane > 1", "'and'");
    expect_fault("lane == 3 ^|| lane > 1", "'or'");
    expect_fault("^!stale", "'not'");
    expect_fault("lane ^=> 3", "'>='");
    expect_fault("^\"fresh hail.area_px > 3", "no second one");
    expect_fault("lane > 3 ^; lane < 4", "no meaning");
}

static void tells_unknown_names(void **state)
{
    (void)state;
    expect_fault("^lanes == 3", "did you mean 'lane'?");
    expect_fault("rot.^area_pxs > 3", "did you mean 'area_px'?");
    expect_fault("rot.^area > 3", "known here: outlines, area_px");
    expect_fault("^area_px > 3", "write CLASS.area_px");
    expect_fault("^mean_probability > 0.5", "any(CLASS, mean_probability ...)");
    expect_fault("any(rot, ^lane == 3)", "outside of any()");
    expect_fault("any(rot, ^rot.area_px > 3)", "without a class");
    expect_fault("any(rot, ^any(rot, area_px > 3))", "any() within any()");
    expect_fault("any(^3, area_px > 3)", "a class expected");
    expect_fault("any(rot ^area_px > 3)", "',' expected");
    expect_fault("kind == ^whole", "complete or partial expected");
    expect_fault("kind == ^late", "the outlet of late ones");
    expect_fault("^wormholes", "unknown field 'wormholes'");
    expect_fault("lane == ^rot", "unknown field 'rot'");
    expect_fault("^''.area_px > 3", "is not a class");
}

static void tells_what_does_not_go_together(void **state)
{
    (void)state;
    expect_fault("rot.area_px > ^rot.area_mm2", "same unit");
    expect_fault("lane == ^views_judged", "same unit");
    expect_fault("rot.area_px > ^rot.area_px", "with itself");
    expect_fault("any(rot, area_px > 50 and ^length_mm > 10)", "one of both expected");
    expect_fault("stale ^== 1", "'stale' or 'not stale'");
    expect_fault("recipe == ^3", "in quotes expected");
    expect_fault("recipe ^< 'a'", "== or != expected");
    expect_fault("kind ^> complete", "== or != expected");
    expect_fault("lane == ^'three'", "a number expected");
    expect_fault("^3 < 4", "no field");
}

static void tells_what_never_or_always_holds(void **state)
{
    (void)state;
    expect_fault("rot.area_px > 50 and ^rot.area_px < 40", "never holds");
    expect_fault("rot.area_px > 50 and lane == 3 and ^rot.area_px <= 50", "never holds");
    expect_fault("rot.area_px > 50 and ^(lane == 3 and rot.area_px < 40)", "never holds");
    expect_fault("rot.outlines > 3 and ^rot.outlines < 4", "never holds");
    expect_fault("kind == complete and ^kind == partial", "never holds");
    expect_fault("any(rot, area_px > 50 and ^area_px < 40)", "never holds");
    expect_fault("^rot.area_px < 0", "not rot.area_px < 0 for every fruit");
    expect_fault("^rot.area_px >= 0", "for every fruit");
    expect_fault("^coverage > 90", "between 0 and 1");
    expect_fault("^coverage < 90", "between 0 and 1");
    add("rot.area_px > 50 and hail.area_px < 40");
    add("rot.area_px > 50 and (rot.area_px < 40 or lane == 3)");
    add("rot.area_px > 50 and not rot.area_px > 60");
    add("rot.area_px > 50 and rot.area_px < 60");
    add("rot.outlines > 3 and rot.outlines < 5");
    add("rot.area_px >= 50 and rot.area_px <= 50");
    add("any(rot, area_px > 50) and any(rot, area_px < 40)");
}

static void tells_several_faults_of_one_rule(void **state)
{
    (void)state;
    expect_fault("lanes == 3 or ^rot.area_px < 0", "for every fruit");
    assert_int_equal(faults.count, 2);
}

static void limits_are_told(void **state)
{
    (void)state;
    char text[CRN_RULE_BYTES_MAX + 2];
    memset(text, '(', sizeof text);
    assert_int_equal(crn_rules_add(rules, text, 100, &faults), -EINVAL);
    assert_non_null(strstr(faults.item[0].text, "brackets"));
    assert_int_equal(crn_rules_add(rules, text, sizeof text, &faults), -EINVAL);
    assert_non_null(strstr(faults.item[0].text, "at most 4096"));
    size_t used = 0;
    for (int i = 0; i < 300; i++)
        used += (size_t)sprintf(text + used, "%slane==%d", i ? " or " : "", i % 10);
    assert_int_equal(crn_rules_add(rules, text, used, &faults), -EINVAL);
    assert_non_null(strstr(faults.item[0].text, "too long"));
    for (int32_t i = crn_rules_count(rules); i < CRN_RULES_MAX; i++)
        add("lane == 3");
    assert_int_equal(crn_rules_add(rules, "lane == 3", 9, &faults), -EINVAL);
    assert_non_null(strstr(faults.item[0].text, "at most 64"));
}

static void print_fields(FILE *out)
{
    static const char *const scopes[CRN_SCOPES] = {
        [CRN_SCOPE_FRUIT] = "fruit", [CRN_SCOPE_CLASS] = "class", [CRN_SCOPE_DEFECT] = "defect"};
    fputs("| Field | Of | Unit | Meaning |\n|---|---|---|---|\n", out);
    for (const crn_rule_field *field = crn_rule_fields; field->name; field++) {
        bool has_unit = strchr("%mp", field->unit[0]);
        fprintf(out, "| `%s` | %s | %s | %s |\n", field->name, scopes[field->scope],
                field->type == CRN_RULE_FLAG   ? "true or false"
                : field->type == CRN_RULE_TEXT ? "text"
                : has_unit                     ? field->unit
                                               : "",
                field->help);
    }
}

static void the_readme_lists_the_fields(void **state)
{
    (void)state;
    readme_expect_reference("tools/common/rules/README.md", print_fields);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(compares_fields_with_numbers),
        TEST(a_class_looked_for_and_not_found_is_zero),
        TEST(what_was_not_measured_is_unknown),
        TEST(measures_are_those_of_the_surface),
        TEST(unknown_passes_through_logic),
        TEST(a_partial_fruit_has_at_least_what_was_seen),
        TEST(flags_and_texts),
        TEST(precedence_and_brackets),
        TEST(any_looks_at_one_defect_at_a_time),
        TEST(the_first_rule_that_holds_decides),
        TEST(names_the_classes_once),
        TEST(tells_what_cannot_be_read),
        TEST(tells_unknown_names),
        TEST(tells_what_does_not_go_together),
        TEST(tells_what_never_or_always_holds),
        TEST(tells_several_faults_of_one_rule),
        TEST(limits_are_told),
        TEST(the_readme_lists_the_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
