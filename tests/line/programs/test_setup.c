/* tools/setup with fake apt-get, dpkg-query and sleep: the packages it requests, and waiting for a
 * locked package database. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/daemon.h"

static char folder[64], said[8192], asked[8192];

/* Writes an executable script into the folder. */
static void write_program(const char *name, const char *script)
{
    char path[128], text[2048];
    snprintf(text, sizeof text, "#!/bin/bash\n%s\n", script);
    daemon_write_config(folder, name, text, path);
    assert_int_equal(chmod(path, 0755), 0);
}

static void read_all(FILE *file, char text[8192])
{
    text[fread(text, 1, 8191, file)] = '\0';
}

/* Runs tools/setup with only `installed` present; returns its exit status, its output in `said`,
 * and its calls of apt-get in `asked`. */
static int setup(const char *options, const char *installed)
{
    char command[512], path[128];
    snprintf(path, sizeof path, "%s/asked", folder);
    unlink(path);
    snprintf(command, sizeof command,
             "PATH=%s:$PATH FAKES=%s INSTALLED='%s' " CRN_TEST_DATA "/../tools/setup %s 2>&1",
             folder, folder, installed, options);
    FILE *run = popen(command, "r");
    assert_non_null(run);
    read_all(run, said);
    int status = pclose(run);
    asked[0] = '\0';
    FILE *calls = fopen(path, "r");
    if (calls) {
        read_all(calls, asked);
        fclose(calls);
    }
    return WEXITSTATUS(status);
}

static bool asked_for(const char *package)
{
    char word[64];
    snprintf(word, sizeof word, " %s ", package);
    return strstr(asked, word) != NULL;
}

/* The fakes: apt-get update fails once per line of the file `update`, printing that line, and
 * apt-get install likewise with `install`. */
static int set_up(void **state)
{
    (void)state;
    if (daemon_make_folder(folder) < 0)
        return -1;
    write_program("id", "echo 0");
    write_program("systemctl", "echo \"systemctl $*\" >> $FAKES/asked");
    write_program("sleep", "echo slept >> $FAKES/slept");
    write_program("dpkg-query", "[[ \" $INSTALLED \" = *\" ${@: -1} \"* ]] && echo -n installed");
    write_program("apt-get", "echo \"$* \" >> $FAKES/asked\n"
                             "locks=$FAKES/update\n"
                             "[[ \"$*\" = *install* ]] && locks=$FAKES/install\n"
                             "if [ -s $locks ]; then\n"
                             "    head -n 1 $locks >&2\n"
                             "    sed -i 1d $locks\n"
                             "    exit 100\n"
                             "fi");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return daemon_remove_folder(folder);
}

static void it_asks_for_what_the_mode_needs(void **state)
{
    (void)state;
    static const char *const tests[] = {"libcmocka-dev", "python3-pywt", "python3-skimage"};
    static const char *const checks[] = {"clang", "clang-format", "git"};
    static const char *const others[] = {"python3-silx", "python3-contourpy", "python3-matplotlib"};
    static const struct {
        const char *options;
        bool tests, checks, peers, study;
    } modes[] = {
        {"", false, false, false, false},
        {"--test", true, false, false, false},
        {"--check", true, true, false, false},
    };
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
        assert_int_equal(setup(modes[m].options, ""), 0);
        assert_true(asked_for("gcc") && asked_for("libzmq3-dev") && asked_for("ninja-build"));
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(asked_for(tests[i]), modes[m].tests);
            assert_int_equal(asked_for(checks[i]), modes[m].checks);
        }
        for (size_t i = 0; i < 3; i++)
            assert_false(asked_for(others[i]));
    }
    assert_int_equal(setup("--study --peers", ""), 0);
    assert_null(strstr(asked, "systemctl"));
    for (size_t i = 0; i < 3; i++)
        assert_true(asked_for(others[i]));
    assert_false(asked_for("clang"));
    assert_int_equal(setup("--chek", ""), 2);
    assert_string_equal(
        said,
        "tools/setup: unknown option '--chek'; --demo, --test, --check, --library, --packages, "
        "--pages, --service, --slurm, --study or --peers\n");
    assert_string_equal(asked, "");
}

