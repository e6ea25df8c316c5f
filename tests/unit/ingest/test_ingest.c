/* Ingest over real sockets: valid messages arrive whole,
 * invalid ones are refused, and no sender disturbs another. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

#include "stages/base/clock.h"
#include "src/ingest/ingest.h"
#include "tests/support/peers/bad_messages.h"
#include "src/ingest/socket/senders.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/receiving.h"
#include "tests/support/peers/zmtp.h"

#define TCP "tcp://127.0.0.1:*"

static crn_receiving line; /* under test */

static int tear_down(void **state)
{
    (void)state;
    crn_receiving_close(&line);
    return 0;
}

/* Receives the next view and its parts into guarded memory; sizes must match the header. */
static crn_view_header take_view(void)
{
    crn_view_header header;
    crn_receiving_next(&line, &header);
    size_t intensity_bytes = crn_wire_intensity_bytes(&header);
    unsigned char *maps = malloc(header.payload_bytes + 1);
    unsigned char *intensity = malloc(intensity_bytes + 1);
    assert_non_null(maps);
    assert_non_null(intensity);
    maps[header.payload_bytes] = intensity[intensity_bytes] = 0xc5;
    crn_ingest_copy(line.ingest, crn_values_kernels_best()->copy_u8, maps, intensity);
    assert_true(crn_message_matches(&header, maps, intensity));
    assert_int_equal(maps[header.payload_bytes], 0xc5);
    assert_int_equal(intensity[intensity_bytes], 0xc5);
    free(maps);
    free(intensity);
    return header;
}

static void expect_good(uint64_t sequence)
{
    crn_view_header header = take_view();
    assert_int_equal(header.sequence, sequence);
}

static void every_type_and_layout_arrives(void **state)
{
    (void)state;
    crn_receiving_open(TCP, &line);
    for (unsigned kind = 0; kind < 12; kind++) {
        crn_view_header header = line.good;
        header.sequence = 100 + kind;
        header.lane = kind;
        crn_message_reshape(&header, 95, 51 + kind, (crn_type)(1 + kind / 4),
                            (crn_layout)(1 + kind / 2 % 2), kind % 2);
        crn_message message;
        crn_message_make_good(&header, &message);
        assert_int_equal(crn_message_send(&message, line.push), 0);
        crn_message_done(&message);
    }
    for (unsigned kind = 0; kind < 12; kind++) {
        crn_view_header header = take_view();
        assert_int_equal(header.sequence, 100 + kind);
        assert_int_equal(header.lane, kind);
        assert_int_equal(header.width, 51 + kind);
        assert_int_equal(header.type, 1 + kind / 4);
        assert_int_equal(header.layout, 1 + kind / 2 % 2);
        assert_int_equal(header.flags, kind % 2);
    }
    assert_int_equal(crn_ingest_get_stats(line.ingest)->messages, 12);
}

/* Sends every fault with valid views before, between and after; counts and order must be exact. */
static void mix_faults_and_good_views(const char *address)
{
    crn_receiving_open(address, &line);
    uint64_t expected[CRN_WIRE_FAULTS] = {0}, messages = 1;
    crn_receiving_send_good(&line, line.push, 0);
    for (size_t i = 0; i < crn_message_bad_count(); i++) {
        crn_message bad;
        crn_message_make_bad(i, &line.good, &line.rules, &bad);
        assert_int_equal(crn_message_send(&bad, line.push), 0);
        expected[bad.fault]++;
        crn_message_done(&bad);
        crn_receiving_send_good(&line, line.push, i + 1);
        messages += 2;
    }
    for (size_t i = 0; i <= crn_message_bad_count(); i++)
        expect_good(i);
    crn_view_header header;
    assert_int_equal(crn_ingest_receive(line.ingest, &header), 0);
    const crn_ingest_stats *stats = crn_ingest_get_stats(line.ingest);
    assert_int_equal(stats->messages, messages);
    for (int fault = 0; fault < CRN_WIRE_FAULTS; fault++)
        if (stats->faults[fault] != expected[fault])
            fail_msg("%s: %u times, not %u", crn_wire_fault_names[fault],
                     (unsigned)stats->faults[fault], (unsigned)expected[fault]);
}

static void faults_are_counted_over_tcp_and_good_views_arrive_in_order(void **state)
{
    (void)state;
    mix_faults_and_good_views(TCP);
}

