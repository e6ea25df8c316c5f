/* `cernitad --check` verifies what the start will need; both report the same errors. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/line/daemon.h"
#include "tests/support/sanitized.h"

/* An address of no machine: reserved for documentation (RFC 5737). */
#define STRANGE_ADDRESS "192.0.2.1"

static const char chain[] = "classes: [{name: rot, level: 0.5}]\n"
                            "chain: [contours: {}]\n"
                            "run: {workers: 1, threads: 1, backend: openmp}\n"
                            "access: {plain_tcp: true}\n"
                            "monitor: {http: ''}\n";

/* Runs the daemon with this file; returns its exit status. */
static int run(daemon_process *daemon, const char *yaml, const char *option, void (*prepare)(void))
{
    char path[128];
    daemon_write_config(test_folder, "line.yaml", yaml, path);
    const char *const arguments[] = {"cernitad", "--config", path, option, NULL};
    daemon_start_as(daemon, CRN_BIN "/cernitad", arguments, prepare);
    int status = daemon_end(daemon);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* --check prints only this line and exits with 78; the start prints it and exits with 1. */
static void expect_fault(const char *yaml, const char *said, void (*prepare)(void))
{
    daemon_process daemon;
    char line[600];
    snprintf(line, sizeof line, "%s/line.yaml: %s\n", test_folder, said);
    int status = run(&daemon, yaml, "--check", prepare);
    assert_string_equal(daemon.text, line);
    assert_int_equal(status, 78);
    status = run(&daemon, yaml, NULL, prepare);
    assert_string_equal(daemon.text, line);
    assert_int_equal(status, 1);
}

static void it_says_what_the_line_takes(void **state)
{
    (void)state;
    daemon_process daemon;
    char yaml[2048];
    snprintf(yaml, sizeof yaml,
             "ingest: {bind: ['ipc://%s/in']}\n"
             "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: 'ipc://%s/viewers'}}\n"
             "monitor: {http: ''}\n"
             "classes: [{name: ground}, {name: rot, level: 0.5}, {name: hail, level: 1}]\n"
             "recipes: {plum: {classes: {rot: 0, hail: 0.25}}, none: {}}\n"
             "chain: [convolve: {}, contours: {}]\n"
             "run: {workers: 1, threads: 1, backend: openmp}\n",
             test_folder, test_folder, test_folder);
    assert_int_equal(run(&daemon, yaml, "--check", NULL), 0);
    assert_memory_equal(daemon.text, "OK: 3 classes, 2 stages, at most ", 33);
    assert_string_equal(strchr(daemon.text, '\n'),
                        "\nlevels: rot 0.5, hail 1\nlevels of recipe plum: rot 0, hail 0.25\n"
                        "levels of recipe none: rot 0.5, hail 1\n"
                        "note: classes.level: hail is 1 (no pixel is above it: nothing is found), "
                        "rot of recipe plum is 0 (every pixel above it is a defect's)\n");
    strcpy(strstr(yaml, "classes:"), "classes: [{name: rot, level: 0.5}]\n"
                                     "chain: [contours: {}]\n"
                                     "limits: {slots: 2, view_mib: 1}\n"
                                     "run: {workers: 1, threads: 1, backend: openmp}\n");
    assert_int_equal(run(&daemon, yaml, "--check", NULL), 0);
    assert_memory_equal(daemon.text, "OK: 1 class, 1 stage, at most 13", 32);
    assert_string_equal(strstr(daemon.text, " MiB"),
                        " MiB, used as views arrive\nlevels: rot 0.5\n");
}

static void addresses_must_be_this_machine_s(void **state)
{
    (void)state;
    static const char *const addresses[][2] = {
        {STRANGE_ADDRESS,
         "this machine has no such address: see `ip address`, or bind tcp://*:PORT"},
        {"[2001:db8::1]",
         "this machine has no such address: see `ip address`, or bind tcp://*:PORT"},
        {"nic77", "neither an address nor an interface of this machine: see `ip address`"},
        {"localhost", "neither an address nor an interface of this machine: see `ip address`"},
    };
    int v6 = socket(AF_INET6, SOCK_STREAM, 0);
    close(v6);
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        char yaml[1024], said[512];
        if (addresses[i][0][0] == '[' && v6 < 0)
            continue;
        snprintf(yaml, sizeof yaml,
                 "ingest: {bind: ['ipc://%s/in']}\n"
                 "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: 'tcp://%s:5557'}}\n"
                 "%s",
                 test_folder, test_folder, addresses[i][0], chain);
        snprintf(said, sizeof said, "publish.viewers.bind: cannot bind tcp://%s:5557: %s",
                 addresses[i][0], addresses[i][1]);
        expect_fault(yaml, said, NULL);
    }
}

