/* libzmq makes the replaced calls; where it does not, the start says so. */
#include <string.h>

#include "src/ingest/peers/calls.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/shell.h"
#include "tests/support/sanitized.h"

static void libzmq_makes_every_call_here(void **state)
{
    (void)state;
    char missing[CRN_SOCKET_CALLS_BYTES];
    assert_int_equal(crn_socket_calls_check(missing), 0);
    assert_string_equal(missing, "");
}

static void hidden_calls_are_told(void **state)
{
    (void)state;
    char told[2048];
    assert_int_equal(crn_test_shell(CRN_BIN "/hidden_calls 2>&1", told, sizeof told), 0);
    char *line = strstr(told, "sockets: what peers send is not limited: libzmq ");
    if (!line || strchr(line, '\n') != line + strlen(line) - 1)
        fail_msg("one line expected: %s", told);
#ifndef CRN_SANITIZED /* whose runtimes define some of them, too */
    assert_non_null(strstr(line, " own listen, accept4, getpeername, getnameinfo, epoll_ctl, "
                                 "epoll_wait, send, recv, close; "));
#endif
    assert_non_null(strstr(line, "let only trusted programs connect and set MemoryMax="));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(libzmq_makes_every_call_here),
        cmocka_unit_test(hidden_calls_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
