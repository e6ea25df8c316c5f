/*
 * An archive in PostgreSQL (Debian: postgresql; skipped where it is not installed): the same rows
 * as in SQLite's, however the verdicts and outcomes are cut into transactions and whatever came
 * before; a server that goes and returns; what is told of each fault. CRN_CASES is the number of
 * random orders (20), CRN_SEED the seed.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stages/base/log.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/archived.h"
#include "tests/support/parts/logged.h"
#include "tests/support/peers/free_port.h"
#include "tests/support/programs/shell.h"

#ifdef CRN_HAS_POSTGRESQL
#include "tests/support/postgresql/postgresql_server.h"
#include "tools/archive/intake.h"
#include "tools/archive/postgresql/postgresql.h"
#include "tools/archive/rows/tables.h"

#define PROGRAM CRN_BIN "/cernita-archive"

static postgresql_server server;
static archived_line line;
static crn_random source;
static char output[4096];

/* One server for all tests: making its files takes a second. Each has an empty database. */
static char server_folder[] = "/tmp/cernita-test-XXXXXX";

static int group_set_up(void **state)
{
    (void)state;
    source = (crn_random){crn_random_seed()};
    server = (postgresql_server){.port = crn_test_free_ports(false, 1), .folder = server_folder};
    if (!postgresql_server_is_installed())
        return 0;
    if (!mkdtemp(server_folder))
        return -1;
    postgresql_server_make(&server);
    return 0;
}

static int group_tear_down(void **state)
{
    char command[128];
    (void)state;
    if (server.pid)
        postgresql_server_kill(&server);
    snprintf(command, sizeof command, "rm -rf %s", server_folder);
    return crn_test_shell(command, output, sizeof output);
}

static int set_up(void **state)
{
    line = (archived_line){.random = {crn_random_next(&source)}};
    if (server.pid)
        postgresql_server_run(&server, "DROP SCHEMA public CASCADE; CREATE SCHEMA public"
                                       " AUTHORIZATION " CRN_POSTGRESQL_USER);
    return archived_setup(state);
}

static void need_server(void)
{
    if (!postgresql_server_is_installed())
        skip();
}

static void write_verdicts(uint64_t verdicts)
{
    archived_write(&line, CRN_FORMAT_MSGPACK, UINT64_MAX, verdicts);
}

static int run(const char *to, const char *options)
{
    char command[1024];
    snprintf(command, sizeof command, PROGRAM " --from %s --to '%s' %s 2>&1", logged_folder, to,
             options);
    return crn_test_shell(command, output, sizeof output);
}

static void expect_said(const char *wanted)
{
    if (!strstr(output, wanted))
        fail_msg("'%s' expected in: %s", wanted, output);
}

static void archive(const char *to)
{
    if (run(to, "") != 0)
        fail_msg("%s", output);
}

/* --- the same rows --- */

/* The log into both, and what they have. */
static void expect_same(void)
{
    archive(archived_path);
    archive(server.url);
    postgresql_server_expect_rows_of(&server, archived_path);
}

static void a_log_gives_the_same_rows_as_in_sqlite(void **state)
{
    (void)state;
    need_server();
    write_verdicts(300);
    expect_same();
    expect_said("300 verdicts archived, 0 were there, 0 missing, 0 unreadable");
    write_verdicts(10100); /* more than a transaction has */
    expect_same();
    archive(server.url);
    expect_said("0 verdicts archived, 0 were there, 0 missing, 0 unreadable");
}

static void nothing_is_doubled_where_the_position_is_lost(void **state)
{
    (void)state;
    need_server();
    write_verdicts(300);
    expect_same();
    postgresql_server_run(&server, "DELETE FROM sources");
    write_verdicts(200);
    archive(archived_path);
    archive(server.url);
    expect_said("200 verdicts archived, 300 were there, 0 missing, 0 unreadable");
    /* Numbers of fruits that were there are not used; all else is the same. */
    assert_true(postgresql_server_ask(&server, "SELECT COUNT(*) FROM fruits") == 500);
    assert_true(postgresql_server_ask(&server, "SELECT COUNT(*) FROM views") ==
                archived_ask("SELECT COUNT(*) FROM views"));
    assert_true(postgresql_server_ask(&server, "SELECT SUM(area_px) FROM defects") ==
                archived_ask("SELECT SUM(area_px) FROM defects"));
}