static void faults_are_counted_over_inproc_and_good_views_arrive_in_order(void **state)
{
    (void)state;
    mix_faults_and_good_views("inproc://views");
}

static void faults_are_counted_over_ipc_and_good_views_arrive_in_order(void **state)
{
    (void)state;
    char address[64];
    snprintf(address, sizeof address, "ipc:///tmp/cernita-ingest-%ld", (long)getpid());
    mix_faults_and_good_views(address);
    snprintf(address, sizeof address, "/tmp/cernita-ingest-%ld.lock", (long)getpid());
    assert_int_equal(unlink(address), 0);
}

/* Sends the header part of a view through the hand-written sender. */
static void send_header_part(int peer, const crn_view_header *header)
{
    unsigned char bytes[CRN_WIRE_HEADER_BYTES];
    crn_wire_pack(header, bytes);
    assert_int_equal(crn_zmtp_send_head(peer, sizeof bytes, true), 0);
    assert_int_equal(crn_zmtp_send(peer, bytes, sizeof bytes), 0);
}

static void the_largest_part_arrives_and_one_far_larger_ends_the_connection(void **state)
{
    (void)state;
    crn_receiving_open(TCP, &line);
    crn_view_header largest = line.good;
    crn_message_reshape(&largest, 512, 512, CRN_U8, CRN_HWC, false);
    assert_int_equal(largest.payload_bytes, line.rules.max_bytes);
    crn_message message;
    crn_message_make_good(&largest, &message);
    assert_int_equal(crn_message_send(&message, line.push), 0);
    crn_message_done(&message);
    expect_good(0);
    crn_receiving_wait_peers(&line, 1, 0, 0);

    int peer = crn_zmtp_connect_push(crn_ingest_endpoint(line.ingest, 0));
    assert_true(peer >= 0);
    send_header_part(peer, &line.good);
    size_t bytes = CRN_SENDERS_PART_SHARE * line.rules.max_bytes + 1;
    assert_int_equal(crn_zmtp_send_head(peer, bytes, false), 0);
    unsigned char *tensor = calloc(1, bytes);
    assert_non_null(tensor);
    crn_zmtp_send(peer, tensor, bytes); /* fails, unless it is fast */
    free(tensor);
    assert_int_equal(crn_zmtp_wait_closed(peer, CRN_PATIENCE_MS), 0);
    close(peer);
    crn_receiving_wait_peers(&line, 2, 1, 0);
    crn_receiving_send_good(&line, line.push, 7);
    expect_good(7);
    assert_int_equal(crn_ingest_get_stats(line.ingest)->messages, 2);
}

static void a_part_that_says_it_is_endless_ends_the_connection(void **state)
{
    (void)state;
    crn_receiving_open(TCP, &line);
    static const uint64_t lies[] = {UINT64_C(1) << 40, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        int peer = crn_zmtp_connect_push(crn_ingest_endpoint(line.ingest, 0));
        assert_true(peer >= 0);
        assert_int_equal(crn_zmtp_send_head(peer, lies[i], false), 0);
        assert_int_equal(crn_zmtp_wait_closed(peer, CRN_PATIENCE_MS), 0);
        close(peer);
    }
    crn_receiving_send_good(&line, line.push, 1);
    expect_good(1);
    assert_int_equal(crn_ingest_get_stats(line.ingest)->messages, 1);
}

static void a_sender_that_dies_in_the_middle_leaves_nothing_behind(void **state)
{
    (void)state;
    crn_receiving_open(TCP, &line);
    crn_view_header header = line.good;
    crn_message_reshape(&header, 200, 200, CRN_F32, CRN_CHW, true);
    unsigned char *tensor = calloc(1, header.payload_bytes);
    assert_non_null(tensor);
    crn_receiving_wait_peers(&line, 1, 0, 0);
    for (uint64_t cut = 0; cut < 4; cut++) {
        int peer = crn_zmtp_connect_push(crn_ingest_endpoint(line.ingest, 0));
        assert_true(peer >= 0);
        if (cut == 0)
            assert_int_equal(crn_zmtp_send_head(peer, CRN_WIRE_HEADER_BYTES, true), 0);
        else
            send_header_part(peer, &header);
        if (cut >= 2) {
            assert_int_equal(crn_zmtp_send_head(peer, header.payload_bytes, true), 0);
            size_t sent = cut == 2 ? header.payload_bytes / 2 : header.payload_bytes;
            assert_int_equal(crn_zmtp_send(peer, tensor, sent), 0);
        }
        close(peer);
        crn_receiving_wait_peers(&line, 2 + cut, 1 + cut, 0);
        crn_receiving_send_good(&line, line.push, cut);
        expect_good(cut);
        assert_int_equal(crn_ingest_get_stats(line.ingest)->messages, 1 + cut);
    }
    free(tensor);
}

