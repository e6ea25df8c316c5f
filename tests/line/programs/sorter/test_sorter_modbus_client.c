/* cernita-sorter as a PLC's client: decisions in the PLC's registers until its program takes them,
 * a PLC that goes away and comes back. The PLC is this program, with libmodbus. */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/peers/free_port.h"
#include "tests/support/peers/http.h"
#include "tests/support/programs/sorter_program.h"
#include "tools/sorter/modbus/window.h"

#ifdef CRN_HAS_MODBUS
#include <errno.h>
#include <modbus.h>
#include <unistd.h>

#define FIRST 300 /* of the window's registers */
#define RING  10

static int port, listener = -1;
static modbus_t *plc;
static modbus_mapping_t *mapping;
static char monitor[32];
static uint16_t *window;

static void open_plc(void)
{
    plc = modbus_new_tcp("127.0.0.1", port);
    while ((listener = modbus_tcp_listen(plc, 1)) < 0) /* until the old connection is forgotten */
        assert_int_equal(errno, EADDRINUSE);
    assert_true(modbus_tcp_accept(plc, &listener) >= 0);
}

static void close_plc(void)
{
    close(listener);
    modbus_close(plc);
    modbus_free(plc);
}

/* Answers one request. */
static void answer(void)
{
    uint8_t request[MODBUS_TCP_MAX_ADU_LENGTH];
    int length;
    do
        length = modbus_receive(plc, request);
    while (length == 0);
    assert_true(length > 0);
    assert_true(modbus_reply(plc, request, length, mapping) >= 0);
}

/* With those keys of the output, and sections `more`. */
static void start_with(const char *keys, const char *more)
{
    char outputs[160], below[256];
    port = crn_test_free_ports(false, 2);
    snprintf(monitor, sizeof monitor, "127.0.0.1:%d", port + 1);
    mapping = modbus_mapping_new(0, 0, FIRST + CRN_WINDOW_DISTANCE, 0);
    window = mapping->tab_registers + FIRST;
    sorter_bind();
    snprintf(outputs, sizeof outputs,
             ", modbus_client: {address: '127.0.0.1:%d', timeout_ms: 10000%s}", port, keys);
    snprintf(below, sizeof below, "monitor: {http: '%s'}%s", monitor, more);
    sorter_write_file(&(sorter_file){.outputs = outputs, .below = below});
    sorter_start();
}

static void start(void)
{
    char keys[64];
    snprintf(keys, sizeof keys, ", window: %d, ring: %d", FIRST, RING);
    start_with(keys, "");
}

static void stop(void)
{
    close_plc();
    modbus_mapping_free(mapping);
    sorter_stop(SIGTERM);
}

/* The number of the window's decision; 0: none. */
static uint32_t number_at(int index)
{
    const uint16_t *decision = window + CRN_WINDOW_HEADER + index * CRN_WINDOW_DECISION;
    return (uint32_t)decision[1] << 16 | decision[2];
}

static void acknowledge(uint32_t number)
{
    window[CRN_WINDOW_ACK] = window[0];
    window[CRN_WINDOW_ACK + 1] = (uint16_t)(number >> 16);
    window[CRN_WINDOW_ACK + 2] = (uint16_t)number;
}

static double sample(const char *name)
{
    int code;
    char *text = http_get(monitor, "/metrics", &code);
    double value = http_sample(text, name);
    free(text);
    return value;
}

static void decisions_stay_until_the_plc_takes_them(void **state)
{
    (void)state;
    start();
    open_plc();
    for (int i = 0; i < 3; i++)
        sorter_send(&(sorter_verdict){.lane = 3, .sequence = i, .area_px = i == 1 ? 60 : 0});
    while (window[3] < 3)
        answer();
    assert_int_equal(window[2], 1); /* the line runs */
    for (int i = 0; i < 3; i++)
        assert_int_equal(number_at(i), i + 1);
    assert_int_equal(number_at(3), 0);
    const uint16_t *decision = window + CRN_WINDOW_HEADER + CRN_WINDOW_DECISION;
    assert_int_equal(decision[0], 3);
    assert_int_equal(decision[4], 101);
    assert_int_equal(decision[7], 2);
    acknowledge(2);
    while (window[3] != 1)
        answer();
    assert_int_equal(number_at(0), 3);
    acknowledge(3);
    while (window[3])
        answer();
    uint16_t beat = window[1];
    while (window[1] == beat) /* also while nothing waits */
        answer();
    while (sample("cernita_sorter_plc_acknowledged_total") < 3)
        answer();
    stop();
}

/* The other outputs go on; what the ring cannot keep is counted. */
static void a_plc_that_is_gone_costs_counted_decisions(void **state)
{
    (void)state;
    start();
    daemon_read_until(&sorter.process, "Connection refused; trying again\n");
    for (int i = 0; i < RING + 5; i++)
        sorter_send(&(sorter_verdict){.lane = 3, .sequence = i});
    daemon_read_until(&sorter.process, "3,14,114,9,1,first,default,,0\n");
    open_plc();
    while (window[3] < RING)
        answer();
    assert_int_equal(window[4], 5);
    assert_int_equal(number_at(0), 6);
    uint16_t run = window[0];
    close_plc();
    daemon_read_until(&sorter.process, "is lost");
    open_plc();
    memset(window, 0, CRN_WINDOW_DISTANCE * sizeof *window);
    while (window[3] < RING)
        answer();
    assert_int_equal(window[0], run);
    assert_int_equal(number_at(0), 6);
    while (sample("cernita_sorter_plc_connections_total") < 2)
        answer();
    assert_int_equal(sample("cernita_sorter_plc_overwritten_total"), 5);
    stop();
}

