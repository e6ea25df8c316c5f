/* cernita-sorter reports its outlets to a line, whose events have them: line.page. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/peers/free_port.h"
#include "tests/support/peers/http.h"
#include "tests/support/programs/sorter_program.h"

static char address[32];
static daemon_process line;

static int set_up(void **state)
{
    snprintf(address, sizeof address, "127.0.0.1:%d", crn_test_free_ports(false, 1));
    line.pid = 0;
    return sorter_set_up(state);
}

/* A line at that address: its page is what these tests look at, its verdicts are the test's. */
static void start_line(void)
{
    char yaml[1024], path[128];
    snprintf(
        yaml, sizeof yaml,
        "ingest: {bind: 'ipc://%s/views'}\nclasses: [{name: ground}, {name: rot, level: 0.5}]\n"
        "chain: [contours]\nrun: {backend: serial, workers: 1}\n"
        "limits: {slots: 8, view_mib: 1}\n"
        "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: 'ipc://%s/viewers'}}\n"
        "monitor: {http: '%s'}\n",
        test_folder, test_folder, test_folder, address);
    daemon_write_config(test_folder, "line.yaml", yaml, path);
    const char *const arguments[] = {"cernitad", "--config", path, NULL};
    daemon_start(&line, arguments);
    daemon_read_until(&line, " ready: ");
}

static void stop_line(void)
{
    kill(line.pid, SIGTERM);
    daemon_end(&line);
}

static void start_sorter(const char *more)
{
    char page[256];
    snprintf(page, sizeof page, ", page: '%s'%s", address, more);
    sorter_bind();
    sorter_write_file(&(sorter_file){.line = page});
    sorter_start();
}

/* Reads events until one says that. */
static void expect_event(const char *wanted)
{
    static char text[1 << 20];
    int stream = http_connect(address);
    assert_true(http_send(stream, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    if (!http_read_until(stream, wanted, text, sizeof text))
        fail_msg("'%s' expected in: %.2000s", wanted, text);
    close(stream);
}

static void events_have_the_outlets_while_the_sorter_runs(void **state)
{
    (void)state;
    start_line();
    expect_event("\"sorter\":null");
    start_sorter("");
    expect_event("\"sorter\":{\"file\":\"sorter.yaml\",\"faults\":[{\"id\":\"line_waiting\","
                 "\"severity\":\"notice\",\"text\":\"nothing was heard from the line since the "
                 "start\"}],\"outlets\":[{"
                 "\"name\":\"first\",\"fruits\":0,\"per_minute\":0},{\"name\":\"waste\",");
    sorter_send(&(sorter_verdict){.lane = 3});
    sorter_send(&(sorter_verdict){.lane = 3, .sequence = 1, .area_px = 60});
    sorter_send(&(sorter_verdict){.lane = 3, .sequence = 4});
    daemon_read_until(&sorter.process, "3,4,");
    expect_event("\"faults\":[],\"outlets\":[{\"name\":\"first\",\"fruits\":2,\"per_minute\":2},"
                 "{\"name\":\"waste\",\"fruits\":1,\"per_minute\":1},"
                 "{\"name\":\"again\",\"fruits\":0,\"per_minute\":0},"
                 "{\"name\":\"dead\",\"fruits\":2,\"per_minute\":2}]}");
    sorter_stop(SIGTERM);
    assert_null(strstr(sorter.process.text, "line.page"));
    expect_event("\"sorter\":null");
    stop_line();
}

/* Listens at the address, and closes so many connections at once. */
static void fail_reports(int count)
{
    int yes = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                             .sin_port = htons((uint16_t)atoi(strchr(address, ':') + 1))};
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 8), 0);
    for (int i = 0; i < count; i++) {
        int connection = accept(listener, NULL, NULL);
        assert_true(connection >= 0);
        close(connection);
    }
    close(listener);
}

static void it_sorts_while_the_line_is_away(void **state)
{
    (void)state;
    start_sorter("");
    daemon_read_until(&sorter.process, "; the line's page does not show the outlets\n");
    sorter_send(&(sorter_verdict){.lane = 3});
    daemon_read_until(&sorter.process, "3,0,");
    fail_reports(3);
    start_line();
    daemon_read_until(&sorter.process, "shows the outlets\n");
    expect_event("\"name\":\"first\",\"fruits\":1,");
    sorter_stop(SIGTERM);
    const char *told = strstr(sorter.process.text, "line.page: "); /* once each */
    assert_non_null(told = strstr(told + 1, "line.page: "));
    assert_null(strstr(told + 1, "line.page: "));
    stop_line();
}

/* A line that takes connections and says nothing holds nobody up. */
static void it_sorts_while_the_line_hangs(void **state)
{
    (void)state;
    start_line();
    kill(line.pid, SIGSTOP);
    start_sorter("");
    daemon_read_until(&sorter.process, "Timeout was reached; the line's page");
    for (int i = 0; i < 100; i++)
        sorter_send(&(sorter_verdict){.lane = 3, .sequence = i});
    daemon_read_until(&sorter.process, "3,99,");
    kill(line.pid, SIGCONT);
    daemon_read_until(&sorter.process, "shows the outlets\n");
    sorter_stop(SIGTERM);
    stop_line();
}

static void a_refusal_is_logged_with_its_cure(void **state)
{
    static const char other[] = "{\"file\":\"other.yaml\",\"faults\":[],\"outlets\":[{\"name\":"
                                "\"x\",\"fruits\":0,\"per_minute\":0}]}";
    char request[512];
    (void)state;
    start_line();
    snprintf(request, sizeof request,
             "POST /outlets HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
             "Content-Length: %zu\r\n\r\n%s",
             strlen(other), other);
    int connection = http_connect(address);
    assert_true(http_send(connection, request));
    char *answer = http_read_all(connection);
    assert_int_equal(http_code(answer), 200);
    free(answer);
    start_sorter("");
    daemon_read_until(&sorter.process, "refused with status 409: another program, with the file "
                                       "other.yaml, reports the outlets of this line; ");
    daemon_read_until(&sorter.process, "shows the outlets\n"); /* the other one is forgotten */
    sorter_stop(SIGTERM);
    stop_line();
}

static void faulty_keys_are_told_at_once(void **state)
{
    (void)state;
    snprintf(address, sizeof address, "https://line3:9464");
    start_sorter(", page_token_file: /nowhere/token");
    assert_int_equal(WEXITSTATUS(daemon_end(&sorter.process)), 78);
    sorter_expect_said("line.page: 'https://line3:9464' is not an address, HOST:PORT or "
                       "http://HOST:PORT expected");
    sorter_expect_said("line.page_token_file: /nowhere/token: cannot be read");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, sorter_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(events_have_the_outlets_while_the_sorter_runs),
        TEST(it_sorts_while_the_line_is_away),
        TEST(it_sorts_while_the_line_hangs),
        TEST(a_refusal_is_logged_with_its_cure),
        TEST(faulty_keys_are_told_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
