/* cernita-tail as a program: its output and exit status for the verdicts it receives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <zmq.h>

#include "tests/support/programs/apply_program.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/one_socket.h"
#include "tests/support/programs/tail_output.h"

/* Binds, starts the tail, and for a viewer waits until it has subscribed to `subscriptions`. */
static void start(one_socket *f, int type, int subscriptions, const char *arguments)
{
    f->socket = zmq_socket(f->zmq, type);
    size_t size = sizeof f->endpoint;
    assert_int_equal(zmq_bind(f->socket, "tcp://127.0.0.1:*"), 0);
    assert_int_equal(zmq_getsockopt(f->socket, ZMQ_LAST_ENDPOINT, f->endpoint, &size), 0);
    char all[400];
    snprintf(all, sizeof all, "%s %s", arguments, f->endpoint);
    f->out = tail_start(all);
    for (int i = 0; i < subscriptions; i++) {
        char topic[16];
        assert_true(zmq_recv(f->socket, topic, sizeof topic, 0) > 0);
    }
}

static void send_text(one_socket *f, const char *topic, const char *text)
{
    assert_true(zmq_send(f->socket, topic, strlen(topic), ZMQ_SNDMORE) >= 0);
    assert_true(zmq_send(f->socket, text, strlen(text), 0) >= 0);
}

static void send_verdict(one_socket *f, const char *run, int lane, int sequence)
{
    char topic[16], text[1024];
    snprintf(topic, sizeof topic, "fruit/%d", lane);
    tail_verdict(text, sizeof text, run, lane, sequence);
    send_text(f, topic, text);
}

static void losses_and_a_new_run_are_told(void **state)
{
    one_socket *f = *state;
    start(f, ZMQ_PUSH, 0, "--grader --count 6 --table");
    send_verdict(f, "a", 3, 16);
    send_verdict(f, "a", 0, 5);
    send_verdict(f, "a", 3, 19);
    send_verdict(f, "a", 3, 19);
    send_verdict(f, "b", 3, 0);
    send_verdict(f, "b", 0, 7);
    tail_expect_verdict(f->out, 3, 16);
    tail_expect_verdict(f->out, 0, 5);
    tail_expect_line(f->out, "lane 3: 2 verdicts lost (sequence 17, 18)\n");
    tail_expect_verdict(f->out, 3, 19);
    tail_expect_line(f->out, "lane 3: sequence 19 again or out of order\n");
    tail_expect_verdict(f->out, 3, 19);
    tail_expect_line(f->out, "the daemon was restarted (run b)\n");
    tail_expect_verdict(f->out, 3, 0);
    tail_expect_verdict(f->out, 0, 7);
    tail_expect_line(f->out, "  latency, ms          p50       p99       max p99/budget\n");
    tail_expect_line(f->out, "  queue               0.50      0.50      0.50      0.5 %\n");
    tail_expect_line(f->out,
                     "  total              12.50     12.50     12.50     12.5 %  of 100 ms\n");
    tail_expect_line(f->out, "verdicts: 6 (6 complete, 0 partial, 0 late), 0 over budget\n");
    tail_expect_line(f->out,
                     "sequences: 2 verdicts lost, 1 again or out of order (2 lanes, 2 runs of the "
                     "daemon)\n");
    tail_expect_end(f->out, 0);
}

/* Views received are distinguished from views judged, with the reason. */
static void views_that_were_not_judged_are_told(void **state)
{
    one_socket *f = *state;
    start(f, ZMQ_PUSH, 0, "--grader --count 1");
    send_text(f, "fruit/0",
              "{\"v\":1,\"run\":\"a\",\"lane\":0,\"fruit\":9,\"sequence\":5,"
              "\"verdict\":\"partial\",\"views_expected\":4,\"views_received\":3,"
              "\"views_judged\":2,\"budget_ms\":100,\"latency_ms\":{\"total\":12.5},"
              "\"view_states\":[{\"view\":0,\"state\":\"judged\",\"reason\":\"\"},"
              "{\"view\":1,\"state\":\"judged\",\"reason\":\"not_finite\","
              "\"class\":\"rot\",\"count\":7},"
              "{\"view\":2,\"state\":\"lost\",\"reason\":\"no_slot\"},"
              "{\"view\":3,\"state\":\"missing\",\"reason\":\"\"}]}");
    tail_expect_line(f->out,
                     "    --:--:--  lane 0   fruit      9  partial   views 2/4     12.5 of 100 ms  "
                     "no defects  [3 received, view 1 not_finite in rot (7 values), view 2 lost: "
                     "no_slot, view 3 missing]\n");
    tail_expect_end(f->out, 0);
}