/* As RestrictAddressFamilies= in the unit does without AF_NETLINK. */
static void deny_netlink(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        _exit(126);
}

/* Without this check libzmq would abort the process. */
static void interfaces_must_be_listed_for_an_address(void **state)
{
    (void)state;
    char yaml[1024];
    snprintf(
        yaml, sizeof yaml,
        "ingest: {bind: ['ipc://%s/in']}\n"
        "publish: {grader: {bind: 'ipc://%s/a'}, viewers: {bind: 'tcp://127.0.0.1:45557'}}\n%s",
        test_folder, test_folder, chain);
    expect_fault(yaml,
                 "publish.viewers.bind: cannot bind tcp://127.0.0.1:45557: this machine's "
                 "interfaces cannot be listed: Address family not supported by protocol; allow it "
                 "netlink sockets (AF_NETLINK in RestrictAddressFamilies= of a unit), or bind "
                 "tcp://*:PORT",
                 deny_netlink);
}

/* Binds a free port of the loopback interface. */
static int bind_any_port(int *ret_socket)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    *ret_socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(*ret_socket, (struct sockaddr *)&at, size), 0);
    assert_int_equal(listen(*ret_socket, 1), 0);
    assert_int_equal(getsockname(*ret_socket, (struct sockaddr *)&at, &size), 0);
    return ntohs(at.sin_port);
}

static void what_a_running_daemon_has_is_a_note(void **state)
{
    (void)state;
    int listener;
    char yaml[1024], said[512];
    int port = bind_any_port(&listener);
    snprintf(yaml, sizeof yaml,
             "ingest: {bind: ['ipc://%s/in', 'tcp://127.0.0.1:%d']}\n"
             "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: 'ipc://%s/viewers'}}\n"
             "%s",
             test_folder, port, test_folder, test_folder, chain);
    daemon_process running, checked;
    daemon_start_line(&running, test_folder); /* occupies the ipc paths */
    assert_int_equal(run(&checked, yaml, "--check", NULL), 0);
    snprintf(said, sizeof said,
             "note: in use: perhaps by this line's running daemon, and a second one cannot have "
             "it: ingest.bind ipc://%s/in (process %d), ingest.bind tcp://127.0.0.1:%d",
             test_folder, running.pid, port);
    assert_memory_equal(checked.text, "OK: ", 4);
    assert_non_null(strstr(checked.text, said));
    assert_null(strstr(running.text, "connected"));
    /* A fault of the file comes first. */
    strcat(yaml, "record: {dir: /nowhere/views}\n");
    assert_int_equal(run(&checked, yaml, "--check", NULL), 78);
    const char *fault = strstr(checked.text, "record.dir: /nowhere/views: cannot record there");
    const char *note = strstr(checked.text, said);
    assert_true(fault && note && fault < note);
    assert_null(strstr(note + 1, "note: in use"));
    kill(running.pid, SIGTERM);
    assert_int_equal(daemon_end(&running), 0);
    assert_null(strstr(running.text, "connected")); /* --check did not connect to it */
    close(listener);
}

