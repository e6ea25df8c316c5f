/* The log of outcomes: what a sorter told its outputs, each fruit once, through kills and without a
 * disk. CRN_ROUNDS is the number of kills (5). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/formats/outcomes/outcome.h"
#include "src/formats/verdict_log/reader.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/peers/free_port.h"
#include "tests/support/programs/sorter_program.h"

#ifdef CRN_HAS_MODBUS
#include <modbus.h>
#include <pthread.h>
#include <stdatomic.h>
#endif

#define FRUITS_MAX 1000
#define FIRED      500

static char folder[160];
static crn_outcome found[FRUITS_MAX];
static crn_firing_outcome results[FRUITS_MAX];
static int found_count, result_count;

static int set_up(void **state)
{
    int r = sorter_set_up(state);
    snprintf(folder, sizeof folder, "%s/outcomes", test_folder);
    return r < 0 ? r : mkdir(folder, 0700);
}

static void start(const char *keys)
{
    char outputs[512], below[256];
    snprintf(outputs, sizeof outputs, ", log: {dir: '%s'%s}", folder, keys);
    snprintf(below, sizeof below, "state: {file: '%s/sequences'}", test_folder);
    sorter_write_file(&(sorter_file){.outputs = outputs, .below = below});
    sorter_start();
}

static void send_fruit(int lane, int sequence, int area_px)
{
    sorter_send(&(sorter_verdict){.lane = lane, .sequence = sequence, .area_px = area_px});
}

static void await_decision(int lane, int sequence)
{
    char text[64];
    snprintf(text, sizeof text, "%d,%d,%d,", lane, sequence, 100 + sequence);
    daemon_read_until(&sorter.process, text);
}

/* All outcomes and results of the log; incomplete records of a killed sorter are passed over. */
static void read_log(void)
{
    crn_verdict_reader *reader = NULL;
    crn_logged_verdict logged;
    crn_error error;
    int r;
    found_count = result_count = 0;
    assert_int_equal(crn_verdict_reader_open(folder, &reader, &error), 0);
    while ((r = crn_verdict_reader_next(reader, &logged, &error)) != 0) {
        if (r < 0)
            continue;
        assert_true(found_count < FRUITS_MAX && result_count < FRUITS_MAX);
        crn_outcome_entry entry;
        if (crn_outcome_parse(logged.bytes, logged.size, &entry, &error) < 0)
            fail_msg("%s", error.text);
        assert_int_equal(entry.is_firing ? entry.firing.lane : entry.outcome.lane, logged.lane);
        if (entry.is_firing)
            results[result_count++] = entry.firing;
        else
            found[found_count++] = entry.outcome;
    }
    crn_verdict_reader_close(&reader);
}

static void expect_outcome(int at, const char *outlet, const char *reason, uint64_t sequence,
                           uint64_t fruits, uint64_t fruit)
{
    assert_true(at < found_count);
    assert_string_equal(found[at].outlet, outlet);
    assert_string_equal(found[at].reason, reason);
    assert_string_equal(found[at].run, "a");
    assert_int_equal(found[at].sequence, sequence);
    assert_int_equal(found[at].fruits, fruits);
    assert_int_equal(found[at].fruit, fruit);
    assert_int_equal(found[at].rule, strcmp(reason, "rule") == 0);
    assert_int_equal(strlen(found[at].sorter), 16);
}

static void each_decision_about_fruits_is_logged(void **state)
{
    (void)state;
    sorter_bind();
    start("");
    send_fruit(3, 5, 10);
    send_fruit(3, 6, 60);
    send_fruit(3, 9, 10);
    sorter_send_text("alive", "{\"v\":1,\"run\":\"a\",\"state\":\"running\",\"alive_ms\":20,"
                              "\"lanes\":[{\"lane\":3,\"sequence\":9}]}");
    daemon_read_until(&sorter.process, "3,,,,4,dead,silence"); /* of the lane: it is not logged */
    sorter_stop(SIGTERM);
    read_log();
    assert_int_equal(found_count, 4);
    expect_outcome(0, "first", "default", 5, 1, 105);
    expect_outcome(1, "waste", "rule", 6, 1, 106);
    expect_outcome(2, "dead", "lost", 7, 2, 0);
    expect_outcome(3, "first", "default", 9, 1, 109);
    assert_true(found[3].decided_ns >= found[0].decided_ns && found[0].decided_ns > 0);
}

