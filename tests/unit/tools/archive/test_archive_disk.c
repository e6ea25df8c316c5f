/* A full disk costs an archive nothing: what it could not take is taken once there is room. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stages/base/log.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/free_space.h"
#include "tests/support/parts/archived.h"
#include "tests/support/parts/logged.h"
#include "tests/support/small_disk.h"

#define DISK_BYTES  (16 << 20)
#define LEFT_BYTES  (400 << 10)
#define VERDICTS    1500
#define ONE_SEGMENT UINT64_MAX

static archived_line line;
static crn_intake_stats stats;
static crn_error error;

static int set_up(void **state)
{
    line = (archived_line){.random = {crn_random_seed()}};
    return archived_setup(state);
}

static void room_for_others_is_left(void **state)
{
    (void)state;
    archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 100);
    atomic_store(&free_bytes, UINT64_C(200) << 20);
    int r = archived_import(false, &stats, &error);
    atomic_store(&free_bytes, CRN_PLENTY_BYTES);
    assert_int_equal(r, -ENOSPC);
    assert_int_equal(stats.added, 0);
    assert_non_null(strstr(error.text, "still has what is not archived"));
    archived_expect_added(100);
    archived_expect_sums(&line.sums);
}

/* Writes a file that leaves LEFT_BYTES of the disk. */
static void fill(const char *path)
{
    struct stat about;
    off_t used = stat(archived_path, &about) == 0 ? about.st_size : 0;
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(posix_fallocate(fd, 0, DISK_BYTES - LEFT_BYTES - used), 0);
    close(fd);
}

/* Exit status of the child: 0, or 77 if no small disk can be mounted here; a failed assertion ends
 * it otherwise. */
static int fill_twice(void)
{
    char disk[128], filler[160];
    snprintf(disk, sizeof disk, "%s/disk", logged_folder);
    snprintf(filler, sizeof filler, "%s/filler", disk);
    snprintf(archived_path, 128, "%s/disk/line.sqlite", logged_folder);
    if (mkdir(disk, 0700) < 0 || !crn_small_disk_mount(disk, "16m"))
        return 77;
    for (int i = 0; i < 2; i++) {
        archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, VERDICTS);
        fill(filler);
        if (archived_import(false, &stats, &error) != -ENOSPC || stats.added != 0 ||
            !strstr(error.text, "its disk is full: make room and start again"))
            return 1;
        if (unlink(filler) < 0)
            return 2;
        archived_expect_added(VERDICTS);
        archived_expect_sums(&line.sums);
    }
    return 0;
}

static void a_full_disk_costs_nothing(void **state)
{
    (void)state;
    int status;
    pid_t child = crn_cleanup_fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(fill_twice());
    crn_cleanup_wait(child, &status);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, logged_teardown)

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        TEST(room_for_others_is_left),
        TEST(a_full_disk_costs_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