static void the_pages_address_is_tested(void **state)
{
    (void)state;
    int listener;
    char yaml[1024], said[512];
    static const char file[] =
        "ingest: {bind: ['ipc://%s/in']}\n"
        "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: 'ipc://%s/viewers'}}\n"
        "classes: [{name: rot, level: 0.5}]\n"
        "chain: [contours: {}]\n"
        "run: {workers: 1, threads: 1, backend: openmp}\n"
        "monitor: {http: '%s'}\n";
    snprintf(yaml, sizeof yaml, file, test_folder, test_folder, test_folder,
             STRANGE_ADDRESS ":9464");
    expect_fault(yaml,
                 "monitor.http: cannot bind " STRANGE_ADDRESS ":9464: this machine has no such "
                 "address: see `ip address`, or give *:PORT",
                 NULL);
    char at[32];
    daemon_process daemon;
    snprintf(at, sizeof at, "127.0.0.1:%d", bind_any_port(&listener));
    snprintf(yaml, sizeof yaml, file, test_folder, test_folder, test_folder, at);
    assert_int_equal(run(&daemon, yaml, "--check", NULL), 0);
    snprintf(said, sizeof said, "cannot have it: monitor.http %s\n", at);
    assert_non_null(strstr(daemon.text, said));
    assert_int_equal(run(&daemon, yaml, NULL, NULL), 1);
    snprintf(said, sizeof said, "error monitor.http: cannot bind %s: the port is in use: ", at);
    assert_non_null(strstr(daemon.text, said));
    close(listener);
}

static void folders_must_be_there(void **state)
{
    (void)state;
    char yaml[1024], said[512], file[128];
    daemon_write_config(test_folder, "file", "", file);
    static const char ipc[] =
        "ingest: {bind: ['ipc://%s/in']}\n"
        "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: 'ipc://%s'}}\n"
        "record: {dir: '%s'}\n%s";
    char viewers[192];

    snprintf(viewers, sizeof viewers, "%s/viewers", test_folder);
    snprintf(yaml, sizeof yaml, ipc, test_folder, test_folder, viewers, "/nonexistent/recordings",
             chain);
    const struct passwd *user = getpwuid(geteuid());
    assert_non_null(user);
    snprintf(said, sizeof said,
             "record.dir: /nonexistent/recordings: cannot record there: it does not exist; make "
             "it, and let the user who runs this program (now %s) own it: install -d -o %s "
             "'/nonexistent/recordings'",
             user->pw_name, user->pw_name);
    expect_fault(yaml, said, NULL);
    static const char log[] =
        "ingest: {bind: ['ipc://%s/in']}\n"
        "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: 'ipc://%s/viewers'}, "
        "log: {dir: '%s'}}\n%s";
    snprintf(yaml, sizeof yaml, log, test_folder, test_folder, test_folder, file, chain);
    snprintf(said, sizeof said,
             "publish.log.dir: %s: cannot log verdicts there: Not a directory; name a folder that "
             "can be written",
             file);
    expect_fault(yaml, said, NULL);
    snprintf(yaml, sizeof yaml, ipc, test_folder, test_folder, file, "", chain);
    snprintf(
        said, sizeof said,
        "publish.viewers.bind: %s exists and is not a socket: move it away, or give another path",
        file);
    expect_fault(yaml, said, NULL);
    snprintf(viewers, sizeof viewers, "%s/below/viewers", file);
    snprintf(yaml, sizeof yaml, ipc, test_folder, test_folder, viewers, "", chain);
    snprintf(said, sizeof said,
             "publish.viewers.bind: cannot make the lock file %s.lock: Not a directory; give a "
             "path in a folder that this user may write to",
             viewers);
    expect_fault(yaml, said, NULL);
}