static void fruits_that_were_deleted_by_hand_come_again(void **state)
{
    (void)state;
    need_server();
    write_verdicts(300);
    archive(server.url);
    postgresql_server_run(&server,
                          "DELETE FROM sources; DELETE FROM fruits WHERE fruit_id IN (1, 300)");
    archive(server.url);
    expect_said("2 verdicts archived, 298 were there, 0 missing, 0 unreadable");
    assert_true(postgresql_server_ask(&server, "SELECT COUNT(*) FROM fruits") == 300);
}

/* --- outcomes --- */

typedef struct both {
    crn_archive file;
    crn_archive_tables tables;
    crn_postgresql *remote;
    crn_destination *destinations[2];
    crn_intake_stats stats[2];
} both;

static void open_both(both *two)
{
    crn_error error;
    if (crn_archive_open(&two->file, archived_path, &error) < 0 ||
        crn_archive_tables_init(&two->tables, &two->file, &error) < 0 ||
        crn_postgresql_open(server.url, &two->remote, &error) < 0)
        fail_msg("%s", error.text);
    two->destinations[0] = &two->tables.destination;
    two->destinations[1] = crn_postgresql_get_destination(two->remote);
}

static void close_both(both *two)
{
    crn_archive_close(&two->file);
    crn_postgresql_close(&two->remote);
}

static const char *const words[] = {"first", "second", "waste"};

/* Of random fruits: they overlap, repeat and come in any order. */
static const unsigned char *make_outcome(crn_encoder *encoder, size_t *ret_size)
{
    const unsigned char *bytes;
    uint64_t sequence = crn_random_below(&source, 60);
    uint64_t fruits = crn_random_below(&source, 2) ? 1 : 1 + crn_random_below(&source, 12);
    crn_outcome outcome = {.sorter = "5eed",
                           .run = CRN_ARCHIVED_RUN,
                           .lane = crn_random_below(&source, 2),
                           .sequence = sequence,
                           .fruits = fruits,
                           .fruit = fruits == 1 ? 100 + sequence : 0,
                           .decided_ns = (int64_t)(crn_random_next(&source) >> 1),
                           .rule = crn_random_below(&source, 3)};
    strcpy(outcome.outlet, words[crn_random_below(&source, 3)]);
    strcpy(outcome.reason, fruits == 1 ? "rule" : "lost");
    assert_int_equal(crn_outcome_pack(&outcome, encoder, &bytes, ret_size), 0);
    return bytes;
}

static const unsigned char *make_result(crn_encoder *encoder, size_t *ret_size)
{
    const unsigned char *bytes;
    crn_firing_outcome firing = {.run = CRN_ARCHIVED_RUN,
                                 .lane = crn_random_below(&source, 2),
                                 .sequence = crn_random_below(&source, 60)};
    strcpy(firing.result, words[crn_random_below(&source, 3)]);
    assert_int_equal(crn_firing_outcome_pack(&firing, encoder, &bytes, ret_size), 0);
    return bytes;
}

static void drop_line(const char *text)
{
    fail_msg("%s", text);
}

/* Random transactions, of outcomes and then of results, as a sorter logs them. */
static void add_to_both(both *two, crn_encoder *encoder, int transactions)
{
    crn_intake intakes[2];
    crn_error error;
    for (int i = 0; i < 2; i++)
        assert_int_equal(crn_intake_init(&intakes[i], two->destinations[i], CRN_INTAKE_OUTCOMES,
                                         "log", drop_line, &error),
                         0);
    for (; transactions > 0; transactions--) {
        int outcomes = (int)crn_random_below(&source, 6);
        int entries = outcomes + (int)crn_random_below(&source, 4);
        for (int i = 0; i < 2; i++)
            if (crn_intake_begin(&intakes[i], &error) < 0)
                fail_msg("%s", error.text);
        for (int entry = 0; entry < entries; entry++) {
            size_t size;
            const unsigned char *bytes =
                entry < outcomes ? make_outcome(encoder, &size) : make_result(encoder, &size);
            for (int i = 0; i < 2; i++)
                if (crn_intake_add(&intakes[i], bytes, size, NULL, &error) < 0)
                    fail_msg("%s", error.text);
        }
        for (int i = 0; i < 2; i++)
            if (crn_intake_end(&intakes[i], 0, &error) < 0)
                fail_msg("%s", error.text);
    }
    for (int i = 0; i < 2; i++) {
        two->stats[i] = intakes[i].stats[CRN_INTAKE_OUTCOMES];
        crn_intake_done(&intakes[i]);
    }
}

