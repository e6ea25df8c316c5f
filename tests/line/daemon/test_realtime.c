/* The daemon in real time: its threads have their CPUs and priorities; what is refused is told once
 * and stops nothing; and its self-check. */
#include <dirent.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stages/base/process/cpus.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/line/daemon.h"

/* Writes the small line's file with this section. */
static void write_line(const char *realtime, char ret_path[128])
{
    char yaml[2048];
    snprintf(yaml, sizeof yaml,
             "ingest: {bind: ['ipc://%s/in']}\n"
             "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: 'ipc://%s/viewers'}}\n"
             "classes: [{name: rot, level: 0.5}]\n"
             "chain: [contours: {}]\n"
             "run: {backend: openmp, workers: 2, threads: 1}\n"
             "limits: {view_mib: 1}\n"
             "monitor: {http: ''}\n"
             "realtime: {%s}\n",
             test_folder, test_folder, test_folder, realtime);
    daemon_write_config(test_folder, "line.yaml", yaml, ret_path);
}

static void start(daemon_process *daemon, const char *realtime, void (*prepare)(void))
{
    char path[128];
    write_line(realtime, path);
    const char *const arguments[] = {"cernitad", "--config", path, NULL};
    daemon_start_as(daemon, CRN_BIN "/cernitad", arguments, prepare);
    daemon_read_until(daemon, "ready:");
}

static void stop(daemon_process *daemon)
{
    kill(daemon->pid, SIGTERM);
    assert_int_equal(daemon_end(daemon), 0);
}

/* What the kernel says of a thread. */
typedef struct thread_state {
    char cpus[CRN_CPUS_TEXT];
    int policy, priority;
} thread_state;

static bool read_line(const char *path, char *line, size_t size)
{
    FILE *file = fopen(path, "r");
    bool there = file && fgets(line, (int)size, file);
    if (file)
        fclose(file);
    line[strcspn(line, "\n")] = '\0';
    return there;
}

static void read_allowed(const char *path, char ret_cpus[CRN_CPUS_TEXT])
{
    char line[256];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    ret_cpus[0] = '\0';
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "Cpus_allowed_list: %150s", ret_cpus) == 1)
            break;
    fclose(file);
}

/* Finds the process's first thread of that name. */
static thread_state find_thread(pid_t pid, const char *name)
{
    char path[64], file[400], comm[64] = "";
    thread_state found = {.policy = -1};
    struct dirent *entry;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    assert_non_null(tasks);
    while (found.policy < 0 && (entry = readdir(tasks))) {
        struct sched_param param;
        snprintf(file, sizeof file, "%s/%s/comm", path, entry->d_name);
        if (entry->d_name[0] == '.' || !read_line(file, comm, sizeof comm) ||
            strcmp(comm, name) != 0)
            continue;
        snprintf(file, sizeof file, "%s/%s/status", path, entry->d_name);
        read_allowed(file, found.cpus);
        found.policy = sched_getscheduler(atoi(entry->d_name));
        assert_int_equal(sched_getparam(atoi(entry->d_name), &param), 0);
        found.priority = param.sched_priority;
    }
    closedir(tasks);
    if (found.policy < 0)
        fail_msg("no thread %s", name);
    return found;
}

/* The first and the last CPU that this process may use. */
static void two_cpus(char ret_first[CRN_CPUS_TEXT], char ret_last[CRN_CPUS_TEXT])
{
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    one = crn_cpus_slice(&all, 0, 1);
    crn_cpus_text(&one, ret_first);
    one = crn_cpus_slice(&all, CPU_COUNT(&all) - 1, 1);
    crn_cpus_text(&one, ret_last);
}

static void threads_have_their_cpus(void **state)
{
    (void)state;
    char first[CRN_CPUS_TEXT], last[CRN_CPUS_TEXT], realtime[1024];
    cpu_set_t all;
    daemon_process daemon;
    two_cpus(first, last);
    snprintf(realtime, sizeof realtime,
             "line_cpus: %s, io_cpus: '%s', worker_cpus: '%s%s%s', huge_pages: true", first, last,
             first, strcmp(first, last) ? "," : "", strcmp(first, last) ? last : "");
    start(&daemon, realtime, NULL);
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    bool two = strcmp(first, last) != 0;
    char any[CRN_CPUS_TEXT];
    crn_cpus_text(&all, any);
    assert_string_equal(find_thread(daemon.pid, "worker 0").cpus, first);
    assert_string_equal(find_thread(daemon.pid, "worker 1").cpus, two ? last : first);
    assert_string_equal(find_thread(daemon.pid, "ZMQbg/IO/0").cpus, last);
    assert_string_equal(find_thread(daemon.pid, "viewers").cpus, any);
    stop(&daemon);
    assert_null(strstr(daemon.text, "warning realtime.line_cpus"));
}

