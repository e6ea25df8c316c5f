/*
 * Two lines of 32 lanes with 10 fruits/s each publish their logs to a NATS server (Debian:
 * nats-server; skipped where it is not installed), and two archives read them there: one in SQLite
 * and one in a PostgreSQL server, where that is installed (Debian: postgresql). Servers, links,
 * archives and the programs that publish are killed or held at random moments, also for longer than
 * the NATS server's window of duplicates: at the end each archive has each verdict once.
 * CRN_SECONDS is how long the lines run (5 by default), CRN_KILLS the number of kills (10),
 * CRN_SEED the seed.
 */
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/archived.h"
#include "tests/support/parts/logged.h"
#include "tests/support/peers/free_port.h"
#include "tests/support/nats/nats_server.h"
#include "tests/support/nats/tcp_link.h"
#include "tests/support/programs/shell.h"

#ifdef CRN_HAS_POSTGRESQL
#include "tests/support/postgresql/postgresql_server.h"
#endif

#ifdef CRN_HAS_NATS
#include <nats/nats.h>

#define PROGRAM       CRN_BIN "/cernita-archive"
#define LINES         2
#define LANES         32 /* of each */
#define PER_SECOND    (LANES * 10)
#define SEGMENT_BYTES (8 << 20)
#define STREAM        "FLEET"
#define WINDOW_MS     2000 /* of duplicates, in the place of two minutes */
#define LONG_MS       4000 /* an outage beyond it */
#define SILENCE_MS    7000 /* beyond what the program waits for an answer */

typedef struct fleet_line {
    archived_line *verdicts; /* shared with the generator */
    char folder[128], url[128];
    tcp_link link;
    pid_t generator, publisher;
} fleet_line;

static uint32_t seconds, kills;
static fleet_line lines[LINES];
static nats_server server;
static char stream_url[128];

/* The archives of the stream. */
typedef struct fleet_office {
    const char *to;
    pid_t archive;
} fleet_office;

static fleet_office offices[2];
static int office_count;

static crn_random chance;
static uint32_t outages, longer; /* how many, and of these beyond the window */

static uint32_t setting(const char *name, uint32_t initial)
{
    const char *text = getenv(name);
    return text ? (uint32_t)strtoul(text, NULL, 10) : initial;
}

/* --- the lines --- */

/* Writes verdicts at their times, in a process of its own. */
static void start_generator(fleet_line *line)
{
    crn_error error;
    line->generator = crn_cleanup_fork();
    assert_true(line->generator >= 0);
    if (line->generator != 0)
        return;
    const crn_verdict_log_settings settings = {.dir = line->folder, .segment_bytes = SEGMENT_BYTES};
    int64_t began_ns = crn_now_ns();
    assert_int_equal(crn_verdict_writer_open(&settings, &line->verdicts->writer, &error), 0);
    while (line->verdicts->verdicts < (uint64_t)PER_SECOND * seconds) {
        uint64_t due = (uint64_t)((crn_now_ns() - began_ns) / (CRN_NS_PER_S / PER_SECOND));
        if (due > (uint64_t)PER_SECOND * seconds)
            due = (uint64_t)PER_SECOND * seconds;
        archived_write(line->verdicts, CRN_FORMAT_MSGPACK, 0, due - line->verdicts->verdicts);
        poll(NULL, 0, 20);
    }
    crn_verdict_writer_close(&line->verdicts->writer);
    _exit(0);
}

static pid_t follow(const char *from, const char *to)
{
    char path[128];
    pid_t child = crn_cleanup_fork();
    assert_true(child >= 0);
    if (child != 0)
        return child;
    snprintf(path, sizeof path, "%s/said", logged_folder);
    if (!freopen(path, "a", stderr) || !freopen("/dev/null", "w", stdout))
        _exit(1);
    execl(PROGRAM, PROGRAM, "--from", from, "--to", to, "--follow", NULL);
    _exit(1);
}

static void end(pid_t *child)
{
    kill(*child, SIGKILL);
    crn_cleanup_wait(*child, NULL);
    *child = 0;
}

/* --- what is killed --- */

