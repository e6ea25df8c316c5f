/*
 * Producers and daemons that are killed at random moments, while views pass: every view that was
 * sent to a daemon that lives is judged, once, as it was sent; of those that were sent to a daemon
 * that was killed the last ones may lack, which their producer is told. CRN_KILLS is the number of
 * kills of each (10 by default), CRN_SEED the seed of the moments (default: the clock).
 *
 * The views' maps say which view they are. What was sent is counted in memory that outlives the
 * producers, what was judged stands in the daemon's verdict log, of which a kill takes at most the
 * last.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/formats/verdict_log/reader.h"
#include "stages/base/clock.h"
#include "stages/producer/cernita_producer.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/daemon.h"
#include "tests/support/programs/shell.h"
#include "tests/support/random.h"
#include "tests/support/slots/coded_view.h"

#define LANE        3
#define PATIENCE_MS 60000
#define KILLS_MAX   10000
#define AHEAD_MAX   60    /* views that are sent before a kill, at most */
#define VIEWS_MAX   20000 /* that a producer sends, which is then killed at rest */

/* Of a connection, which is also the epoch of its views; fruits have one view, and are numbered
 * from 0. */
typedef struct sent_views {
    _Atomic uint64_t begun, sent;
} sent_views;

/* What the processes share. */
typedef struct shared_counts {
    _Atomic uint32_t connections; /* made so far: the last one's index + 1 */
    sent_views of[KILLS_MAX + 1];
} shared_counts;

typedef struct kills_fixture {
    char folder[64], log[96], yaml[128], socket[96];
    daemon_process daemon;
    shared_counts *shared;
    crn_random random;
    uint32_t kills;
} kills_fixture;

static kills_fixture f;

static int set_up(void **state)
{
    (void)state;
    char yaml[1024];
    const char *kills = getenv("CRN_KILLS");
    f.kills = kills ? (uint32_t)atoi(kills) : 10;
    if (f.kills < 1 || f.kills > KILLS_MAX || daemon_make_folder(f.folder) != 0)
        return -1;
    f.shared =
        mmap(NULL, sizeof *f.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    snprintf(f.log, sizeof f.log, "%s/log", f.folder);
    snprintf(f.socket, sizeof f.socket, "%s/slots", f.folder);
    snprintf(yaml, sizeof yaml,
             "ingest: {bind: ['ipc://%s/in'], slots: {path: %s, slots: 4, producers: 16}}\n"
             "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: 'ipc://%s/viewers'},\n"
             "          log: {dir: %s}}\n" CRN_CODED_YAML
             "latency: {budget_ms: 60000, assemble_ms: 100}\n"
             "limits: {view_mib: 1}\n"
             "run: {backend: openmp, workers: 1, threads: 1}\n"
             "monitor: {http: ''}\n"
             "log: {level: error}\n",
             f.folder, f.socket, f.folder, f.folder, f.log);
    daemon_write_config(f.folder, "line.yaml", yaml, f.yaml);
    f.random.state = crn_random_seed();
    return f.shared == MAP_FAILED || mkdir(f.log, 0700) < 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[256], output[256];
    munmap(f.shared, sizeof *f.shared);
    snprintf(command, sizeof command, "rm -rf %s", f.folder);
    return crn_test_shell(command, output, sizeof output);
}

static void start_daemon(void)
{
    const char *arguments[] = {"cernitad", "--config", f.yaml, NULL};
    daemon_start(&f.daemon, arguments);
}

static void kill_daemon(int signal_number)
{
    kill(f.daemon.pid, signal_number);
    daemon_end(&f.daemon);
    if (strstr(f.daemon.text, "ERROR") || strstr(f.daemon.text, "runtime error"))
        fail_msg("%s", f.daemon.text);
}

/* --- the producer, a process of its own --- */

static crn_producer_view view_of(uint32_t connection, uint64_t number)
{
    return (crn_producer_view){.sequence = number,
                               .epoch = connection + 1,
                               .fruit = number,
                               .lane = LANE,
                               .views = 1,
                               .height = CRN_CODED_HEIGHT,
                               .width = CRN_CODED_WIDTH,
                               .channels = CRN_CODED_CHANNELS,
                               .type = CRN_PRODUCER_F32,
                               .layout = CRN_PRODUCER_HWC};
}

/* Sends until the daemon ends, or VIEWS_MAX; the last result. */
static int send_views(crn_producer *producer, uint32_t connection)
{
    sent_views *sent = &f.shared->of[connection];
    for (uint64_t number = 0; number < VIEWS_MAX; number++) {
        crn_producer_view view = view_of(connection, number);
        crn_producer_slot slot;
        int r = crn_producer_take(producer, &view, -1, &slot);
        if (r < 0)
            return r;
        crn_coded_write(slot.tensor, crn_coded_number(LANE, view.epoch, number, 0), 0,
                        CRN_CODED_BYTES);
        atomic_fetch_add(&sent->begun, 1);
        do
            r = crn_producer_send(producer, &view, &slot);
        while (r == -EAGAIN);
        if (r < 0) {
            crn_producer_drop(producer, &slot);
            return r;
        }
        atomic_fetch_add(&sent->sent, 1);
    }
    return 0;
}

/* Connects again whenever the daemon has ended, until this process is killed. */
static void produce(void)
{
    crn_producer *producer;
    const crn_producer_settings settings = {.path = f.socket, .view_bytes = CRN_CODED_BYTES};
    int r = crn_producer_create(&settings, &producer);
    while (r == 0 || r == -ENOTCONN) {
        while ((r = crn_producer_connect(producer, PATIENCE_MS)) == -ENOENT || r == -ECONNREFUSED ||
               r == -EUSERS || r == -ENOTCONN) /* it is not there, or ends just now */
            sched_yield();
        if (r < 0)
            break;
        uint32_t connection = atomic_fetch_add(&f.shared->connections, 1);
        r = send_views(producer, connection);
        if (r == 0)
            pause();
    }
    fprintf(stderr, "the producer ended: %s\n", crn_producer_error(producer));
}

static pid_t start_producer(void)
{
    pid_t parent = getpid(), child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            produce();
        _exit(1);
    }
    crn_cleanup_add_process(child);
    return child;
}

