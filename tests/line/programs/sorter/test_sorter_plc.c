/*
 * PLCs that poll window 0 of 64 lanes, and lose their connection at random: every decision is taken
 * once, in its lane, or counted as overwritten. One PLC is this program with libmodbus, one is
 * plc.py with pymodbus, an implementation of its own.
 *
 * CRN_CASES is the number of polls, in each of which every lane has 1/10 of a fruit; CRN_PACE_MS
 * the pause between them. Ten minutes at 64 x 10 fruits/s with some 200 disconnects:
 *   CRN_CASES=60000 CRN_PACE_MS=10 CRN_SEED=1 build/bin/test_sorter_plc
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/peers/free_port.h"
#include "tests/support/peers/http.h"
#include "tests/support/programs/sorter_program.h"
#include "tests/support/random.h"
#include "tools/sorter/modbus/window.h"

#ifdef CRN_HAS_MODBUS
#include <errno.h>
#include <modbus.h>

#define LANES 64
#define RING  200

static int port;
static char monitor[32];

static void pause_ms(long ms)
{
    const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    if (ms)
        nanosleep(&pause, NULL);
}

static long pace_ms(long by_default)
{
    const char *given = getenv("CRN_PACE_MS");
    return given ? strtol(given, NULL, 10) : by_default;
}

static void start(void)
{
    char outputs[128], below[64];
    port = crn_test_free_ports(false, 2);
    snprintf(monitor, sizeof monitor, "127.0.0.1:%d", port + 1);
    snprintf(below, sizeof below, "monitor: {http: '%s'}", monitor);
    sorter_bind();
    snprintf(outputs, sizeof outputs, ", modbus_server: {bind: '127.0.0.1:%d', ring: %d}", port,
             RING);
    sorter_write_file(&(sorter_file){.outputs = outputs, .below = below, .is_quiet = true});
    sorter_start();
}

/* --- the line --------------------------------------------------------------------------------- */

static int sent_of[LANES];
static uint32_t sent;

/* The next fruit of a lane; each lane has a tenth of a fruit more with each poll. */
static void send_until(crn_random *random, uint32_t end)
{
    for (; sent < end; sent++) {
        int lane = (int)crn_random_below(random, LANES);
        sorter_send(&(sorter_verdict){.lane = lane, .sequence = sent_of[lane]++});
    }
}

/* --- the PLC ---------------------------------------------------------------------------------- */

static modbus_t *plc;
static uint16_t window[CRN_WINDOW_REGISTERS];
static uint16_t run;    /* of the window read last; 0: none */
static uint32_t number; /* of the decision taken last */
static uint32_t taken, disconnects;
static uint32_t next_fruit[LANES], left_out;

static void connect_plc(void)
{
    plc = modbus_new_tcp("127.0.0.1", port);
    assert_non_null(plc);
    modbus_set_response_timeout(plc, 60, 0);
    while (modbus_connect(plc) < 0) /* until the sorter listens */
        pause_ms(1);
}

static void disconnect_plc(void)
{
    modbus_close(plc);
    modbus_free(plc);
    disconnects++;
}

static uint32_t long_at(const uint16_t *registers)
{
    return (uint32_t)registers[0] << 16 | registers[1];
}

/* Fruits that are left out were overwritten before they were taken. */
static void take_decision(const uint16_t *decision)
{
    uint32_t lane = decision[0], fruit = long_at(decision + 3) - 100;
    assert_true(lane < LANES);
    assert_true(long_at(decision + 1) > number);
    assert_true(fruit >= next_fruit[lane]);
    assert_int_equal(decision[7], 1);
    left_out += fruit - next_fruit[lane];
    number = long_at(decision + 1);
    next_fruit[lane] = fruit + 1;
    taken++;
}

/* Acknowledges and reads in one request. */
static void poll_window(void)
{
    const uint16_t ack[] = {run, (uint16_t)(number >> 16), (uint16_t)number};
    if (modbus_write_and_read_registers(plc, CRN_WINDOW_ACK, CRN_WINDOW_ACKS, ack, 0,
                                        CRN_WINDOW_REGISTERS, window) < 0) {
        assert_int_equal(errno, EMBXSBUSY); /* the end of the last connection was not noticed */
        return;
    }
    run = window[0];
    for (int i = 0; i < CRN_WINDOW_DECISIONS; i++) {
        const uint16_t *decision = window + CRN_WINDOW_HEADER + i * CRN_WINDOW_DECISION;
        if (long_at(decision + 1))
            take_decision(decision);
    }
}