/* The line's own thread is pinned last, once it is ready: the log line comes after. */
static void the_line_s_thread_has_its_cpu(void **state)
{
    (void)state;
    char first[CRN_CPUS_TEXT], last[CRN_CPUS_TEXT], realtime[400];
    daemon_process daemon;
    two_cpus(first, last);
    snprintf(realtime, sizeof realtime, "line_cpus: '%s'", last);
    start(&daemon, realtime, NULL);
    assert_string_equal(find_thread(daemon.pid, "cernitad").cpus, last);
    stop(&daemon);
}

/* True if this test may use SCHED_FIFO itself. */
static bool may_use_fifo(void)
{
    struct sched_param param = {.sched_priority = 20}, none = {0};
    if (sched_setscheduler(0, SCHED_FIFO, &param) < 0)
        return false;
    assert_int_equal(sched_setscheduler(0, SCHED_OTHER, &none), 0);
    return true;
}

static void threads_have_their_priorities(void **state)
{
    (void)state;
    daemon_process daemon;
    if (!may_use_fifo())
        skip();
    start(&daemon, "line_priority: 20, worker_priority: 10", NULL);
    thread_state line = find_thread(daemon.pid, "cernitad");
    thread_state worker = find_thread(daemon.pid, "worker 1");
    thread_state io = find_thread(daemon.pid, "ZMQbg/IO/0");
    thread_state viewers = find_thread(daemon.pid, "viewers");
    stop(&daemon);
    assert_int_equal(line.policy, SCHED_FIFO);
    assert_int_equal(line.priority, 20);
    assert_int_equal(io.policy, SCHED_FIFO);
    assert_int_equal(io.priority, 19);
    assert_int_equal(worker.policy, SCHED_FIFO);
    assert_int_equal(worker.priority, 10);
    assert_int_equal(viewers.policy, SCHED_OTHER);
}

static int64_t locked_kib(pid_t pid)
{
    char path[64], line[256];
    long long kib = -1;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (kib < 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "VmLck: %lld", &kib) != 1)
            kib = -1;
    fclose(file);
    return kib;
}

/* The address sanitizer makes mlockall a function without effect. */
#ifdef __SANITIZE_ADDRESS__
#define LOCKS false
#else
#define LOCKS true
#endif

static void memory_is_locked(void **state)
{
    (void)state;
    struct rlimit limit;
    daemon_process daemon;
    getrlimit(RLIMIT_MEMLOCK, &limit);
    start(&daemon, "lock_memory: true", NULL);
    int64_t kib = locked_kib(daemon.pid);
    stop(&daemon);
    bool refused = strstr(daemon.text, "warning realtime.lock_memory");
    if (LOCKS && !refused)
        assert_true(kib >= 24 * 1024); /* the slots alone */
    if (limit.rlim_cur == RLIM_INFINITY)
        assert_false(refused);
}

/* Root keeps no right that its bounding set lacks. */
static void drop_rights(void)
{
    struct rlimit none = {0, 0}, little = {65536, 65536};
    prctl(PR_CAPBSET_DROP, CAP_SYS_NICE, 0, 0, 0);
    prctl(PR_CAPBSET_DROP, CAP_IPC_LOCK, 0, 0, 0);
    setrlimit(RLIMIT_RTPRIO, &none);
    setrlimit(RLIMIT_MEMLOCK, &little);
}

static int count(const char *text, const char *part)
{
    int found = 0;
    while ((text = strstr(text, part))) {
        found++;
        text++;
    }
    return found;
}

static void refused_rights_are_one_warning_each(void **state)
{
    (void)state;
    daemon_process daemon;
    start(&daemon, "line_priority: 20, worker_priority: 10, lock_memory: true", drop_rights);
    assert_int_not_equal(find_thread(daemon.pid, "worker 0").policy, SCHED_FIFO);
    stop(&daemon);
    assert_int_equal(count(daemon.text, "warning realtime.line_priority: SCHED_FIFO at 20 is "
                                        "refused: Operation not permitted; this process may have "
                                        "priorities up to 0: raise LimitRTPRIO="),
                     1);
    assert_int_equal(count(daemon.text, "warning realtime.lock_memory: memory is not locked"),
                     LOCKS ? 1 : 0);
    assert_int_equal(count(daemon.text, "warning realtime."), LOCKS ? 2 : 1);
}

