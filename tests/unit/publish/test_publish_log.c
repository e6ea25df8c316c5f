/* The publisher with publish.log: the log has the bytes that the grader gets, and more where the
 * grader gets none. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/formats/verdict_log/reader.h"
#include "stages/base/log.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/decode.h"
#include "tests/support/parts/logged.h"
#include "tests/support/peers/peer.h"
#include "tests/support/parts/publishing.h"

static int set_up(void **state)
{
    if (logged_setup(NULL) || crn_publishing_set_up(state))
        return -1;
    crn_publishing *f = *state;
    snprintf(f->config.publish.log.dir, CRN_TEXT_BYTES, "%s", logged_folder);
    f->config.publish.log.segment_mib = 1;
    f->config.publish.log.keep_mib = 0;
    return 0;
}

static int tear_down(void **state)
{
    return crn_publishing_tear_down(state) || logged_teardown(NULL) ? -1 : 0;
}

static crn_verdict_reader *read_log(void)
{
    crn_verdict_reader *reader;
    crn_error error;
    if (crn_verdict_reader_open(logged_folder, &reader, &error) < 0)
        fail_msg("%s", error.text);
    return reader;
}

static crn_logged_verdict next_verdict(crn_verdict_reader *reader)
{
    crn_logged_verdict verdict;
    crn_error error;
    assert_int_equal(crn_verdict_reader_next(reader, &verdict, &error), 1);
    return verdict;
}

static void expect_end(crn_verdict_reader *reader)
{
    crn_logged_verdict verdict;
    crn_error error;
    assert_int_equal(crn_verdict_reader_next(reader, &verdict, &error), 0);
    crn_verdict_reader_close(&reader);
}

/* In several segments: 30 verdicts of 80 to 160 KB. */
static void check_same_bytes(crn_publishing *f, crn_format format)
{
    f->config.publish.grader.format = format;
    f->points = 9000;
    crn_publishing_open(f);
    void *grader = crn_publishing_grader(f);
    crn_publishing_serve_until(f, &crn_publishing_stats(f)->graders, 1);
    crn_peer_message *messages[30];
    for (int i = 0; i < 30; i++) {
        crn_publishing_give(f);
        messages[i] = crn_peer_message_new();
        crn_publishing_serve_peer(f, grader);
        crn_peer_receive(grader, messages[i]);
    }
    crn_publish_close(&f->publish, 0);
    assert_true(logged_files() > 1);
    crn_verdict_reader *reader = read_log();
    for (int i = 0; i < 30; i++) {
        crn_logged_verdict verdict = next_verdict(reader);
        char topic[32];
        snprintf(topic, sizeof topic, "fruit/%u", verdict.lane);
        assert_string_equal(topic, messages[i]->topic);
        assert_int_equal(verdict.size, messages[i]->size);
        assert_memory_equal(verdict.bytes, messages[i]->bytes, verdict.size);
        crn_peer_message_free(messages[i]);
    }
    expect_end(reader);
}

static void the_log_has_the_graders_bytes(void **state)
{
    check_same_bytes(*state, CRN_FORMAT_MSGPACK);
}

static void in_its_format(void **state)
{
    check_same_bytes(*state, CRN_FORMAT_JSON);
}

/* The queue for an absent grader drops all but the last two; the log has them all. */
static void verdicts_that_no_grader_gets_are_logged(void **state)
{
    crn_publishing *f = *state;
    f->config.publish.grader.high_water_mark = 2;
    crn_publishing_open(f);
    for (int i = 0; i < 20; i++)
        crn_publishing_give(f);
    assert_int_equal(crn_publishing_stats(f)->dropped, 18);
    crn_publish_close(&f->publish, 0);
    crn_verdict_reader *reader = read_log();
    for (uint64_t i = 0; i < 20; i++) {
        crn_logged_verdict verdict = next_verdict(reader);
        msgpack_unpacked tree;
        msgpack_unpacked_init(&tree);
        assert_int_equal(verdict.lane, CRN_PUBLISHING_LANE);
        assert_int_equal(
            msgpack_unpack_next(&tree, (const char *)verdict.bytes, verdict.size, NULL),
            MSGPACK_UNPACK_SUCCESS);
        crn_expect_unsigned(crn_decoded_field(&tree.data, "sequence"), i);
        crn_expect_bool(crn_decoded_field(&tree.data, "stale"), false);
        msgpack_unpacked_destroy(&tree);
    }
    expect_end(reader);
}

/* What the disk refused shows in the counters and in the viewers' status. */
static void what_is_not_logged_is_reported(void **state)
{
    crn_publishing *f = *state;
    crn_publishing_open(f);
    crn_publish_service(f->publish, "running", f->now_ns); /* the first status: nobody gets it */
    void *viewer = crn_publishing_viewer(f, "status");
    crn_publishing_serve_viewers(f, &crn_publishing_stats(f)->viewer_subscriptions, 1);
    assert_int_equal(rmdir(logged_folder), 0);
    for (int i = 0; i < 3; i++)
        crn_publishing_give(f);
    crn_publishing_serve_viewers(f, &crn_publishing_stats(f)->log.failed, 3);
    assert_int_equal(crn_publishing_stats(f)->log.written, 0);
    crn_peer_message *m = crn_peer_message_new();
    f->now_ns += CRN_NS_PER_S;
    crn_publish_service(f->publish, "running", f->now_ns);
    const msgpack_object *status = crn_peer_receive_map(viewer, m);
    crn_expect_unsigned(crn_decoded_field(status, "log_dropped"), 0);
    crn_expect_unsigned(crn_decoded_field(status, "log_failed"), 3);
    crn_peer_message_free(m);
    assert_int_equal(mkdir(logged_folder, 0700), 0);
}

/* Number of threads of that name in this process. */
static int threads(const char *wanted)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *entry; (entry = readdir(tasks));) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file && fgets(name, sizeof name, file))
            count += strcmp(name, wanted) == 0;
        if (file)
            fclose(file);
    }
    closedir(tasks);
    return count;
}

static void without_a_folder_no_thread_runs(void **state)
{
    crn_publishing *f = *state;
    crn_publishing_open(f);
    crn_publishing_give(f);
    /* The thread names itself before it writes. */
    crn_publishing_serve_viewers(f, &crn_publishing_stats(f)->log.written, 1);
    assert_int_equal(threads("verdict-log\n"), 1);
    crn_publish_close(&f->publish, 0);
    f->config.publish.log.dir[0] = '\0';
    crn_publishing_open(f);
    crn_publishing_give(f);
    assert_int_equal(threads("verdict-log\n"), 0);
    assert_int_equal(crn_publishing_stats(f)->log.written, 0);
}

static void the_start_fails_without_the_folder(void **state)
{
    crn_publishing *f = *state;
    crn_error error = {""};
    snprintf(f->config.publish.log.dir, CRN_TEXT_BYTES, "/nonexistent");
    assert_true(crn_publish_open(f->zmq, &f->config, f->lanes, &f->publish, &error) < 0);
    assert_non_null(strstr(error.text, "/nonexistent: cannot log verdicts there: "));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        TEST(the_log_has_the_graders_bytes),           TEST(in_its_format),
        TEST(verdicts_that_no_grader_gets_are_logged), TEST(what_is_not_logged_is_reported),
        TEST(without_a_folder_no_thread_runs),         TEST(the_start_fails_without_the_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