static void a_viewer_sees_its_lane_and_the_status(void **state)
{
    one_socket *f = *state;
    start(f, ZMQ_XPUB, 2, "--lane 3 --count 2");
    static const char status[] =
        "{\"v\":1,\"run\":\"a\",\"state\":\"%s\",\"lanes\":[{\"lane\":3,\"sequence\":7}]}";
    char text[256];
    send_verdict(f, "a", 3, 6);
    send_verdict(f, "a", 30, 0); /* a topic with the same prefix */
    snprintf(text, sizeof text, status, "running");
    send_text(f, "status", text);
    snprintf(text, sizeof text, status, "degraded");
    send_text(f, "status", text);
    send_text(f, "fruit/3", "{\"v\":3}");
    send_verdict(f, "a", 3, 8);
    tail_expect_verdict(f->out, 3, 6);
    tail_expect_line(f->out, "lane 3: 1 verdict lost (sequence 7)\n");
    tail_expect_line(f->out, "the daemon is degraded now, it was running before\n");
    tail_expect_line(f->out,
                     "cernita-tail: a message 'fruit/3' cannot be read: not a verdict of version 1 "
                     "('v')\n");
    tail_expect_verdict(f->out, 3, 8);
    tail_expect_line(f->out, "cernita-tail: 1 message could not be read and was skipped\n");
    tail_expect_end(f->out, 0);
}

static void send_bytes(one_socket *f, const char *topic, const void *bytes, size_t size)
{
    assert_true(zmq_send(f->socket, topic, strlen(topic), ZMQ_SNDMORE) >= 0);
    assert_true(zmq_send(f->socket, bytes, size, 0) >= 0);
}

/* A topic, a file's name or an answer may hold what a terminal obeys. */
static void escape_sequences_do_not_reach_the_terminal(void **state)
{
    one_socket *f = *state;
    start(f, ZMQ_PUSH, 0, "--grader --count 1");
    send_bytes(f, "fruit/3\033]0;title\a\033[2J", "\xc1", 1);
    send_verdict(f, "a", 3, 7);
    tail_expect_line(f->out,
                     "cernita-tail: a message 'fruit/3\\x1b]0;title\\x07\\x1b[2J' cannot be "
                     "read: neither whole MessagePack nor JSON (1 bytes)\n");
    tail_expect_verdict(f->out, 3, 7);
    tail_expect_line(f->out, "cernita-tail: 1 message could not be read and was skipped\n");
    tail_expect_end(f->out, 0);
    FILE *out = tail_start("--log '/nowhere/\033[2J\n\033[H'");
    char line[512];
    assert_non_null(fgets(line, sizeof line, out));
    assert_null(strchr(line, '\033'));
    assert_non_null(strstr(line, "/nowhere/\\x1b[2J\\x0a\\x1b[H"));
    pclose(out);
}

