/* What cernita-why says of the whole line (tools/why/daemon/state.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tools/why/daemon/state.h"

static crn_daemon_state state;

static void hold(const char *id, crn_state_level severity, const char *what, const char *action)
{
    crn_state_condition *one = &state.conditions[state.condition_count++];
    *one = (crn_state_condition){.severity = severity, .lane = -1};
    snprintf(one->id, sizeof one->id, "%s", id);
    snprintf(one->what, sizeof one->what, "%s", what);
    snprintf(one->action, sizeof one->action, "%s", action);
    snprintf(one->details, sizeof one->details, "more on %s", what);
}

/* What is printed; to be freed. */
static char *print(void)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    crn_state_print(&state, out);
    assert_int_equal(fclose(out), 0);
    return text;
}

static void what_many_lanes_have_is_explained_once(void **unused)
{
    (void)unused;
    state = (crn_daemon_state){.state = "running", .level = CRN_LEVEL_CRITICAL, .misjudged = true};
    hold("silent", CRN_LEVEL_CRITICAL, "Lane 1: no pictures", "Check the camera.");
    hold("silent", CRN_LEVEL_CRITICAL, "Lane 2: no pictures", "Check the camera.");
    hold("lost", CRN_LEVEL_CRITICAL, "Lane 1: pictures lost", "Check the network.");
    hold("slow", CRN_LEVEL_NOTICE, "A display is slow", "");
    char *text = print();
    static const char *const wanted[] = {
        "the line now: running, critical: fruit is sorted wrongly or not at all\n"
        "  critical: Lane 1: no pictures\n  critical: Lane 2: no pictures\n"
        "    what to do: Check the camera.\n    details: more on Lane 1: no pictures\n    since ",
        " (silent)\n  critical: Lane 1: pictures lost\n    what to do: Check the network.\n",
        " (lost)\n  notice: A display is slow\n    details: more on A display is slow\n    since ",
    };
    const char *at = text;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        const char *found = strstr(at, wanted[i]);
        if (!found)
            fail_msg("not '%s' in:\n%s", wanted[i], at);
        at = found + strlen(wanted[i]);
    }
    free(text);
}

static void what_is_good_is_one_line(void **unused)
{
    (void)unused;
    state = (crn_daemon_state){.state = "running", .level = CRN_LEVEL_GOOD};
    char *text = print();
    assert_string_equal(text, "the line now: running, nothing out of the ordinary\n");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_many_lanes_have_is_explained_once),
        cmocka_unit_test(what_is_good_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
