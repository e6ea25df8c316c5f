/*
 * cernita-archive follows the log of 64 lanes with 10 fruits/s each, on a small disk of its own. It
 * is killed (SIGKILL) at random moments, and twice its disk is full: after each the file is whole,
 * and at the end each verdict of the log is there once. CRN_SECONDS is how long the line runs (5 by
 * default), CRN_KILLS the number of kills (10), CRN_SEED the seed.
 */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/archived.h"
#include "tests/support/parts/logged.h"
#include "tests/support/programs/shell.h"
#include "tests/support/small_disk.h"

#define PROGRAM       CRN_BIN "/cernita-archive"
#define LANES         64
#define PER_SECOND    (LANES * 10)
#define SEGMENT_BYTES (64 << 20)
#define DISK          "800m"
#define LEFT_BYTES    (8 << 20)
#define NOT_HERE      77 /* exit status of a child: no disk can be mounted here */

static uint32_t seconds, kills;

static uint32_t setting(const char *name, uint32_t initial)
{
    const char *text = getenv(name);
    return text ? (uint32_t)strtoul(text, NULL, 10) : initial;
}

/* --- the line --- */

/* Writes verdicts at their times, in a process of its own; their sums are shared with the test. */
static pid_t start_line(archived_line *line)
{
    pid_t child = crn_cleanup_fork();
    assert_true(child >= 0);
    if (child != 0)
        return child;
    int64_t began_ns = crn_now_ns();
    line->writer = logged_writer(SEGMENT_BYTES, 0);
    while (line->verdicts < (uint64_t)PER_SECOND * seconds) {
        int64_t passed_ns = crn_now_ns() - began_ns;
        uint64_t due = (uint64_t)(passed_ns / (CRN_NS_PER_S / PER_SECOND));
        if (due > (uint64_t)PER_SECOND * seconds)
            due = (uint64_t)PER_SECOND * seconds;
        archived_write(line, CRN_FORMAT_MSGPACK, 0, due - line->verdicts);
        poll(NULL, 0, 20);
    }
    crn_verdict_writer_close(&line->writer);
    _exit(0);
}

/* --- the archive --- */

static pid_t follow(void)
{
    pid_t child = crn_cleanup_fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!freopen("/dev/null", "w", stdout))
            _exit(1);
        execl(PROGRAM, PROGRAM, "--from", logged_folder, "--to", archived_path, "--follow", NULL);
        _exit(1);
    }
    return child;
}

static void expect_whole(void)
{
    if (access(archived_path, F_OK) != 0 ||
        archived_ask("SELECT COUNT(*) FROM sqlite_schema WHERE name = 'gaps'") == 0)
        return;
    assert_true(archived_ask("SELECT COUNT(*) FROM pragma_integrity_check"
                             " WHERE integrity_check = 'ok'") == 1);
    assert_true(archived_ask("SELECT COUNT(*) FROM gaps") == 0);
}

static void resize_disk(const char *disk, uint64_t bytes)
{
    char option[48];
    snprintf(option, sizeof option, "size=%" PRIu64, bytes);
    assert_int_equal(mount("tmpfs", disk, "tmpfs", MS_REMOUNT, option), 0);
}

/* Makes the disk as small as what it has, until the archive ends by that. */
static void fill_disk(const char *disk)
{
    struct statvfs about;
    int status;
    assert_int_equal(statvfs(disk, &about), 0);
    uint64_t used = (about.f_blocks - about.f_bfree) * about.f_frsize;
    resize_disk(disk, used + LEFT_BYTES);
    pid_t child = follow();
    crn_cleanup_wait(child, &status);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
    expect_whole();
    resize_disk(disk, about.f_blocks * about.f_frsize);
}

static void kill_once(crn_random *random, int64_t until_ns)
{
    int64_t left_ms = (until_ns - crn_now_ns()) / CRN_NS_PER_MS;
    pid_t child = follow();
    if (left_ms > 0)
        poll(NULL, 0, (int)crn_random_below(random, (uint32_t)left_ms));
    kill(child, SIGKILL);
    crn_cleanup_wait(child, NULL);
    expect_whole();
}

static void archive_to_the_end(const archived_line *line)
{
    char command[512], output[512];
    snprintf(command, sizeof command, PROGRAM " --from %s --to %s 2>&1", logged_folder,
             archived_path);
    if (crn_test_shell(command, output, sizeof output) != 0 ||
        !strstr(output, "0 missing, 0 unreadable"))
        fail_msg("%s", output);
    archived_expect_sums(&line->sums);
}

/* In a child, to which the small disk belongs. Assertions that fail end it with another status. */
static int run_all(const char *disk)
{
    archived_line *line =
        mmap(NULL, sizeof *line, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (line == MAP_FAILED)
        return 1;
    *line = (archived_line){.random = {crn_random_seed()}, .lanes = LANES};
    crn_random random = {line->random.state ^ 1};
    int64_t began_ns = crn_now_ns(), each_ns = seconds * CRN_NS_PER_S / kills;
    int status;
    if (mkdir(disk, 0700) < 0 || !crn_small_disk_mount(disk, DISK))
        return NOT_HERE;
    pid_t generator = start_line(line);
    for (uint32_t i = 0; i < kills; i++) {
        if (i == kills / 3 || i == 2 * kills / 3)
            fill_disk(disk);
        kill_once(&random, began_ns + (i + 1) * each_ns);
    }
    crn_cleanup_wait(generator, &status);
    double took_s = (double)(crn_now_ns() - began_ns) / 1e9;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return 1;
    archive_to_the_end(line);
    struct stat about;
    assert_int_equal(stat(archived_path, &about), 0);
    print_message("%.0f verdicts of %d lanes in %.0f s, %.0f MB of log, archive of %.0f MB; %u "
                  "kills, disk full twice: 0 lost, 0 doubled\n",
                  (double)line->sums.fruits, LANES, took_s, (double)line->sums.bytes / 1e6,
                  (double)about.st_size / 1e6, (unsigned)kills);
    return 0;
}

static void nothing_is_lost_and_nothing_doubled(void **state)
{
    (void)state;
    char disk[128];
    int status;
    snprintf(disk, sizeof disk, "%s/disk", logged_folder);
    snprintf(archived_path, 128, "%s/disk/line.sqlite", logged_folder);
    pid_t child = crn_cleanup_fork();
    assert_true(child >= 0);
    if (child == 0) {
        status = run_all(disk);
        fflush(stdout);
        _exit(status);
    }
    crn_cleanup_wait(child, &status);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == NOT_HERE)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
    seconds = setting("CRN_SECONDS", 5);
    kills = setting("CRN_KILLS", 10);
    if (seconds < 1 || kills < 3) {
        fprintf(stderr, "CRN_SECONDS of at least 1 and CRN_KILLS of at least 3 expected\n");
        return 2;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_lost_and_nothing_doubled, archived_setup,
                                        logged_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