static void what_does_not_speak_zeromq_is_counted_apart_and_harms_nobody(void **state)
{
    (void)state;
    crn_receiving_open(TCP, &line);
    const char *address = crn_ingest_endpoint(line.ingest, 0);
    crn_receiving_wait_peers(&line, 1, 0, 0);
    int silent = crn_zmtp_connect(address);
    assert_true(silent >= 0);
    close(silent);
    crn_receiving_wait_peers(&line, 1, 0, 1);
    static unsigned char noise[4096];
    uint64_t chance = 42;
    for (unsigned round = 0; round < 50; round++) {
        for (size_t i = 0; i < sizeof noise; i++)
            noise[i] = (unsigned char)crn_message_chance(&chance);
        if (round % 2)
            memcpy(noise, "\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL", 16);
        int peer = crn_zmtp_connect(address);
        assert_true(peer >= 0);
        crn_zmtp_send(peer, noise, sizeof noise); /* may fail: the other side may have closed */
        close(peer);
    }
    crn_receiving_send_good(&line, line.push, 5);
    expect_good(5);
}

static bool readable(void)
{
    int descriptors[2];
    crn_ingest_descriptors(line.ingest, descriptors);
    struct pollfd item = {descriptors[0], POLLIN, 0};
    return poll(&item, 1, 0) == 1;
}

/* inproc delivers messages within the send call, so no waiting is needed below. */
static void pending_says_what_the_descriptor_does_not(void **state)
{
    (void)state;
    crn_receiving_open("inproc://views", &line);
    assert_false(crn_ingest_pending(line.ingest));
    for (uint64_t i = 0; i < 3; i++)
        crn_receiving_send_good(&line, line.push, i);
    assert_true(readable());
    expect_good(0);
    assert_true(crn_ingest_pending(line.ingest));
    assert_false(readable()); /* although two messages are queued */
    expect_good(1);
    expect_good(2);
    crn_view_header header;
    assert_int_equal(crn_ingest_receive(line.ingest, &header), 0);
    assert_false(crn_ingest_pending(line.ingest));
    assert_false(readable());
    crn_receiving_send_good(&line, line.push, 3);
    assert_true(readable());
    expect_good(3);
}

static void a_flood_of_bad_messages_holds_no_call_for_long(void **state)
{
    (void)state;
    crn_receiving_open("inproc://views", &line);
    const crn_ingest_stats *stats = crn_ingest_get_stats(line.ingest);
    for (int i = 0; i < 150; i++)
        assert_int_equal(zmq_send(line.push, "x", 1, 0), 1);
    crn_receiving_send_good(&line, line.push, 9);
    crn_view_header header;
    for (uint64_t calls = 1; calls <= 2; calls++) {
        assert_int_equal(crn_ingest_receive(line.ingest, &header), 0);
        assert_int_equal(stats->messages, 64 * calls);
        assert_true(crn_ingest_pending(line.ingest));
    }
    assert_int_equal(crn_ingest_receive(line.ingest, &header), 1);
    assert_int_equal(header.sequence, 9);
    assert_int_equal(stats->faults[CRN_WIRE_PARTS], 150);
}

static void a_message_of_thousands_of_parts_is_one_fault_and_holds_no_call_for_long(void **state)
{
    (void)state;
    crn_receiving_open("inproc://views", &line);
    const crn_ingest_stats *stats = crn_ingest_get_stats(line.ingest);
    /* 4096 parts followed by what would otherwise be a valid view */
    for (int i = 0; i < 4 * 1024; i++)
        assert_int_equal(zmq_send(line.push, "x", 1, ZMQ_SNDMORE), 1);
    crn_receiving_send_good(&line, line.push, 8);
    crn_receiving_send_good(&line, line.push, 9);
    crn_view_header header;
    for (int calls = 0; calls < 4; calls++) { /* 1024 parts each */
        assert_int_equal(crn_ingest_receive(line.ingest, &header), 0);
        assert_int_equal(stats->messages, 0);
        assert_true(crn_ingest_pending(line.ingest));
    }
    expect_good(9);
    assert_int_equal(stats->messages, 2);
    assert_int_equal(stats->faults[CRN_WIRE_PARTS], 1);
}

