/* cernita-sorter as a program: what it makes of a line's messages, and what fails safe. */
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <zmq.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/line/daemon.h"
#include "tests/support/peers/free_port.h"
#include "tests/support/peers/keys.h"

static void *zmq, *grader;
static char endpoint[64];
static daemon_process sorter;

static int set_up(void **state)
{
    zmq = zmq_ctx_new();
    grader = zmq_socket(zmq, ZMQ_PUSH);
    memset(&sorter, 0, sizeof sorter);
    return test_folder_make(state);
}

static int tear_down(void **state)
{
    int linger = 0;
    zmq_setsockopt(grader, ZMQ_LINGER, &linger, sizeof linger);
    zmq_close(grader);
    zmq_ctx_term(zmq);
    crn_test_remove_all(test_folder);
    (void)state;
    return 0;
}

static void bind_grader(void)
{
    size_t size = sizeof endpoint;
    assert_int_equal(zmq_bind(grader, "tcp://127.0.0.1:*"), 0);
    assert_int_equal(zmq_getsockopt(grader, ZMQ_LAST_ENDPOINT, endpoint, &size), 0);
}

/* Writes the sorter's file; `line` and `rest` are further keys. */
static void write_file(const char *rule, const char *line, const char *rest)
{
    char yaml[1024], path[128];
    snprintf(yaml, sizeof yaml,
             "line: {endpoint: '%s'%s}\n"
             "outlets: {names: [first, waste, again, dead], default: first, late: again,\n"
             "          partial: rules, silence: dead, unmeasured: again}\n"
             "rules: [{outlet: waste, when: %s}]\n"
             "outputs: {stdout: {format: text}%s}\n",
             endpoint, line, rule, rest);
    daemon_write_config(test_folder, "sorter.yaml", yaml, path);
}

static void start(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/sorter.yaml", test_folder);
    const char *const arguments[] = {"cernita-sorter", "--config", path, NULL};
    daemon_start_as(&sorter, CRN_BIN "/cernita-sorter", arguments, NULL);
}

static void send_text(const char *topic, const char *text)
{
    assert_true(zmq_send(grader, topic, strlen(topic), ZMQ_SNDMORE) >= 0);
    assert_true(zmq_send(grader, text, strlen(text), 0) >= 0);
}

static void send_verdict(const char *run, int sequence, const char *kind, int area_px)
{
    char text[512];
    snprintf(text, sizeof text,
             "{\"v\":1,\"run\":\"%s\",\"lane\":3,\"fruit\":%d,\"sequence\":%d,\"verdict\":\"%s\","
             "\"encoder\":9,\"totals\":{\"rot\":{\"count\":1,\"area_px\":%d}}}",
             run, 100 + sequence, sequence, kind, area_px);
    send_text("fruit/3", text);
}

static void stop(int signal_number)
{
    kill(sorter.pid, signal_number);
    int status = daemon_end(&sorter);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void expect_said(const char *wanted)
{
    if (!strstr(sorter.text, wanted))
        fail_msg("'%s' was not said, but: %s", wanted, sorter.text);
}

static void each_verdict_becomes_one_line(void **state)
{
    (void)state;
    bind_grader();
    write_file("rot.area_px > 50", "", "");
    start();
    send_verdict("a", 5, "complete", 10);
    send_verdict("a", 6, "complete", 60);
    send_verdict("a", 7, "partial", 10);
    send_verdict("a", 7, "partial", 10);
    send_verdict("a", 8, "late", 0);
    send_verdict("a", 11, "complete", 10);
    send_text("fruit/3", "{\"v\":7}");
    send_text("weather", "sunny");
    send_verdict("a", 12, "complete", 60);
    daemon_read_until(&sorter, "3,12,112,9,");
    expect_said("3,5,105,9,1,first,default,,0\n");
    expect_said("3,6,106,9,2,waste,rule,1,0\n");
    expect_said("3,7,107,9,3,again,unmeasured,1,0\n");
    expect_said("3,8,108,9,3,again,late,,0\n");
    expect_said("3,9,,,4,dead,lost,,2\n");
    expect_said("3,11,111,9,1,first,default,,0\n");
    expect_said("3,12,112,9,2,waste,rule,1,0\n");
    stop(SIGTERM);
    assert_null(strstr(strstr(sorter.text, "3,7,") + 1, "3,7,"));
    expect_said("came again or out of order");
    expect_said("a message 'fruit/3' of the line cannot be read");
    expect_said("stopped: 8 fruits, 2 of them lost");
}

static void a_silent_line_is_told_and_heard_again(void **state)
{
    (void)state;
    bind_grader();
    write_file("stale", "", "");
    start();
    send_verdict("a", 0, "complete", 0);
    send_text("alive", "{\"v\":1,\"run\":\"a\",\"state\":\"running\",\"alive_ms\":20,"
                       "\"lanes\":[{\"lane\":3,\"sequence\":0}]}");
    daemon_read_until(&sorter, "3,,,,4,dead,silence,,0\n");
    daemon_read_until(&sorter, "silent for 60 ms: all fruits are for outlet dead");
    send_verdict("b", 0, "complete", 0);
    daemon_read_until(&sorter, "3,0,100,9,1,first,default,,0\n");
    stop(SIGINT);
}

static void a_reload_takes_over_good_files_alone(void **state)
{
    (void)state;
    bind_grader();
    write_file("rot.area_px > 50", "", "");
    start();
    send_verdict("a", 0, "complete", 20);
    daemon_read_until(&sorter, "3,0,100,9,1,first,default,,0\n");
    write_file("rot.area_px > x", "", "");
    kill(sorter.pid, SIGHUP);
    daemon_read_until(&sorter, "unknown field 'x'");
    daemon_read_until(&sorter, "not taken over");
    write_file("rot.area_px > 10", "", ", tcp: {bind: '127.0.0.1:1'}");
    kill(sorter.pid, SIGHUP);
    daemon_read_until(&sorter, "outputs.tcp.bind is \"\" while it runs");
    send_verdict("a", 1, "complete", 20);
    daemon_read_until(&sorter, "3,1,101,9,1,first,default,,0\n");
    write_file("rot.area_px > 10", "", "");
    kill(sorter.pid, SIGHUP);
    daemon_read_until(&sorter, "in force, 1 rules");
    send_verdict("a", 2, "complete", 20);
    daemon_read_until(&sorter, "3,2,102,9,2,waste,rule,1,0\n");
    stop(SIGTERM);
}

/* Connects to the sorter's port as soon as it listens. */
static FILE *connect_client(int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = 60};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fdopen(fd, "r");
}

