/* cernita-sorter as a program: what it makes of a line's messages, and what fails safe. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <zmq.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/peers/free_port.h"
#include "tests/support/peers/keys.h"
#include "tests/support/programs/sorter_program.h"

static void send_verdict(const char *run, int sequence, const char *kind, int area_px)
{
    sorter_send(&(sorter_verdict){
        .run = run, .lane = 3, .sequence = sequence, .kind = kind, .area_px = area_px});
}

/* Writes the sorter's file; `line` and `outputs` are further keys. */
static void write_file(const char *rule, const char *line, const char *outputs)
{
    sorter_write_file(&(sorter_file){.rule = rule, .line = line, .outputs = outputs});
}

static void each_verdict_becomes_one_line(void **state)
{
    (void)state;
    sorter_bind();
    write_file("rot.area_px > 50", "", "");
    sorter_start();
    send_verdict("a", 5, "complete", 10);
    send_verdict("a", 6, "complete", 60);
    send_verdict("a", 7, "partial", 10);
    send_verdict("a", 7, "partial", 10);
    send_verdict("a", 8, "late", 0);
    send_verdict("a", 11, "complete", 10);
    sorter_send_text("fruit/3", "{\"v\":7}");
    sorter_send_text("weather", "sunny");
    send_verdict("a", 12, "complete", 60);
    daemon_read_until(&sorter.process, "3,12,112,9,");
    sorter_expect_said("3,5,105,9,1,first,default,,0\n");
    sorter_expect_said("3,6,106,9,2,waste,rule,1,0\n");
    sorter_expect_said("3,7,107,9,3,again,unmeasured,1,0\n");
    sorter_expect_said("3,8,108,9,3,again,late,,0\n");
    sorter_expect_said("3,9,,,4,dead,lost,,2\n");
    sorter_expect_said("3,11,111,9,1,first,default,,0\n");
    sorter_expect_said("3,12,112,9,2,waste,rule,1,0\n");
    sorter_stop(SIGTERM);
    assert_null(strstr(strstr(sorter.process.text, "3,7,") + 1, "3,7,"));
    sorter_expect_said("came again or out of order");
    sorter_expect_said("a message 'fruit/3' of the line cannot be read");
    sorter_expect_said("stopped: 8 fruits, 2 of them lost");
}

static void a_silent_line_is_told_and_heard_again(void **state)
{
    (void)state;
    sorter_bind();
    write_file("stale", "", "");
    sorter_start();
    send_verdict("a", 0, "complete", 0);
    sorter_send_text("alive", "{\"v\":1,\"run\":\"a\",\"state\":\"running\",\"alive_ms\":20,"
                              "\"lanes\":[{\"lane\":3,\"sequence\":0}]}");
    daemon_read_until(&sorter.process, "3,,,,4,dead,silence,,0\n");
    daemon_read_until(&sorter.process, "silent for 60 ms: all fruits are for outlet dead");
    send_verdict("b", 0, "complete", 0);
    daemon_read_until(&sorter.process, "3,0,100,9,1,first,default,,0\n");
    sorter_stop(SIGINT);
}

static void a_reload_takes_over_good_files_alone(void **state)
{
    (void)state;
    sorter_bind();
    write_file("rot.area_px > 50", "", "");
    sorter_start();
    send_verdict("a", 0, "complete", 20);
    daemon_read_until(&sorter.process, "3,0,100,9,1,first,default,,0\n");
    write_file("rot.area_px > x", "", "");
    kill(sorter.process.pid, SIGHUP);
    daemon_read_until(&sorter.process, "unknown field 'x'");
    daemon_read_until(&sorter.process, "not taken over");
    write_file("rot.area_px > 10", "", ", tcp: {bind: '127.0.0.1:1'}");
    kill(sorter.process.pid, SIGHUP);
    daemon_read_until(&sorter.process, "outputs.tcp.bind is \"\" while it runs");
    send_verdict("a", 1, "complete", 20);
    daemon_read_until(&sorter.process, "3,1,101,9,1,first,default,,0\n");
    write_file("rot.area_px > 10", "", "");
    kill(sorter.process.pid, SIGHUP);
    daemon_read_until(&sorter.process, "in force, 1 rules");
    send_verdict("a", 2, "complete", 20);
    daemon_read_until(&sorter.process, "3,2,102,9,2,waste,rule,1,0\n");
    sorter_stop(SIGTERM);
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
    while (connect(fd, (struct sockaddr *)&to, sizeof to) < 0) {
        assert_int_equal(errno, ECONNREFUSED);
        poll(NULL, 0, 1);
    }
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
    sorter_bind();
    snprintf(more, sizeof more, ", tcp: {bind: '127.0.0.1:%d', alive_ms: 20}", port);
    write_file("rot.area_px > 50", "", more);
    sorter_start();
    FILE *client = connect_client(port);
    expect_line(client, "#cernita-sorter," CRN_VERSION ",");
    expect_line(client, "#alive,waiting\r\n");
    send_verdict("a", 0, "complete", 20);
    expect_line(client, "3,0,100,9,1,first,default,,0\r\n");
    expect_line(client, "#alive,running\r\n");
    send_verdict("a", 1, "complete", 60);
    expect_line(client, "3,1,101,9,2,waste,rule,1,0\r\n");
    send_verdict("a", 3, "complete", 60);
    expect_line(client, "3,2,,,4,dead,lost,,1\r\n");
    expect_line(client, "3,3,103,9,2,waste,rule,1,0\r\n");
    sorter_send_text("alive", "{\"v\":1,\"run\":\"a\",\"state\":\"running\",\"alive_ms\":20,"
                              "\"lanes\":[{\"lane\":3,\"sequence\":3}]}");
    expect_line(client, "3,,,,4,dead,silence,,0\r\n");
    expect_line(client, "#alive,silent\r\n");
    sorter_stop(SIGTERM);
    fclose(client);
}

