/* What is made from the table of conditions: the alerts of Prometheus, and the table of README.md;
 * and that no condition is left out of the other table there, of faults. */
#include <stdio.h>
#include <string.h>

#include "src/monitor/conditions/conditions.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/readme_reference.h"

static const char *const severities[CRN_SEVERITIES] = {"info", "warning", "critical"};

/* A text with its lane as a label of the series; of figures, which the series does not have, "…".
 */
static void print_text(const char *text, FILE *out)
{
    for (const char *at = text; *at; at++) {
        const char *end = *at == '{' ? strchr(at, '}') : NULL;
        if (!end) {
            if (*at == '"' || *at == '\\')
                fputc('\\', out);
            fputc(*at, out);
            continue;
        }
        fputs(strncmp(at, "{lane}", 6) == 0 ? "{{ $labels.lane }}" : "…", out);
        at = end;
    }
}

static void print_alerts(FILE *out)
{
    fputs("# The alerts of the conditions: src/monitor/conditions has the table that they are made "
          "from "
          "by\n# CRN_RENEW=1 build/bin/test_condition_references. How long a condition has to "
          "hold, and "
          "which of several\n# causes is told, the daemon has decided. Figures (…) are on the live "
          "page "
          "and in /healthz.\n\ngroups:\n  - name: cernita-conditions\n    rules:\n",
          out);
    for (int32_t i = 0; i < crn_condition_row_count; i++) {
        const crn_condition *row = crn_condition_rows[i];
        const crn_condition_words *words = &row->words[CRN_ENGLISH];
        fprintf(out,
                "%s      - alert: %s\n        expr: cernita_condition{condition=\"%s\"} == 1\n",
                i ? "\n" : "", row->alert, row->id);
        fprintf(out, "        labels: {severity: %s}\n        annotations:\n          summary: \"",
                severities[row->severity]);
        fputs("{{ $labels.instance }}: ", out);
        print_text(words->what, out);
        fputs("\"\n          description: \"", out);
        print_text(words->action, out);
        fputs(" Details: ", out);
        print_text(row->details, out);
        fputs("\"\n", out);
    }
}

/* Placeholders as they stand; no column may end before its time. */
static void print_cell(const char *text, FILE *out)
{
    for (; *text; text++)
        fputs(*text == '|' ? "\\|" : (char[]){*text, '\0'}, out);
}

static void print_reference(FILE *out)
{
    fputs(
        "| condition | severity | fruit misjudged | what is said | what to do | details | alert |\n"
        "|---|---|---|---|---|---|---|\n",
        out);
    for (int32_t i = 0; i < crn_condition_row_count; i++) {
        const crn_condition *row = crn_condition_rows[i];
        fprintf(out, "| `%s` | %s | %s | ", row->id, crn_severity_names[row->severity],
                row->misjudged ? "yes" : "no");
        print_cell(row->words[CRN_ENGLISH].what, out);
        fputs(" | ", out);
        print_cell(row->words[CRN_ENGLISH].action, out);
        fputs(" | ", out);
        print_cell(row->details, out);
        fprintf(out, " | `%s` |\n", row->alert);
    }
}

static void the_alerts_are_those_of_the_table(void **state)
{
    (void)state;
    readme_expect_file("config/prometheus/conditions.yml", print_alerts);
}

static void the_readme_has_the_table(void **state)
{
    (void)state;
    readme_expect_reference("src/monitor/conditions/README.md", print_reference);
}

/* Which takes a fault in tests/monitor/faults_of_*.py; check_conditions.py prints the rows. */
static void each_condition_was_provoked_on_a_daemon(void **state)
{
    (void)state;
    for (int32_t i = 0; i < crn_condition_row_count; i++)
        readme_expect_row("src/monitor/conditions/README.md", "## Provoked",
                          crn_condition_rows[i]->id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_alerts_are_those_of_the_table),
        cmocka_unit_test(the_readme_has_the_table),
        cmocka_unit_test(each_condition_was_provoked_on_a_daemon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
