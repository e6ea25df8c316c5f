/*
 * The Python sender and subscriber against the C side: the sender's messages are valid views, and
 * the subscriber understands verdicts. Skipped where Debian's Python has no zmq, numpy or msgpack.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <msgpack.h>
#include <zmq.h>

#include "stages/base/clock.h"
#include "src/formats/view/wire.h"
#include "stages/stage/classes.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/one_socket.h"

/* Binds and starts the script with `flag` ENDPOINT. */
static void start(one_socket *f, int type, const char *script, const char *flag, const char *rest)
{
    if (system("/usr/bin/python3 -c 'import msgpack, numpy, zmq' 2>/dev/null"))
        skip();
    char endpoint[64], command[512];
    size_t size = sizeof endpoint;
    int wait_ms = 60000; /* python3 starts slowly; no answer at all is a failure */
    f->socket = zmq_socket(f->zmq, type);
    zmq_setsockopt(f->socket, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms);
    zmq_setsockopt(f->socket, ZMQ_SNDTIMEO, &wait_ms, sizeof wait_ms);
    assert_int_equal(zmq_bind(f->socket, "tcp://127.0.0.1:*"), 0);
    assert_int_equal(zmq_getsockopt(f->socket, ZMQ_LAST_ENDPOINT, endpoint, &size), 0);
    snprintf(command, sizeof command,
             "exec /usr/bin/python3 -B " CRN_TEST_DATA "/../tools/python/%s %s %s %s 2>&1", script,
             flag, endpoint, rest);
    f->out = popen(command, "r");
    assert_non_null(f->out);
}

static void expect_line(one_socket *f, const char *expected)
{
    char line[1024];
    assert_non_null(fgets(line, sizeof line, f->out));
    assert_string_equal(line, expected);
}

static void expect_end(one_socket *f)
{
    assert_int_equal(fgetc(f->out), EOF);
    assert_int_equal(pclose(f->out), 0);
}

/* Receives one view message and checks it and its parts' sizes as the daemon does. */
static crn_view_header receive_view(one_socket *f, const crn_wire_rules *rules)
{
    unsigned char header[256];
    crn_view_header view = {0};
    int size = zmq_recv(f->socket, header, sizeof header, 0);
    assert_int_equal(size, CRN_WIRE_HEADER_BYTES);
    assert_int_equal(crn_wire_parse(header, (size_t)size, rules, &view), CRN_WIRE_OK);
    zmq_msg_t part;
    zmq_msg_init(&part);
    assert_true(zmq_msg_recv(&part, f->socket, 0) >= 0);
    assert_int_equal(zmq_msg_size(&part), view.payload_bytes);
    for (size_t pixel = 0; pixel < 100; pixel++) { /* classes are interleaved and sum to 1 */
        double sum = 0;
        for (uint32_t i = 0; i < view.channels; i++) {
            float probability;
            memcpy(&probability,
                   (char *)zmq_msg_data(&part) + (pixel * view.channels + i) * sizeof probability,
                   sizeof probability);
            sum += probability;
        }
        assert_true(sum > 0.9999 && sum < 1.0001);
    }
    assert_true(zmq_msg_more(&part));
    assert_true(zmq_msg_recv(&part, f->socket, 0) >= 0);
    assert_int_equal(zmq_msg_size(&part), crn_wire_intensity_bytes(&view));
    assert_false(zmq_msg_more(&part));
    zmq_msg_close(&part);
    return view;
}

