/*
 * cernita-archive by way of a NATS server (Debian: nats-server; skipped where it is not installed):
 * each verdict and outcome once, whatever was there before, and each fault as one line with its
 * cure. CRN_SEED is the seed.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/base/log.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/archived.h"
#include "tests/support/parts/logged.h"
#include "tests/support/nats/published.h"
#include "tests/support/programs/shell.h"

#define PROGRAM CRN_BIN "/cernita-archive"

#ifdef CRN_HAS_NATS
#include <nats/nats.h>

#include "src/formats/outcomes/outcome.h"

#define VERDICTS 2500 /* more than two batches */

static char output[512];

/* --- the stream, as its administrator changes it --- */

typedef struct administrator {
    natsConnection *connection;
    jsCtx *context;
} administrator;

static administrator administer(void)
{
    administrator by;
    char address[64];
    snprintf(address, sizeof address, "nats://127.0.0.1:%d", published_server.port);
    assert_int_equal(natsConnection_ConnectTo(&by.connection, address), NATS_OK);
    assert_int_equal(natsConnection_JetStream(&by.context, by.connection, NULL), NATS_OK);
    return by;
}

static void end(administrator *by)
{
    jsCtx_Destroy(by->context);
    natsConnection_Destroy(by->connection);
}

static void make_stream(int64_t messages_max, const char *subject)
{
    administrator by = administer();
    jsStreamConfig config;
    jsStreamConfig_Init(&config);
    config.Name = CRN_PUBLISHED_STREAM;
    config.Subjects = &subject;
    config.SubjectsLen = 1;
    config.MaxMsgs = messages_max;
    config.Discard = js_DiscardNew;
    natsStatus s = js_AddStream(NULL, by.context, &config, NULL, NULL);
    if (s != NATS_OK)
        s = js_UpdateStream(NULL, by.context, &config, NULL, NULL);
    assert_int_equal(s, NATS_OK);
    end(&by);
}

static uint64_t messages(void)
{
    administrator by = administer();
    jsStreamInfo *about = NULL;
    assert_int_equal(js_GetStreamInfo(&about, by.context, CRN_PUBLISHED_STREAM, NULL, NULL),
                     NATS_OK);
    uint64_t count = about->State.Msgs;
    jsStreamInfo_Destroy(about);
    end(&by);
    return count;
}

static void delete_stream(void)
{
    administrator by = administer();
    assert_int_equal(js_DeleteStream(by.context, CRN_PUBLISHED_STREAM, NULL, NULL), NATS_OK);
    end(&by);
}

/* Removes the messages before this one. */
static void purge_below(uint64_t sequence)
{
    administrator by = administer();
    jsOptions options;
    jsOptions_Init(&options);
    options.Stream.Purge.Sequence = sequence;
    assert_int_equal(js_PurgeStream(by.context, CRN_PUBLISHED_STREAM, &options, NULL), NATS_OK);
    end(&by);
}

/* --- each once --- */

static void verdicts_arrive_once(void **state)
{
    (void)state;
    published_start(NULL);
    published_write(VERDICTS);
    published_publish();
    published_expect_said("2500 verdicts published, 0 unreadable");
    published_archive();
    published_expect_said("2500 verdicts archived, 0 were there, 0 missing, 0 unreadable");
    archived_expect_sums(&published_line.sums);
    published_write(VERDICTS);
    published_publish();
    published_archive();
    published_expect_said("2500 verdicts archived, 0 were there, 0 missing");
    archived_expect_sums(&published_line.sums);
    nats_server_kill(&published_server);
}

/* The window of duplicates is over, and what is published again is in the stream twice. */
static void what_is_in_the_stream_twice_is_archived_once(void **state)
{
    (void)state;
    published_start(NULL);
    published_write(VERDICTS);
    make_stream(-1, CRN_PUBLISHED_STREAM ".>");
    administrator by = administer();
    jsStreamInfo *about = NULL;
    assert_int_equal(js_GetStreamInfo(&about, by.context, CRN_PUBLISHED_STREAM, NULL, NULL),
                     NATS_OK);
    about->Config->Duplicates = INT64_C(100000000);
    assert_int_equal(js_UpdateStream(NULL, by.context, about->Config, NULL, NULL), NATS_OK);
    jsStreamInfo_Destroy(about);
    end(&by);
    published_publish();
    assert_int_equal(messages(), VERDICTS);
    while (messages() == VERDICTS) /* the last batch, once the window is over */
        published_publish();
    published_archive();
    published_expect_said("2500 verdicts archived, ");
    assert_null(strstr(published_output, "archived, 0 were there, 0 missing"));
    archived_expect_sums(&published_line.sums);
    nats_server_kill(&published_server);
}