static void a_copy_may_leave_the_intensity_and_is_made_once(void **state)
{
    (void)state;
    crn_receiving_open("inproc://views", &line);
    crn_message_reshape(&line.good, 5, 7, CRN_U8, CRN_CHW, true);
    crn_receiving_send_good(&line, line.push, 1);
    crn_view_header header;
    crn_receiving_next(&line, &header);
    unsigned char maps[5 * 7 * 4];
    crn_ingest_copy(line.ingest, crn_values_kernels_best()->copy_u8, maps, NULL);
    memset(maps, 0xc5, sizeof maps);
    crn_ingest_copy(line.ingest, crn_values_kernels_best()->copy_u8, maps, maps);
    for (size_t i = 0; i < sizeof maps; i++)
        assert_int_equal(maps[i], 0xc5);
}

/* Counts lines on stderr since it was redirected to a file. */
static unsigned count_lines(FILE *log, const char *with)
{
    char text[2000];
    unsigned lines = 0;
    rewind(log);
    while (fgets(text, sizeof text, log))
        lines += strstr(text, with) != NULL;
    return lines;
}

static void a_reason_is_logged_at_most_once_a_second(void **state)
{
    (void)state;
    crn_receiving_open("inproc://views", &line);
    FILE *log = tmpfile();
    assert_non_null(log);
    int kept = dup(STDERR_FILENO);
    int64_t begin_ns = crn_now_ns();
    dup2(fileno(log), STDERR_FILENO);
    crn_view_header header;
    for (int i = 0; i < 500; i++) {
        zmq_send(line.push, "x", 1, 0);
        zmq_send(line.push, "x", 1, ZMQ_SNDMORE);
        zmq_send(line.push, "x", 1, 0);
        crn_ingest_receive(line.ingest, &header);
    }
    dup2(kept, STDERR_FILENO);
    close(kept);
    unsigned allowed = 1 + (unsigned)((crn_now_ns() - begin_ns) / CRN_NS_PER_S);
    assert_in_range(count_lines(log, "(parts)"), 1, allowed);
    assert_in_range(count_lines(log, "(header_size)"), 1, allowed);
    assert_int_equal(count_lines(log, "ingest:"),
                     count_lines(log, "(parts)") + count_lines(log, "(header_size)"));
    fclose(log);
    assert_int_equal(crn_ingest_get_stats(line.ingest)->faults[CRN_WIRE_PARTS], 500);
}

static void an_endpoint_in_use_opens_nothing(void **state)
{
    (void)state;
    crn_receiving_open(TCP, &line);
    crn_config config = line.config;
    snprintf(config.ingest.bind.item[0], CRN_TEXT_BYTES, "%s", TCP);
    snprintf(config.ingest.bind.item[1], CRN_TEXT_BYTES, "%s", crn_ingest_endpoint(line.ingest, 0));
    config.ingest.bind.count = 2;
    crn_ingest *const mark = line.ingest;
    crn_ingest *second = mark;
    crn_error error = {""};
    assert_int_equal(crn_ingest_open(line.zmq, &config, &second, &error), -EADDRINUSE);
    assert_ptr_equal(second, mark);
    assert_non_null(strstr(error.text, config.ingest.bind.item[1]));
    crn_receiving_send_good(&line, line.push, 1);
    expect_good(1);
}

static void several_endpoints_feed_one_ingest(void **state)
{
    (void)state;
    crn_receiving_open(TCP, &line);
    crn_config config = line.config;
    config.ingest.bind.count = 3;
    for (int i = 0; i < 3; i++)
        snprintf(config.ingest.bind.item[i], CRN_TEXT_BYTES, "%s", TCP);
    crn_ingest_close(&line.ingest);
    crn_error error;
    assert_int_equal(crn_ingest_open(line.zmq, &config, &line.ingest, &error), 0);
    for (int i = 0; i < 3; i++) {
        void *push = zmq_socket(line.zmq, ZMQ_PUSH);
        assert_int_equal(zmq_connect(push, crn_ingest_endpoint(line.ingest, i)), 0);
        crn_receiving_send_good(&line, push, (uint64_t)i);
        expect_good((uint64_t)i);
        zmq_close(push);
    }
    assert_null(crn_ingest_endpoint(line.ingest, 3));
}

