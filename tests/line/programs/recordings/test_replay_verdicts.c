/* cernita-replay --verdicts: it sends no more than the line answers, and fails if the line lost
 * views. The line is played by this test. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

#include "src/formats/view/wire.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/recorded.h"

#define FRUITS  8
#define VIEWS   2
#define WAIT_MS 60000 /* timeout; only a failing test waits so long */

static void *zmq, *in, *viewers;
static char to[80], verdicts[80], output[4000];
static FILE *replay;

static int set_up(void **state)
{
    if (recorded_setup(state))
        return -1;
    snprintf(to, sizeof to, "ipc://%s/in", recorded_folder);
    snprintf(verdicts, sizeof verdicts, "ipc://%s/viewers", recorded_folder);
    zmq = zmq_ctx_new();
    return 0;
}

static int tear_down(void **state)
{
    zmq_ctx_term(zmq);
    recorded_clear(); /* the sockets */
    return recorded_teardown(state);
}

static int begin(void **state)
{
    (void)state;
    int none = 0;
    in = zmq_socket(zmq, ZMQ_PULL);
    viewers = zmq_socket(zmq, ZMQ_PUB);
    zmq_setsockopt(viewers, ZMQ_LINGER, &none, sizeof none);
    return zmq_bind(in, to) || zmq_bind(viewers, verdicts);
}

static int end(void **state)
{
    (void)state;
    zmq_close(in);
    zmq_close(viewers);
    return 0;
}

/* --- the recording and the program --- */

/* Views `first` to VIEWS - 1 of each fruit: with 1 the first view of all is not there. */
static void record(uint16_t first)
{
    static const crn_classes classes = {.count = 3, .name = {"ground", "rot", "rust"}};
    crn_recording_writer *writer = recorded_create();
    crn_recording_name_classes(writer, &classes);
    for (uint64_t i = 0; i < FRUITS; i++)
        for (uint16_t view = first; view < VIEWS; view++) {
            crn_recorded_view one = recorded_small(i);
            one.header.lane = 3;
            one.header.epoch = 5;
            one.header.fruit = i;
            one.header.view = view;
            one.header.views = VIEWS;
            one.header.deadline_ns = 0;
            one.header.class_set = 0;
            recorded_add(writer, &one);
        }
    recorded_finish(writer);
}

static void start(const char *options)
{
    char command[512];
    snprintf(command, sizeof command,
             "exec " CRN_BIN "/cernita-replay %s --to %s --rate max --verdicts %s %s 2>&1",
             recorded_path, to, verdicts, options);
    replay = popen(command, "r");
    assert_non_null(replay);
}

static int finish(void)
{
    output[fread(output, 1, sizeof output - 1, replay)] = '\0';
    return pclose(replay) >> 8;
}

static void expect_said(const char *text)
{
    if (!strstr(output, text))
        fail_msg("not '%s':\n%s", text, output);
}

/* --- the line --- */

static void publish(const char *topic, const char *text)
{
    zmq_send(viewers, topic, strlen(topic), ZMQ_SNDMORE);
    zmq_send(viewers, text, strlen(text), 0);
}

static const char *classes_there = ""; /* that the line names, in JSON */

/* Says that it is there until the first view has come; a test may say so once more. */
static void be_there(unsigned slots)
{
    char text[256];
    zmq_pollitem_t item = {.socket = in, .events = ZMQ_POLLIN};
    snprintf(text, sizeof text,
             "{\"v\":1,\"run\":\"a\",\"state\":\"ready\",\"lanes\":[],\"slots\":%u,"
             "\"classes\":[%s]}",
             slots, classes_there);
    for (int tries = 0; tries < WAIT_MS / 10; tries++) {
        publish("status", text);
        if (zmq_poll(&item, 1, 10) > 0)
            return;
    }
    fail_msg("no view came");
}