#ifdef CRN_HAS_MODBUS
/* Without a PLC nothing can be fired; the end of the belt needs none. */
static void how_it_ended_is_logged(void **state)
{
    (void)state;
    char outputs[512];
    sorter_bind();
    snprintf(outputs, sizeof outputs,
             ", log: {dir: '%s'}, modbus_client: {address: '127.0.0.1:%d'}", folder,
             crn_test_free_ports(false, 1));
    sorter_write_file(
        &(sorter_file){.outputs = outputs,
                       .below = "firing: {source: views, speed_max: 8000, tolerance: 30}\n"
                                "ejectors: [{outlet: waste, lane: 3, distance: 6000, coil: 0}]"});
    sorter_start();
    send_fruit(3, 5, 10);
    for (int i = 0; i < FIRED; i++)
        send_fruit(3, 6 + i, 60); /* without its first view */
    send_fruit(4, 7, 60);         /* there is no ejector in its lane */
    await_decision(4, 7);
    sorter_stop(SIGTERM);
    read_log();
    assert_int_equal(found_count, 2 + FIRED);
    assert_int_equal(result_count, FIRED);
    for (int i = 0; i < FIRED; i++) {
        assert_string_equal(results[i].result, "lost");
        assert_string_equal(results[i].run, "a");
        assert_int_equal(results[i].lane, 3);
        assert_int_equal(results[i].sequence, 6 + i);
    }
}

/* A PLC in a thread: it writes its coils, and no fruit passes its input. */
typedef struct quiet_plc {
    modbus_t *modbus;
    modbus_mapping_t *mapping;
    int listener;
    _Atomic bool was_on; /* its coil */
    pthread_t thread;
} quiet_plc;

static void *serve(void *argument)
{
    quiet_plc *plc = argument;
    uint8_t request[MODBUS_TCP_MAX_ADU_LENGTH];
    int length = modbus_tcp_accept(plc->modbus, &plc->listener);
    while (length >= 0) {
        length = modbus_receive(plc->modbus, request);
        if (length > 0)
            length = modbus_reply(plc->modbus, request, length, plc->mapping);
        if (plc->mapping->tab_bits[0])
            atomic_store(&plc->was_on, true); /* also answered */
    }
    return NULL;
}

/* Returns its port. */
static int start_plc(quiet_plc *plc)
{
    int port = crn_test_free_ports(false, 1);
    *plc = (quiet_plc){.modbus = modbus_new_tcp("127.0.0.1", port),
                       .mapping = modbus_mapping_new(1, 1, 0, 0)};
    plc->listener = modbus_tcp_listen(plc->modbus, 1);
    assert_true(plc->listener >= 0);
    assert_int_equal(pthread_create(&plc->thread, NULL, serve, plc), 0);
    return port;
}

/* Its client has ended. */
static void end_plc(quiet_plc *plc)
{
    pthread_join(plc->thread, NULL);
    close(plc->listener);
    modbus_close(plc->modbus);
    modbus_free(plc->modbus);
    modbus_mapping_free(plc->mapping);
}

/* A fruit that was fired and waits for its confirmation: how it ended is known with the sorter's
 * end, and no sooner. */
static void what_ends_with_the_sorter_is_logged(void **state)
{
    (void)state;
    char outputs[512];
    quiet_plc plc;
    sorter_bind();
    snprintf(outputs, sizeof outputs,
             ", log: {dir: '%s'}, modbus_client: {address: '127.0.0.1:%d', timeout_ms: 10000}",
             folder, start_plc(&plc));
    sorter_write_file(&(sorter_file){
        .outputs = outputs,
        .below = "firing: {source: views, speed_max: 8000, tolerance: 1000000, age_ms: 60000}\n"
                 "ejectors: [{outlet: waste, lane: 3, distance: 300, coil: 0, input: 0, "
                 "confirm_ms: 10000}]"});
    sorter_start();
    daemon_read_until(&sorter.process, "outputs.modbus_client: connected to");
    int64_t now_ns = crn_realtime_ns();
    for (int i = 0; i < 2; i++) /* two tell the belt's speed */
        sorter_send(&(sorter_verdict){.lane = 3,
                                      .sequence = 5 + i,
                                      .area_px = i == 0 ? 60 : 10,
                                      .captured_ns = now_ns - (200 - 100 * i) * CRN_NS_PER_MS,
                                      .encoder = 1000 + 100 * i});
    while (!atomic_load(&plc.was_on))
        usleep(1000);
    sorter_stop(SIGTERM);
    end_plc(&plc);
    read_log();
    assert_int_equal(found_count, 2);
    assert_int_equal(result_count, 1);
    assert_int_equal(results[0].sequence, 5);
    /* On a machine that stood still for ten seconds its time was over. */
    assert_true(strcmp(results[0].result, "fired") == 0 ||
                strcmp(results[0].result, "missed") == 0);
}
#endif