/* The log's queue counts as memory; its folder stays as it is. */
static void a_log_is_counted_and_not_begun(void **state)
{
    (void)state;
    char yaml[2][1024], logs[128];
    unsigned long mib[2] = {0};
    snprintf(logs, sizeof logs, "%s/logs", test_folder);
    assert_int_equal(mkdir(logs, 0700), 0);
    for (int with = 0; with < 2; with++) {
        daemon_process daemon;
        snprintf(
            yaml[with], sizeof yaml[with],
            "ingest: {bind: ['ipc://%s/in']}\n"
            "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: 'ipc://%s/viewers'}, "
            "log: {dir: '%s', keep_mib: 16777216}}\n%s",
            test_folder, test_folder, test_folder, with ? logs : "", chain);
        assert_int_equal(run(&daemon, yaml[with], "--check", NULL), 0);
        const char *most = strstr(daemon.text, "at most ");
        assert_non_null(most);
        mib[with] = strtoul(most + strlen("at most "), NULL, 10);
        char note[256];
        snprintf(note, sizeof note, "note: publish.log.dir: %s has room for a log of ", logs);
        assert_int_equal(strstr(daemon.text, note) != NULL, with);
    }
    assert_int_equal(mib[1] - mib[0], 64);
    assert_int_equal(rmdir(logs), 0); /* nothing is in it */
}

/* The start creates an ipc path's folder, --check does not. */
static void check_leaves_no_trace(void **state)
{
    (void)state;
    char yaml[1024], missing[128], said[512];
    struct stat about;
    snprintf(missing, sizeof missing, "%s/not/yet", test_folder);
    snprintf(yaml, sizeof yaml,
             "ingest: {bind: ['ipc://%s/in']}\n"
             "publish: {grader: {bind: 'ipc://%s/a'}, viewers: {bind: 'ipc://%s/b'}}\n%s",
             missing, test_folder, test_folder, chain);
    daemon_process daemon;
    assert_int_equal(run(&daemon, yaml, "--check", NULL), 0);
    snprintf(said, sizeof said, "note: ingest.bind: the folder %s is made at the start\n", missing);
    assert_non_null(strstr(daemon.text, said));
    snprintf(missing, sizeof missing, "%s/not", test_folder);
    assert_int_equal(stat(missing, &about), -1);
    snprintf(missing, sizeof missing, "%s/a", test_folder);
    assert_int_equal(stat(missing, &about), -1);
    strcat(missing, ".lock");
    assert_int_equal(stat(missing, &about), -1);
}

static void ipc_yaml(char yaml[1024], const char *limits)
{
    snprintf(yaml, 1024,
             "ingest: {bind: ['ipc://%s/in']}\n"
             "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: 'ipc://%s/viewers'}}\n"
             "%s%s",
             test_folder, test_folder, test_folder, limits, chain);
}

static void the_reservation_must_fit_into_memory(void **state)
{
    (void)state;
    char yaml[1024], said[512];
    ipc_yaml(yaml, "limits: {slots: 4096, view_mib: 1024, peer_mib: 1024}\n");
    strcpy(strstr(yaml, "monitor: "), "monitor: {http: '127.0.0.1:0', keep_slots: 256}\n");
    snprintf(
        said, sizeof said,
        "limits: they reserve 4456621 MiB, 4096 + 256 slots of 1024 MiB among them, and this "
        "machine has %llu MiB of memory; lower limits.slots, monitor.keep_slots or limits.view_mib",
        (unsigned long long)sysconf(_SC_PHYS_PAGES) * (unsigned long long)sysconf(_SC_PAGESIZE) >>
            20);
    expect_fault(yaml, said, NULL);
}

static void allow_few_files(void)
{
    struct rlimit few = {40, 40};
    setrlimit(RLIMIT_NOFILE, &few);
}

static void allow_some_files(void)
{
    struct rlimit some = {100, 100};
    setrlimit(RLIMIT_NOFILE, &some);
}