/* Returns the exit status. */
static int run(daemon_process *daemon, const char *const arguments[], void (*prepare)(void))
{
    daemon_start_as(daemon, CRN_BIN "/cernitad", arguments, prepare);
    int status = daemon_end(daemon);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void cpus_that_are_not_there_are_refused(void **state)
{
    (void)state;
    char path[128], said[400];
    daemon_process daemon;
    write_line("worker_cpus: '0,1023'", path);
    snprintf(said, sizeof said,
             "%s: realtime.worker_cpus: there is no CPU 1023; this machine has %ld, numbered from "
             "0\n",
             path, sysconf(_SC_NPROCESSORS_CONF));
    const char *const check[] = {"cernitad", "--config", path, "--check", NULL};
    assert_int_equal(run(&daemon, check, NULL), 78);
    assert_string_equal(daemon.text, said);
    const char *const begin[] = {"cernitad", "--config", path, NULL};
    assert_int_equal(run(&daemon, begin, NULL), 1);
    assert_string_equal(daemon.text, said);
    const char *const self_check[] = {"cernitad", "--config", path, "--self-check", NULL};
    assert_int_equal(run(&daemon, self_check, NULL), 78);
    assert_string_equal(daemon.text, said);
}

static void a_check_notes_refused_rights(void **state)
{
    (void)state;
    char path[128];
    daemon_process daemon;
    write_line("line_priority: 20", path);
    const char *const check[] = {"cernitad", "--config", path, "--check", NULL};
    assert_int_equal(run(&daemon, check, drop_rights), 0);
    assert_non_null(strstr(daemon.text, "note: realtime.line_priority: SCHED_FIFO at 20 is "
                                        "refused: Operation not permitted"));
}

static void the_self_check_prints_rows_and_counts(void **state)
{
    (void)state;
    static const char *const rows[] = {"CPU governor", "C-states",      "isolated CPUs",
                                       "CPU quota",    "memory limit",  "clock synchronisation",
                                       "GPU",          "wake-up, real", "receive buffers"};
    char path[128];
    daemon_process daemon;
    int bad = -1;
    write_line("line_priority: 20, lock_memory: true", path);
    const char *const arguments[] = {"cernitad", "--self-check", "--config", path, NULL};
    int status = run(&daemon, arguments, drop_rights);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_non_null(strstr(daemon.text, rows[i]));
    assert_non_null(strstr(daemon.text, "bad     real-time limit         priorities up to 0, the "
                                        "line asks for 20\n        cost: "));
    assert_non_null(strstr(daemon.text, "bad     locked memory           64 KiB"));
    assert_non_null(
        strstr(daemon.text, "bad     wake-up, real time      not measured: SCHED_FIFO is refused"));
    const char *counts = strstr(daemon.text, "\n\n");
    assert_non_null(counts);
    assert_int_equal(sscanf(counts, "\n\n%*d ok, %*d note, %d bad", &bad), 1);
    assert_true(bad >= 3);
    assert_int_equal(status, 1);
}

static void the_self_check_has_a_json_form_and_needs_no_file(void **state)
{
    (void)state;
    daemon_process daemon;
    const char *const json[] = {"cernitad", "--self-check", "--json", NULL};
    int status = run(&daemon, json, NULL);
    assert_memory_equal(daemon.text, "{", 1);
    assert_non_null(strstr(daemon.text, "\"finding\":"));
    assert_int_equal(status, strstr(daemon.text, "\"bad\": 0") ? 0 : 1);
    const char *const alone[] = {"cernitad", "--json", "--config", "x", NULL};
    assert_int_equal(run(&daemon, alone, NULL), 78);
    assert_string_equal(daemon.text, "cernitad: --json is for --self-check; see cernitad --help\n");
}

static void a_bad_file_is_78(void **state)
{
    (void)state;
    char path[128];
    daemon_process daemon;
    write_line("line_cpu: 0", path);
    const char *const arguments[] = {"cernitad", "--self-check", "--config", path, NULL};
    assert_int_equal(run(&daemon, arguments, NULL), 78);
    assert_non_null(strstr(daemon.text, "did you mean 'line_cpus'?"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_have_their_cpus),
        cmocka_unit_test(the_line_s_thread_has_its_cpu),
        cmocka_unit_test(threads_have_their_priorities),
        cmocka_unit_test(memory_is_locked),
        cmocka_unit_test(refused_rights_are_one_warning_each),
        cmocka_unit_test(cpus_that_are_not_there_are_refused),
        cmocka_unit_test(a_check_notes_refused_rights),
        cmocka_unit_test(the_self_check_prints_rows_and_counts),
        cmocka_unit_test(the_self_check_has_a_json_form_and_needs_no_file),
        cmocka_unit_test(a_bad_file_is_78),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