/* Asks, and is gone before the answer: what that acknowledged stays so, what it showed does not. */
static void ask_and_leave(void)
{
    const uint8_t request[] = {255,
                               MODBUS_FC_WRITE_AND_READ_REGISTERS,
                               0,
                               0,
                               0,
                               CRN_WINDOW_REGISTERS,
                               0,
                               CRN_WINDOW_ACK,
                               0,
                               CRN_WINDOW_ACKS,
                               2 * CRN_WINDOW_ACKS,
                               (uint8_t)(run >> 8),
                               (uint8_t)run,
                               (uint8_t)(number >> 24),
                               (uint8_t)(number >> 16),
                               (uint8_t)(number >> 8),
                               (uint8_t)number};
    assert_true(modbus_send_raw_request(plc, request, sizeof request) > 0);
    disconnect_plc();
    connect_plc();
}

/* The sorter's own counts: each decision was acknowledged or overwritten. Returns the latter. */
static uint32_t expect_counts(void)
{
    int code;
    char *text = http_get(monitor, "/metrics", &code);
    double overwritten = http_sample(text, "cernita_sorter_modbus_overwritten_total");
    assert_int_equal(http_sample(text, "cernita_sorter_modbus_decisions_total"), sent);
    assert_int_equal(http_sample(text, "cernita_sorter_modbus_acknowledged_total") + overwritten,
                     sent);
    assert_int_equal(http_sample(text, "cernita_sorter_verdicts_lost_total"), 0);
    free(text);
    return (uint32_t)overwritten;
}

static void decisions_are_taken_once_or_counted(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    uint32_t polls = crn_random_cases(600), away = 0;
    long pause = pace_ms(0);
    start();
    connect_plc();
    for (uint32_t i = 0; i < polls; i++) {
        send_until(&random, (uint32_t)(i * (uint64_t)LANES / 10));
        pause_ms(pause);
        if (away > 0) {
            away--;
            continue;
        }
        poll_window();
        if (crn_random_once_in(&random, polls / 200 + 1)) {
            ask_and_leave();
            away = crn_random_once_in(&random, 8) ? RING * 12 / LANES : 0; /* too long */
        }
    }
    while (number < sent || window[3] > 0)
        poll_window();
    for (int lane = 0; lane < LANES; lane++) /* those behind the last one that was taken */
        left_out += (uint32_t)sent_of[lane] - next_fruit[lane];
    assert_int_equal(taken + left_out, sent);
    uint32_t overwritten = expect_counts();
    /* What was taken and could not be acknowledged any more counts as overwritten, too. */
    assert_in_range(overwritten, left_out, left_out + CRN_WINDOW_DECISIONS * disconnects);
    print_message("%u decisions, %u of them overwritten, %u disconnects\n", sent, overwritten,
                  disconnects);
    assert_true(disconnects > (polls < 600 ? 0 : 10));
    disconnect_plc();
    sorter_stop(SIGTERM);
}

static void so_they_are_by_another_implementation(void **state)
{
    (void)state;
    if (system("/usr/bin/python3 -c 'import pymodbus.client' 2>/dev/null") != 0)
        skip(); /* Debian: python3-pymodbus, python3-serial-asyncio */
    crn_random random = {crn_random_seed()};
    uint32_t polls = crn_random_cases(200);
    uint32_t all = (uint32_t)(polls * (uint64_t)LANES / 10);
    long pause = pace_ms(10);
    char port_text[16], all_text[16], seed_text[24];
    daemon_process python;
    start();
    memset(sent_of, 0, sizeof sent_of);
    sent = 0;
    snprintf(port_text, sizeof port_text, "%d", port);
    snprintf(all_text, sizeof all_text, "%u", all);
    snprintf(seed_text, sizeof seed_text, "%u", (unsigned)crn_random_next(&random));
    const char *const arguments[] = {"python3", CRN_TEST_DATA "/line/programs/sorter/plc.py",
                                     port_text, all_text,
                                     seed_text, NULL};
    daemon_start_as(&python, "/usr/bin/python3", arguments, NULL);
    for (uint32_t i = 1; i <= polls; i++) {
        send_until(&random, (uint32_t)(i * (uint64_t)LANES / 10));
        pause_ms(pause);
    }
    int status = daemon_end(&python);
    print_message("%s", python.text);
    assert_int_equal(status, 0);
    expect_counts();
    sorter_stop(SIGTERM);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sorter_set_up, sorter_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(decisions_are_taken_once_or_counted),
        TEST(so_they_are_by_another_implementation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    print_message("[  SKIPPED ] sorter_plc: built without libmodbus\n");
    return 0;
}

#endif
