/*
 * Each request of the start for memory, a thread, a stream or a descriptor is refused in turn, in a
 * daemon with all that it can have: it says what is missing in one line and ends with a status, or
 * starts without what it can do without; it never crashes, and never hangs.
 *
 * CRN_CASES is the number of requests (40 by default, spread over all; 0: each of them).
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/faults/memory/starve.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"
#include "tests/support/line/daemon.h"
#include "tests/support/peers/free_port.h"
#include "tests/support/peers/keys.h"
#include "tests/support/random.h"

#define PROGRAM CRN_BIN "/starved_daemon"

static char folder[64], config_path[128];
static starved_daemon *shared;

static const char settings[] =
    "ingest: {bind: ['ipc://%s/in'], lanes: 0-3, slots: {path: %s/slots, producers: 1}}\n"
    "publish:\n"
    "  grader: {bind: 'ipc://%s/grader'}\n"
    "  viewers: {bind: 'ipc://%s/viewers'}\n"
    "  log: {dir: %s/log}\n"
    "record: {dir: %s/record, only: partial}\n"
    "state: {dir: %s/state}\n"
    "control: {path: %s/control}\n"
    "access: {keys: %s/keys}\n"
    "monitor: {http: '127.0.0.1:%d'}\n"
    "classes: [{name: background}, {name: rot, level: 0.5}, {name: rust, level: 0.4}]\n"
    "chain:\n"
    "  - convolve: {kernel: gaussian, size: 3}\n"
    "  - morphology: {operation: open, element: disk, size: 3}\n"
    "  - haar: {levels: 2, threshold: 0.05}\n"
    "  - contours: {border: closed}\n"
    "  - ranklet: {windows: [8], optional: true}\n"
    "geometry: {mm_per_px: 0.4}\n"
    "recipes: {gala: {classes: {rot: 0.6}}}\n"
    "run: {backend: openmp, workers: 2, threads: 1}\n"
    "limits: {slots: 4, view_mib: 1, judged_fruits: 64, open_fruits: 8}\n";

static int set_up(void **state)
{
    (void)state;
    char yaml[4096], path[128];
    static const char *const folders[] = {"log", "record", "state"};
    crn_test_keys keys;
    if (daemon_make_folder(folder) < 0)
        return -1;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, folders[i]);
        mkdir(path, 0755);
    }
    crn_test_keys_make(folder, &keys);
    snprintf(yaml, sizeof yaml, settings, folder, folder, folder, folder, folder, folder, folder,
             folder, folder, crn_test_free_ports(false, 1));
    daemon_write_config(folder, "line.yaml", yaml, config_path);
    snprintf(path, sizeof path, "%s/starved", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *shared) < 0)
        return -1;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    setenv(CRN_STARVED_FILE, path, 1);
    return shared == MAP_FAILED ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    munmap(shared, sizeof *shared);
    crn_test_remove_all(folder);
    return 0;
}

/* Reads to "ready:", or to the end. */
static bool is_ready(daemon_process *daemon)
{
    while (!strstr(daemon->text, " ready:")) {
        size_t used = strlen(daemon->text);
        assert_true(used + 1 < sizeof daemon->text);
        if (!fgets(daemon->text + used, (int)(sizeof daemon->text - used), daemon->output))
            return false;
    }
    return true;
}

/* Starts the daemon, whose request of that number fails; true if it starts all the same, and is
 * ended. */
static bool start(uint64_t fails_at, daemon_process *ret_daemon, int *ret_status)
{
    const char *const arguments[] = {"cernitad", "--config", config_path, NULL};
    atomic_store(&shared->requests, 0);
    atomic_store(&shared->failed, 0);
    atomic_store(&shared->fails_at, fails_at);
    daemon_start_as(ret_daemon, PROGRAM, arguments, NULL);
    bool ready = is_ready(ret_daemon);
    if (ready)
        kill(ret_daemon->pid, SIGTERM);
    *ret_status = daemon_end(ret_daemon);
    return ready;
}

/* Lines of the least importance that ends a start, and those that no time begins. */
static int count_faults(const char *text)
{
    int faults = 0;
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        const char *end = strchr(line, '\n');
        if (!end)
            break;
        bool is_log = strncmp(line, "20", 2) == 0;
        const char *error = strstr(line, " error ");
        faults += !is_log || (error && error < end);
    }
    return faults;
}

static void expect_told(uint64_t request, const daemon_process *daemon, int status, bool ready)
{
    if (!WIFEXITED(status))
        fail_msg("request %u, of %#lx: a signal %d: %s", (unsigned)request,
                 (unsigned long)atomic_load(&shared->caller), WTERMSIG(status), daemon->text);
    if (ready ? WEXITSTATUS(status) != 0 : WEXITSTATUS(status) != 1 && WEXITSTATUS(status) != 78)
        fail_msg("request %u, of %#lx: status %d: %s", (unsigned)request,
                 (unsigned long)atomic_load(&shared->caller), WEXITSTATUS(status), daemon->text);
    if (!ready && count_faults(daemon->text) != 1)
        fail_msg("request %u, of %#lx: %d lines: %s", (unsigned)request,
                 (unsigned long)atomic_load(&shared->caller), count_faults(daemon->text),
                 daemon->text);
}

static void each_request_of_the_start_may_fail(void **state)
{
    (void)state;
    static daemon_process daemon;
    int status, ended = 0, started = 0, failed = 0;
    if (!start(0, &daemon, &status))
        fail_msg("%s", daemon.text);
    uint64_t requests = atomic_load(&shared->requests);
    uint32_t cases = crn_random_cases(40);
    crn_random random = {crn_random_seed()};
    uint64_t step = cases ? 1 + requests / cases : 1;
    for (uint64_t at = 1 + crn_random_below(&random, (uint32_t)step); at <= requests; at += step) {
        bool ready = start(at, &daemon, &status);
        failed += atomic_load(&shared->failed) == 1;
        ended += !ready;
        started += ready;
        if (getenv("CRN_LOG"))
            print_message("%u %#lx %s\n%s", (unsigned)at,
                          (unsigned long)atomic_load(&shared->caller), ready ? "ready" : "ended",
                          daemon.text);
        expect_told(at, &daemon, status, ready);
    }
    assert_true(failed > 0);
    print_message("of %u requests %d were refused: %d daemons ended with a line, %d started\n",
                  (unsigned)requests, failed, ended, started);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_request_of_the_start_may_fail),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
