/* cernita-sorter's Modbus server, polled by libmodbus' client as a PLC polls it. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/free_port.h"
#include "tests/support/peers/http.h"
#include "tests/support/programs/sorter_program.h"
#include "tests/support/random.h"
#include "tools/sorter/modbus/window.h"

#ifdef CRN_HAS_MODBUS
#include <modbus.h>

static modbus_t *plc;
static uint16_t window[CRN_WINDOW_REGISTERS];
static int port;
static char monitor[32]; /* address */

static void send_verdict(int lane, int sequence)
{
    sorter_send(
        &(sorter_verdict){.lane = lane, .sequence = sequence, .area_px = sequence % 2 ? 60 : 10});
}

static modbus_t *connect_plc(void)
{
    modbus_t *client = modbus_new_tcp("127.0.0.1", port);
    assert_non_null(client);
    modbus_set_response_timeout(client, 60, 0);
    assert_int_equal(modbus_connect(client), 0);
    return client;
}

static void close_plc(modbus_t *client)
{
    modbus_close(client);
    modbus_free(client);
}

/* Starts a sorter with windows of lane 7 and lane 3, and sends it `count` verdicts of lane 3. */
static void start(int count, const char *more)
{
    char outputs[256], said[32], below[64];
    port = crn_test_free_ports(false, 2);
    sorter_bind();
    snprintf(outputs, sizeof outputs,
             ", modbus_server: {bind: '127.0.0.1:%d', lanes: [7, 3], ring: 20%s}", port, more);
    snprintf(monitor, sizeof monitor, "127.0.0.1:%d", port + 1);
    snprintf(below, sizeof below, "monitor: {http: '%s'}", monitor);
    sorter_write_file(&(sorter_file){.outputs = outputs, .below = below});
    sorter_start();
    for (int i = 0; i < count; i++)
        send_verdict(3, i);
    snprintf(said, sizeof said, "3,%d,", count - 1);
    daemon_read_until(&sorter.process, count ? said : "monitor: ");
    plc = connect_plc();
}

static void stop(void)
{
    close_plc(plc);
    sorter_stop(SIGTERM);
}

static void poll_window(int index)
{
    assert_int_equal(
        modbus_read_registers(plc, index * CRN_WINDOW_DISTANCE, CRN_WINDOW_REGISTERS, window),
        CRN_WINDOW_REGISTERS);
}

static uint32_t number_of(int place)
{
    const uint16_t *decision = window + CRN_WINDOW_HEADER + place * CRN_WINDOW_DECISION;
    return (uint32_t)decision[1] << 16 | decision[2];
}

/* Acknowledges and reads in one request, FC 23. */
static int acknowledge(modbus_t *client, int index, uint16_t run, uint32_t number)
{
    const uint16_t values[] = {run, (uint16_t)(number >> 16), (uint16_t)number};
    int base = index * CRN_WINDOW_DISTANCE;
    return modbus_write_and_read_registers(client, base + CRN_WINDOW_ACK, CRN_WINDOW_ACKS, values,
                                           base, CRN_WINDOW_REGISTERS, window);
}

static void a_plc_reads_and_acknowledges_in_one_request(void **state)
{
    (void)state;
    start(12, "");
    poll_window(0);
    uint16_t run = window[0];
    assert_int_not_equal(run, 0);
    assert_int_equal(window[2], CRN_LINE_HEARD);
    assert_int_equal(window[3], 12);
    assert_int_equal(window[CRN_WINDOW_HEADER], 3);
    assert_int_equal(window[CRN_WINDOW_HEADER + 4], 100);
    assert_int_equal(window[CRN_WINDOW_HEADER + 7], 1);
    assert_int_equal(window[CRN_WINDOW_HEADER + CRN_WINDOW_DECISION + 7], 2);
    assert_int_equal(number_of(9), 10);
    assert_int_equal(acknowledge(plc, 0, run, 10), CRN_WINDOW_REGISTERS);
    assert_int_equal(window[3], 2);
    assert_int_equal(number_of(0), 11);
    assert_int_equal(number_of(2), 0);
    stop();
}