static bool is_unhealthy(const char *reason)
{
    int code;
    char *text = http_get(monitor, "/healthz", &code);
    bool is_reason = code == 503 && strstr(text, reason);
    free(text);
    return is_reason;
}

static void without_plc_or_position_fruits_pass(void **state)
{
    (void)state;
    start_with("", "\nfiring: {source: modbus, speed_max: 8000, tolerance: 30, age_ms: 1000}"
                   "\nejectors: [{outlet: waste, distance: 6000, coil: 0}]");
    daemon_read_until(&sorter.process, "monitor: ");
    assert_true(is_unhealthy("no connection to the PLC: fruits pass all ejectors"));
    open_plc();
    while (sample("cernita_sorter_belt_known") < 1)
        answer();
    mapping->nb_registers = 0; /* the counter is not there any more */
    while (!is_unhealthy("the belt's position is not known: fruits pass all ejectors"))
        answer();
    sorter_send(&(sorter_verdict){.lane = 0, .area_px = 60});
    while (sample("cernita_sorter_firings_total{outlet=\"waste\",result=\"lost\"}") < 1)
        answer();
    stop();
    sorter_expect_said("firing: the belt's position is not known: fruits pass all ejectors");
}

#define UNKNOWN "the belt's position is not known: fruits pass all ejectors"
#define LOST    "cernita_sorter_firings_total{outlet=\"waste\",result=\"lost\"}"

/* With ejectors, and the belt's position by the verdicts; nothing else is asked of the PLC. */
static void start_by_views(int age_ms)
{
    char more[160];
    snprintf(more, sizeof more,
             "\nfiring: {source: views, speed_max: 8000, tolerance: 30, age_ms: %d}"
             "\nejectors: [{outlet: waste, distance: 60000, coil: 0}]",
             age_ms);
    start_with("", more);
    daemon_read_until(&sorter.process, "monitor: ");
    open_plc();
    while (sample("cernita_sorter_plc_connected") < 1)
        sched_yield();
}

/* A fruit for waste that was photographed at that time, when the belt was there. */
static void send_waste(int sequence, int64_t captured_ns, int encoder)
{
    sorter_send(&(sorter_verdict){
        .sequence = sequence, .area_px = 60, .captured_ns = captured_ns, .encoder = encoder});
}

/* Between two batches no view tells where the belt is, and no fruit needs it. */
static void a_belt_without_views_is_no_fault(void **state)
{
    (void)state;
    start_by_views(1000);
    assert_int_equal(sample("cernita_sorter_belt_known"), 0);
    assert_false(is_unhealthy(UNKNOWN));
    sorter_send(&(sorter_verdict){.lane = 0, .area_px = 60}); /* without its first view */
    while (sample(LOST) < 1)
        sched_yield();
    assert_false(is_unhealthy(UNKNOWN));
    assert_int_equal(sample("cernita_sorter_belt_missed"), 0);
    stop();
}

/* The second fruit's view tells where the first one is. */
static void the_first_fruit_of_a_batch_is_no_fault(void **state)
{
    (void)state;
    start_by_views(60000);
    send_waste(0, crn_realtime_ns() - 200 * CRN_NS_PER_MS, 1000);
    while (sample("cernita_sorter_firing_waiting") < 1)
        sched_yield();
    assert_int_equal(sample("cernita_sorter_belt_known"), 0);
    assert_false(is_unhealthy(UNKNOWN));
    stop();
}

static void fruits_on_their_way_when_the_views_stop_are_a_fault(void **state)
{
    (void)state;
    start_by_views(1000);
    int64_t now_ns = crn_realtime_ns();
    send_waste(0, now_ns - 200 * CRN_NS_PER_MS, 1000);
    send_waste(1, now_ns - 100 * CRN_NS_PER_MS, 1100);
    while (!is_unhealthy(UNKNOWN))
        sched_yield();
    assert_int_equal(sample("cernita_sorter_firing_waiting"), 2);
    assert_int_equal(sample("cernita_sorter_belt_missed"), 1);
    assert_int_equal(sample(LOST), 0);
    stop();
    sorter_expect_said("firing: " UNKNOWN);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sorter_set_up, sorter_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(decisions_stay_until_the_plc_takes_them),
        TEST(a_plc_that_is_gone_costs_counted_decisions),
        TEST(without_plc_or_position_fruits_pass),
        TEST(a_belt_without_views_is_no_fault),
        TEST(the_first_fruit_of_a_batch_is_no_fault),
        TEST(fruits_on_their_way_when_the_views_stop_are_a_fault),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    print_message("[  SKIPPED ] sorter_modbus_client: built without libmodbus\n");
    return 0;
}

#endif