static void there_must_be_descriptors(void **state)
{
    (void)state;
    char yaml[1024];
    ipc_yaml(yaml, "limits: {peers: 50}\n");
    expect_fault(yaml,
                 "limits.peers: this process may open 40 files, and the line needs 64 without any "
                 "peer; raise it (ulimit -Hn, LimitNOFILE= of a unit)",
                 allow_few_files);
    daemon_process daemon;
    assert_int_equal(run(&daemon, yaml, "--check", allow_some_files), 0);
    assert_non_null(strstr(daemon.text, "note: limits.peers: 50 connections to each port need "));
    assert_non_null(strstr(daemon.text, " descriptors and this process may have 100, so the start "
                                        "lowers it; raise them"));
}

/* A user without another process, as a service's: the limit is the user's, and not root's. */
static void allow_threads(rlim_t count)
{
    const uid_t nobody_else = 1000000 + (uid_t)getpid(); /* not another test's, either */
    struct rlimit few = {count, count};
    setrlimit(RLIMIT_NPROC, &few);
    if (setresgid(nobody_else, nobody_else, nobody_else) < 0 ||
        setresuid(nobody_else, nobody_else, nobody_else) < 0)
        _exit(99);
}

static void allow_few_threads(void)
{
    allow_threads(4);
}

/* One less than the 10 that the line starts, and its own. */
static void allow_one_too_few(void)
{
    allow_threads(10 + CRN_SANITIZER_THREADS);
}

static void there_must_be_threads(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip(); /* other processes of this user count, too */
    char yaml[1024];
    ipc_yaml(yaml, "");
    assert_int_equal(chmod(test_folder, 0777), 0);
    const char *const options[] = {"--check", NULL};
    for (int i = 0; i < 2; i++) {
        daemon_process daemon;
        assert_int_equal(run(&daemon, yaml, options[i], allow_few_threads), options[i] ? 78 : 1);
        const char *said = strstr(daemon.text, "run.workers: the line needs 10 threads, 1 workers "
                                               "of 1 among them, and can start ");
        if (!said)
            fail_msg("%s", daemon.text);
        assert_non_null(strstr(said, "raise their number (ulimit -u; LimitNPROC="));
    }
    daemon_process daemon;
    assert_int_equal(run(&daemon, yaml, NULL, allow_one_too_few), 1);
    assert_non_null(strstr(daemon.text, "can start 9; raise their number"));
    assert_int_equal(chmod(test_folder, 0700), 0);
}

static void the_start_line_names_what_runs(void **state)
{
    (void)state;
    char path[128], said[512];
    daemon_process daemon;
    daemon_good_config(test_folder, path);
    daemon_start_line(&daemon, test_folder);
    snprintf(said, sizeof said,
             "ready: cernitad " CRN_VERSION
             ", %s; views at ipc://%s/in, grader at ipc://%s/grader, "
             "viewers at ipc://%s/viewers; 1 class, 1 stage; ",
             path, test_folder, test_folder, test_folder);
    if (!strstr(daemon.text, said))
        fail_msg("'%s' is not in: %s", said, daemon.text);
    kill(daemon.pid, SIGTERM);
    assert_int_equal(daemon_end(&daemon), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_says_what_the_line_takes),
        cmocka_unit_test(addresses_must_be_this_machine_s),
        cmocka_unit_test(interfaces_must_be_listed_for_an_address),
        cmocka_unit_test(what_a_running_daemon_has_is_a_note),
        cmocka_unit_test(the_pages_address_is_tested),
        cmocka_unit_test(folders_must_be_there),
        cmocka_unit_test(a_log_is_counted_and_not_begun),
        cmocka_unit_test(check_leaves_no_trace),
        cmocka_unit_test(the_reservation_must_fit_into_memory),
        cmocka_unit_test(there_must_be_descriptors),
        cmocka_unit_test(there_must_be_threads),
        cmocka_unit_test(the_start_line_names_what_runs),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
