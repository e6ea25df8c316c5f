/*
 * cernita-archive follows a log and is killed (SIGKILL) at random moments: after each kill the file
 * is whole, and at the end each verdict of the log is there once. CRN_CASES is the number of kills
 * (20 by default), CRN_SEED the seed.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stages/base/log.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/archived.h"
#include "tests/support/parts/logged.h"
#include "tests/support/programs/shell.h"

#define PROGRAM       CRN_BIN "/cernita-archive"
#define SEGMENT_BYTES 500000
#define LONG          1500 /* verdicts of a longer run, some transactions */

static pid_t follow(void)
{
    pid_t child = crn_cleanup_fork();
    assert_true(child >= 0);
    if (child == 0) {
        execl(PROGRAM, PROGRAM, "--from", logged_folder, "--to", archived_path, "--follow", NULL);
        _exit(1);
    }
    return child;
}

static bool has_archived(pid_t child, void *verdicts)
{
    (void)child;
    return access(archived_path, F_OK) == 0 &&
           archived_ask("SELECT COUNT(*) FROM sqlite_schema WHERE name = 'gaps'") == 1 &&
           archived_ask("SELECT COUNT(*) FROM fruits") >= *(double *)verdicts;
}

/* Nothing is doubled, nothing is missing before the last verdict of a lane, no fruit is cut. */
static void expect_whole(const archived_line *line)
{
    if (access(archived_path, F_OK) != 0 ||
        archived_ask("SELECT COUNT(*) FROM sqlite_schema WHERE name = 'gaps'") == 0)
        return;
    assert_true(archived_ask("SELECT COUNT(*) FROM pragma_integrity_check"
                             " WHERE integrity_check = 'ok'") == 1);
    double fruits = archived_ask("SELECT COUNT(*) FROM fruits");
    assert_true(fruits <= (double)line->sums.fruits);
    assert_true(archived_ask("SELECT COUNT(*) FROM gaps") == 0);
    assert_true(4 * fruits == archived_ask("SELECT COUNT(*) FROM views"));
    assert_true(archived_ask("SELECT TOTAL(count) FROM totals") ==
                archived_ask("SELECT COUNT(*) FROM defects"));
}

static void nothing_is_lost_and_nothing_doubled(void **state)
{
    (void)state;
    static archived_line line;
    line = (archived_line){.random = {crn_random_seed()}};
    line.writer = logged_writer(SEGMENT_BYTES, 0);
    char output[256];
    uint32_t kills = crn_random_cases(20);
    for (uint32_t i = 0; i < kills; i++) {
        double before = (double)line.sums.fruits;
        pid_t child = follow();
        archived_write(&line, CRN_FORMAT_MSGPACK, 0,
                       crn_random_below(&line.random, i % 8 ? 200 : LONG));
        if (i % 4 == 0) /* it gets as far as the log was before */
            crn_test_await(child, has_archived, &before);
        archived_write(&line, CRN_FORMAT_MSGPACK, 0, crn_random_below(&line.random, 200));
        for (volatile uint32_t spin = crn_random_below(&line.random, 5000000); spin > 0; spin--)
            continue;
        kill(child, SIGKILL);
        crn_cleanup_wait(child, NULL);
        expect_whole(&line);
    }
    crn_verdict_writer_close(&line.writer);
    char command[512];
    snprintf(command, sizeof command, PROGRAM " --from %s --to %s 2>&1", logged_folder,
             archived_path);
    assert_int_equal(crn_test_shell(command, output, sizeof output), 0);
    assert_non_null(strstr(output, "0 missing, 0 unreadable"));
    archived_expect_sums(&line.sums);
    print_message("%.0f verdicts, %u kills\n", (double)line.sums.fruits, (unsigned)kills);
}

/* A signal ends it with what is archived on the disk. */
static void a_signal_ends_it(void **state)
{
    (void)state;
    static archived_line line;
    line = (archived_line){.random = {crn_random_seed()}};
    archived_write(&line, CRN_FORMAT_MSGPACK, SEGMENT_BYTES, 100);
    double verdicts = 100;
    int status;
    pid_t child = follow();
    crn_test_await(child, has_archived, &verdicts);
    kill(child, SIGTERM);
    crn_cleanup_wait(child, &status);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    archived_expect_sums(&line.sums);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, archived_setup, logged_teardown)

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_lost_and_nothing_doubled),
        TEST(a_signal_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