/* The line's socket requires keys, as with access.keys. */
/* The line of a sorter whose keys are in files of test_folder/keys. */
static void start_with_keys(void)
{
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
    zmq_setsockopt(sorter.grader, ZMQ_CURVE_SERVER, &yes, sizeof yes);
    zmq_setsockopt(sorter.grader, ZMQ_CURVE_SECRETKEY, server.secret, strlen(server.secret) + 1);
    sorter_bind();
    snprintf(line, sizeof line, ", key: %s/own.key, server_key: %s/line.pub", keys.folder,
             keys.folder);
    write_file("stale", line, "");
    sorter_start();
}

static void keys_are_used_towards_the_line(void **state)
{
    (void)state;
    start_with_keys();
    send_verdict("a", 0, "complete", 20);
    daemon_read_until(&sorter.process, "3,0,100,9,1,first,default,,0\n");
    sorter_stop(SIGTERM);
}

/* Answers libzmq's question whether a client may connect, by its protocol ZAP (RFC 27): no. */
static void refuse_a_client(void *zap)
{
    char part[64], id[64] = "";
    int more = 1, id_bytes = 0;
    size_t size = sizeof more;
    for (int i = 0; more; i++) {
        int length = zmq_recv(zap, i == 1 ? id : part, sizeof part, 0);
        assert_true(length >= 0);
        id_bytes = i == 1 ? length : id_bytes;
        assert_int_equal(zmq_getsockopt(zap, ZMQ_RCVMORE, &more, &size), 0);
    }
    zmq_send(zap, "1.0", 3, ZMQ_SNDMORE);
    zmq_send(zap, id, (size_t)id_bytes, ZMQ_SNDMORE);
    zmq_send(zap, "400", 3, ZMQ_SNDMORE);
    for (int i = 0; i < 3; i++) /* text, user, metadata */
        zmq_send(zap, "", 0, i < 2 ? ZMQ_SNDMORE : 0);
}

static void a_line_that_refuses_its_key_ends_it(void **state)
{
    (void)state;
    void *zap = zmq_socket(sorter.zmq, ZMQ_REP);
    assert_int_equal(zmq_bind(zap, "inproc://zeromq.zap.01"), 0);
    start_with_keys();
    refuse_a_client(zap);
    zmq_close(zap);
    assert_int_equal(WEXITSTATUS(daemon_end(&sorter.process)), 1);
    sorter_expect_said(": the line refused this key: ");
}

static void a_bad_file_ends_it_with_78(void **state)
{
    (void)state;
    strcpy(sorter.endpoint, "nowhere");
    write_file("rot.area_px > x", "", "");
    sorter_start();
    int status = daemon_end(&sorter.process);
    assert_int_equal(WEXITSTATUS(status), 78);
    sorter_expect_said("sorter.yaml:1:18: line.endpoint: 'nowhere' is not an endpoint");
    sorter_expect_said("unknown field 'x'");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sorter_set_up, sorter_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(each_verdict_becomes_one_line),        TEST(a_silent_line_is_told_and_heard_again),
        TEST(a_reload_takes_over_good_files_alone), TEST(tcp_clients_get_the_same_lines),
        TEST(keys_are_used_towards_the_line),       TEST(a_line_that_refuses_its_key_ends_it),
        TEST(a_bad_file_ends_it_with_78),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
