/* The outlets of a sorter's file without its other sections, and where they send a fruit. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/line/daemon.h"
#include "tools/common/outlets/outlets.h"

#define OUTLETS(partial)                                                                           \
    "outlets: {names: [first, waste, again, part], default: first, late: again,\n"                 \
    "          partial: " partial ", silence: again, unmeasured: part}\n"
#define RULES "rules: [{outlet: waste, when: rot.area_px > 50}]\n"

static crn_outlets outlets;
static char *said;

static int load(const char *yaml)
{
    char path[128];
    size_t size;
    free(said);
    said = NULL;
    crn_outlets_done(&outlets);
    memset(&outlets, 0, sizeof outlets);
    daemon_write_config(test_folder, "sorter.yaml", yaml, path);
    FILE *out = open_memstream(&said, &size);
    int r = crn_outlets_load(path, out, &outlets);
    assert_int_equal(fclose(out), 0);
    return r;
}

static int tear_down(void **state)
{
    crn_outlets_done(&outlets);
    free(said);
    said = NULL;
    return test_folder_remove(state);
}

static void expect_fault(const char *yaml, const char *wanted)
{
    assert_int_equal(load(yaml), -EINVAL);
    if (!strstr(said, wanted))
        fail_msg("'%s' was not said, but: %s", wanted, said);
}

/* Also of a file that a sorter would refuse for another section. */
static void other_sections_are_passed_over(void **state)
{
    (void)state;
    assert_int_equal(load(OUTLETS("rules") RULES "line: {endpoint: nowhere}\noutputs: 7\nx: {}\n"),
                     0);
    assert_string_equal(said, "");
    assert_int_equal(outlets.names.count, 4);
    assert_int_equal(crn_rules_count(outlets.rules), 1);
    assert_int_equal(outlets.rule_outlet[0], 1);
    assert_int_equal(outlets.choice.partial, CRN_NO_OUTLET);
}

static void faults_of_both_sections_are_told(void **state)
{
    (void)state;
    expect_fault(OUTLETS("rules") "rules: [{outlet: wast, when: rot.area_px > 50}]\n",
                 ":3:18: rules[1].outlet: 'wast' is not in outlets.names, did you mean 'waste'?");
    expect_fault(OUTLETS("rules") "rules: [{outlet: waste, when: rot.aera_px > 50}]\n",
                 "did you mean 'area_px'?");
    expect_fault("rules: []\n", "outlets.names is missing");
}

/* Else a misspelt section would say that no outlet changes. */
static void a_file_without_rules_is_refused(void **state)
{
    (void)state;
    expect_fault(OUTLETS("rules") "rulse: [{outlet: waste, when: rot.area_px > 50}]\n",
                 ":1:1: rules: there is none, a list of {outlet: NAME, when: CONDITION} expected");
    expect_fault(OUTLETS("rules") "rules:\n", "rules: there is none");
}

static const char *decide(crn_decoded *verdict, bool is_past)
{
    return outlets.names.item[crn_outlets_decide(&outlets, verdict, is_past).outlet];
}

static void each_kind_of_verdict_has_its_outlet(void **state)
{
    (void)state;
    crn_decoded *verdict = calloc(1, sizeof *verdict);
    assert_int_equal(load(OUTLETS("again") RULES), 0);
    verdict->kind = CRN_VERDICT_COMPLETE;
    assert_string_equal(decide(verdict, false), "part"); /* it was not looked for rot */
    verdict->total_count = 1;
    verdict->totals[0] = (crn_decoded_total){"rot", 1, 51, 0.5};
    assert_string_equal(decide(verdict, false), "waste");
    assert_string_equal(decide(verdict, true), "again");
    verdict->stale = true;
    assert_int_equal(crn_outlets_decide(&outlets, verdict, false).reason, CRN_DECIDED_STALE);
    verdict->stale = false;
    verdict->totals[0].area_px = 50;
    assert_string_equal(decide(verdict, false), "first");
    verdict->kind = CRN_VERDICT_PARTIAL;
    assert_string_equal(decide(verdict, false), "again");
    verdict->kind = CRN_VERDICT_LATE;
    assert_int_equal(crn_outlets_decide(&outlets, verdict, true).reason, CRN_DECIDED_LATE);
    crn_decoded_free(&verdict);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(other_sections_are_passed_over, test_folder_make,
                                        tear_down),
        cmocka_unit_test_setup_teardown(faults_of_both_sections_are_told, test_folder_make,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_file_without_rules_is_refused, test_folder_make,
                                        tear_down),
        cmocka_unit_test_setup_teardown(each_kind_of_verdict_has_its_outlet, test_folder_make,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
