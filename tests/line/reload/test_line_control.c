/* The control socket: who may connect, what is bounded, what a daemon that is gone leaves. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "src/service/control_socket.h"
#include "src/service/listener.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/reloading.h"

static reloading_line self;

static int set_up(void **state)
{
    (void)state;
    reloading_start(&self, 3, "");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    reloading_stop(&self);
    return 0;
}

static int connect_client(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = CRN_FIXTURE_PATIENCE_MS / 1000};
    snprintf(address.sun_path, sizeof address.sun_path, "%.100s", self.socket);
    int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(client >= 0);
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof address), 0);
    return client;
}

/* Waits until the daemon closes the connection. */
static void expect_closed(int client)
{
    char bytes[64];
    ssize_t size = recv(client, bytes, sizeof bytes, 0);
    assert_true(size == 0 || (size < 0 && errno == ECONNRESET));
    close(client);
}

static void its_file_is_for_owner_and_group(void **state)
{
    (void)state;
    struct stat about;
    assert_int_equal(stat(self.socket, &about), 0);
    assert_int_equal(about.st_mode, S_IFSOCK | 0660);
    assert_int_equal(about.st_uid, geteuid());
}

static void unknown_requests_are_refused(void **state)
{
    (void)state;
    static const char *const requests[] = {"nonsense", "reload now", "statusjson",
                                           "recipesx", "\n",         "\x01\xff"};
    char answer[4096];
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        assert_false(reloading_ask(&self, requests[i], answer));
        assert_non_null(strstr(answer, "unknown request; known: status, "));
    }
    assert_true(reloading_ask(&self, "status\n", answer)); /* with a line end, as by hand */
    assert_false(reloading_ask(&self, "trace", answer));
    assert_non_null(strstr(answer, "no flight recorder without monitor.http"));
}

/* Names of recipes come back in the answer and go to the log. */
static void requests_that_do_not_print_are_cleaned(void **state)
{
    (void)state;
    char answer[4096];
    assert_false(reloading_ask(&self, "recipe \x1b[31m\xc2\x9b\xff\xe2\x80\xae Käse", answer));
    assert_non_null(strstr(answer, "there is no recipe '?[31m?"
                                   "?"
                                   "?"
                                   "?"
                                   "?"
                                   "? Käse'"));
}

/* Else a request would do something else than what was asked for. */
static void zeros_and_line_ends_within_a_request_do_not_end_it(void **state)
{
    (void)state;
    static const char requests[][10] = {"recipes\0x", "recipes\nx", "recipes\rx"};
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        char answer[4096];
        int client = connect_client();
        assert_int_equal(send(client, requests[i], 9, MSG_NOSIGNAL), 9);
        ssize_t size = recv(client, answer, sizeof answer - 1, 0);
        assert_true(size > 0);
        answer[size] = '\0';
        assert_non_null(strstr(answer, "refused\nunknown request"));
        close(client);
    }
}

static void long_requests_are_closed_and_of_too_many_clients_the_silent(void **state)
{
    (void)state;
    char request[CRN_CONTROL_REQUEST_BYTES + 1], answer[4096];
    memset(request, 'x', sizeof request);
    int client = connect_client();
    assert_int_equal(send(client, request, sizeof request, MSG_NOSIGNAL), sizeof request);
    expect_closed(client);
    int clients[CRN_CONTROL_CLIENTS];
    for (int i = 0; i < CRN_CONTROL_CLIENTS; i++) {
        clients[i] = connect_client();
        assert_true(send(clients[i], "recipes", 7, MSG_NOSIGNAL) == 7);
        assert_true(recv(clients[i], answer, sizeof answer, 0) > 0);
    }
    assert_true(reloading_ask(&self, "recipes", answer));
    expect_closed(clients[0]);
    assert_true(send(clients[1], "recipes", 7, MSG_NOSIGNAL) == 7);
    assert_true(recv(clients[1], answer, sizeof answer, 0) > 0);
    for (int i = 1; i < CRN_CONTROL_CLIENTS; i++)
        close(clients[i]);
}

static void an_idle_client_is_closed(void **state)
{
    (void)state;
    crn_control_settings settings = {.reload = {.line = self.line.line,
                                                .file = &self.file,
                                                .running = &self.line.config,
                                                .backend = -1},
                                     .idle_ns = 1};
    crn_error error;
    crn_control_close(&self.control);
    assert_int_equal(crn_control_open(&settings, &self.control, &error), 0);
    expect_closed(connect_client());
}

static void a_path_in_use_is_refused_and_a_left_one_taken(void **state)
{
    (void)state;
    crn_listener listener;
    crn_error error;
    char path[128], moved[140], answer[4096];
    assert_int_equal(crn_listener_open("control.path", self.socket, &listener, &error),
                     -EADDRINUSE);
    assert_non_null(strstr(error.text, "is in use by another daemon"));
    assert_int_equal(crn_listener_try("control.path", self.socket, &error), -EADDRINUSE);
    assert_true(reloading_ask(&self, "recipes", answer)); /* the probe did no harm */

    snprintf(path, sizeof path, "%s/left", self.line.folder);
    assert_int_equal(crn_listener_try("control.path", path, &error), 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(crn_listener_open("control.path", path, &listener, &error), 0);
    close(listener.descriptor); /* as by a daemon that is killed */
    close(listener.lock);
    assert_int_equal(crn_listener_try("control.path", path, &error), 0);
    assert_int_equal(crn_listener_open("control.path", path, &listener, &error), 0);
    crn_listener_close(&listener);
    assert_int_equal(access(path, F_OK), -1);

    assert_int_equal(crn_listener_open("control.path", path, &listener, &error), 0);
    snprintf(moved, sizeof moved, "%s.moved", path);
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(symlink(moved, path), 0);
    crn_listener_close(&listener); /* the link is another's */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(moved), 0);

    assert_int_equal(crn_listener_open("control.path", self.path, &listener, &error), -EEXIST);
    assert_non_null(strstr(error.text, "exists and is not a socket"));
    snprintf(path, sizeof path, "%s/nowhere/control", self.line.folder);
    assert_int_equal(crn_listener_try("control.path", path, &error), -ENOENT);
    assert_int_equal(crn_listener_open("control.path", path, &listener, &error), -ENOENT);
    assert_non_null(strstr(error.text, "a folder that this user may write to"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(its_file_is_for_owner_and_group, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unknown_requests_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(requests_that_do_not_print_are_cleaned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(zeros_and_line_ends_within_a_request_do_not_end_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(long_requests_are_closed_and_of_too_many_clients_the_silent,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_idle_client_is_closed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_path_in_use_is_refused_and_a_left_one_taken, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