static void expect_line(FILE *client, const char *wanted)
{
    char line[256] = "";
    do
        assert_non_null(fgets(line, sizeof line, client));
    while (strncmp(line, "#alive,", 7) == 0 && strncmp(wanted, "#alive,", 7) != 0);
    if (strncmp(line, wanted, strlen(wanted)) != 0)
        fail_msg("'%s', '%s' expected", line, wanted);
}

static void tcp_clients_get_the_same_lines(void **state)
{
    (void)state;
    char more[64];
    int port = crn_test_free_ports(false, 1);
    bind_grader();
    snprintf(more, sizeof more, ", tcp: {bind: '127.0.0.1:%d', alive_ms: 20}", port);
    write_file("rot.area_px > 50", "", more);
    start();
    send_verdict("a", 0, "complete", 20);
    daemon_read_until(&sorter, "3,0,100,9,1,first,default,,0\n"); /* it listens now */
    FILE *client = connect_client(port);
    expect_line(client, "#cernita-sorter," CRN_VERSION ",");
    expect_line(client, "#alive,running\r\n");
    send_verdict("a", 1, "complete", 60);
    expect_line(client, "3,1,101,9,2,waste,rule,1,0\r\n");
    send_verdict("a", 3, "complete", 60);
    expect_line(client, "3,2,,,4,dead,lost,,1\r\n");
    expect_line(client, "3,3,103,9,2,waste,rule,1,0\r\n");
    stop(SIGTERM);
    fclose(client);
}

/* The line's socket requires keys, as with access.keys. */
static void keys_are_used_towards_the_line(void **state)
{
    (void)state;
    int yes = 1;
    crn_test_keys keys;
    crn_test_pair server, client;
    char line[400];
    crn_test_keys_make(test_folder, &keys);
    crn_test_pair_make(&server);
    crn_test_pair_make(&client);
    char text[256];
    snprintf(text, sizeof text, "%s\n", client.secret);
    crn_test_keys_write(&keys, "own.key", text, 0600);
    snprintf(text, sizeof text, "%s\n", server.public);
    crn_test_keys_write(&keys, "line.pub", text, 0644);
    zmq_setsockopt(grader, ZMQ_CURVE_SERVER, &yes, sizeof yes);
    zmq_setsockopt(grader, ZMQ_CURVE_SECRETKEY, server.secret, strlen(server.secret) + 1);
    bind_grader();
    snprintf(line, sizeof line, ", key: %s/own.key, server_key: %s/line.pub", keys.folder,
             keys.folder);
    write_file("stale", line, "");
    start();
    send_verdict("a", 0, "complete", 20);
    daemon_read_until(&sorter, "3,0,100,9,1,first,default,,0\n");
    stop(SIGTERM);
}

static void a_bad_file_ends_it_with_78(void **state)
{
    (void)state;
    strcpy(endpoint, "nowhere");
    write_file("rot.area_px > x", "", "");
    start();
    int status = daemon_end(&sorter);
    assert_int_equal(WEXITSTATUS(status), 78);
    expect_said("sorter.yaml:1:18: line.endpoint: 'nowhere' is not an endpoint");
    expect_said("unknown field 'x'");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(each_verdict_becomes_one_line),        TEST(a_silent_line_is_told_and_heard_again),
        TEST(a_reload_takes_over_good_files_alone), TEST(tcp_clients_get_the_same_lines),
        TEST(keys_are_used_towards_the_line),       TEST(a_bad_file_ends_it_with_78),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
