#include "tests/support/programs/replay_program.h"

#include <stdlib.h>
#include <string.h>

#include <zmq.h>

#include "tests/support/cmocka_prelude.h"

#define WAIT_MS 60000 /* timeout; only a failing test waits so long */

char replay_endpoint[64], replay_output[4000];
FILE *replay_program;
static void *zmq, *line;

int replay_setup(void **state)
{
    int wait_ms = WAIT_MS;
    size_t size = sizeof replay_endpoint;
    if (recorded_setup(state))
        return -1;
    zmq = zmq_ctx_new();
    line = zmq_socket(zmq, ZMQ_PULL);
    zmq_setsockopt(line, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms);
    return zmq_bind(line, "tcp://127.0.0.1:*") ||
           zmq_getsockopt(line, ZMQ_LAST_ENDPOINT, replay_endpoint, &size);
}

int replay_teardown(void **state)
{
    zmq_close(line);
    zmq_ctx_term(zmq);
    return recorded_teardown(state);
}

/* --- recordings, and running the program --- */

crn_recorded_view replay_lane_view(uint64_t number)
{
    crn_recorded_view view = recorded_small(number);
    uint64_t nth = number / 2;
    view.header.lane = (uint32_t)(number % 2) * 7;
    view.header.sequence = 100 + nth;
    view.header.epoch = 5;
    view.header.fruit = 1000 + nth / 2;
    view.header.view = (uint16_t)(nth % 2);
    view.header.views = 2;
    view.arrived_ns = UINT64_C(1790000000000000000) + number * CRN_REPLAY_GAP_NS;
    view.header.captured_ns = view.arrived_ns - 1000;
    view.header.deadline_ns = number % 2 ? view.arrived_ns + 12345678 : 0;
    return view;
}

void replay_record(uint64_t from, uint64_t to)
{
    crn_recording_writer *writer = recorded_create();
    for (uint64_t i = from; i < to; i++) {
        crn_recorded_view view = replay_lane_view(i);
        recorded_add(writer, &view);
    }
    recorded_finish(writer);
}

void replay_start(const char *arguments)
{
    char command[512];
    snprintf(command, sizeof command, "exec " CRN_BIN "/cernita-replay %s --to %s %s 2>&1",
             recorded_path, replay_endpoint, arguments);
    replay_program = popen(command, "r");
    assert_non_null(replay_program);
}

int replay_finish(void)
{
    replay_output[fread(replay_output, 1, sizeof replay_output - 1, replay_program)] = '\0';
    return pclose(replay_program) >> 8;
}

static size_t receive_part(void *bytes, size_t room, bool *ret_more)
{
    int more = 0, size = zmq_recv(line, bytes, room, 0);
    size_t more_size = sizeof more;
    assert_in_range(size, 0, room);
    zmq_getsockopt(line, ZMQ_RCVMORE, &more, &more_size);
    *ret_more = more;
    return (size_t)size;
}

crn_view_header replay_receive(const crn_recorded_view *want)
{
    static const crn_wire_rules anything = {.max_bytes = UINT64_MAX};
    unsigned char header[200], maps[4000], intensity[4000];
    crn_wire_part parts[3] = {{header, 0}, {maps, 0}, {intensity, 0}};
    crn_view_header got;
    size_t count = 0;
    for (bool more = true; more; count++) {
        assert_in_range(count, 0, 2);
        size_t room = count ? sizeof maps : sizeof header;
        parts[count].size = receive_part((void *)(uintptr_t)parts[count].bytes, room, &more);
    }
    assert_int_equal(crn_wire_check(parts, count, &anything, &got), CRN_WIRE_OK);
    assert_int_equal(got.payload_bytes, want->header.payload_bytes);
    assert_memory_equal(maps, want->maps, got.payload_bytes);
    assert_int_equal(got.flags, want->header.flags);
    if (want->intensity)
        assert_memory_equal(intensity, want->intensity, crn_wire_intensity_bytes(&got));
    return got;
}

void replay_assert_nothing_more(void)
{
    char byte;
    assert_int_equal(zmq_recv(line, &byte, 1, ZMQ_DONTWAIT), -1);
}