static void expect_line_state(crn_line_state wanted)
{
    poll_window(0);
    assert_int_equal(window[2], wanted);
}

static void windows_have_the_state_of_the_line(void **state)
{
    (void)state;
    start(0, "");
    expect_line_state(CRN_LINE_WAITING);
    assert_int_equal(window[3], 0);
    send_verdict(3, 0);
    daemon_read_until(&sorter.process, "3,0,");
    expect_line_state(CRN_LINE_HEARD);
    sorter_send_text("alive", "{\"v\":1,\"run\":\"a\",\"state\":\"running\",\"alive_ms\":20,"
                              "\"lanes\":[{\"lane\":3,\"sequence\":0}]}");
    daemon_read_until(&sorter.process, "3,,,,4,dead,silence,");
    expect_line_state(CRN_LINE_SILENT);
    stop();
}

static void each_lane_has_its_window(void **state)
{
    (void)state;
    start(2, "");
    send_verdict(7, 0);
    daemon_read_until(&sorter.process, "7,0,");
    poll_window(0);
    assert_int_equal(window[3], 3);
    poll_window(1);
    assert_int_equal(window[3], 1);
    assert_int_equal(window[CRN_WINDOW_HEADER], 7);
    poll_window(2);
    assert_int_equal(window[3], 2);
    assert_int_equal(acknowledge(plc, 2, window[0], 1), CRN_WINDOW_REGISTERS);
    assert_int_equal(window[3], 1);
    poll_window(0);
    assert_int_equal(window[3], 3);
    stop();
}

/* The number of another run, or of a decision that does not wait, takes nothing away. */
static void wrong_acknowledgements_change_nothing(void **state)
{
    (void)state;
    start(3, "");
    poll_window(0);
    uint16_t run = window[0];
    assert_int_equal(acknowledge(plc, 0, (uint16_t)(run + 1), 2), CRN_WINDOW_REGISTERS);
    assert_int_equal(window[3], 3);
    assert_int_equal(acknowledge(plc, 0, run, 9), CRN_WINDOW_REGISTERS);
    assert_int_equal(window[3], 3);
    assert_int_equal(acknowledge(plc, 0, run, 2), CRN_WINDOW_REGISTERS);
    assert_int_equal(window[3], 1);
    uint16_t acknowledged[CRN_WINDOW_ACKS];
    assert_int_equal(modbus_read_registers(plc, CRN_WINDOW_ACK, CRN_WINDOW_ACKS, acknowledged),
                     CRN_WINDOW_ACKS);
    assert_int_equal(acknowledged[0], run);
    assert_int_equal(acknowledged[2], 2);
    stop();
}

static void one_client_at_a_time_acknowledges_a_window(void **state)
{
    (void)state;
    start(3, "");
    poll_window(0);
    uint16_t run = window[0];
    modbus_t *other = connect_plc();
    assert_int_equal(acknowledge(plc, 0, run, 1), CRN_WINDOW_REGISTERS);
    assert_int_equal(acknowledge(other, 0, run, 2), -1);
    assert_int_equal(errno, EMBXSBUSY);
    assert_int_equal(modbus_read_registers(other, 0, CRN_WINDOW_REGISTERS, window),
                     CRN_WINDOW_REGISTERS);
    assert_int_equal(window[3], 2);
    close_plc(plc);
    plc = connect_plc();
    while (acknowledge(other, 0, run, 2) < 0) /* until the end of the first one is noticed */
        assert_int_equal(errno, EMBXSBUSY);
    assert_int_equal(window[3], 1);
    close_plc(other);
    stop();
}