/* How long an outage lasts: most are short, some longer than the window of duplicates. */
static void wait_outage(void)
{
    bool is_long = crn_random_below(&chance, 4) == 0;
    outages++;
    longer += is_long;
    poll(NULL, 0, is_long ? LONG_MS : (int)crn_random_below(&chance, WINDOW_MS / 4));
}

static void cut_link(tcp_link *link)
{
    tcp_link_cut(link);
    wait_outage();
    tcp_link_start(link);
}

/* What is sent meanwhile waits in the link, and then arrives, or is lost with it. */
static void hold_link(tcp_link *link)
{
    bool is_silent = crn_random_below(&chance, 8) == 0;
    tcp_link_hold(link);
    if (is_silent)
        poll(NULL, 0, SILENCE_MS);
    else
        wait_outage();
    if (crn_random_below(&chance, 2))
        tcp_link_go_on(link);
    else
        cut_link(link);
}

#ifdef CRN_HAS_POSTGRESQL
static postgresql_server database;

static double ask_database(const char *sql)
{
    return postgresql_server_ask(&database, sql);
}

static void make_database(int port)
{
    if (!postgresql_server_is_installed())
        return;
    database = (postgresql_server){.port = port, .folder = logged_folder};
    postgresql_server_make(&database);
    offices[office_count++] = (fleet_office){.to = database.url};
}

static void kill_database(void)
{
    if (!database.pid)
        return;
    postgresql_server_kill(&database);
    wait_outage();
    postgresql_server_start(&database);
}

static void expect_database(const crn_made_sums *sums)
{
    if (!database.pid)
        return;
    archived_expect_sums_of(ask_database, sums);
    assert_true(ask_database("SELECT COUNT(*) FROM gaps") == 0);
    postgresql_server_kill(&database);
}
#else
static void make_database(int port)
{
    (void)port;
}

static void kill_database(void) {}

static void expect_database(const crn_made_sums *sums)
{
    (void)sums;
}
#endif

static void kill_once(void)
{
    fleet_line *line = &lines[crn_random_below(&chance, LINES)];
    fleet_office *office = &offices[crn_random_below(&chance, (uint32_t)office_count)];
    switch (crn_random_below(&chance, 6)) {
    case 0:
        nats_server_kill(&server);
        wait_outage();
        nats_server_start(&server);
        break;
    case 1:
        end(&line->publisher);
        line->publisher = follow(line->folder, line->url);
        break;
    case 2:
        end(&office->archive);
        office->archive = follow(stream_url, office->to);
        break;
    case 3:
        cut_link(&line->link);
        break;
    case 4:
        kill_database();
        break;
    default:
        hold_link(&line->link);
    }
}

/* --- all --- */

static void make_stream(void)
{
    natsConnection *connection;
    jsCtx *context;
    jsStreamConfig config;
    char address[64];
    const char *subject = STREAM ".>";
    snprintf(address, sizeof address, "nats://127.0.0.1:%d", server.port);
    assert_int_equal(natsConnection_ConnectTo(&connection, address), NATS_OK);
    assert_int_equal(natsConnection_JetStream(&context, connection, NULL), NATS_OK);
    jsStreamConfig_Init(&config);
    config.Name = STREAM;
    config.Subjects = &subject;
    config.SubjectsLen = 1;
    config.Duplicates = WINDOW_MS * INT64_C(1000000);
    assert_int_equal(js_AddStream(NULL, context, &config, NULL, NULL), NATS_OK);
    jsCtx_Destroy(context);
    natsConnection_Destroy(connection);
}