/* Views by turns from a sender of each endpoint. */
static void a_view_is_told_by_its_transport(void **state)
{
    (void)state;
    static const crn_ingest_path paths[] = {CRN_INGEST_TCP, CRN_INGEST_IPC, CRN_INGEST_TCP};
    crn_ingest_path got[6];
    void *push[3];
    crn_receiving_open(TCP, &line);
    crn_config config = line.config;
    config.ingest.bind.count = 3;
    snprintf(config.ingest.bind.item[1], CRN_TEXT_BYTES, "ipc://@cernita-ingest-%ld",
             (long)getpid());
    strcpy(config.ingest.bind.item[2], "tcp://[::1]:*");
    crn_ingest_close(&line.ingest);
    crn_error error;
    int r = crn_ingest_open(line.zmq, &config, &line.ingest, &error);
    if (r < 0) { /* a machine without IPv6 */
        config.ingest.bind.count = 2;
        r = crn_ingest_open(line.zmq, &config, &line.ingest, &error);
    }
    assert_int_equal(r, 0);
    for (int i = 0; i < config.ingest.bind.count; i++) {
        int six = 1;
        push[i] = zmq_socket(line.zmq, ZMQ_PUSH);
        zmq_setsockopt(push[i], ZMQ_IPV6, &six, sizeof six);
        assert_int_equal(zmq_connect(push[i], crn_ingest_endpoint(line.ingest, i)), 0);
    }
    for (int i = 0; i < 2 * config.ingest.bind.count; i++) {
        int which = i % config.ingest.bind.count;
        crn_receiving_send_good(&line, push[which], (uint64_t)i);
        expect_good((uint64_t)i);
        got[i] = crn_ingest_get_path(line.ingest);
    }
    for (int i = 0; i < config.ingest.bind.count; i++)
        zmq_close(push[i]);
    for (int i = 0; i < 2 * config.ingest.bind.count; i++)
        assert_int_equal(got[i], paths[i % config.ingest.bind.count]);
}

static void a_context_that_is_shut_down_is_a_failure_for_good(void **state)
{
    (void)state;
    crn_receiving_open("inproc://views", &line);
    zmq_ctx_shutdown(line.zmq);
    crn_view_header header;
    assert_int_equal(crn_ingest_receive(line.ingest, &header), -ETERM);
    assert_true(crn_ingest_pending(line.ingest)); /* must not wait */
    crn_ingest *none = NULL;
    crn_ingest_close(&none);
}

#define CLOSING(test) cmocka_unit_test_teardown(test, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLOSING(every_type_and_layout_arrives),
        CLOSING(faults_are_counted_over_tcp_and_good_views_arrive_in_order),
        CLOSING(faults_are_counted_over_inproc_and_good_views_arrive_in_order),
        CLOSING(faults_are_counted_over_ipc_and_good_views_arrive_in_order),
        CLOSING(the_largest_part_arrives_and_one_far_larger_ends_the_connection),
        CLOSING(a_part_that_says_it_is_endless_ends_the_connection),
        CLOSING(a_sender_that_dies_in_the_middle_leaves_nothing_behind),
        CLOSING(what_does_not_speak_zeromq_is_counted_apart_and_harms_nobody),
        CLOSING(pending_says_what_the_descriptor_does_not),
        CLOSING(a_flood_of_bad_messages_holds_no_call_for_long),
        CLOSING(a_message_of_thousands_of_parts_is_one_fault_and_holds_no_call_for_long),
        CLOSING(a_copy_may_leave_the_intensity_and_is_made_once),
        CLOSING(a_reason_is_logged_at_most_once_a_second),
        CLOSING(an_endpoint_in_use_opens_nothing),
        CLOSING(several_endpoints_feed_one_ingest),
        CLOSING(a_view_is_told_by_its_transport),
        CLOSING(a_context_that_is_shut_down_is_a_failure_for_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
