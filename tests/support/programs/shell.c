#include "tests/support/programs/shell.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"

int crn_test_shell(const char *command, char *ret_output, size_t size)
{
    FILE *out = popen(command, "r");
    assert_non_null(out);
    ret_output[fread(ret_output, 1, size - 1, out)] = '\0';
    while (fgetc(out) != EOF)
        continue; /* else it would end by SIGPIPE */
    int status = pclose(out);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

void crn_test_await(pid_t child, bool (*is_done)(pid_t child, void *what), void *what)
{
    int64_t end_ns = crn_now_ns() + 60 * CRN_NS_PER_S;
    while (!is_done(child, what)) {
        /* An ended child stays one, so that the tear-down does not kill another process. */
        siginfo_t ended = {0};
        assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT), 0);
        if (ended.si_pid != 0)
            fail_msg("the process ended with %d before it did what was expected", ended.si_status);
        if (crn_now_ns() > end_ns)
            fail_msg("the process did not do what was expected within a minute");
        usleep(1000);
    }
}

static bool exists(pid_t child, void *path)
{
    (void)child;
    return access(path, F_OK) == 0;
}

void crn_test_await_file(pid_t child, const char *path)
{
    crn_test_await(child, exists, (void *)path);
}