static void start_all(void)
{
    static const char *const runs[LINES] = {"18a1b2c3d4e5f607", "18a1b2c3d4e5f608"};
    int port = crn_test_free_ports(false, 2 + LINES);
    archived_line *shared = mmap(NULL, LINES * sizeof *shared, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    offices[office_count++] = (fleet_office){.to = archived_path};
    make_database(port + 1 + LINES);
    server = (nats_server){.port = port, .folder = logged_folder};
    nats_server_start(&server);
    make_stream();
    for (int i = 0; i < LINES; i++) {
        fleet_line *line = &lines[i];
        *line = (fleet_line){.verdicts = &shared[i], .link = {.port = port + 1 + i, .to = port}};
        shared[i] =
            (archived_line){.random = {chance.state + (uint64_t)i}, .lanes = LANES, .run = runs[i]};
        snprintf(line->folder, sizeof line->folder, "%s/line%d", logged_folder, i);
        snprintf(line->url, sizeof line->url, "nats://127.0.0.1:%d/" STREAM, line->link.port);
        assert_int_equal(mkdir(line->folder, 0700), 0);
        tcp_link_start(&line->link);
        start_generator(line);
        line->publisher = follow(line->folder, line->url);
    }
    snprintf(stream_url, sizeof stream_url, "nats://127.0.0.1:%d/" STREAM, port);
    for (int i = 0; i < office_count; i++)
        offices[i].archive = follow(stream_url, offices[i].to);
}

static void run_to_the_end(const char *from, const char *to, const char *wanted)
{
    char command[512], output[1024];
    snprintf(command, sizeof command, PROGRAM " --from %s --to '%s' 2>&1", from, to);
    if (crn_test_shell(command, output, sizeof output) != 0 || !strstr(output, wanted))
        fail_msg("%s", output);
}

static void add_sums(crn_made_sums *sums, const crn_made_sums *more)
{
    sums->fruits += more->fruits;
    sums->of_lot += more->of_lot;
    sums->late += more->late;
    sums->views += more->views;
    sums->lost_views += more->lost_views;
    sums->defects += more->defects;
    sums->bytes += more->bytes;
    sums->run_us += more->run_us;
    for (int class = 0; class < CRN_MADE_CLASSES; class ++) {
        sums->found[class] += more->found[class];
        sums->area_px[class] += more->area_px[class];
        sums->defect_area[class] += more->defect_area[class];
    }
}

/* All publish what their logs still have, and the archives read it. */
static void finish(crn_made_sums *sums)
{
    int status;
    for (int i = 0; i < LINES; i++) {
        crn_cleanup_wait(lines[i].generator, &status);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        end(&lines[i].publisher);
        run_to_the_end(lines[i].folder, lines[i].url, " 0 unreadable");
        add_sums(sums, &lines[i].verdicts->sums);
    }
    for (int i = 0; i < office_count; i++) {
        end(&offices[i].archive);
        run_to_the_end(stream_url, offices[i].to, " 0 unreadable");
    }
}

static void nothing_is_lost_and_nothing_doubled(void **state)
{
    (void)state;
    crn_made_sums sums = {0};
    if (!nats_server_is_installed())
        skip();
    chance = (crn_random){crn_random_seed()};
    int64_t began_ns = crn_now_ns(), each_ns = seconds * CRN_NS_PER_S / kills;
    start_all();
    for (uint32_t i = 0; i < kills; i++) {
        int64_t left_ms = (began_ns + (i + 1) * each_ns - crn_now_ns()) / CRN_NS_PER_MS;
        if (left_ms > 0)
            poll(NULL, 0, (int)crn_random_below(&chance, (uint32_t)left_ms));
        kill_once();
    }
    finish(&sums);
    archived_expect_sums(&sums);
    assert_true(archived_ask("SELECT COUNT(*) FROM gaps") == 0);
    expect_database(&sums);
    print_message(
        "%.0f verdicts of %d lines in %d archives, %.0f MB of log, %u kills, %u outages, of "
        "which %u longer than the window of duplicates: 0 lost, 0 doubled\n",
        (double)sums.fruits, LINES, office_count, (double)sums.bytes / 1e6, (unsigned)kills,
        (unsigned)outages, (unsigned)longer);
}

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
    seconds = setting("CRN_SECONDS", 5);
    kills = setting("CRN_KILLS", 10);
    if (seconds < 1 || kills < 1) {
        fprintf(stderr, "CRN_SECONDS of at least 1 and CRN_KILLS of at least 1 expected\n");
        return 2;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_lost_and_nothing_doubled, archived_setup,
                                        logged_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0; /* a build without libnats */
}
#endif
