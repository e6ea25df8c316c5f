/* Ingest's reports of refused messages. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

#include "src/ingest/ingest.h"
#include "tests/support/peers/bad_messages.h"
#include "src/ingest/socket/senders.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/log_capture.h"
#include "tests/support/parts/receiving.h"

static crn_receiving line; /* under test */

static int tear_down(void **state)
{
    (void)state;
    crn_receiving_close(&line);
    return 0;
}

typedef struct heard {
    int count;
    crn_wire_fault fault;
    bool has_header;
    crn_view_header header;
} heard;

static void hear(void *context, const crn_view_header *header, crn_wire_fault fault)
{
    heard *last = context;
    last->count++;
    last->fault = fault;
    last->has_header = header != NULL;
    if (header)
        last->header = *header;
}

/* The callback receives each refused message, with its header if that is readable. */
static void a_refusal_is_passed_on_with_its_header(void **state)
{
    (void)state;
    crn_receiving_open("inproc://views", &line);
    heard last = {0};
    crn_ingest_on_refused(line.ingest, hear, &last);
    crn_view_header wrong = line.good;
    wrong.lane = 6;
    wrong.fruit = 77;
    wrong.view = 2;
    wrong.channels = 5;
    wrong.payload_bytes = (uint64_t)wrong.height * wrong.width * wrong.channels;
    crn_message message;
    crn_message_make_good(&wrong, &message);
    assert_int_equal(crn_message_send(&message, line.push), 0);
    crn_message_done(&message);
    crn_view_header header;
    assert_int_equal(crn_ingest_receive(line.ingest, &header), 0);
    assert_int_equal(last.count, 1);
    assert_int_equal(last.fault, CRN_WIRE_CHANNELS);
    assert_true(last.has_header);
    assert_int_equal(last.header.lane, 6);
    assert_int_equal(last.header.fruit, 77);
    assert_int_equal(last.header.view, 2);
    assert_int_equal(zmq_send(line.push, "GET / HTTP/1.1", 14, 0), 14);
    assert_int_equal(crn_ingest_receive(line.ingest, &header), 0);
    assert_int_equal(last.count, 2);
    assert_false(last.has_header);
    crn_receiving_send_good(&line, line.push, 1);
    crn_receiving_next(&line, &header);
    assert_int_equal(header.sequence, 1);
    assert_int_equal(last.count, 2);
}

/* Sends rubbish and then a view; the log must name their sender so. */
static void expect_sender(const char *endpoint, const char *name)
{
    crn_log_capture log;
    crn_view_header header;
    crn_receiving_open(endpoint, &line);
    crn_log_capture_start(&log);
    assert_int_equal(zmq_send(line.push, "GET / HTTP/1.1", 14, 0), 14);
    crn_receiving_send_good(&line, line.push, 1);
    crn_receiving_next(&line, &header);
    const char *text = crn_log_capture_stop(&log);
    if (!strstr(text, name))
        fail_msg("not '%s': %s", name, text);
    crn_receiving_close(&line);
}

static void the_log_names_the_sender(void **state)
{
    (void)state;
    char endpoint[64], name[64], lock[64];
    expect_sender("tcp://127.0.0.1:*", "; from 127.0.0.1, 1 parts of 14");
    snprintf(endpoint, sizeof endpoint, "ipc:///tmp/cernita-refused-%ld", (long)getpid());
    snprintf(lock, sizeof lock, "%s.lock", endpoint + strlen("ipc://"));
    snprintf(name, sizeof name, "; from process %ld of user %ld, ", (long)getpid(), (long)getuid());
    expect_sender(endpoint, name);
    assert_int_equal(unlink(lock), 0);
}

/* A view that is too large is refused for that reason, as long as its parts do not exceed the size
 * that ingest reads. */
static void a_part_up_to_the_share_is_read_and_refused(void **state)
{
    (void)state;
    crn_receiving_open("tcp://127.0.0.1:*", &line);
    heard last = {0};
    crn_ingest_on_refused(line.ingest, hear, &last);
    crn_view_header large = line.good;
    large.lane = 5;
    crn_message_reshape(&large, 1024, 512, CRN_U8, CRN_HWC, false);
    assert_int_equal(large.payload_bytes, CRN_SENDERS_PART_SHARE * line.rules.max_bytes);
    crn_message message;
    crn_message_make_good(&large, &message);
    assert_int_equal(crn_message_send(&message, line.push), 0);
    crn_message_done(&message);
    crn_receiving_send_good(&line, line.push, 7);
    crn_view_header header;
    crn_receiving_next(&line, &header);
    assert_int_equal(header.sequence, 7);
    assert_int_equal(last.count, 1);
    assert_int_equal(last.fault, CRN_WIRE_TOO_LARGE);
    assert_int_equal(last.header.lane, 5);
    assert_int_equal(crn_ingest_get_stats(line.ingest)->faults[CRN_WIRE_TOO_LARGE], 1);
    assert_int_equal(crn_ingest_get_stats(line.ingest)->disconnected, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_refusal_is_passed_on_with_its_header, tear_down),
        cmocka_unit_test_teardown(the_log_names_the_sender, tear_down),
        cmocka_unit_test_teardown(a_part_up_to_the_share_is_read_and_refused, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