static void the_sender_sends_good_views(void **state)
{
    one_socket *f = *state;
    crn_classes classes = {.count = 3, .name = {"background", "rot", "fresh hail"}};
    crn_wire_rules rules = {
        .max_bytes = 16 << 20, .channels = 3, .views = 16, .class_set = crn_classes_hash(&classes)};
    uint64_t before_ns = (uint64_t)crn_realtime_ns(), epoch = 0;
    start(f, ZMQ_PULL, "sender.py", "--to",
          "--fruits 2 --views 3 --rate 1000 --lane 7 --classes 'background,rot,fresh hail'");
    for (uint64_t i = 0; i < 6; i++) {
        crn_view_header view = receive_view(f, &rules);
        epoch = i ? epoch : view.epoch;
        assert_true(view.epoch == epoch && epoch);
        assert_int_equal(view.sequence, i);
        assert_int_equal(view.fruit, i / 3);
        assert_int_equal(view.view, i % 3);
        assert_int_equal(view.views, 3);
        assert_int_equal(view.lane, 7);
        assert_int_equal(view.class_set, rules.class_set);
        assert_int_equal(view.layout, CRN_HWC);
        assert_int_equal(view.type, CRN_F32);
        assert_true(view.captured_ns >= before_ns);
        assert_true(view.captured_ns <= (uint64_t)crn_realtime_ns());
    }
    expect_line(f, "6 views sent, 0 not taken\n");
    expect_end(f);
}

static void put_text(msgpack_packer *packer, const char *text)
{
    msgpack_pack_str_with_body(packer, text, strlen(text));
}

static void put_count(msgpack_packer *packer, const char *key, uint64_t value)
{
    put_text(packer, key);
    msgpack_pack_uint64(packer, value);
}

/* The fields of a verdict, with one defect, that a subscriber reads. */
typedef struct told {
    const char *word;
    uint64_t sequence;
    double rot_px, total_ms;
    bool stale, past; /* past: it arrives after its deadline */
} told;

static void send_packed(one_socket *f, const char *topic, const msgpack_sbuffer *buffer)
{
    assert_true(zmq_send(f->socket, topic, strlen(topic), ZMQ_SNDMORE) >= 0);
    assert_true(zmq_send(f->socket, buffer->data, buffer->size, 0) >= 0);
}

static void send_text(one_socket *f, const char *topic, const char *text)
{
    send_packed(f, topic,
                &(msgpack_sbuffer){.data = (char *)(uintptr_t)text, .size = strlen(text)});
}

static uint64_t deadline_of(const told *verdict)
{
    return (uint64_t)(crn_realtime_ns() + (verdict->past ? -1 : 600) * CRN_NS_PER_S);
}

static void put_reals(msgpack_packer *packer, const char *key, const double *values, size_t count)
{
    put_text(packer, key);
    if (count > 1)
        msgpack_pack_array(packer, count);
    for (size_t i = 0; i < count; i++)
        msgpack_pack_double(packer, values[i]);
}

static void put_defect(msgpack_packer *packer, double area_px)
{
    static const float xy[] = {1, 2, 3, 4, 1, 2};
    static const double box[] = {1, 2, 3, 4};
    msgpack_pack_map(packer, 12);
    put_count(packer, "view", 0);
    put_text(packer, "class");
    put_text(packer, "rot");
    put_reals(packer, "level", (double[]){0.5}, 1);
    put_text(packer, "closed");
    msgpack_pack_true(packer);
    put_text(packer, "hole");
    msgpack_pack_false(packer);
    put_text(packer, "parent");
    msgpack_pack_int(packer, -1);
    put_reals(packer, "area_px", &area_px, 1);
    put_reals(packer, "perimeter_px", (double[]){4}, 1);
    put_reals(packer, "bbox", box, 4);
    put_reals(packer, "centroid", box, 2);
    put_reals(packer, "mean_probability", (double[]){0.75}, 1);
    put_text(packer, "xy");
    msgpack_pack_bin_with_body(packer, xy, sizeof xy);
}

