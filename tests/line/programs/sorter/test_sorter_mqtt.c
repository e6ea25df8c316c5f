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
#include <stdlib.h>

#define BROKER "/usr/sbin/mosquitto"

static int port;
static daemon_process broker;
static struct mosquitto *viewer;
static char heard[1 << 16]; /* "TOPIC PAYLOAD\n" of each message */

/* With these settings of its listener; it stays the test's user, which its files are of. */
static void start_broker_with(const char *settings)
{
    char text[1024], path[128];
    snprintf(text, sizeof text, "%slistener %d 127.0.0.1\n%s\n", geteuid() ? "" : "user root\n",
             port, settings);
    daemon_write_config(test_folder, "broker.conf", text, path);
    const char *const arguments[] = {"mosquitto", "-c", path, NULL};
    daemon_start_as(&broker, BROKER, arguments, NULL);
    daemon_read_until(&broker, " running");
}

static void start_broker(void)
{
    start_broker_with("allow_anonymous true");
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

/* `keys`: further ones of outputs.mqtt, which begin with a comma. */
static void start_with(const char *keys)
{
    char outputs[1024];
    snprintf(outputs, sizeof outputs, ", mqtt: {broker: '127.0.0.1:%d', topic: plant/sorter%s}",
             port, keys);
    sorter_bind();
    sorter_write_file(&(sorter_file){.outputs = outputs});
    sorter_start();
}

static void start(void)
{
    start_with("");
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

/* --- who may connect -------------------------------------------------------------------------- */

/* Runs a command in the test's folder. */
static void run(const char *command)
{
    char text[1024];
    snprintf(text, sizeof text, "cd %s && { %s; } >said 2>&1 || { cat said; false; }", test_folder,
             command);
    assert_int_equal(system(text), 0);
}

/* Other outputs go on, whatever the broker says. */
static void expect_sorting(int sequence)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "3,%d,%d,9,1,first,default,,0\n", sequence, 100 + sequence);
    sorter_send(&(sorter_verdict){.lane = 3, .sequence = sequence});
    daemon_read_until(&sorter.process, wanted);
}

static void start_broker_with_passwords(void)
{
    char settings[256];
    run("mosquitto_passwd -c -b passwords sorter 'a good one'");
    snprintf(settings, sizeof settings, "allow_anonymous false\npassword_file %s/passwords",
             test_folder);
    start_broker_with(settings);
}

static void write_password(const char *password)
{
    char path[128];
    daemon_write_config(test_folder, "password", password, path);
}

static void the_password_is_that_of_its_file(void **state)
{
    (void)state;
    char keys[256];
    need_broker();
    start_broker_with_passwords();
    write_password("a good one\nanother line\n");
    snprintf(keys, sizeof keys, ", user: sorter, password_file: '%s/password'", test_folder);
    start_with(keys);
    daemon_read_until(&sorter.process, "outputs.mqtt: connected to");
    sorter_stop(SIGTERM);
    stop_broker();
}

static void a_wrong_password_is_told(void **state)
{
    (void)state;
    char keys[256];
    need_broker();
    start_broker_with_passwords();
    write_password("a bad one\n");
    snprintf(keys, sizeof keys, ", user: sorter, password_file: '%s/password'", test_folder);
    start_with(keys);
    daemon_read_until(&sorter.process, "refuses this program: Connection Refused: not authorised");
    expect_sorting(0);
    sorter_stop(SIGTERM);
    assert_null(strstr(sorter.process.text, "connected to"));
    assert_null(strstr(sorter.process.text, "a bad one"));
    stop_broker();
}

/* A certificate authority and a certificate of this machine's address. */
static void make_certificates(void)
{
    run("new='openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'\n"
        "$new -x509 -days 2 -keyout ca.key -out ca.pem -subj /CN=plant\n"
        "$new -x509 -days 2 -keyout other.key -out other.pem -subj /CN=elsewhere\n"
        "$new -keyout broker.key -out broker.csr -subj /CN=127.0.0.1\n"
        "echo subjectAltName=IP:127.0.0.1 >names\n"
        "openssl x509 -req -in broker.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 "
        "-extfile names -out broker.pem");
}

static void start_broker_with_tls(void)
{
    char settings[512];
    snprintf(settings, sizeof settings,
             "allow_anonymous true\ncertfile %s/broker.pem\nkeyfile %s/broker.key", test_folder,
             test_folder);
    start_broker_with(settings);
}

static bool has_openssl(void)
{
    return system("openssl version >/dev/null 2>&1") == 0;
}

static void the_broker_is_known_by_its_certificate(void **state)
{
    (void)state;
    char keys[256];
    need_broker();
    if (!has_openssl())
        skip();
    make_certificates();
    start_broker_with_tls();
    snprintf(keys, sizeof keys, ", ca_file: '%s/ca.pem'", test_folder);
    start_with(keys);
    daemon_read_until(&sorter.process, "outputs.mqtt: connected to");
    sorter_stop(SIGTERM);
    stop_broker();
}

static void another_certificate_is_refused_and_told(void **state)
{
    (void)state;
    char keys[256];
    need_broker();
    if (!has_openssl())
        skip();
    make_certificates();
    start_broker_with_tls();
    snprintf(keys, sizeof keys, ", ca_file: '%s/other.pem'", test_folder);
    start_with(keys);
    daemon_read_until(&sorter.process, "certificate verify failed");
    expect_sorting(0);
    sorter_stop(SIGTERM);
    assert_null(strstr(sorter.process.text, "connected to"));
    stop_broker();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, sorter_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_broker_has_decisions_state_and_totals),
        TEST(the_last_will_tells_that_it_was_killed),
        TEST(it_sorts_on_without_a_broker),
        TEST(the_password_is_that_of_its_file),
        TEST(a_wrong_password_is_told),
        TEST(the_broker_is_known_by_its_certificate),
        TEST(another_certificate_is_refused_and_told),
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
