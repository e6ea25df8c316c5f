/* What each program links: libc's calls are replaced in the daemon and the recorder alone, and
 * libzmq is needed by those that use it. */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/shell.h"
#include "tests/support/sanitized.h"

static const char *const replacing[] = {"cernitad", "cernita-record", NULL};
static const char *const with_zmq[] = {"cernitad",       "cernita-archive", "cernita-record",
                                       "cernita-bench",  "cernita-keys",    "cernita-replay",
                                       "cernita-sorter", "cernita-tail",    NULL};

static bool is_in(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

/* Calls `look` with each program of the folder. */
static void each_program(void (*look)(const char *name))
{
    int count = 0;
    DIR *folder = opendir(CRN_BIN);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        if (strncmp(entry->d_name, "cernita", 7) == 0 && !strchr(entry->d_name, '.')) {
            look(entry->d_name);
            count++;
        }
    closedir(folder);
    assert_true(count > 8);
}

static void expect_calls(const char *name)
{
    char command[512], defined[256];
    snprintf(command, sizeof command,
             "nm --defined-only " CRN_BIN "/%s | sed -n 's/.* [TtWw] "
             "\\(accept4\\|close\\|epoll_wait\\|listen\\|recv\\)$/\\1/p' | sort | tr '\\n' ' '",
             name);
    assert_int_equal(crn_test_shell(command, defined, sizeof defined), 0);
    const char *expected = is_in(name, replacing) ? "accept4 close epoll_wait listen recv " : "";
    if (strcmp(defined, expected) != 0)
        fail_msg(
            "%s defines '%s' where '%s' is expected: link cernita_sockets into %s and %s alone",
            name, defined, expected, replacing[0], replacing[1]);
}

static void the_daemon_and_the_recorder_replace_calls(void **state)
{
    (void)state;
#ifdef CRN_SANITIZED
    skip(); /* its runtime replaces them, too, in every program */
#endif
    each_program(expect_calls);
}

static void expect_zmq(const char *name)
{
    char command[512], found[256];
    snprintf(command, sizeof command, "ldd " CRN_BIN "/%s | grep -c libzmq || true", name);
    assert_int_equal(crn_test_shell(command, found, sizeof found), 0);
    if (is_in(name, with_zmq) != (strcmp(found, "0\n") != 0))
        fail_msg("%s %s libzmq", name, is_in(name, with_zmq) ? "does not need" : "needs");
}

static void only_what_opens_sockets_needs_libzmq(void **state)
{
    (void)state;
    each_program(expect_zmq);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_daemon_and_the_recorder_replace_calls),
        cmocka_unit_test(only_what_opens_sockets_needs_libzmq),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