static void outcomes_give_the_same_rows_in_any_transactions(void **state)
{
    (void)state;
    crn_encoder *encoder;
    need_server();
    assert_int_equal(crn_encoder_create(CRN_FORMAT_MSGPACK, &encoder), 0);
    for (uint32_t left = crn_random_cases(20); left > 0; left--) {
        both two;
        void *test = NULL;
        open_both(&two);
        add_to_both(&two, encoder, 12);
        close_both(&two);
        postgresql_server_expect_rows_of(&server, archived_path);
        assert_int_equal(two.stats[0].results, two.stats[1].results);
        assert_int_equal(two.stats[0].added + two.stats[0].known + two.stats[0].missing,
                         two.stats[1].added + two.stats[1].known + two.stats[1].missing);
        assert_int_equal(logged_teardown(&test), 0);
        assert_int_equal(set_up(&test), 0);
    }
    crn_encoder_free(&encoder);
}

/* --- a server that goes and returns --- */

static pid_t follow(void)
{
    char said[128];
    snprintf(said, sizeof said, "%s/said", logged_folder);
    pid_t child = crn_cleanup_fork();
    assert_true(child >= 0);
    if (child != 0)
        return child;
    if (!freopen(said, "w", stderr) || !freopen("/dev/null", "w", stdout))
        _exit(1);
    execl(PROGRAM, PROGRAM, "--from", logged_folder, "--to", server.url, "--follow", NULL);
    _exit(1);
}

static double wanted;

static bool has_fruits(pid_t child, void *what)
{
    (void)child;
    (void)what;
    return postgresql_server_ask(&server,
                                 "SELECT COUNT(*) FROM pg_class WHERE relname = 'fruits'") &&
           postgresql_server_ask(&server, "SELECT COUNT(*) FROM fruits") == wanted;
}

static bool has_told(pid_t child, void *what)
{
    char command[160];
    (void)child;
    snprintf(command, sizeof command, "grep -c '%s' %s/said", (const char *)what, logged_folder);
    crn_test_shell(command, output, sizeof output);
    return output[0] >= '1';
}

static void it_waits_for_the_server(void **state)
{
    (void)state;
    need_server();
    write_verdicts(100);
    pid_t child = follow();
    wanted = 100;
    crn_test_await(child, has_fruits, NULL);
    postgresql_server_kill(&server);
    write_verdicts(100);
    crn_test_await(child, has_told, (void *)"no PostgreSQL server answers there");
    postgresql_server_start(&server);
    crn_cleanup_drop((void *)(intptr_t)server.pid); /* for the tests after this one, too */
    wanted = 200;
    crn_test_await(child, has_fruits, NULL);
    kill(child, SIGTERM);
    int status;
    crn_cleanup_wait(child, &status);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    archive(archived_path);
    postgresql_server_expect_rows_of(&server, archived_path);
}

static void one_program_writes_to_an_archive(void **state)
{
    (void)state;
    need_server();
    write_verdicts(10);
    pid_t child = follow();
    wanted = 10;
    crn_test_await(child, has_fruits, NULL);
    assert_int_equal(run(server.url, ""), 1);
    expect_said("another cernita-archive writes to it: end that");
    kill(child, SIGKILL);
    crn_cleanup_wait(child, NULL);
}

/* --- faults --- */

static void expect_refused(const char *to, const char *said)
{
    assert_int_equal(run(to, ""), 1);
    expect_said(said);
    assert_null(strstr(output, "pl4in"));
    char *first = strstr(output, "cernita-archive: ");
    assert_true(first && !strstr(first + 1, "cernita-archive: "));
}

