/* Reports of the outlets while the line is slow: the test is the line. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/client/post.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/http.h"
#include "tools/sorter/page/page.h"

static int listener;
static crn_page_reporter *reporter;

static int set_up(void **state)
{
    (void)state;
    static crn_sorter_settings settings = {.outlets.names = {.count = 1, .item = {"only"}}};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    crn_error error;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 32) ||
        getsockname(listener, (struct sockaddr *)&at, &size))
        return -1;
    snprintf(settings.line.page, sizeof settings.line.page, "127.0.0.1:%d", ntohs(at.sin_port));
    return crn_page_reporter_open("only.yaml", &settings, &reporter, &error);
}

static int tear_down(void **state)
{
    (void)state;
    crn_page_reporter_close(&reporter);
    return close(listener);
}

static void offer(uint64_t fruits)
{
    const crn_sorter_fault *none[CRN_SORTER_FAULTS_MAX] = {NULL};
    crn_decider_stats decided = {.outlet = {fruits}};
    crn_page_reporter_offer(reporter, &decided, none, 0, crn_now_ns());
}

/* Takes the next report. Returns its connection. */
static int take(char *text, size_t capacity)
{
    int connection = accept(listener, NULL, NULL);
    assert_true(connection >= 0);
    assert_true(http_read_until(connection, "}]}", text, capacity));
    return connection;
}

static void reply(int connection)
{
    assert_true(http_send(connection, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    close(connection);
}

/* Of reports that waited meanwhile only the last one says what is. */
static void a_line_that_was_slow_gets_the_last_report(void **state)
{
    (void)state;
    char text[4096];
    if (!crn_post_is_built())
        skip();
    offer(1);
    int connection = take(text, sizeof text);
    assert_non_null(strstr(text, "\"fruits\":1,"));
    for (uint64_t fruits = 2; fruits <= 10; fruits++)
        offer(fruits);
    reply(connection);
    reply(take(text, sizeof text));
    assert_non_null(strstr(text, "\"fruits\":10,\"per_minute\":10}"));
    offer(11);
    reply(take(text, sizeof text));
    assert_non_null(strstr(text, "\"fruits\":11,"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_line_that_was_slow_gets_the_last_report, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
