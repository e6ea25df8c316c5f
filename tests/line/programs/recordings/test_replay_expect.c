/* cernita-replay --expect: the verdicts of two runs of the daemon on one recording, compared. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/daemon.h"
#include "tests/support/programs/shell.h"

static char folder[64], output[65536];

static int remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* Runs a program with arguments in which every @ stands for the folder; returns its exit status. */
static int run(const char *program, const char *arguments)
{
    char command[1024];
    size_t used = (size_t)snprintf(command, sizeof command, "exec " CRN_BIN "/%s ", program);
    for (const char *c = arguments; *c; c++)
        used += (size_t)(*c == '@' ? snprintf(command + used, sizeof command - used, "%s", folder)
                                   : snprintf(command + used, sizeof command - used, "%c", *c));
    snprintf(command + used, sizeof command - used, " 2>&1");
    return crn_test_shell(command, output, sizeof output);
}

static void expect_said(const char *text)
{
    if (!strstr(output, text))
        fail_msg("not '%s':\n%s", text, output);
}

/* Starts a line whose verdict log is the folder's subfolder `name`. */
static void start(daemon_process *daemon, const char *name, const char *backend, const char *level)
{
    char yaml[1024], path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    mkdir(path, 0700); /* may be there from another start */
    snprintf(yaml, sizeof yaml,
             "ingest: {bind: ['ipc://%s/in']}\n"
             "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: 'ipc://%s/viewers'},\n"
             "          log: {dir: '%s/%s'}}\n"
             "classes: [{name: background}, {name: rot, level: 0.5}, {name: rust, level: %s}]\n"
             "chain: [contours, ranklet: {windows: [8]}]\n"
             "limits: {slots: 128}\n"
             "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
             "run: {backend: %s, workers: 1, threads: 1, stop_ms: 10000}\n"
             "recipes: {pear: {classes: {rust: 0.6}}}\n"
             "control: {path: '%s/control'}\n"
             "monitor: {http: ''}\n",
             folder, folder, folder, folder, name, level, backend, folder);
    daemon_write_config(folder, "line.yaml", yaml, path);
    daemon_start(daemon, (const char *const[]){"cernitad", "--config", path, NULL});
    daemon_read_until(daemon, "ready:");
}

static void stop(daemon_process *daemon)
{
    kill(daemon->pid, SIGTERM);
    assert_int_equal(daemon_end(daemon), 0);
}

#define REPLAY "@/fruits.tif --to ipc://@/in --rate max --unwatched --wait 60 "

/* The recorded run, of the serial backend. */
static int set_up(void **state)
{
    (void)state;
    daemon_process daemon;
    if (daemon_make_folder(folder) ||
        run("cernita-synth", "@/fruits.tif --fruits 12 --lanes 2 --classes 3 --size 160x64"))
        return -1;
    start(&daemon, "serial", "serial", "0.5");
    int status = run("cernita-replay", REPLAY);
    stop(&daemon);
    return status;
}

static int tear_down(void **state)
{
    (void)state;
    return remove_folder();
}

/* --- tests --- */

static void another_backend_gives_the_same(void **state)
{
    (void)state;
    daemon_process daemon;
    start(&daemon, "openmp", "openmp", "0.5");
    int status = run("cernita-replay", REPLAY "--expect @/serial --got @/openmp");
    stop(&daemon);
    expect_said(": all equal\n");
    expect_said("12 fruits and ");
    assert_null(strstr(output, " and 0 defects"));
    assert_int_equal(status, 0);
}

/* Only what is selected is sent, and compared. */
static void a_selection_is_compared(void **state)
{
    (void)state;
    daemon_process daemon;
    start(&daemon, "part", "openmp", "0.5");
    int status =
        run("cernita-replay", REPLAY "--lane 1 --fruit 2-5 --expect @/serial --got @/part");
    stop(&daemon);
    assert_int_equal(status, 0);
    expect_said("8 of 48 views, 2 of 12 fruits are selected\n");
    expect_said("2 fruits and ");
    expect_said(": all equal; 10 of its fruits were not sent\n");
}

/* The line's log has verdicts of another replay already. */
static void the_first_fruits_are_compared(void **state)
{
    (void)state;
    daemon_process daemon;
    start(&daemon, "part", "openmp", "0.5");
    int status = run("cernita-replay", REPLAY "--fruits 3 --expect @/serial --got @/part");
    stop(&daemon);
    assert_int_equal(status, 0);
    expect_said("3 fruits and ");
}