static void send_verdict(one_socket *f, told verdict)
{
    msgpack_sbuffer buffer;
    msgpack_packer packer;
    msgpack_sbuffer_init(&buffer);
    msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
    msgpack_pack_map(&packer, 12);
    put_count(&packer, "lane", 3);
    put_count(&packer, "fruit", 70 + verdict.sequence);
    put_count(&packer, "sequence", verdict.sequence);
    put_count(&packer, "budget_ms", 100);
    put_count(&packer, "published_ns", (uint64_t)crn_realtime_ns());
    put_count(&packer, "deadline_ns", deadline_of(&verdict));
    put_text(&packer, "run");
    put_text(&packer, "a");
    put_text(&packer, "verdict");
    put_text(&packer, verdict.word);
    put_text(&packer, "stale");
    verdict.stale ? msgpack_pack_true(&packer) : msgpack_pack_false(&packer);
    put_text(&packer, "latency_ms");
    msgpack_pack_map(&packer, 1);
    put_text(&packer, "total");
    msgpack_pack_double(&packer, verdict.total_ms);
    put_text(&packer, "totals");
    msgpack_pack_map(&packer, 1);
    put_text(&packer, "rot");
    msgpack_pack_map(&packer, 2);
    put_count(&packer, "count", verdict.rot_px > 0);
    put_text(&packer, "area_px");
    msgpack_pack_double(&packer, verdict.rot_px);
    put_text(&packer, "defects");
    msgpack_pack_array(&packer, 1);
    put_defect(&packer, verdict.rot_px);
    send_packed(f, "fruit/3", &buffer);
    msgpack_sbuffer_destroy(&buffer);
}

static void send_json(one_socket *f, told verdict, const char *area_px)
{
    char text[1024];
    snprintf(text, sizeof text,
             "{\"run\":\"a\",\"lane\":3,\"fruit\":%" PRIu64 ",\"sequence\":%" PRIu64
             ",\"verdict\":\"%s\",\"stale\":false,\"published_ns\":%" PRIu64
             ",\"deadline_ns\":%" PRIu64 ",\"budget_ms\":100,\"latency_ms\":{\"total\":%.1f},"
             "\"totals\":{\"rot\":{\"count\":1,\"area_px\":%s}},"
             "\"defects\":[{\"view\":0,\"class\":\"rot\",\"level\":0.5,\"closed\":false,"
             "\"hole\":false,\"parent\":-1,\"area_px\":null,\"perimeter_px\":4,"
             "\"bbox\":[1,2,3,null],\"centroid\":[1,2],\"mean_probability\":null,"
             "\"xy\":[[1,2],[3,null]]}]}",
             70 + verdict.sequence, verdict.sequence, verdict.word, (uint64_t)crn_realtime_ns(),
             deadline_of(&verdict), verdict.total_ms, area_px);
    send_text(f, "fruit/3", text);
}

/* A verdict that lacks nothing but what its one defect does. */
static void send_json_defect(one_socket *f, const char *defect)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"run\":\"a\",\"lane\":3,\"fruit\":1,\"sequence\":5,\"verdict\":\"complete\","
             "\"stale\":false,\"published_ns\":1,\"deadline_ns\":1,\"totals\":{},\"defects\":[%s]}",
             defect);
    send_text(f, "fruit/3", text);
}

static void send_alive(one_socket *f, int alive_ms, int sequence)
{
    char text[256];
    snprintf(text, sizeof text,
             "{\"v\":1,\"run\":\"a\",\"state\":\"running\",\"published_ns\":1,\"alive_ms\":%d,"
             "\"lanes\":[{\"lane\":3,\"sequence\":%d},{\"lane\":4,\"sequence\":null}]}",
             alive_ms, sequence);
    send_text(f, "alive", text);
}

static void the_subscriber_decides_and_counts(void **state)
{
    one_socket *f = *state;
    start(f, ZMQ_PUSH, "subscriber.py", "--from", "--reject rot --count 6");
    send_verdict(f, (told){"complete", 4, 12, 9.5, false, false});
    send_verdict(f, (told){"complete", 5, 60, 101, false, false});
    send_verdict(f, (told){"partial", 8, 0, 20, false, false});
    send_verdict(f, (told){"late", 9, 0, 98, false, false});
    send_verdict(f, (told){"complete", 10, 60, 9, true, false});
    send_verdict(f, (told){"complete", 11, 0, 9, false, true});
    expect_line(f, "lane 3 fruit 74: keep (complete, 9.5 of 100 ms): 1 rot\n");
    expect_line(f, "lane 3 fruit 75: reject (complete, 101.0 of 100 ms, OVER BUDGET): 1 rot\n");
    expect_line(f, "lane 3: 2 verdicts lost before this one\n");
    expect_line(f, "lane 3 fruit 78: fail-safe (partial, 20.0 of 100 ms): no defects\n");
    expect_line(f, "lane 3 fruit 79: fail-safe (late, 98.0 of 100 ms): no defects\n");
    expect_line(f, "lane 3 fruit 80: fail-safe (complete, 9.0 of 100 ms, stale): 1 rot\n");
    expect_line(f, "lane 3 fruit 81: fail-safe (complete, 9.0 of 100 ms): no defects\n");
    expect_line(f, "6 verdicts, 2 lost\n");
    expect_end(f);
}

