/*
 * Producers and daemons that are killed at random moments, while views pass: every view that was
 * sent to a daemon that lives is judged, once, as it was sent; of those that were sent to a daemon
 * that was killed the last ones may lack, which their producer is told. CRN_KILLS is the number of
 * kills of each (10 by default), CRN_SEED the seed of the moments (default: the clock),
 * CRN_BACKEND=cuda has a device judge the views, openmp (the default) the processor; vmm has the
 * slots on the device, too.
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/formats/verdict_log/reader.h"
#include "stages/base/clock.h"
#include "stages/producer/cernita_producer.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/daemon.h"
#include "tests/support/line/decoded_verdict.h"
#include "tests/support/programs/shell.h"
#include "tests/support/random.h"
#include "tests/support/slots/coded_view.h"
#include "tests/support/slots/vmm_producer.h"

#define LANE        3
#define PATIENCE_MS 60000
#define KILLS_MAX   10000
#define SLOTS       4
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

/* What judges the views. */
typedef struct kills_backend {
    const char *name, *runs, *kind;
    uint32_t ahead_max;   /* views that are sent before a kill, at most */
    uint32_t out_of_turn; /* a verdict may come before so many others, less one */
} kills_backend;

/* One worker judges in turn. A device captures its graphs during the first views, which pass it
 * meanwhile. */
static const kills_backend backends[] = {{"openmp", "openmp", "memfd", 60, 1},
                                         {"cuda", "cuda", "memfd", 1000, SLOTS},
                                         {"vmm", "cuda", "vmm", 1000, SLOTS}};

typedef struct kills_fixture {
    const kills_backend *backend;
    char folder[64], log[96], yaml[128], socket[96];
    daemon_process daemon;
    shared_counts *shared;
    crn_random random;
    uint32_t kills;
} kills_fixture;

static kills_fixture f;

static const kills_backend *find_backend(void)
{
    const char *name = getenv("CRN_BACKEND");
    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
        if (strcmp(name ? name : backends[0].name, backends[i].name) == 0)
            return &backends[i];
    print_error("CRN_BACKEND=%s: openmp, cuda or vmm expected\n", name);
    return NULL;
}

