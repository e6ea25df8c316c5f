/*
 * The log of changes of a running daemon: who did what, also by signals and over restarts and
 * kills, read by cernitactl with and without the daemon; folders that take nothing.
 */
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/line/kept_line.h"
#include "tests/support/programs/shell.h"
#include "tests/support/random.h"

static daemon_process line;
static char output[16384];

static void write_line(const char *level)
{
    kept_line_write(level, "recipes: {peach: {classes: {rot: 0.3}}}\n");
}

static int control(const char *request)
{
    return kept_line_control(request, output, sizeof output);
}

static int read_log(const char *request)
{
    char command[512];
    snprintf(command, sizeof command, CRN_BIN "/cernitactl --dir %s/state %s 2>&1", test_folder,
             request);
    return crn_test_shell(command, output, sizeof output);
}

static void expect(const char *said)
{
    if (!strstr(output, said))
        fail_msg("'%s' is missing in: %s", said, output);
}

/* Until what `ask` prints has that text: entries are written behind the answer. */
static void await(int (*ask)(const char *request), const char *request, const char *said)
{
    int64_t until_ns = crn_now_ns() + 60 * CRN_NS_PER_S;
    do {
        if (crn_now_ns() > until_ns)
            fail_msg("'%s' is missing in: %s", said, output);
        ask(request);
        sched_yield();
    } while (!strstr(output, said));
}

static void who_changed_what_is_told(void **state)
{
    (void)state;
    char settings[64], by[64];
    kept_line_start(&line);
    assert_int_equal(control("recipe peach"), 0);
    snprintf(settings, sizeof settings, "settings %.16s", output + strlen("settings "));
    write_line("0.45");
    assert_int_equal(control("reload"), 0);
    write_line("nonsense");
    assert_int_equal(control("reload"), 1);
    write_line("0.45");
    kill(line.pid, SIGHUP);
    await(read_log, "changes", ", signal");
    kept_line_end(&line, SIGTERM);
    assert_int_equal(read_log("changes"), 0);
    expect("    1  20");
    expect("  start  by ");
    expect("  recipe  by ");
    expect("recipe: none -> peach");
    expect("classes.rot.level: 0.5 -> 0.45");
    expect("  reload refused  by ");
    expect("  stop  by ");
    snprintf(by, sizeof by, " (%u), process %d, signal", (unsigned)getuid(), (int)getpid());
    expect(by);
    assert_int_equal(read_log("changes --from 6"), 0);
    expect("    6  20");
    assert_null(strstr(output, "    5  20"));
    assert_int_equal(read_log("changes --from 2026-01-01T00:00Z"), 0);
    expect("    1  20");
    assert_int_equal(read_log("changes --from 2100-01-01"), 0);
    assert_string_equal(output, "no entries from 2100-01-01 on\n");
    assert_int_equal(read_log("changes --from 2026"), 0);
    assert_string_equal(output, "no entries from 2026 on\n");
    assert_int_equal(read_log("changes --verify"), 0);
    expect("6 entries, none altered; the last has the hash ");
    assert_int_equal(read_log(settings), 0);
    expect("- {name: \"rot\", level: 0.3}");
}

/* Overwrites a byte of a file of the state folder. */
static void alter(const char *name, long at)
{
    char path[128];
    snprintf(path, sizeof path, "%s/state/%s", test_folder, name);
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    fputc('~', file);
    fclose(file);
}

static void what_was_altered_is_named(void **state)
{
    (void)state;
    char name[128], hash[17];
    kept_line_start(&line);
    assert_int_equal(control("recipe peach"), 0);
    snprintf(hash, sizeof hash, "%.16s", output + strlen("settings "));
    await(control, "status", "changes   2, the last with the hash ");
    assert_int_equal(control("changes --verify"), 0);
    snprintf(name, sizeof name, "settings/%s.yaml", hash);
    alter(name, 20);
    assert_int_equal(control("changes --verify"), 1);
    expect(name);
    expect("is not the text that entry 2 was written with");
    char path[256];
    snprintf(path, sizeof path, "%s/state/%s", test_folder, name);
    assert_int_equal(unlink(path), 0); /* as moved away, where the folder is full */
    assert_int_equal(control("changes --verify"), 0);
    expect("2 entries, none altered");
    expect("the settings' text of 1 entry is not there");
    alter("changes.jsonl", 100);
    assert_int_equal(control("changes"), 1);
    expect("/state/changes.jsonl:1: is not the entry that was written there");
    kept_line_end(&line, SIGKILL);
    kept_line_start(&line); /* all the same */
    await(control, "status", "changes   3, the last with the hash ");
    daemon_read_until(&line, "changes.jsonl:1: is not the entry");
    assert_int_equal(control("changes"), 1);
    expect("/state/changes.jsonl:1: ");
    kept_line_end(&line, SIGTERM);
}