static void outcomes_arrive_once(void **state)
{
    (void)state;
    crn_encoder *encoder;
    char folder[128], options[160];
    const unsigned char *bytes;
    size_t size;
    crn_error error;
    published_start(NULL);
    published_write(300);
    snprintf(folder, sizeof folder, "%s/sorter", logged_folder);
    snprintf(options, sizeof options, "--sorter %s", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    crn_verdict_log_settings settings = {.dir = folder, .segment_bytes = 100000};
    crn_verdict_writer *writer;
    assert_int_equal(crn_verdict_writer_open(&settings, &writer, &error), 0);
    assert_int_equal(crn_encoder_create(CRN_FORMAT_MSGPACK, &encoder), 0);
    for (uint64_t i = 0; i < 100; i++) {
        crn_outcome outcome = {.sorter = "5eed",
                               .run = CRN_ARCHIVED_RUN,
                               .sequence = i,
                               .fruits = 1,
                               .fruit = i,
                               .decided_ns = 1000 + (int64_t)i,
                               .outlet = "waste",
                               .reason = "rule",
                               .rule = 1};
        assert_int_equal(crn_outcome_pack(&outcome, encoder, &bytes, &size), 0);
        assert_int_equal(crn_verdict_writer_append(writer, 0, bytes, size, &error), 0);
        crn_firing_outcome firing = {.run = CRN_ARCHIVED_RUN, .sequence = i, .result = "confirmed"};
        assert_int_equal(crn_firing_outcome_pack(&firing, encoder, &bytes, &size), 0);
        assert_int_equal(crn_verdict_writer_append(writer, 0, bytes, size, &error), 0);
    }
    crn_encoder_free(&encoder);
    crn_verdict_writer_close(&writer);
    for (int i = 0; i < 2; i++)
        if (published_run(logged_folder, published_url, options) != 0)
            fail_msg("%s", published_output);
    published_expect_said("100 outcomes and 100 results published, 0 unreadable");
    published_archive();
    published_expect_said(
        "100 outcomes and 100 results archived, 200 were there, 0 results without");
    archived_expect_sums(&published_line.sums);
    assert_true(archived_ask("SELECT COUNT(*) FROM fruit_outcomes") == 100);
    nats_server_kill(&published_server);
}

/* --- what an administrator does to a stream --- */

static void a_stream_begun_again_gets_all_that_the_log_has(void **state)
{
    (void)state;
    published_start(NULL);
    published_write(VERDICTS);
    published_publish();
    published_archive();
    delete_stream();
    published_write(100);
    published_publish();
    published_expect_said("2600 verdicts published");
    published_archive();
    published_expect_said("100 verdicts archived, 2500 were there, 0 missing");
    archived_expect_sums(&published_line.sums);
    nats_server_kill(&published_server);
}

static void removed_messages_are_told_and_are_gaps(void **state)
{
    (void)state;
    published_start(NULL);
    published_write(300);
    published_publish();
    published_archive();
    published_write(300);
    published_publish();
    purge_below(401);
    published_archive();
    published_expect_said("messages 301 to 400 were removed before they were archived");
    published_expect_said("200 verdicts archived, 0 were there, 100 missing");
    assert_true(archived_ask("SELECT SUM(last - first + 1) FROM gaps") == 100);
    nats_server_kill(&published_server);
}

static void what_is_no_verdict_is_told_and_passed_over(void **state)
{
    (void)state;
    published_start(NULL);
    published_write(100);
    published_publish();
    administrator by = administer();
    assert_int_equal(js_Publish(NULL, by.context, CRN_PUBLISHED_STREAM ".verdicts.other", "hello",
                                5, NULL, NULL),
                     NATS_OK);
    assert_int_equal(
        js_Publish(NULL, by.context, CRN_PUBLISHED_STREAM ".empty", NULL, 0, NULL, NULL), NATS_OK);
    end(&by);
    published_write(100);
    published_publish();
    published_archive();
    published_expect_said("/" CRN_PUBLISHED_STREAM
                          ": message 101 cannot be read and is passed over");
    published_expect_said("/" CRN_PUBLISHED_STREAM
                          ": message 102 cannot be read and is passed over");
    published_expect_said("200 verdicts archived, 0 were there, 0 missing, 2 unreadable");
    archived_expect_sums(&published_line.sums);
    nats_server_kill(&published_server);
}

static void a_full_stream_is_told_and_loses_nothing(void **state)
{
    (void)state;
    published_start(NULL);
    make_stream(1234, CRN_PUBLISHED_STREAM ".>");
    published_write(VERDICTS);
    assert_int_equal(published_run(logged_folder, published_url, ""), 1);
    published_expect_said(
        "the server refuses what is published (maximum messages exceeded): make room");
    make_stream(-1, CRN_PUBLISHED_STREAM ".>");
    published_publish();
    published_archive();
    archived_expect_sums(&published_line.sums);
    assert_true(archived_ask("SELECT COUNT(*) FROM gaps") == 0);
    nats_server_kill(&published_server);
}

static void a_stream_of_other_subjects_is_told(void **state)
{
    (void)state;
    published_start(NULL);
    make_stream(-1, "other.>");
    published_write(10);
    assert_int_equal(published_run(logged_folder, published_url, ""), 1);
    published_expect_said("add STREAM.> to its subjects");
    nats_server_kill(&published_server);
}

static void a_longer_verdict_than_the_server_takes_is_told(void **state)
{
    (void)state;
    published_start("max_payload: 2048");
    published_write(50); /* some have more than 1024 bytes */
    assert_int_equal(published_run(logged_folder, published_url, ""), 1);
    published_expect_said(
        "and the NATS server takes 1024: raise its max_payload; what follows waits");
    nats_server_kill(&published_server);
    published_start(NULL);
    published_publish();
    published_archive();
    archived_expect_sums(&published_line.sums);
    nats_server_kill(&published_server);
}

/* --- the server --- */

static pid_t follow(const char *from, const char *to)
{
    char path[128];
    snprintf(path, sizeof path, "%s/said", logged_folder);
    pid_t child = crn_cleanup_fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!freopen(path, "w", stderr))
            _exit(1);
        execl(PROGRAM, PROGRAM, "--from", from, "--to", to, "--follow", NULL);
        _exit(1);
    }
    return child;
}