static int set_up(void **state)
{
    (void)state;
    char yaml[1024];
    f.backend = find_backend();
    if (!f.backend)
        return -1;
    const char *kills = getenv("CRN_KILLS");
    f.kills = kills ? (uint32_t)atoi(kills) : 10;
    if (f.kills < 1 || f.kills > KILLS_MAX || daemon_make_folder(f.folder) != 0)
        return -1;
    f.shared =
        mmap(NULL, sizeof *f.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    snprintf(f.log, sizeof f.log, "%s/log", f.folder);
    snprintf(f.socket, sizeof f.socket, "%s/slots", f.folder);
    snprintf(
        yaml, sizeof yaml,
        "ingest: {bind: ['ipc://%s/in'], slots: {path: %s, slots: %d, producers: 16, kinds: %s}}\n"
        "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: 'ipc://%s/viewers'},\n"
        "          log: {dir: %s}}\n" CRN_CODED_YAML
        "latency: {budget_ms: 60000, assemble_ms: 100}\n"
        "limits: {view_mib: 1}\n"
        "run: {backend: %s, workers: 1, threads: 1}\n"
        "monitor: {http: ''}\n"
        "log: {level: error}\n",
        f.folder, f.socket, SLOTS, f.backend->kind, f.folder, f.folder, f.log, f.backend->runs);
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

static void require_backend(void)
{
    if (strcmp(f.backend->name, "openmp") != 0)
        crn_vmm_require_gpu();
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
static int send_views(crn_vmm_producer *from, uint32_t connection)
{
    static _Alignas(64) unsigned char maps[CRN_CODED_BYTES];
    crn_producer *producer = from->producer;
    sent_views *sent = &f.shared->of[connection];
    for (uint64_t number = 0; number < VIEWS_MAX; number++) {
        crn_producer_view view = view_of(connection, number);
        crn_producer_slot slot;
        int r = crn_producer_take(producer, &view, -1, &slot);
        if (r < 0)
            return r;
        crn_coded_write(maps, crn_coded_number(LANE, view.epoch, number, 0), 0, CRN_CODED_BYTES);
        r = crn_vmm_producer_write(from, &slot, 0, maps, CRN_CODED_BYTES);
        if (r == 0)
            r = crn_vmm_producer_record(from, &slot);
        if (r < 0)
            return r;
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
    crn_vmm_producer from;
    int r = crn_vmm_producer_create(f.socket, CRN_CODED_BYTES, strcmp(f.backend->kind, "vmm") == 0,
                                    &from);
    crn_producer *producer = from.producer;
    while (r == 0 || r == -ENOTCONN) {
        while ((r = crn_producer_connect(producer, PATIENCE_MS)) == -ENOENT || r == -ECONNREFUSED ||
               r == -EUSERS || r == -ENOTCONN) /* it is not there, or ends just now */
            sched_yield();
        if (r < 0)
            break;
        uint32_t connection = atomic_fetch_add(&f.shared->connections, 1);
        r = send_views(&from, connection);
        if (r == 0)
            pause();
    }
    fprintf(stderr, "the producer ended: %s; %s\n", strerror(-r),
            producer ? crn_producer_error(producer) : "not connected");
}

static pid_t start_producer(void)
{
    pid_t child = crn_cleanup_fork();
    if (child == 0) {
        produce();
        _exit(1);
    }
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
    uint64_t views = crn_random_below(&f.random, f.backend->ahead_max);
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

/* By connection, the fruits judged so far: all of the first ones, and which of those behind. */
typedef struct judged_fruits {
    uint64_t of[KILLS_MAX + 1];
    uint32_t behind[KILLS_MAX + 1]; /* bit i: of the connection's fruit of[] + i */
    uint64_t on_device;
    char run[CRN_DECODED_TEXT_BYTES];
    uint64_t sequence; /* the next verdict's of this run */
    uint32_t runs, notices;
} judged_fruits;

/* Notes a verdict, which must be the first of its fruit, and in turn. */
static void note_fruit(judged_fruits *judged, uint64_t connection, uint64_t fruit)
{
    uint64_t *first = &judged->of[connection];
    uint32_t *behind = &judged->behind[connection];
    if (fruit < *first || fruit - *first >= f.backend->out_of_turn ||
        *behind >> (fruit - *first) & 1)
        fail_msg("fruit %lu of connection %lu is judged twice, or out of turn: %lu is next",
                 (unsigned long)fruit, (unsigned long)connection, (unsigned long)*first);
    *behind |= 1u << (fruit - *first);
    for (; *behind & 1; *behind >>= 1)
        ++*first;
}

static void check_verdict(const crn_logged_verdict *logged, judged_fruits *judged)
{
    crn_decoded *verdict = verdict_decode(logged->bytes, logged->size);
    if (strcmp(verdict->run, judged->run) != 0) {
        memcpy(judged->run, verdict->run, sizeof judged->run);
        judged->runs++;
        judged->sequence = verdict->sequence;
    }
    assert_int_equal(verdict->sequence, judged->sequence++);
    assert_int_equal(verdict->kind, CRN_VERDICT_COMPLETE);
    assert_in_range(verdict->epoch, 1, atomic_load(&f.shared->connections));
    note_fruit(judged, verdict->epoch - 1, verdict->fruit);
    judged->on_device += crn_decoded_on_device(&verdict->views[0]);
    if (!crn_coded_is_whole(verdict, 0))
        fail_msg("fruit %lu of connection %lu is not the one that was sent",
                 (unsigned long)verdict->fruit, (unsigned long)verdict->epoch - 1);
    crn_decoded_free(&verdict);
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
            assert_true(judged->of[i] >= atomic_load(&f.shared->of[i].sent) && !judged->behind[i]);
        begun += atomic_load(&f.shared->of[i].begun);
        sent += atomic_load(&f.shared->of[i].sent);
        all += judged->of[i] + (uint64_t)__builtin_popcount(judged->behind[i]);
    }
    print_message("%u kills, %u connections, %u runs: %lu views begun, %lu sent, %lu judged, %lu "
                  "of them on a device, none twice, torn or out of turn; %u incomplete records\n",
                  f.kills, connections, judged->runs, (unsigned long)begun, (unsigned long)sent,
                  (unsigned long)all, (unsigned long)judged->on_device, judged->notices);
    assert_true(sent > 0 && all > 0);
}

static void producers_are_killed(void **state)
{
    (void)state;
    static judged_fruits judged;
    require_backend();
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
    require_backend();
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