static uint32_t count_lines(void)
{
    uint32_t lines = 0;
    for (const char *c = output; *c; c++)
        lines += *c == '\n';
    return lines;
}

/* In few lines, by class; with --all a line for each difference. */
static void another_level_is_found_and_named(void **state)
{
    (void)state;
    daemon_process daemon;
    start(&daemon, "level", "serial", "0.6");
    int status = run("cernita-replay", REPLAY "--expect @/serial --got @/level");
    assert_int_equal(status, 1);
    expect_said("\nrust: ");
    expect_said(" of 12 fruits differ: ");
    expect_said("; level 0.6, expected 0.5\n  first: lane ");
    expect_said("  most: lane ");
    expect_said("--all prints each difference");
    assert_null(strstr(output, "rot: ")); /* its level is the same */
    assert_null(strstr(output, "another recipe"));
    expect_said(": the verdicts are not those of ");
    assert_in_range(count_lines(), 5, 19);
    status = run("cernita-replay", REPLAY "--expect @/serial --got @/level --all");
    stop(&daemon);
    assert_int_equal(status, 1);
    expect_said(", rust, defect 1: level 0.6, expected 0.5\n");
    assert_null(strstr(output, ", rot, "));
    assert_true(count_lines() > 20);
}

/* The number of lines of a report's file that have a text. */
static int count_in(const char *file, const char *text)
{
    char command[256], found[64];
    snprintf(command, sizeof command, "grep -c '%s' %s/report/%s", text, folder, file);
    crn_test_shell(command, found, sizeof found);
    return atoi(found);
}

/* The exit status and the lines stay; photographs are found, also those of a second loop. */
static void a_report_shows_what_differs(void **state)
{
    (void)state;
    daemon_process daemon;
    start(&daemon, "reported", "serial", "0.6");
    int status = run("cernita-replay", REPLAY
                     "--loop 2 --fruits 14 --expect @/serial --got @/reported --report @/report");
    assert_int_equal(status, 1);
    expect_said("\nrust: ");
    expect_said(": the verdicts are not those of ");
    assert_true(count_in("fruits.csv", ",\"rust\",") > 2);
    assert_true(count_in("report.html", "<img ") > 2);
    assert_int_equal(count_in("report.html", "have no photographs"), 0);
    assert_int_equal(count_in("report.json", "\"compared\":12,"), 1);
    status = run("cernita-replay",
                 REPLAY "--fruits 3 --expect @/serial --got @/serial --report @/report/new/one");
    stop(&daemon);
    assert_int_equal(status, 1);
    expect_said("/new/one: cannot make the folder of the report: ");
    assert_int_equal(count_lines(), 1); /* before a view is sent */
}

/* A sorter's file; both limits lie between the areas that both levels give to some fruits. */
static void write_rules(const char *name, const char *rules)
{
    char yaml[512], path[128];
    snprintf(yaml, sizeof yaml,
             "line: {endpoint: 'tcp://127.0.0.1:5556'}\n"
             "outlets: {names: [first, second, waste], default: first, late: waste,\n"
             "          partial: rules, silence: waste, unmeasured: waste}\n"
             "%s: [{outlet: waste, when: rust.area_px > 200},\n"
             "     {outlet: second, when: rust.area_px > 120}]\n",
             rules);
    daemon_write_config(folder, name, yaml, path);
}

/* The number in the output's line of outlets. */
static int outlets_changed(void)
{
    const char *line = strstr(output, "\noutlets: ");
    return line ? atoi(line + strlen("\noutlets: ")) : -1;
}

static uint32_t count_said(const char *text)
{
    uint32_t found = 0;
    for (const char *at = output; (at = strstr(at, text)); at++)
        found++;
    return found;
}

/* Told three ways, and each by itself. */
static void another_outlet_is_a_difference(void **state)
{
    (void)state;
    daemon_process daemon;
    char counted[64];
    write_rules("sorter.yaml", "rules");
    start(&daemon, "outlets", "serial", "0.6");
    int status = run("cernita-replay", REPLAY "--expect @/serial --got @/outlets --rules "
                                              "@/sorter.yaml --all --report @/report");
    stop(&daemon);
    assert_int_equal(status, 1);
    int moved = outlets_changed();
    expect_said(" of 12 fruits go to another one: second → first ");
    expect_said(", waste → second ");
    assert_in_range(moved, 2, 11);
    assert_int_equal(count_said(": outlet first, expected second\n") +
                         count_said(": outlet second, expected waste\n"),
                     moved);
    snprintf(counted, sizeof counted, "\"outlet_differs\":%d,", moved);
    assert_int_equal(count_in("report.json", counted), 1);
    assert_int_equal(
        count_in("fruits.csv", "complete,complete,\\(second,first\\|waste,second\\),.*\"rust\""),
        moved);
    assert_int_equal(count_in("report.html", " → "), moved);
}