static void kill_producer(pid_t producer)
{
    int status;
    kill(producer, SIGKILL);
    assert_int_equal(crn_cleanup_wait(producer, &status), producer);
    assert_true(WIFSIGNALED(status)); /* it had not ended by itself */
}

/* Waits until that connection has begun some more views; then a moment, down to a microsecond. */
static void wait_for_moment(pid_t producer, uint32_t connection)
{
    uint64_t views = crn_random_below(&f.random, AHEAD_MAX);
    int64_t until_ns = crn_now_ns() + PATIENCE_MS * CRN_NS_PER_MS;
    while (atomic_load(&f.shared->connections) <= connection ||
           atomic_load(&f.shared->of[connection].begun) < views) {
        siginfo_t ended = {0};
        waitid(P_PID, (id_t)producer, &ended, WEXITED | WNOHANG | WNOWAIT);
        if (ended.si_pid != 0 || crn_now_ns() > until_ns)
            fail_msg("connection %u sends nothing: %s", connection, f.daemon.text);
        sched_yield();
    }
    until_ns = crn_now_ns() + crn_random_below(&f.random, 1000) * INT64_C(1000);
    while (crn_now_ns() < until_ns)
        continue;
}

/* --- what was judged --- */

/* By connection, the fruits judged so far, which must be 0, 1, 2, …: one worker judges in turn. */
typedef struct judged_fruits {
    uint64_t of[KILLS_MAX + 1];
    char run[CRN_DECODED_TEXT_BYTES];
    uint64_t sequence; /* the next verdict's of this run */
    uint32_t runs, notices;
} judged_fruits;