static void services_are_masked_before_they_are_there(void **state)
{
    (void)state;
    const char *const services[] = {"prometheus", "nats-server"};
    for (size_t i = 0; i < sizeof services / sizeof *services; i++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "systemctl mask %s.service\n", services[i]);
        assert_int_equal(setup("--check", ""), 0);
        const char *masked = strstr(asked, wanted);
        assert_non_null(masked);
        assert_true(masked < strstr(asked, " install "));
        assert_int_equal(setup("--check", services[i]), 0);
        assert_null(strstr(asked, wanted));
    }
}

static void it_asks_for_nothing_that_is_there(void **state)
{
    (void)state;
    static const char most[] =
        "gcc g++ cmake ninja-build pkg-config python3 libzmq3-dev libyaml-dev libtiff-dev "
        "libmsgpack-dev "
        "libyajl-dev libcairo2-dev libmicrohttpd-dev libcurl4-openssl-dev libjs-chart.js "
        "libsystemd-dev "
        "libncurses-dev libmodbus-dev libmosquitto-dev libjpeg-dev libsqlite3-dev libsodium-dev "
        "zlib1g-dev libnats-dev libpq-dev lowdown";
    char all[512];
    assert_int_equal(setup("", most), 0);
    assert_non_null(strstr(asked, "install -y -qq --no-install-recommends libpng-dev \n"));
    snprintf(all, sizeof all, "%s libpng-dev", most);
    assert_int_equal(setup("", all), 0);
    assert_string_equal(asked, "");
    assert_string_equal(said, "");
}

/* Sets the errors of one command, one line per call. */
static void fail_with(const char *which, const char *lines)
{
    char path[128];
    daemon_write_config(folder, which, lines, path);
}

static void it_waits_for_a_locked_package_database(void **state)
{
    (void)state;
    fail_with("update", "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 4711 "
                        "(apt-get)\n"
                        "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 4711 "
                        "(apt-get)\n");
    fail_with("install", "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process "
                         "4712 (unattended-upgr)\n");
    assert_int_equal(setup("", ""), 0);
    assert_non_null(strstr(said, "waiting up to 600 s for another program: Could not get lock "
                                 "/var/lib/apt/lists/lock. It is held by process 4711 (apt-get)\n"
                                 "waiting up to 600 s for another program: Could not get lock "
                                 "/var/lib/dpkg/lock-frontend. It is held by process 4712 "
                                 "(unattended-upgr)\n"));
    int calls = 0;
    for (const char *at = asked; (at = strstr(at, "DPkg::Lock::Timeout=")); at++)
        calls++;
    assert_int_equal(calls, 3 + 2);
}

static void another_failure_is_reported_at_once(void **state)
{
    (void)state;
    fail_with("install", "E: Unable to locate package gcc\n");
    assert_int_equal(setup("", ""), 1);
    assert_non_null(strstr(said, "E: Unable to locate package gcc\ntools/setup: apt-get failed as "
                                 "shown; mend that, or install by hand: gcc "));
    assert_null(strstr(said, "waiting"));
}

static void a_lock_that_stays_ends_it(void **state)
{
    (void)state;
    fail_with("update", "E: Could not get lock /var/lib/apt/lists/lock\n"
                        "E: Could not get lock /var/lib/apt/lists/lock\n");
    assert_int_equal(setenv("CRN_SETUP_WAIT_S", "0", 1), 0);
    int status = setup("", "");
    unsetenv("CRN_SETUP_WAIT_S");
    assert_int_equal(status, 1);
    assert_non_null(strstr(said, "another program still has the package database after 0 s\n"));
}

static void help_is_its_own_head(void **state)
{
    (void)state;
    assert_int_equal(setup("--help", ""), 0);
    assert_memory_equal(said, "Installs on Debian 12 what cernita needs", 40);
    assert_non_null(strstr(said, "0 all is there, 1 it cannot be had, 2 usage error.\n"));
    assert_string_equal(asked, "");
    assert_int_equal(setup("--hel", ""), 2);
}

int main(void)
{
#define WITH_FAKES(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_FAKES(it_asks_for_what_the_mode_needs),
        WITH_FAKES(services_are_masked_before_they_are_there),
        WITH_FAKES(it_asks_for_nothing_that_is_there),
        WITH_FAKES(help_is_its_own_head),
        WITH_FAKES(it_waits_for_a_locked_package_database),
        WITH_FAKES(another_failure_is_reported_at_once),
        WITH_FAKES(a_lock_that_stays_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