/* Whatever is killed: no fruit has two outlets, and those of an ended sorter are all there. */
static void kills_double_nothing(void **state)
{
    (void)state;
    const char *rounds_text = getenv("CRN_ROUNDS");
    int rounds = rounds_text ? atoi(rounds_text) : 5, sequence = 0;
    sorter_bind();
    for (int i = 0; i < rounds && i < 20; i++) {
        start("");
        for (int k = 0; k < 20; k++)
            send_fruit(3, sequence++, k % 3 ? 10 : 60);
        await_decision(3, sequence - 1);
        if (i + 1 < rounds && i + 1 < 20)
            sorter_kill();
    }
    sorter_stop(SIGTERM);
    read_log();
    static bool seen[FRUITS_MAX];
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < found_count; i++)
        for (uint64_t k = 0; k < found[i].fruits; k++) {
            assert_true(found[i].sequence + k < FRUITS_MAX);
            bool is_first = !seen[found[i].sequence + k];
            assert_true(is_first || strcmp(found[i].reason, "lost") == 0);
            seen[found[i].sequence + k] = true;
        }
    for (int k = sequence - 20; k < sequence; k++)
        assert_true(seen[k]);
}

/* Sorting needs no log. */
static void without_a_folder_fruits_are_sorted(void **state)
{
    (void)state;
    assert_int_equal(rmdir(folder), 0);
    sorter_bind();
    start("");
    send_fruit(3, 5, 60);
    daemon_read_until(&sorter.process, "3,5,105,9,2,waste,rule,1,0\n");
    sorter_stop(SIGTERM);
    sorter_expect_said("outcomes are not logged, sorting goes on");
    assert_int_equal(mkdir(folder, 0700), 0);
}

/* As on a full disk: no file may have an outcome's size. */
static void limit_files(void)
{
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){.rlim_cur = 100, .rlim_max = 100});
}

static void without_room_fruits_are_sorted(void **state)
{
    (void)state;
    char outputs[256];
    sorter_bind();
    snprintf(outputs, sizeof outputs, ", log: {dir: '%s'}", folder);
    sorter_write_file(&(sorter_file){.outputs = outputs});
    sorter_start_with(limit_files);
    for (int sequence = 0; sequence < 10; sequence++)
        send_fruit(3, sequence, 60);
    daemon_read_until(&sorter.process, "3,9,109,9,2,waste,rule,1,0\n");
    daemon_read_until(&sorter.process,
                      "File too large; 1 entries not logged so far, sorting goes on");
    sorter_stop(SIGTERM);
}

static void in_the_unit_folder(void)
{
    setenv("STATE_DIRECTORY", folder, 1);
}

static void a_service_logs_in_its_folder(void **state)
{
    (void)state;
    sorter_bind();
    sorter_write_file(&(sorter_file){0});
    sorter_start_with(in_the_unit_folder);
    send_fruit(3, 5, 60);
    await_decision(3, 5);
    sorter_stop(SIGTERM);
    read_log();
    assert_int_equal(found_count, 1);
    sorter_kill_line();
    sorter_restart_line();
    sorter_write_file(&(sorter_file){.outputs = ", log: {dir: ''}"});
    sorter_start_with(in_the_unit_folder);
    send_fruit(3, 6, 60);
    await_decision(3, 6);
    sorter_stop(SIGTERM);
    read_log();
    assert_int_equal(found_count, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, sorter_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(each_decision_about_fruits_is_logged),
        TEST(kills_double_nothing),
        TEST(without_a_folder_fruits_are_sorted),
        TEST(without_room_fruits_are_sorted),
        TEST(a_service_logs_in_its_folder),
#ifdef CRN_HAS_MODBUS
        TEST(how_it_ended_is_logged),
        TEST(what_ends_with_the_sorter_is_logged),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