static void check_verdict(const crn_logged_verdict *logged, judged_fruits *judged)
{
    crn_messagepack_json packed;
    crn_decoded *verdict = NULL;
    crn_error error;
    int r = crn_messagepack_json_init(&packed, logged->bytes, logged->size, &error);
    if (r == 0)
        r = crn_decode(&packed, &verdict, &error);
    if (r < 0)
        fail_msg("%s", error.text);
    if (strcmp(verdict->run, judged->run) != 0) {
        memcpy(judged->run, verdict->run, sizeof judged->run);
        judged->runs++;
        judged->sequence = verdict->sequence;
    }
    assert_int_equal(verdict->sequence, judged->sequence++);
    assert_int_equal(verdict->kind, CRN_VERDICT_COMPLETE);
    assert_in_range(verdict->epoch, 1, atomic_load(&f.shared->connections));
    assert_int_equal(verdict->fruit, judged->of[verdict->epoch - 1]++);
    if (!crn_coded_is_whole(verdict, 0))
        fail_msg("fruit %lu of connection %lu is not the one that was sent",
                 (unsigned long)verdict->fruit, (unsigned long)verdict->epoch - 1);
    crn_decoded_free(&verdict);
    crn_messagepack_json_done(&packed);
}

static void read_log(judged_fruits *judged)
{
    crn_verdict_reader *reader;
    crn_logged_verdict logged;
    crn_error error;
    int r;
    if (crn_verdict_reader_open(f.log, &reader, &error) < 0)
        fail_msg("%s", error.text);
    while ((r = crn_verdict_reader_next(reader, &logged, &error)) != 0)
        if (r > 0)
            check_verdict(&logged, judged);
        else
            judged->notices++;
    crn_verdict_reader_close(&reader);
}

/* Prints the sums, and checks each connection's fruits: none was judged that was not sent;
 * `lossless`: and all were. */
static void check_connections(judged_fruits *judged, bool lossless)
{
    uint64_t begun = 0, sent = 0, all = 0;
    uint32_t connections = atomic_load(&f.shared->connections);
    for (uint32_t i = 0; i < connections; i++) {
        assert_true(judged->of[i] <= atomic_load(&f.shared->of[i].begun));
        if (lossless)
            assert_true(judged->of[i] >= atomic_load(&f.shared->of[i].sent));
        begun += atomic_load(&f.shared->of[i].begun);
        sent += atomic_load(&f.shared->of[i].sent);
        all += judged->of[i];
    }
    print_message("%u kills, %u connections, %u runs: %lu views begun, %lu sent, %lu judged, none "
                  "twice, torn or out of turn; %u incomplete records\n",
                  f.kills, connections, judged->runs, (unsigned long)begun, (unsigned long)sent,
                  (unsigned long)all, judged->notices);
    assert_true(sent > 0 && all > 0);
}

static void producers_are_killed(void **state)
{
    (void)state;
    static judged_fruits judged;
    memset(&judged, 0, sizeof judged);
    start_daemon();
    for (uint32_t i = 0; i <= f.kills; i++) { /* the last one shows that there is a ring for it */
        pid_t producer = start_producer();
        wait_for_moment(producer, i);
        kill_producer(producer);
    }
    kill_daemon(SIGTERM);
    read_log(&judged);
    check_connections(&judged, true);
    assert_int_equal(judged.runs, 1);
    assert_int_equal(judged.notices, 0);
}

static void daemons_are_killed(void **state)
{
    (void)state;
    static judged_fruits judged;
    memset(&judged, 0, sizeof judged);
    start_daemon();
    pid_t producer = start_producer();
    for (uint32_t i = 0; i < f.kills; i++) {
        wait_for_moment(producer, i);
        kill_daemon(SIGKILL);
        start_daemon();
    }
    wait_for_moment(producer, f.kills);
    kill_producer(producer);
    kill_daemon(SIGTERM);
    read_log(&judged);
    check_connections(&judged, false);
    assert_int_equal(atomic_load(&f.shared->connections), f.kills + 1);
    assert_true(judged.of[f.kills] >= atomic_load(&f.shared->of[f.kills].sent));
    assert_true(judged.notices <= f.kills);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(producers_are_killed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(daemons_are_killed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