/* The next view's header, or false if none comes for a while. */
static bool receive(int wait_ms, crn_view_header *ret_header)
{
    static const crn_wire_rules anything = {.max_bytes = UINT64_MAX};
    zmq_pollitem_t item = {.socket = in, .events = ZMQ_POLLIN};
    unsigned char header[CRN_WIRE_HEADER_BYTES], rest[4000];
    int more = 1;
    size_t size = sizeof more;
    if (zmq_poll(&item, 1, wait_ms) <= 0)
        return false;
    assert_int_equal(zmq_recv(in, header, sizeof header, 0), sizeof header);
    assert_int_equal(crn_wire_parse(header, sizeof header, &anything, ret_header), CRN_WIRE_OK);
    while (!zmq_getsockopt(in, ZMQ_RCVMORE, &more, &size) && more)
        zmq_recv(in, rest, sizeof rest, 0);
    return true;
}

/* `text`: kind, number of views received, and their states. */
static void answer(const crn_view_header *header, const char *kind, int received,
                   const char *states)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"v\":1,\"run\":\"a\",\"lane\":%" PRIu32 ",\"epoch\":%" PRIu64 ",\"fruit\":%" PRIu64
             ",\"sequence\":0,\"verdict\":\"%s\",\"views_expected\":2,\"views_received\":%d,"
             "\"budget_ms\":10,\"latency_ms\":{\"total\":1},\"view_states\":[%s],\"defects\":[]}",
             header->lane, header->epoch, header->fruit, kind, received, states);
    publish("fruit/3", text);
}

/* Receives views and answers fruits once `many` are in and no more come; returns how many fruits
 * without an answer it had at most. `skip`: a fruit that gets no answer. */
static int serve(unsigned slots, int many, uint64_t skip)
{
    crn_view_header waiting[FRUITS], header;
    int count = 0, most = 0, answered = 0;
    be_there(slots);
    while (answered < FRUITS) {
        while (receive(count < many && answered + count < FRUITS ? WAIT_MS : 20, &header))
            if (header.view == VIEWS - 1)
                waiting[count++] = header;
        most = count > most ? count : most;
        assert_true(count > 0);
        if (waiting[0].fruit != skip)
            answer(&waiting[0], "complete", VIEWS, "");
        answered++;
        memmove(waiting, waiting + 1, (size_t)--count * sizeof *waiting);
    }
    return most;
}

/* --- tests --- */

static void no_more_is_sent_than_allowed(void **state)
{
    (void)state;
    for (int fruits = 1; fruits <= 3; fruits++) {
        char options[32];
        snprintf(options, sizeof options, "--in-flight %d", fruits);
        record(0);
        start(options);
        assert_int_equal(serve(100, fruits, UINT64_MAX), fruits);
        assert_int_equal(finish(), 0);
        expect_said("verdicts: 8 complete, 0 partial, 0 late; at most ");
    }
}

/* By default the fruits that wait have slots, and so has the one that is being sent. */
static void the_line_says_how_many_suit_it(void **state)
{
    (void)state;
    record(0);
    start("");
    assert_in_range(serve(8, 1, UINT64_MAX), 1, 2);
    assert_int_equal(finish(), 0);
    start("");
    assert_in_range(serve(2, 1, UINT64_MAX), 1, 1);
    assert_int_equal(finish(), 0);
}

/* Viewers lose verdicts under load: a replay goes on without, and says so. */
static void a_lost_verdict_does_not_stop_it(void **state)
{
    (void)state;
    record(0);
    start("--in-flight 1");
    crn_view_header header;
    be_there(100);
    for (int fruit = 0; fruit < FRUITS; fruit++)
        for (int view = 0; view < VIEWS; view++) {
            assert_true(receive(WAIT_MS, &header));
            if (header.view == VIEWS - 1 && header.fruit != 4)
                answer(&header, "complete", VIEWS, "");
        }
    assert_int_equal(finish(), 1);
    expect_said("verdicts: 7 complete, 0 partial, 0 late");
    expect_said("no verdict was seen of 1 of 8 fruits");
}

static void answer_all(const char *kind, int received, const char *states)
{
    crn_view_header header;
    be_there(100);
    for (uint64_t fruit = 0; fruit < FRUITS;)
        if (receive(WAIT_MS, &header) && header.view == VIEWS - 1) {
            answer(&header, fruit == 5 ? kind : "complete", fruit == 5 ? received : VIEWS,
                   fruit == 5 ? states : "");
            fruit++;
        }
}

