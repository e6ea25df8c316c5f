/* What a running cernita-sorter tells of itself: /metrics, /healthz, cernitactl. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/peers/free_port.h"
#include "tests/support/peers/http.h"
#include "tests/support/programs/shell.h"
#include "tests/support/programs/sorter_program.h"

static char address[32];

static void start(const char *rule)
{
    char below[256];
    snprintf(address, sizeof address, "127.0.0.1:%d", crn_test_free_ports(false, 1));
    snprintf(below, sizeof below, "monitor: {http: '%s'}\ncontrol: {path: '%s/control'}\n", address,
             test_folder);
    sorter_bind();
    sorter_write_file(&(sorter_file){.rule = rule, .below = below});
    sorter_start();
    daemon_read_until(&sorter.process, "/metrics");
}

static void rewrite(const char *rule)
{
    char below[256];
    snprintf(below, sizeof below, "monitor: {http: '%s'}\ncontrol: {path: '%s/control'}\n", address,
             test_folder);
    sorter_write_file(&(sorter_file){.rule = rule, .below = below});
}

static char *page(const char *path, int expected)
{
    int code;
    char *text = http_get(address, path, &code);
    assert_int_equal(code, expected);
    return text;
}

static void expect_page(const char *path, int code, const char *wanted)
{
    char *text = page(path, code);
    if (!strstr(text, wanted))
        fail_msg("%s: '%s' expected in: %s", path, wanted, text);
    free(text);
}

static void counts_are_those_of_the_decisions(void **state)
{
    (void)state;
    start(NULL);
    sorter_send(&(sorter_verdict){.lane = 3, .sequence = 0});
    sorter_send(&(sorter_verdict){.lane = 3, .sequence = 1, .area_px = 60});
    sorter_send(&(sorter_verdict){.lane = 3, .sequence = 1, .area_px = 60});
    sorter_send(&(sorter_verdict){.lane = 3, .sequence = 5, .kind = "late"});
    sorter_send_text("fruit/3", "{\"v\":7}");
    sorter_send(&(sorter_verdict){.lane = 3, .sequence = 6});
    daemon_read_until(&sorter.process, "3,6,");
    char *text = page("/metrics", 200);
    assert_true(http_sample(text, "cernita_sorter_line_state{state=\"running\"}") == 1);
    assert_true(http_sample(text, "cernita_sorter_fruits_total{outlet=\"first\"}") == 2);
    assert_true(http_sample(text, "cernita_sorter_fruits_total{outlet=\"waste\"}") == 1);
    assert_true(http_sample(text, "cernita_sorter_fruits_total{outlet=\"again\"}") == 1);
    assert_true(http_sample(text, "cernita_sorter_fruits_total{outlet=\"dead\"}") == 3);
    assert_true(http_sample(text, "cernita_sorter_decisions_total{reason=\"lost\"}") == 1);
    assert_true(http_sample(text, "cernita_sorter_verdicts_lost_total") == 3);
    assert_true(http_sample(text, "cernita_sorter_verdicts_repeated_total") == 1);
    assert_true(http_sample(text, "cernita_sorter_messages_unreadable_total") == 1);
    assert_true(http_sample(text, "process_open_fds") > 3);
    free(text);
    sorter_stop(SIGTERM);
}

static void health_is_that_of_the_line(void **state)
{
    (void)state;
    start(NULL);
    expect_page("/healthz", 503, "\"reasons\":[\"nothing was heard");
    sorter_send(&(sorter_verdict){.lane = 3});
    daemon_read_until(&sorter.process, "3,0,");
    expect_page("/healthz", 200, "{\"state\":\"running\",\"healthy\":true,\"reasons\":[]");
    sorter_send_text("alive", "{\"v\":1,\"run\":\"a\",\"state\":\"running\",\"alive_ms\":20,"
                              "\"lanes\":[{\"lane\":3,\"sequence\":0}]}");
    daemon_read_until(&sorter.process, "3,,,,4,dead,silence,");
    expect_page("/healthz", 503, "\"state\":\"silent\",\"healthy\":false");
    sorter_stop(SIGTERM);
}

static void other_requests_are_refused(void **state)
{
    (void)state;
    start(NULL);
    expect_page("/", 404, "no such page");
    int connection = http_connect(address);
    assert_true(http_send(connection, "POST /metrics HTTP/1.1\r\nHost: localhost\r\n"
                                      "Connection: close\r\nContent-Length: 0\r\n\r\n"));
    char *text = http_read_all(connection);
    assert_int_equal(http_code(text), 405);
    free(text);
    connection = http_connect(address);
    assert_true(http_send(connection, "GET /metrics HTTP/1.1\r\nHost: elsewhere.example\r\n"
                                      "Connection: close\r\n\r\n"));
    text = http_read_all(connection);
    assert_int_equal(http_code(text), 421);
    free(text);
    sorter_stop(SIGTERM);
}

/* A client that sends half a request holds nobody up. */
static void decisions_go_on_beside_a_slow_client(void **state)
{
    (void)state;
    start(NULL);
    int connection = http_connect(address);
    assert_true(http_send(connection, "GET /metr"));
    sorter_send(&(sorter_verdict){.lane = 3});
    daemon_read_until(&sorter.process, "3,0,");
    expect_page("/healthz", 200, "running");
    sorter_stop(SIGTERM);
    free(http_read_all(connection));
}

static void expect_ctl(const char *arguments, int status, const char *wanted)
{
    char command[512], output[4096];
    snprintf(command, sizeof command, CRN_BIN "/cernitactl --socket %s/control %s 2>&1",
             test_folder, arguments);
    int got = crn_test_shell(command, output, sizeof output);
    if (got != status || !strstr(output, wanted))
        fail_msg("%s: status %d, %s", arguments, got, output);
}

static void cernitactl_reloads_it(void **state)
{
    (void)state;
    start(NULL);
    expect_ctl("status", 0, "line      waiting");
    rewrite("rot.area_px > x");
    expect_ctl("reload", 1, "unknown field 'x'");
    rewrite("rot.area_px > 10");
    expect_ctl("reload", 0, "");
    sorter_send(&(sorter_verdict){.lane = 3, .area_px = 20});
    daemon_read_until(&sorter.process, "3,0,100,9,2,waste,rule,1,0\n");
    expect_ctl("status", 0, "outlet    2 waste: 1\n");
    expect_ctl("recipes", 1, "knows status and reload");
    expect_page("/metrics", 200, "cernita_sorter_reloads_total{result=\"refused\"} 1\n");
    sorter_stop(SIGTERM);
    sorter_expect_said("control: 'reload' by user");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, sorter_set_up, sorter_tear_down)
    const struct CMUnitTest tests[] = {
        TEST(counts_are_those_of_the_decisions),    TEST(health_is_that_of_the_line),
        TEST(other_requests_are_refused),           TEST(cernitactl_reloads_it),
        TEST(decisions_go_on_beside_a_slow_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