/* A switch may be in force and not in the log yet: then the start tells. */
static void a_daemon_that_is_killed_leaves_a_chain(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    kept_line_start(&line);
    await(read_log, "changes", "  start  by "); /* the file is made after the line is ready */
    kept_line_end(&line, SIGTERM);
    for (uint32_t i = crn_random_cases(20); i > 0; i--) {
        kept_line_start(&line);
        pid_t pid = line.pid;
        char command[512];
        snprintf(command, sizeof command,
                 "(for i in 1 2 3 4; do " CRN_BIN "/cernitactl --socket %s/control recipe peach; "
                 "done) >/dev/null 2>&1 & sleep 0.0%02u; kill -9 %d; wait",
                 test_folder, crn_random_below(&random, 50), (int)pid);
        crn_test_shell(command, output, sizeof output);
        daemon_end(&line);
        assert_int_equal(read_log("changes --verify"), 0);
    }
}

static void a_folder_that_takes_nothing_keeps_no_reload_waiting(void **state)
{
    (void)state;
    char folder[96], aside[96];
    snprintf(folder, sizeof folder, "%s/state", test_folder);
    snprintf(aside, sizeof aside, "%s/aside", test_folder);
    kept_line_start(&line);
    await(read_log, "changes", "start");
    assert_int_equal(rename(folder, aside), 0);
    write_line("0.4");
    assert_int_equal(control("reload"), 0);
    await(control, "status", "Changes of settings are not recorded");
    assert_int_equal(rename(aside, folder), 0);
    await(read_log, "changes", "classes.rot.level: 0.5 -> 0.4");
    kept_line_end(&line, SIGTERM);
    assert_int_equal(read_log("changes --verify"), 0);
}

static void lots_are_changes_and_stay_in_the_entries_after(void **state)
{
    (void)state;
    kept_line_start(&line);
    assert_int_equal(control("lot A-17 --grower Rossi"), 0);
    assert_int_equal(control("lot B-1"), 0);
    assert_int_equal(control("lot 'C?'"), 1);
    assert_int_equal(control("recipe peach"), 0);
    await(read_log, "changes", "recipe: none -> peach");
    expect("lot: none -> A-17\n       grower: Rossi\n");
    expect("lot: A-17 -> B-1\n");
    expect("  lot refused  by ");
    expect("asked: lot C?\n       lot: the id has a question mark");
    kept_line_end(&line, SIGKILL);
    kept_line_start(&line);
    kept_line_end(&line, SIGTERM);
    assert_int_equal(read_log("changes --from 6"), 0); /* the start, with what was kept */
    assert_null(strstr(output, "->"));
    char command[256];
    snprintf(command, sizeof command,
             "grep -c '\"after\":{[^}]*\"lot\":\"B-1\"' %s/state/changes.jsonl", test_folder);
    crn_test_shell(command, output, sizeof output);
    assert_string_equal(output, "5\n");
}

static void what_is_asked_wrongly_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *request, *said;
        int status;
    } cases[] = {
        {"settings", "wrong operands", 2},
        {"settings ../../../etc/passwd", "16 hexadecimal digits", 2},
        {"settings 0123456789abcdef", "0123456789abcdef.yaml", 1},
        {"changes 3", "wrong operands", 2},
        {"changes --verify --from 3", "wrong operands", 2},
        {"changes --from yesterday", "a number or YYYY-MM-DD", 2},
        {"changes --from ''", "a number or YYYY-MM-DD", 2},
        {"changes --from 2026-13-01", "a number or YYYY-MM-DD", 2},
        {"changes --from 2026-11-28T25:00", "a number or YYYY-MM-DD", 2},
        {"changes --from 2026-11-28T06:00+01:00", "a number or YYYY-MM-DD", 2},
        {"changes", "changes.jsonl", 1},
        {"status", "wrong operands", 2},
        {"--line apples changes", "exclude each other", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_log(cases[i].request), cases[i].status);
        expect(cases[i].said);
    }
    assert_int_equal(control("changes"), 1);
    expect("without a daemon name its state folder: --dir DIR");
}

static int set_up(void **state)
{
    char state_folder[96];
    int r = test_folder_make(state);
    snprintf(state_folder, sizeof state_folder, "%s/state", test_folder);
    write_line("0.5");
    return r < 0 ? r : mkdir(state_folder, 0755);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, test_folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_changed_what_is_told),
        TEST(what_was_altered_is_named),
        TEST(a_daemon_that_is_killed_leaves_a_chain),
        TEST(a_folder_that_takes_nothing_keeps_no_reload_waiting),
        TEST(lots_are_changes_and_stay_in_the_entries_after),
        TEST(what_is_asked_wrongly_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