/* What the line lost makes the replay fail; what the recording lacks, or its values, does not. */
static void lost_views_fail_it(void **state)
{
    (void)state;
    static const struct {
        const char *kind;
        int received;
        const char *states, *told; /* NULL: no failure */
    } fruits[] = {
        {"late", 2, "{\"view\":0,\"state\":\"lost\",\"reason\":\"no_slot\"}",
         "the line lost views of 1 of 8 fruits; lane 3, fruit 5 late: "},
        {"partial", 2, "{\"view\":1,\"state\":\"lost\",\"reason\":\"unfinished\"}",
         "lane 3, fruit 5 partial: 2 received, view 1 lost: unfinished. "},
        {"partial", 1, "{\"view\":0,\"state\":\"refused\",\"reason\":\"class_set\"}",
         "view 0 refused: class_set. "},
        {"partial", 1, "{\"view\":0,\"state\":\"missing\",\"reason\":\"\"}", "view 0 missing. "},
        {"partial", 2, "{\"view\":0,\"state\":\"judged\",\"reason\":\"skipped\"}",
         "lane 3, fruit 5 partial"},
        {"partial", 2, "{\"view\":0,\"state\":\"judged\",\"reason\":\"not_finite\"}", NULL},
        {"partial", 2, "{\"view\":0,\"state\":\"judged\",\"reason\":\"truncated\"}", NULL},
    };
    record(0);
    for (size_t i = 0; i < sizeof fruits / sizeof *fruits; i++) {
        start("");
        answer_all(fruits[i].kind, fruits[i].received, fruits[i].states);
        assert_int_equal(finish(), fruits[i].told != NULL);
        expect_said(fruits[i].told ? fruits[i].told : "7 complete, 1 partial");
    }
    record(1);
    start("");
    answer_all("partial", 1, "{\"view\":0,\"state\":\"missing\",\"reason\":\"\"}");
    assert_int_equal(finish(), 0);
}

static void other_classes_are_told_before_a_view_is_sent(void **state)
{
    (void)state;
    static const struct {
        const char *classes, *told; /* NULL: nothing */
    } lines[] = {
        {"\"ground\",\"rot\",\"rust\"", NULL},
        {"\"ground\",\"rust\",\"rot\"",
         "channel 1 is the class 'rot' in the recordings, and 'rust' on the line"},
        {"\"ground\",\"rot\"", "the recordings have 3 classes, the line has 2\n"},
        {"", NULL},
    };
    record(0);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        classes_there = lines[i].classes;
        start("");
        answer_all("complete", VIEWS, "");
        assert_int_equal(finish(), 0);
        if (lines[i].told)
            expect_said(lines[i].told);
        else
            assert_null(strstr(output, "class"));
    }
}

static void a_line_that_is_not_heard_is_told(void **state)
{
    (void)state;
    record(0);
    start("--wait 1");
    assert_int_equal(finish(), 1);
    expect_said(": heard nothing of a line for 1 s: is the daemon running");
    start("--wait 5 --in-flight 1");
    be_there(100);
    assert_int_equal(finish(), 1); /* it never answers */
    expect_said(": no verdict came for 5 s, and 1 fruits wait for theirs");
    char command[512];
    snprintf(command, sizeof command,
             "exec " CRN_BIN "/cernita-replay %s --to %s --in-flight 3 2>&1", recorded_path, to);
    replay = popen(command, "r");
    assert_int_equal(finish(), 2);
    expect_said("--in-flight waits for verdicts: --verdicts ENDPOINT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_more_is_sent_than_allowed, begin, end),
        cmocka_unit_test_setup_teardown(the_line_says_how_many_suit_it, begin, end),
        cmocka_unit_test_setup_teardown(a_lost_verdict_does_not_stop_it, begin, end),
        cmocka_unit_test_setup_teardown(lost_views_fail_it, begin, end),
        cmocka_unit_test_setup_teardown(other_classes_are_told_before_a_view_is_sent, begin, end),
        cmocka_unit_test_setup_teardown(a_line_that_is_not_heard_is_told, begin, end),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
