/* cernita-sorter's MQTT output: what a broker (mosquitto, where it is installed) passes on. */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/peers/free_port.h"
#include "tests/support/programs/sorter_program.h"

#ifdef CRN_HAS_MQTT
#include <mosquitto.h>

#define BROKER "/usr/sbin/mosquitto"

static int port;
static daemon_process broker;
static struct mosquitto *viewer;
static char heard[1 << 16]; /* "TOPIC PAYLOAD\n" of each message */

static void start_broker(void)
{
    char text[128], path[128];
    snprintf(text, sizeof text, "listener %d 127.0.0.1\nallow_anonymous true\n", port);
    daemon_write_config(test_folder, "broker.conf", text, path);
    const char *const arguments[] = {"mosquitto", "-c", path, NULL};
    daemon_start_as(&broker, BROKER, arguments, NULL);
    daemon_read_until(&broker, " running");
}

static void stop_broker(void)
{
    kill(broker.pid, SIGTERM);
    daemon_end(&broker);
}

static void note(struct mosquitto *mosquitto, void *context,
                 const struct mosquitto_message *message)
{
    size_t used = strlen(heard);
    (void)mosquitto;
    (void)context;
    assert_true(used + (size_t)message->payloadlen + strlen(message->topic) + 4 < sizeof heard);
    snprintf(heard + used, sizeof heard - used, "%s%s %.*s\n", message->topic,
             message->retain ? " (retained)" : "", message->payloadlen,
             (const char *)message->payload);
}

static void open_viewer(void)
{
    heard[0] = '\0';
    mosquitto_lib_init();
    viewer = mosquitto_new("viewer", true, NULL);
    mosquitto_message_callback_set(viewer, note);
    assert_int_equal(mosquitto_connect(viewer, "127.0.0.1", port, 600), MOSQ_ERR_SUCCESS);
    assert_int_equal(mosquitto_subscribe(viewer, NULL, "plant/#", 0), MOSQ_ERR_SUCCESS);
}

static void close_viewer(void)
{
    mosquitto_destroy(viewer);
    mosquitto_lib_cleanup();
}

/* Reads until that was heard. */
static void await(const char *wanted)
{
    while (!strstr(heard, wanted))
        assert_int_equal(mosquitto_loop(viewer, 1000, 1), MOSQ_ERR_SUCCESS);
}

static void start(void)
{
    char outputs[128];
    snprintf(outputs, sizeof outputs, ", mqtt: {broker: '127.0.0.1:%d', topic: plant/sorter}",
             port);
    sorter_bind();
    sorter_write_file(&(sorter_file){.outputs = outputs});
    sorter_start();
}

static int set_up(void **state)
{
    port = crn_test_free_ports(false, 1);
    return sorter_set_up(state);
}

static void need_broker(void)
{
    if (access(BROKER, X_OK) < 0)
        skip(); /* Debian: mosquitto */
}

static void the_broker_has_decisions_state_and_totals(void **state)
{
    (void)state;
    need_broker();
    start_broker();
    open_viewer();
    start();
    await("plant/sorter/state {\"state\":\"waiting\",\"run\":\"");
    sorter_send(&(sorter_verdict){.lane = 3, .sequence = 0, .area_px = 60});
    sorter_send(&(sorter_verdict){.lane = 3, .sequence = 3});
    await("plant/sorter/state {\"state\":\"running\"");
    await("plant/sorter/decision {\"lane\":3,\"sequence\":0,\"fruit\":100,\"encoder\":9,"
          "\"captured_ns\":0,\"outlet\":2,\"name\":\"waste\",\"reason\":\"rule\",\"rule\":1}\n");
    await("plant/sorter/decision {\"lane\":3,\"sequence\":1,\"outlet\":4,\"name\":\"dead\","
          "\"reason\":\"lost\",\"lost\":2}\n");
    await("\"lost\":2,\"unmeasured\":0,"
          "\"outlets\":{\"first\":1,\"waste\":1,\"again\":0,\"dead\":2}}\n");
    close_viewer();
    open_viewer(); /* who comes later has the state and the totals */
    await("plant/sorter/state (retained) {\"state\":\"running\"");
    await("plant/sorter/totals (retained) {");
    sorter_stop(SIGTERM);
    await("plant/sorter/state {\"state\":\"stopped\"");
    close_viewer();
    stop_broker();
}

static void the_last_will_tells_that_it_was_killed(void **state)
{
    (void)state;
    need_broker();
    start_broker();
    open_viewer();
    start();
    await("\"state\":\"waiting\"");
    sorter_kill();
    await("plant/sorter/state {\"state\":\"offline\"");
    close_viewer();
    stop_broker();
}

static void it_sorts_on_without_a_broker(void **state)
{
    (void)state;
    need_broker();
    start();
    sorter_send(&(sorter_verdict){.lane = 3, .sequence = 0});
    daemon_read_until(&sorter.process, "3,0,100,9,1,first,default,,0\n");
    start_broker();
    daemon_read_until(&sorter.process, "outputs.mqtt: connected to");
    stop_broker();
    daemon_read_until(&sorter.process, "is lost");
    sorter_send(&(sorter_verdict){.lane = 3, .sequence = 1});
    daemon_read_until(&sorter.process, "3,1,101,9,1,first,default,,0\n");
    daemon_read_until(&sorter.process, "does not take decisions");
    start_broker();
    open_viewer();
    await("\"state\":\"running\"");
    await("\"outlets\":{\"first\":2,");
    close_viewer();
    sorter_stop(SIGTERM);
    stop_broker();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, sorter_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_broker_has_decisions_state_and_totals),
        TEST(the_last_will_tells_that_it_was_killed),
        TEST(it_sorts_on_without_a_broker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    print_message("[  SKIPPED ] sorter_mqtt: built without libmosquitto\n");
    return 0;
}

#endif
