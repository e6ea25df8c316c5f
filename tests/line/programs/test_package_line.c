/*
 * The parts of the Python package that talk to a line and read its files, and its chain, against
 * daemons of their own: the scripts check_package_*.py. Skipped where Debian's Python lacks a
 * module, and under a sanitizer, with which Python cannot load the library.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"

static void check(const char *script, const char *modules)
{
    char command[512], output[8192];
    snprintf(command, sizeof command, "/usr/bin/python3 -c 'import %s' 2>/dev/null", modules);
    if (system(command))
        skip();
    snprintf(command, sizeof command,
             "exec /usr/bin/python3 -B " CRN_TEST_DATA "/line/programs/%s " CRN_BIN
             " " CRN_TEST_DATA "/../tools/python 2>&1",
             script);
    FILE *out = popen(command, "r");
    assert_non_null(out);
    output[fread(output, 1, sizeof output - 1, out)] = '\0';
    while (fgetc(out) != EOF) {
    }
    if (pclose(out) != 0)
        fail_msg("%s", output);
}

static void lines_and_verdicts(void **state)
{
    (void)state;
    check("check_package_line.py", "numpy, zmq, msgpack");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
static void the_chain_gives_what_the_daemon_gives(void **state)
{
    (void)state;
    check("check_package_chain.py", "numpy, zmq, msgpack");
}

static void recordings_and_logs(void **state)
{
    (void)state;
    check("check_package_files.py", "numpy, zmq, msgpack");
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_and_verdicts),
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(the_chain_gives_what_the_daemon_gives),
        cmocka_unit_test(recordings_and_logs),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