static void equal_verdicts_have_equal_outlets(void **state)
{
    (void)state;
    daemon_process daemon;
    write_rules("sorter.yaml", "rules");
    start(&daemon, "equal", "openmp", "0.5");
    int status =
        run("cernita-replay", REPLAY "--expect @/serial --got @/equal --rules @/sorter.yaml");
    stop(&daemon);
    assert_int_equal(status, 0);
    expect_said("\noutlets: 0 of 12 fruits go to another one\n");
    expect_said(": all equal\n");
}

/* Before a view is sent. */
static void rules_that_cannot_be_read_are_told(void **state)
{
    (void)state;
    write_rules("misspelt.yaml", "rulse");
    assert_int_equal(run("cernita-replay", REPLAY "--expect @/serial --got @/serial --rules "
                                                  "@/misspelt.yaml"),
                     1);
    expect_said("/misspelt.yaml:1:1: rules: there is none, ");
    expect_said("/misspelt.yaml: the outlets cannot be decided by it, so nothing was sent: ");
    assert_int_equal(run("cernita-replay", REPLAY "--expect @/serial --got @/serial --rules @/no"),
                     1);
    assert_int_equal(run("cernita-replay", REPLAY "--rules @/sorter.yaml"), 2);
    expect_said("--rules decides on verdicts that are compared: ");
}

static void another_recipe_is_named(void **state)
{
    (void)state;
    daemon_process daemon;
    start(&daemon, "recipe", "serial", "0.5");
    int switched = run("cernitactl", "--socket @/control recipe pear");
    int status = run("cernita-replay", REPLAY "--expect @/serial --got @/recipe");
    stop(&daemon);
    assert_int_equal(switched, 0);
    assert_int_equal(status, 1);
    expect_said(" of the fruits that differ had another recipe: '' in ");
    expect_said("/serial, 'pear' in ");
}

/* A line that gives no verdicts, or another folder than its log. So long the replay also waits for
 * the line itself, which is too short on a busy machine. */
static void verdicts_that_never_come_are_missed(void **state)
{
    (void)state;
    daemon_process daemon;
    start(&daemon, "elsewhere", "serial", "0.5");
    static const char *const waits[] = {"--wait 1", "--wait 8", "--wait 64"};
    for (size_t i = 0; i < 3 && (i == 0 || !strstr(output, "logged no verdict")); i++) {
        char arguments[256];
        snprintf(arguments, sizeof arguments,
                 "@/fruits.tif --to ipc://@/in --rate max --unwatched %s --fruit 2 --lane 0 "
                 "--expect @/serial --got @/serial",
                 waits[i]);
        assert_int_equal(run("cernita-replay", arguments), 1);
    }
    stop(&daemon);
    expect_said("/serial: the line logged no verdict of this run there: ");
}

static void what_goes_wrong_is_one_line(void **state)
{
    (void)state;
    assert_int_equal(run("cernita-replay", REPLAY "--expect @/serial"), 2);
    expect_said("--got is missing: ");
    assert_int_equal(run("cernita-replay", REPLAY "--got @/serial"), 2);
    assert_int_equal(run("cernita-replay", REPLAY "--report @/report"), 2);
    expect_said("--report is that of a comparison: ");
    assert_int_equal(run("cernita-replay", REPLAY "--expect @ --got @ --loop 0"), 2);
    assert_int_equal(run("cernita-replay", REPLAY "--expect @/none --got @/serial"), 1);
    expect_said("/none: cannot list this folder: ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(another_backend_gives_the_same),
        cmocka_unit_test(a_selection_is_compared),
        cmocka_unit_test(the_first_fruits_are_compared),
        cmocka_unit_test(another_level_is_found_and_named),
        cmocka_unit_test(a_report_shows_what_differs),
        cmocka_unit_test(another_outlet_is_a_difference),
        cmocka_unit_test(equal_verdicts_have_equal_outlets),
        cmocka_unit_test(rules_that_cannot_be_read_are_told),
        cmocka_unit_test(another_recipe_is_named),
        cmocka_unit_test(verdicts_that_never_come_are_missed),
        cmocka_unit_test(what_goes_wrong_is_one_line),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
