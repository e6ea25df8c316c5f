/* cernitad under a service manager, which is the test: from its start to its end. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/line/daemon.h"
#include "tests/support/peers/notify_socket.h"

#ifdef CRN_SYSTEMD

static void name_watched_process(void)
{
    char pid[16];
    snprintf(pid, sizeof pid, "%d", getpid());
    setenv("WATCHDOG_PID", pid, 1);
    setenv("WATCHDOG_USEC", "6000000", 1);
}

static void it_tells_its_manager_how_it_does(void **state)
{
    (void)state;
    char path[128];
    int manager = notify_socket_open(test_folder);
    daemon_good_config(test_folder, path);
    const char *const arguments[] = {"cernitad", "--config", path, NULL};
    daemon_process daemon;
    daemon_start_as(&daemon, CRN_BIN "/cernitad", arguments, name_watched_process);
    notify_socket_await(manager, "STATUS=starting: memory is being reserved", "READY=1");
    notify_socket_await(manager, "READY=1", "STOPPING=1");
    notify_socket_await(manager, "STATUS=ready: no view has arrived yet", NULL);
    for (int i = 0; i < 3; i++)
        notify_socket_await(manager, "WATCHDOG=1", "STOPPING=1");
    kill(daemon.pid, SIGTERM);
    notify_socket_await(manager, "STOPPING=1", "trigger");
    int status = daemon_end(&daemon);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(manager);
}

static int remove_folder(void **state)
{
    unsetenv("NOTIFY_SOCKET");
    return test_folder_remove(state);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, test_folder_make, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_tells_its_manager_how_it_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    return 0; /* built without libsystemd: nobody hears anything */
}
#endif
