/* What the service manager hears, and in which order; the test is the manager. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/daemon.h"
#include "tests/support/peers/notify_socket.h"
#include "src/service/service.h"
#include "stages/base/clock.h"

#ifdef CRN_SYSTEMD
static char folder[64];
static int manager;
static crn_pulse pulse;

static int open_manager(void **state)
{
    (void)state;
    if (daemon_make_folder(folder) < 0)
        return -1;
    manager = notify_socket_open(folder);
    return 0;
}

static int close_manager(void **state)
{
    (void)state;
    crn_watchdog_remove(&pulse);
    crn_service_stop("");
    close(manager);
    unsetenv("WATCHDOG_USEC");
    unsetenv("NOTIFY_SOCKET");
    memset(&pulse, 0, sizeof pulse);
    return daemon_remove_folder(folder);
}

static void what_is_noted_is_sent_in_order(void **state)
{
    (void)state;
    assert_int_equal(crn_service_start("starting: slowly"), 0);
    notify_socket_await(manager, "STATUS=starting: slowly", "READY=1");
    crn_service_ready();
    assert_string_equal(notify_socket_await(manager, "READY=1", "STOPPING"), "READY=1");
    int64_t before_us = crn_now_ns() / CRN_NS_PER_US, at_us = 0;
    crn_service_reloading();
    const char *reloading = notify_socket_await(manager, "RELOADING=1", "READY=1");
    assert_int_equal(sscanf(reloading, "RELOADING=1\nMONOTONIC_USEC=%" SCNd64, &at_us), 1);
    assert_true(at_us >= before_us && at_us <= crn_now_ns() / CRN_NS_PER_US);
    crn_service_ready();
    notify_socket_await(manager, "READY=1", NULL);
    crn_service_stopping();
    notify_socket_await(manager, "STOPPING=1", NULL);
    crn_service_stop("it failed: mend it");
    notify_socket_await(manager, "STATUS=it failed: mend it", NULL);
}

static void count_calls(void *context, char text[CRN_SERVICE_STATUS_BYTES])
{
    int *calls = context;
    snprintf(text, CRN_SERVICE_STATUS_BYTES, "status %d", ++*calls / 3);
}

static void a_status_is_sent_when_it_changes(void **state)
{
    (void)state;
    int calls = 0;
    assert_int_equal(crn_service_start(""), 0);
    crn_service_ask(count_calls, &calls);
    assert_string_equal(notify_socket_await(manager, "STATUS=", NULL), "STATUS=status 0");
    assert_string_equal(notify_socket_await(manager, "STATUS=", NULL), "STATUS=status 1");
    crn_service_ask(NULL, NULL);
    assert_true(calls >= 3);
}

static void a_stuck_thread_ends_the_feeding_and_asks_for_a_restart(void **state)
{
    (void)state;
    setenv("WATCHDOG_USEC", "3000000", 1);
    assert_int_equal(crn_service_start(""), 0);
    notify_socket_await(manager, "WATCHDOG=1", NULL);
    crn_watchdog_add(&pulse, CRN_PULSE_WORK, "worker 7");
    notify_socket_await(manager, "WATCHDOG=1", "trigger"); /* idle */
    crn_pulse_given(&pulse);
    notify_socket_await(manager, "STATUS=thread 'worker 7' has not moved for 3 s", "trigger");
    notify_socket_await(manager, "WATCHDOG=trigger", "WATCHDOG=1");
}

/* `systemctl service-watchdogs no`, or a manager that does not know WATCHDOG=trigger. */
static void a_thread_that_moves_again_is_forgiven(void **state)
{
    (void)state;
    int calls = 0;
    setenv("WATCHDOG_USEC", "3000000", 1);
    assert_int_equal(crn_service_start(""), 0);
    crn_watchdog_add(&pulse, CRN_PULSE_WORK, "worker 7");
    crn_pulse_given(&pulse);
    notify_socket_await(manager, "WATCHDOG=trigger", NULL);
    crn_service_ask(count_calls, &calls);
    crn_pulse_done(&pulse);
    notify_socket_await(manager, "WATCHDOG=1", "trigger");
    notify_socket_await(manager, "STATUS=status", "trigger");
    crn_service_ask(NULL, NULL);
    crn_pulse_given(&pulse);
    notify_socket_await(manager, "WATCHDOG=trigger", NULL);
}

static void nobody_is_stuck_while_it_stops(void **state)
{
    (void)state;
    setenv("WATCHDOG_USEC", "3000000", 1);
    assert_int_equal(crn_service_start(""), 0);
    crn_watchdog_add(&pulse, CRN_PULSE_WORK, "worker 7");
    crn_pulse_given(&pulse);
    crn_service_stopping();
    while (crn_pulse_quiet_ns(&pulse) <= 4 * CRN_NS_PER_S)
        notify_socket_await(manager, "WATCHDOG=1", "trigger");
}

static void a_manager_that_does_not_read_holds_nobody_up(void **state)
{
    (void)state;
    int calls = 0;
    assert_int_equal(crn_service_start("starting"), 0);
    crn_service_ask(count_calls, &calls);
    for (int i = 0; i < 100000; i++) /* many more than a socket holds */
        crn_service_ready();
    crn_service_stop("stopped");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_manager, close_manager)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_noted_is_sent_in_order),
        TEST(a_status_is_sent_when_it_changes),
        TEST(a_stuck_thread_ends_the_feeding_and_asks_for_a_restart),
        TEST(a_thread_that_moves_again_is_forgiven),
        TEST(nobody_is_stuck_while_it_stops),
        TEST(a_manager_that_does_not_read_holds_nobody_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    return 0; /* built without libsystemd: nobody hears anything */
}
#endif