static void the_subscriber_reads_json(void **state)
{
    one_socket *f = *state;
    start(f, ZMQ_PUSH, "subscriber.py", "--from", "--reject rot --count 2");
    send_json(f, (told){.word = "complete", .sequence = 4, .total_ms = 9.5}, "12.5");
    send_json(f, (told){.word = "complete", .sequence = 5, .total_ms = 9.5}, "50.5");
    expect_line(f, "lane 3 fruit 74: keep (complete, 9.5 of 100 ms): 1 rot\n");
    expect_line(f, "lane 3 fruit 75: reject (complete, 9.5 of 100 ms): 1 rot\n");
    expect_line(f, "2 verdicts, 0 lost\n");
    expect_end(f);
}

static void the_subscriber_names_views_that_were_not_judged(void **state)
{
    one_socket *f = *state;
    start(f, ZMQ_PUSH, "subscriber.py", "--from", "--reject rot --count 1");
    char text[1024];
    snprintf(text, sizeof text,
             "{\"run\":\"a\",\"lane\":3,\"fruit\":74,\"sequence\":4,\"verdict\":\"partial\","
             "\"stale\":false,\"published_ns\":%" PRIu64 ",\"deadline_ns\":%" PRIu64
             ",\"budget_ms\":100,\"latency_ms\":{\"total\":9.5},"
             "\"totals\":{\"rot\":{\"count\":0,\"area_px\":0}},\"defects\":[],"
             "\"view_states\":[{\"view\":0,\"state\":\"judged\",\"reason\":\"\"},"
             "{\"view\":1,\"state\":\"judged\",\"reason\":\"not_finite\"},"
             "{\"view\":2,\"state\":\"lost\",\"reason\":\"no_slot\"},"
             "{\"view\":3,\"state\":\"missing\",\"reason\":\"\"}]}",
             (uint64_t)crn_realtime_ns(), deadline_of(&(told){.past = false}));
    send_text(f, "fruit/3", text);
    expect_line(f,
                "lane 3 fruit 74: fail-safe (partial, 9.5 of 100 ms): no defects; view 1 judged: "
                "not_finite; view 2 lost: no_slot; view 3 missing\n");
    expect_line(f, "1 verdicts, 0 lost\n");
    expect_end(f);
}

/* By a mistyped name, or a recipe without a level for the class. */
static void a_class_that_was_not_looked_for_is_fail_safe(void **state)
{
    one_socket *f = *state;
    start(f, ZMQ_PUSH, "subscriber.py", "--from", "--reject rots,mould --count 2");
    send_verdict(f, (told){"complete", 4, 12, 9.5, false, false});
    send_verdict(f, (told){"complete", 5, 60, 9.5, false, false});
    expect_line(f, "lane 3: 'rots' and 'mould' were not looked for, so that fail_safe() holds for "
                   "every fruit: give them levels in the daemon's file, or correct the names in "
                   "`classes`; looked for: 'rot'; did you mean 'rot' for 'rots'?\n");
    for (int fruit = 74; fruit <= 75; fruit++) {
        char expected[128];
        snprintf(expected, sizeof expected,
                 "lane 3 fruit %d: fail-safe (complete, 9.5 of 100 ms): 1 rot; not looked for: "
                 "rots, mould\n",
                 fruit);
        expect_line(f, expected);
    }
    expect_line(f, "2 verdicts, 0 lost\n");
    expect_end(f);
}

static void expect_unreadable(one_socket *f)
{
    char line[1024];
    assert_non_null(fgets(line, sizeof line, f->out));
    if (strncmp(line, "fruit/3: fail-safe (cannot be read: ", 36) != 0)
        fail_msg("'%s' is not a fail-safe", line);
}