/* Five bytes that declare four billion values; other unreadable messages; then a verdict. */
static void lying_messages_are_skipped_and_counted(void **state)
{
    one_socket *f = *state;
    start(f, ZMQ_PUSH, 0, "--grader --count 2");
    send_verdict(f, "a", 3, 6);
    send_bytes(f, "fruit/3", "\xdd\xff\xff\xff\xff", 5);
    send_bytes(f, "fruit/3", "\xdf\xff\xff\xff\xff", 5);
    send_bytes(f, "fruit/3", "", 0);
    send_text(f, "fruit/3", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[");
    send_verdict(f, "a", 3, 7);
    tail_expect_verdict(f->out, 3, 6);
    tail_expect_line(f->out,
                     "cernita-tail: a message 'fruit/3' cannot be read: MessagePack that announces "
                     "4294967295 values in 0 bytes\n");
    tail_expect_verdict(f->out, 3, 7);
    tail_expect_line(f->out, "cernita-tail: 4 messages could not be read and were skipped\n");
    tail_expect_end(f->out, 0);
}

/* At the grader's socket: `alive` reveals a lost last verdict, and unknown topics of later versions
 * are skipped silently. */
static void alive_is_no_verdict_and_other_topics_are_passed_over(void **state)
{
    one_socket *f = *state;
    start(f, ZMQ_PUSH, 0, "--grader --count 2");
    static const char alive[] =
        "{\"v\":1,\"run\":\"a\",\"state\":\"running\",\"published_ns\":1,\"alive_ms\":100,"
        "\"lanes\":[{\"lane\":3,\"sequence\":%d},{\"lane\":4,\"sequence\":null}]}";
    char text[256];
    send_verdict(f, "a", 3, 6);
    snprintf(text, sizeof text, alive, 6);
    send_text(f, "alive", text);
    send_text(f, "weather", "\xc1");
    snprintf(text, sizeof text, alive, 7);
    send_text(f, "alive", text);
    send_verdict(f, "a", 3, 8);
    tail_expect_verdict(f->out, 3, 6);
    tail_expect_line(f->out, "lane 3: 1 verdict lost (sequence 7)\n");
    tail_expect_verdict(f->out, 3, 8);
    tail_expect_end(f->out, 0);
}

static void json_is_a_line_a_verdict(void **state)
{
    one_socket *f = *state;
    start(f, ZMQ_PUSH, 0, "--grader --json --count 1");
    send_verdict(f, "a", 0, 5);
    char expected[1024];
    strcpy(expected + tail_verdict(expected, sizeof expected - 1, "a", 0, 5), "\n");
    tail_expect_line(f->out, expected);
    tail_expect_end(f->out, 0);
}

/* A stage's additions to a defect are passed on and do not disturb the text. */
static void textures_pass(void **state)
{
    one_socket *f = *state;
    static const char text[] =
        "{\"v\":1,\"run\":\"a\",\"lane\":0,\"fruit\":1,\"fruit_text\":\"1\",\"sequence\":5,"
        "\"verdict\":\"complete\","
        "\"defects\":[{\"view\":0,\"class\":\"rot\",\"closed\":true,\"hole\":false,"
        "\"bbox\":[0.5,0.5,2.5,2.5],\"xy\":[[0.5,0.5],[2.5,2.5]],"
        "\"ranklet\":[{\"window\":[8,4],\"vertical\":0.5,\"horizontal\":-0.25,"
        "\"diagonal\":0.125}]}]}";
    start(f, ZMQ_PUSH, 0, "--grader --json --count 1");
    send_text(f, "fruit/0", text);
    char line[1024];
    assert_non_null(fgets(line, sizeof line, f->out));
    assert_int_equal(strlen(line), strlen(text) + 1);
    assert_memory_equal(line, text, strlen(text));
    tail_expect_end(f->out, 0);
}

static void silence_ends_it_with_status_1(void **state)
{
    one_socket *f = *state;
    start(f, ZMQ_PUSH, 0, "--grader --timeout 0.1 --count 2");
    char line[1024];
    assert_non_null(fgets(line, sizeof line, f->out));
    assert_non_null(strstr(line, ": no verdict for 0.1 s (0 received before)\n"));
    tail_expect_end(f->out, 1);
}

/* A daemon sends viewers its status every second, so that silence has a cause. */
static void a_viewer_that_hears_nothing_is_told_why(void **state)
{
    one_socket *f = *state;
    char line[1024];
    start(f, ZMQ_XPUB, 2, "--timeout 6");
    assert_non_null(fgets(line, sizeof line, f->out));
    assert_non_null(strstr(line, ": nothing came for 5 s: is the daemon running, and is this its "
                                 "publish.viewers.bind? Where it requires keys"));
    assert_non_null(fgets(line, sizeof line, f->out));
    assert_non_null(strstr(line, ": no verdict for 6 s"));
    tail_expect_end(f->out, 1);
}

static void what_is_asked_wrongly_is_said(void **state)
{
    (void)state;
    static const struct {
        const char *arguments;
        int status;
        const char *line;
    } cases[] = {
        {"", 2, "cernita-tail: ENDPOINT or --log DIR is missing; see cernita-tail --help\n"},
        {"--last 3 tcp://127.0.0.1:1", 2,
         "cernita-tail: --last needs --draw DIR; see cernita-tail --help\n"},
        {"127.0.0.1:1", 1,
         "cernita-tail: cannot connect to '127.0.0.1:1': Invalid argument; expected "
         "tcp://HOST:PORT, tcp://[IPV6]:PORT or ipc://PATH\n"},
        {"--draw /dev/null tcp://127.0.0.1:1", 1,
         "cernita-tail: /dev/null: not a folder; pictures need one\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FILE *out = tail_start(cases[i].arguments);
        tail_expect_line(out, cases[i].line);
        tail_expect_end(out, cases[i].status);
    }
}

/* Size of the only picture drawn of a verdict over photographs of 100 x 40 pixels. */
static crn_image draw_over(one_socket *f, const char *over)
{
    char arguments[256];
    crn_picture picture = {0};
    crn_error error = {""};
    snprintf(arguments, sizeof arguments, "--grader --count 1 --draw . %s", over);
    start(f, ZMQ_PUSH, 0, arguments);
    send_verdict(f, "a", 1, 5);
    tail_expect_verdict(f->out, 1, 5);
    tail_expect_end(f->out, 0);
    zmq_close(f->socket);
    f->socket = NULL;
    if (crn_picture_probe("fruit_1_1005.png", &picture, &error) < 0)
        fail_msg("%s", error.text);
    return picture.image;
}

/* A folder of recordings is accepted like its files. */
static void photographs_may_lie_in_a_folder(void **state)
{
    one_socket *f = *state;
    assert_int_equal(apply_setup(NULL), 0);
    assert_int_equal(system("mkdir some none; " CRN_BIN
                            "/cernita-synth some/a.tif --fruits 1 --size "
                            "100x40; " CRN_BIN "/cernita-synth some/b.tif --fruits 2 --lanes 2 "
                            "--size 100x40; touch some/c.tif.part none/c.tif.part"),
                     0);
    crn_image plain = draw_over(f, ""), file = draw_over(f, "--over some/b.tif");
    crn_image both = draw_over(f, "--over some");
    assert_true(file.height != plain.height);
    assert_int_equal(both.height, file.height);
    assert_int_equal(both.width, file.width);
    start(f, ZMQ_PUSH, 0, "--grader --draw . --over none");
    tail_expect_line(f->out, "cernita-tail: none: no recording (*.tif) in this folder; one that "
                             "ends in .part must be named itself\n");
    tail_expect_end(f->out, 1);
    assert_int_equal(apply_teardown(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(losses_and_a_new_run_are_told, one_socket_setup,
                                        one_socket_teardown),
        cmocka_unit_test_setup_teardown(views_that_were_not_judged_are_told, one_socket_setup,
                                        one_socket_teardown),
        cmocka_unit_test_setup_teardown(a_viewer_sees_its_lane_and_the_status, one_socket_setup,
                                        one_socket_teardown),
        cmocka_unit_test_setup_teardown(alive_is_no_verdict_and_other_topics_are_passed_over,
                                        one_socket_setup, one_socket_teardown),
        cmocka_unit_test_setup_teardown(escape_sequences_do_not_reach_the_terminal,
                                        one_socket_setup, one_socket_teardown),
        cmocka_unit_test_setup_teardown(lying_messages_are_skipped_and_counted, one_socket_setup,
                                        one_socket_teardown),
        cmocka_unit_test_setup_teardown(json_is_a_line_a_verdict, one_socket_setup,
                                        one_socket_teardown),
        cmocka_unit_test_setup_teardown(textures_pass, one_socket_setup, one_socket_teardown),
        cmocka_unit_test_setup_teardown(photographs_may_lie_in_a_folder, one_socket_setup,
                                        one_socket_teardown),
        cmocka_unit_test_setup_teardown(silence_ends_it_with_status_1, one_socket_setup,
                                        one_socket_teardown),
        cmocka_unit_test_setup_teardown(a_viewer_that_hears_nothing_is_told_why, one_socket_setup,
                                        one_socket_teardown),
        cmocka_unit_test(what_is_asked_wrongly_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