static bool has_said(pid_t child, void *wanted)
{
    char command[512];
    (void)child;
    snprintf(command, sizeof command, "grep -q '%s' %s/said", (char *)wanted, logged_folder);
    return crn_test_shell(command, output, sizeof output) == 0;
}

static bool has_archived(pid_t child, void *verdicts)
{
    (void)child;
    return access(archived_path, F_OK) == 0 &&
           archived_ask("SELECT COUNT(*) FROM sqlite_schema WHERE name = 'gaps'") == 1 &&
           archived_ask("SELECT COUNT(*) FROM fruits") >= *(double *)verdicts;
}

static void stop(pid_t child)
{
    int status;
    kill(child, SIGTERM);
    crn_cleanup_wait(child, &status);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Neither end has a server when it starts, and both lose it twice. */
static void both_ends_wait_for_the_server(void **state)
{
    (void)state;
    if (!nats_server_is_installed())
        skip();
    published_write(100);
    pid_t line_end = follow(logged_folder, published_url);
    crn_test_await(line_end, has_said, "no NATS server answers there: start it");
    pid_t office_end = follow(published_url, archived_path);
    crn_test_await(office_end, has_said, "no NATS server answers there: start it");
    for (int i = 0; i < 3; i++) {
        published_start(NULL);
        published_write(100);
        double verdicts = (double)published_line.verdicts;
        crn_test_await(office_end, has_archived, &verdicts);
        nats_server_kill(&published_server);
    }
    stop(line_end);
    stop(office_end);
    archived_expect_sums(&published_line.sums);
}

static void no_server_is_one_line_and_fails(void **state)
{
    (void)state;
    published_write(10);
    assert_int_equal(published_run(logged_folder, published_url, ""), 1);
    published_expect_said("no NATS server answers there: start it, or name another one");
    assert_int_equal(published_run(published_url, archived_path, ""), 1);
    published_expect_said("no NATS server answers there: start it, or name another one");
}

static void a_server_without_jetstream_is_told(void **state)
{
    (void)state;
    if (!nats_server_is_installed())
        skip();
    published_start("jetstream: disabled");
    published_write(10);
    assert_int_equal(published_run(logged_folder, published_url, ""), 1);
    published_expect_said("the server has no JetStream");
    nats_server_kill(&published_server);
}

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
#define TEST(name) cmocka_unit_test_setup_teardown(name, published_setup, logged_teardown)
    const struct CMUnitTest tests[] = {
        TEST(verdicts_arrive_once),
        TEST(what_is_in_the_stream_twice_is_archived_once),
        TEST(outcomes_arrive_once),
        TEST(a_stream_begun_again_gets_all_that_the_log_has),
        TEST(removed_messages_are_told_and_are_gaps),
        TEST(what_is_no_verdict_is_told_and_passed_over),
        TEST(a_full_stream_is_told_and_loses_nothing),
        TEST(a_stream_of_other_subjects_is_told),
        TEST(a_longer_verdict_than_the_server_takes_is_told),
        TEST(both_ends_wait_for_the_server),
        TEST(no_server_is_one_line_and_fails),
        TEST(a_server_without_jetstream_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return 0; /* test_archive_nats_access looks at a build without libnats */
}
#endif