/* Nothing terminates a grader; unreadable verdicts count as fail-safe. */
static void what_the_subscriber_cannot_read_is_fail_safe(void **state)
{
    one_socket *f = *state;
    start(f, ZMQ_PUSH, "subscriber.py", "--from", "--reject rot --count 2");
    send_verdict(f, (told){"complete", 4, NAN, 9.5, false, false});
    send_json(f, (told){.word = "complete", .sequence = 5, .total_ms = 9.5}, "null");
    send_json_defect(f, "{\"class\":\"rot\",\"xy\":[[1,2],[3,4]]}");
    send_text(f, "fruit/3", "{\"verdict\":\"complete\",\"stale\":false}");
    send_text(f, "fruit/3", "{\"verdict\":");
    send_text(f, "fruit/3", "\xc1");
    send_text(f, "fruit/3", "7");
    send_text(f, "weather", "\xc1");
    assert_true(zmq_send(f->socket, "fruit/3", 7, 0) >= 0);
    send_verdict(f, (told){"complete", 6, 12, 9.5, false, false});
    expect_line(f, "lane 3 fruit 74: fail-safe (complete, 9.5 of 100 ms): no defects\n");
    for (int i = 0; i < 7; i++)
        expect_unreadable(f);
    expect_line(f, "lane 3: 1 verdicts lost before this one\n");
    expect_line(f, "lane 3 fruit 76: keep (complete, 9.5 of 100 ms): 1 rot\n");
    expect_line(f, "2 verdicts, 1 lost, 7 unreadable\n");
    expect_end(f);
}

static void the_subscriber_applies_its_fail_safe_to_silence(void **state)
{
    one_socket *f = *state;
    start(f, ZMQ_PUSH, "subscriber.py", "--from", "--reject rot --count 2");
    send_verdict(f, (told){"complete", 4, 12, 9.5, false, false});
    expect_line(f, "lane 3 fruit 74: keep (complete, 9.5 of 100 ms): 1 rot\n");
    send_alive(f, 50, 4);
    char line[256];
    assert_non_null(fgets(line, sizeof line, f->out));
    assert_non_null(strstr(line, "FAIL-SAFE: nothing from tcp://"));
    assert_non_null(strstr(line, " for 150 ms\n"));
    send_alive(f, 50, 6);
    expect_line(f, "the line speaks again\n");
    expect_line(f, "lane 3: 2 verdicts lost, after which none came: fail-safe for their fruits\n");
    send_alive(f, 600000, 6);
    send_verdict(f, (told){"complete", 7, 12, 9.5, false, false});
    /* On a slow machine there may be a second silence. */
    do
        assert_non_null(fgets(line, sizeof line, f->out));
    while (strncmp(line, "FAIL-SAFE", 9) == 0 || strcmp(line, "the line speaks again\n") == 0);
    assert_string_equal(line, "lane 3 fruit 77: keep (complete, 9.5 of 100 ms): 1 rot\n");
    expect_line(f, "2 verdicts, 2 lost\n");
    expect_end(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_sender_sends_good_views, one_socket_setup,
                                        one_socket_teardown),
        cmocka_unit_test_setup_teardown(the_subscriber_decides_and_counts, one_socket_setup,
                                        one_socket_teardown),
        cmocka_unit_test_setup_teardown(the_subscriber_reads_json, one_socket_setup,
                                        one_socket_teardown),
        cmocka_unit_test_setup_teardown(the_subscriber_names_views_that_were_not_judged,
                                        one_socket_setup, one_socket_teardown),
        cmocka_unit_test_setup_teardown(a_class_that_was_not_looked_for_is_fail_safe,
                                        one_socket_setup, one_socket_teardown),
        cmocka_unit_test_setup_teardown(what_the_subscriber_cannot_read_is_fail_safe,
                                        one_socket_setup, one_socket_teardown),
        cmocka_unit_test_setup_teardown(the_subscriber_applies_its_fail_safe_to_silence,
                                        one_socket_setup, one_socket_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