static void faults_are_told_with_their_cure(void **state)
{
    (void)state;
    char to[160];
    need_server();
    write_verdicts(10);
    snprintf(to, sizeof to, "postgresql://office:pl4in@127.0.0.1:%d/nowhere", server.port);
    expect_refused(to, "make the database (createdb --owner USER)");
    snprintf(to, sizeof to, "postgresql://nobody:pl4in@127.0.0.1:%d/cernita", server.port);
    expect_refused(to, "make the role (createuser --pwprompt)");
    expect_refused("postgresql://office:pl4in@127.0.0.1:1/cernita",
                   "no PostgreSQL server answers there");
    expect_refused("postgresql://office:pl4in@127.0.0.1:x/cernita", "");
    expect_refused("postgresql://office@127.0.0.1/cernita?pl4in=1",
                   "is not postgresql://[USER@]HOST");
    postgresql_server_run(&server, "ALTER SCHEMA public OWNER TO postgres");
    expect_refused(server.url, "may use none of the schemas");
    postgresql_server_run(&server, "GRANT USAGE ON SCHEMA public TO " CRN_POSTGRESQL_USER);
    expect_refused(server.url, "permission denied for schema public: let the database's owner");
}

static void other_tables_and_versions_are_refused(void **state)
{
    (void)state;
    need_server();
    write_verdicts(10);
    postgresql_server_run(&server, "CREATE TABLE fruits (x INT)");
    expect_refused(server.url,
                   "has tables of another program: name a database of the archive's own");
    postgresql_server_run(&server, "DROP TABLE fruits");
    archive(server.url);
    postgresql_server_run(&server, "UPDATE cernita_archive SET version = version + 1");
    expect_refused(server.url, "of a newer cernita-archive (this one knows up to");
    assert_true(postgresql_server_ask(&server, "SELECT COUNT(*) FROM fruits") == 10);
}

static void an_older_version_is_migrated(void **state)
{
    (void)state;
    need_server();
    write_verdicts(10);
    archive(server.url);
    postgresql_server_run(&server,
                          "UPDATE cernita_archive SET version = 2; DROP VIEW fruit_outcomes;"
                          "DROP TABLE outcomes, alarms");
    write_verdicts(10);
    expect_same();
}

static void a_wrong_password_is_told(void **state)
{
    (void)state;
    char to[160], command[256];
    need_server();
    write_verdicts(10);
    snprintf(command, sizeof command,
             "echo 'host all all 127.0.0.1/32 scram-sha-256' >%s/postgresql/pg_hba.conf",
             server_folder);
    assert_int_equal(crn_test_shell(command, output, sizeof output), 0);
    kill(server.pid, SIGHUP);
    do {
        snprintf(to, sizeof to, "postgresql://office:pl4inly@127.0.0.1:%d/cernita", server.port);
    } while (run(to, "") == 0);
    expect_refused(to, "give the right password, in the file ~/.pgpass");
    expect_refused(server.url, "give the password, in the file ~/.pgpass");
    snprintf(to, sizeof to, "postgresql://office:pl4in@127.0.0.1:%d/cernita", server.port);
    archive(to);
}

static int set_up_without_server(void **state)
{
    line = (archived_line){.random = {1}};
    return archived_setup(state);
}

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, logged_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_log_gives_the_same_rows_as_in_sqlite),
        TEST(nothing_is_doubled_where_the_position_is_lost),
        TEST(fruits_that_were_deleted_by_hand_come_again),
        TEST(outcomes_give_the_same_rows_in_any_transactions),
        TEST(it_waits_for_the_server),
        TEST(one_program_writes_to_an_archive),
        TEST(faults_are_told_with_their_cure),
        TEST(other_tables_and_versions_are_refused),
        TEST(an_older_version_is_migrated),
        /* The last one, as the server then asks for passwords. */
        cmocka_unit_test_setup_teardown(a_wrong_password_is_told, set_up_without_server,
                                        logged_teardown),
    };
    return cmocka_run_group_tests(tests, group_set_up, group_tear_down);
}

#else

int main(void)
{
    return 0; /* a build without libpq */
}
#endif
