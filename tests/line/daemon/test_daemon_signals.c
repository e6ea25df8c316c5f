/* Signals to cernitad, including those before its line is open; and the unit that restarts it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/line/daemon.h"

static void expect_clean_end(daemon_process *daemon)
{
    int status = daemon_end(daemon);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_non_null(strstr(daemon->text, "stopped"));
}

static void it_reads_its_file_again_at_sighup(void **state)
{
    (void)state;
    char path[128];
    daemon_process daemon;
    daemon_start_line(&daemon, test_folder);
    for (int i = 0; i < 2; i++) {
        daemon.text[0] = '\0';
        kill(daemon.pid, SIGHUP);
        daemon_read_until(&daemon, "reload: fruits from now on are judged by the settings ");
    }
    daemon_write_config(test_folder, "line.yaml", "classes: []\n", path);
    daemon.text[0] = '\0';
    kill(daemon.pid, SIGHUP);
    daemon_read_until(&daemon, "settings refused: ");
    daemon_read_until(&daemon, "line.yaml:1:10: classes is empty");
    kill(daemon.pid, SIGTERM);
    expect_clean_end(&daemon);
}

/* Waits until the program has set its name, in the first lines of its main. */
static void wait_for_name(pid_t pid, const char *wanted)
{
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    while (strcmp(name, wanted) != 0) {
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        assert_non_null(fgets(name, sizeof name, file));
        name[strcspn(name, "\n")] = '\0';
        fclose(file);
    }
}

static void signals_during_its_start_wait_for_the_line(void **state)
{
    (void)state;
    char path[128], program[128];
    daemon_good_config(test_folder, path);
    snprintf(program, sizeof program, "%s/early", test_folder);
    assert_int_equal(symlink(CRN_BIN "/cernitad", program), 0);
    const char *const arguments[] = {"early", "--config", path, NULL};
    for (int i = 0; i < 10; i++) {
        daemon_process daemon;
        daemon_start_as(&daemon, program, arguments, NULL);
        wait_for_name(daemon.pid, "cernitad");
        kill(daemon.pid, SIGHUP);
        kill(daemon.pid, i % 2 ? SIGTERM : SIGINT);
        expect_clean_end(&daemon);
    }
}

/* The parent may have blocked the signals; they must still work. */
static void block_stop(void)
{
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigprocmask(SIG_BLOCK, &stop, NULL);
}

static void a_signal_mask_that_it_inherits_does_not_matter(void **state)
{
    (void)state;
    char path[128];
    daemon_good_config(test_folder, path);
    const char *const arguments[] = {"cernitad", "--config", path, NULL};
    daemon_process daemon;
    daemon_start_as(&daemon, CRN_BIN "/cernitad", arguments, block_stop);
    daemon_read_until(&daemon, "ready:");
    kill(daemon.pid, SIGTERM);
    expect_clean_end(&daemon);
}

/* Reads the value of a key of the unit; fails unless it occurs exactly once. */
static void read_unit(const char *key, char ret_value[64])
{
    FILE *unit = fopen(CRN_BIN "/../tests/cernitad@.service", "r");
    assert_non_null(unit);
    char line[512];
    int found = 0;
    size_t length = strlen(key);
    while (fgets(line, sizeof line, unit)) {
        if (strncmp(line, key, length) != 0 || line[length] != '=')
            continue;
        found++;
        snprintf(ret_value, 64, "%.63s", line + length + 1);
        ret_value[strcspn(ret_value, "\n")] = '\0';
    }
    fclose(unit);
    assert_int_equal(found, 1);
}

static void the_unit_fits_the_daemon(void **state)
{
    (void)state;
    char path[128], value[64];
    daemon_write_config(test_folder, "bad.yaml", "classes: []\n", path);
    const char *const arguments[] = {"cernitad", "--config", path, NULL};
    daemon_process daemon;
    daemon_start(&daemon, arguments);
    int status = daemon_end(&daemon);
    assert_true(WIFEXITED(status));
    read_unit("RestartPreventExitStatus", value);
    assert_int_equal(atoi(value), WEXITSTATUS(status));
    read_unit("Restart", value);
    assert_string_equal(value, "always");
    read_unit("StartLimitIntervalSec", value); /* restart regardless of earlier failures */
    assert_string_equal(value, "0");
#ifdef CRN_SYSTEMD
    read_unit("Type", value); /* READY=1: see test_service.c */
    assert_string_equal(value, "notify");
    read_unit("WatchdogSec", value); /* at least three of the wake-ups of the line's thread */
    assert_in_range(atoi(value), 3, 30);
#endif
    read_unit("RestrictAddressFamilies", value); /* for tcp addresses: see test_daemon_check.c */
    assert_non_null(strstr(value, "AF_NETLINK"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_reads_its_file_again_at_sighup),
        cmocka_unit_test(signals_during_its_start_wait_for_the_line),
        cmocka_unit_test(a_signal_mask_that_it_inherits_does_not_matter),
        cmocka_unit_test(the_unit_fits_the_daemon),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
