/* The sorter's tcp output: every client gets every line, a slow one is cut and delays nobody. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tools/sorter/outputs/tcp.h"

#define BACKLOG 4096

static crn_tcp_output *output;

static int set_up(void **state)
{
    (void)state;
    crn_error error = {""};
    const crn_tcp_plan plan = {"127.0.0.1:0", "#hello\r\n", 2, BACKLOG};
    return crn_tcp_output_open(&plan, &output, &error);
}

static int tear_down(void **state)
{
    (void)state;
    crn_tcp_output_close(&output);
    return 0;
}

/* Connects, and has the server take the connection in. */
static int join(void)
{
    int port = atoi(strrchr(crn_tcp_output_address(output), ':') + 1);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct timeval patience = {.tv_sec = 60};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    crn_tcp_output_serve(output);
    return fd;
}

static void expect(int fd, const char *wanted)
{
    char text[256];
    size_t length = strlen(wanted);
    assert_int_equal(recv(fd, text, length, MSG_WAITALL), (ssize_t)length);
    text[length] = '\0';
    assert_string_equal(text, wanted);
}

static void all_clients_get_all_lines(void **state)
{
    (void)state;
    int first = join(), second = join();
    crn_tcp_output_send(output, "one\r\n", 5);
    crn_tcp_output_send(output, "two\r\n", 5);
    expect(first, "#hello\r\none\r\ntwo\r\n");
    expect(second, "#hello\r\none\r\ntwo\r\n");
    assert_int_equal(crn_tcp_output_get_stats(output)->clients, 2);
    close(first);
    close(second);
}

static void one_too_many_is_closed(void **state)
{
    (void)state;
    char byte;
    int first = join(), second = join(), third = join();
    assert_int_equal(recv(third, &byte, 1, 0), 0);
    assert_int_equal(crn_tcp_output_get_stats(output)->refused, 1);
    close(first);
    /* The close arrives with the next look at this client, or a later one. */
    for (int left = 1000000; crn_tcp_output_get_stats(output)->clients == 2 && left; left--)
        crn_tcp_output_serve(output);
    int fourth = join();
    expect(fourth, "#hello\r\n");
    close(second);
    close(third);
    close(fourth);
}

static void a_slow_client_is_cut_and_delays_nobody(void **state)
{
    (void)state;
    int slow = join(), fast = join();
    char line[101];
    memset(line, 'x', 99);
    strcpy(line + 99, "\n");
    expect(fast, "#hello\r\n");
    int sent = 0;
    for (; crn_tcp_output_get_stats(output)->cut == 0; sent++) {
        assert_true(sent < 1000000);
        crn_tcp_output_send(output, line, 100);
        expect(fast, line);
    }
    assert_int_equal(crn_tcp_output_get_stats(output)->clients, 1);
    assert_true(sent > BACKLOG / 100);
    crn_tcp_output_send(output, "end\n", 4);
    expect(fast, "end\n");
    /* What had left for the slow one arrives, and then the end. */
    char text[4096];
    ssize_t got, all = 0;
    while ((got = recv(slow, text, sizeof text, 0)) > 0)
        all += got;
    assert_true(all > 0 && all < sent * 100);
    close(slow);
    close(fast);
}

static void what_clients_say_is_passed_over(void **state)
{
    (void)state;
    int client = join();
    assert_int_equal(send(client, "GET / HTTP/1.1\r\n\r\n", 18, 0), 18);
    crn_tcp_output_serve(output);
    crn_tcp_output_send(output, "one\r\n", 5);
    expect(client, "#hello\r\none\r\n");
    close(client);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(all_clients_get_all_lines),
        TEST(one_too_many_is_closed),
        TEST(a_slow_client_is_cut_and_delays_nobody),
        TEST(what_clients_say_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