/* Answers get lost and connections end at random: each decision is taken once, in order. */
static void a_plc_that_comes_and_goes_takes_each_decision_once(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    uint32_t taken = 0, sent = 1, all = crn_random_cases(300);
    uint16_t run = 0; /* none yet: such an acknowledgement is ignored */
    start(1, "");
    while (taken < all) {
        if (sent < all && sent - taken < 15)
            send_verdict(3, (int)sent++);
        bool answered = acknowledge(plc, 0, run, taken) == CRN_WINDOW_REGISTERS;
        if (!answered)
            assert_int_equal(errno,
                             EMBXSBUSY); /* until the end of the last connection is noticed */
        bool is_lost = crn_random_once_in(&random, 3);
        for (int i = 0; answered && !is_lost && i < CRN_WINDOW_DECISIONS && number_of(i); i++)
            assert_int_equal(number_of(i), ++taken);
        if (answered && !is_lost)
            run = window[0];
        if (is_lost || crn_random_once_in(&random, 4)) {
            close_plc(plc);
            plc = connect_plc();
        }
    }
    assert_int_equal(window[4], 0);
    stop();
}

static void other_requests_are_refused(void **state)
{
    (void)state;
    start(1, "");
    uint16_t values[2] = {1, 2};
    uint8_t bit;
    assert_int_equal(modbus_write_register(plc, CRN_WINDOW_ACK, 1), -1);
    assert_int_equal(errno, EMBXILFUN);
    assert_int_equal(modbus_write_registers(plc, 0, 2, values), -1);
    assert_int_equal(errno, EMBXILADD);
    assert_int_equal(modbus_read_bits(plc, 0, 1, &bit), -1);
    assert_int_equal(errno, EMBXILFUN);
    assert_int_equal(modbus_read_registers(plc, 3 * CRN_WINDOW_DISTANCE, 1, values), -1);
    assert_int_equal(errno, EMBXILADD);
    poll_window(0);
    assert_int_equal(window[3], 1);
    stop();
}

static void expect_sample(const char *sample, double wanted)
{
    int code;
    char *text = http_get(monitor, "/metrics", &code);
    assert_int_equal(code, 200);
    assert_true(http_sample(text, sample) == wanted);
    free(text);
}

/* In that of lane 3 no PLC acknowledges: it loses nothing. */
static void what_is_overwritten_is_counted_and_logged(void **state)
{
    (void)state;
    start(3, "");
    poll_window(0);
    assert_int_equal(acknowledge(plc, 0, window[0], 1), CRN_WINDOW_REGISTERS);
    for (int i = 3; i < 24; i++)
        send_verdict(3, i);
    daemon_read_until(&sorter.process, "Modbus window 0: the PLC acknowledges too slowly");
    daemon_read_until(&sorter.process, "3,23,");
    poll_window(0);
    assert_int_equal(window[3], 20);
    assert_int_equal(window[4], 3);
    assert_int_equal(number_of(0), 5);
    expect_sample("cernita_sorter_modbus_overwritten_total", 3 + 4);
    expect_sample("cernita_sorter_modbus_lost_total", 3);
    stop();
}

static void strangers_are_turned_away(void **state)
{
    (void)state;
    start(1, ", peers: [192.0.2.1]");
    assert_int_equal(modbus_read_registers(plc, 0, 1, window), -1);
    stop();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sorter_set_up, sorter_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_plc_reads_and_acknowledges_in_one_request),
        TEST(windows_have_the_state_of_the_line),
        TEST(each_lane_has_its_window),
        TEST(wrong_acknowledgements_change_nothing),
        TEST(one_client_at_a_time_acknowledges_a_window),
        TEST(a_plc_that_comes_and_goes_takes_each_decision_once),
        TEST(other_requests_are_refused),
        TEST(what_is_overwritten_is_counted_and_logged),
        TEST(strangers_are_turned_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    print_message("[  SKIPPED ] sorter_modbus: built without libmodbus\n");
    return 0;
}

#endif
