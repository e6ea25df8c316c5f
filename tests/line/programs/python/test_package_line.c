/*
 * The parts of the Python package that talk to a line and read its files, and its chain, against
 * daemons of their own: scripts of tests/python. Skipped where Debian's Python lacks a module; with
 * a sanitizer there is nothing to test, because Python cannot load the library then.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/shell.h"
#include "tests/support/sanitized.h"

#define PACKAGE CRN_TEST_DATA "/../tools/python"

/* Runs a script of Debian's Python; fails with what it prints unless it succeeds. */
static void run(const char *script)
{
    char command[1024], output[8192];
    if (system("/usr/bin/python3 -c 'import numpy, zmq, msgpack' 2>/dev/null"))
        skip();
    snprintf(command, sizeof command,
             "CRN_LIBRARY=" CRN_BIN "/../lib/libcernita.so PYTHONPATH=" PACKAGE
             " exec /usr/bin/python3 -B " CRN_TEST_DATA "/%s 2>&1",
             script);
    if (crn_test_shell(command, output, sizeof output) != 0)
        fail_msg("%s", output);
}

static void lines_and_verdicts(void **state)
{
    (void)state;
    run("python/check_line.py " CRN_BIN " " PACKAGE);
}

static void a_line_warns_its_program(void **state)
{
    (void)state;
    run("python/check_line_warnings.py " CRN_BIN " " PACKAGE);
}

static void lines_with_slots(void **state)
{
    (void)state;
    run("python/slots/check_line_slots.py " CRN_BIN " " PACKAGE);
    run("python/slots/check_slots_ends.py " CRN_BIN " " PACKAGE);
}

static void programs_go_on_whatever_becomes_of_their_output(void **state)
{
    (void)state;
    run("python/check_output.py " CRN_BIN " " PACKAGE);
}

static void the_chain_gives_what_the_daemon_gives(void **state)
{
    (void)state;
    run("python/check_chain.py " CRN_BIN " " PACKAGE);
}

static void judgements_for_others(void **state)
{
    (void)state;
    run("python/training/check_coco.py " CRN_BIN " " PACKAGE);
}

static void exports_for_training(void **state)
{
    (void)state;
    run("python/training/check_export.py " CRN_BIN " " PACKAGE);
}

static void reports_of_an_archive(void **state)
{
    (void)state;
    run("python/report/check_report.py " CRN_BIN " " PACKAGE);
}

static void reports_of_an_archive_in_postgresql(void **state)
{
    (void)state;
    run("python/report/check_postgresql.py " CRN_BIN " " PACKAGE);
}

static void recordings_and_logs(void **state)
{
    (void)state;
    run("python/check_files.py " CRN_BIN " " PACKAGE);
}

static void its_tables_are_the_header_s(void **state)
{
    (void)state;
    run("python/check_declarations.py " CRN_BIN " " PACKAGE);
}

static void views_become_one_surface(void **state)
{
    (void)state;
    run("python/check_surface.py " CRN_BIN " " PACKAGE);
}

static void the_example_finds_its_spots(void **state)
{
    (void)state;
    run("../tools/examples/cnn_chain.py --views 20");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_and_verdicts),
        cmocka_unit_test(a_line_warns_its_program),
        cmocka_unit_test(lines_with_slots),
        cmocka_unit_test(programs_go_on_whatever_becomes_of_their_output),
        cmocka_unit_test(the_chain_gives_what_the_daemon_gives),
        cmocka_unit_test(judgements_for_others),
        cmocka_unit_test(exports_for_training),
        cmocka_unit_test(reports_of_an_archive),
        cmocka_unit_test(reports_of_an_archive_in_postgresql),
        cmocka_unit_test(recordings_and_logs),
        cmocka_unit_test(its_tables_are_the_header_s),
        cmocka_unit_test(views_become_one_surface),
        cmocka_unit_test(the_example_finds_its_spots),
    };
#ifdef CRN_SANITIZED
    (void)tests;
    return 0;
#else
    return cmocka_run_group_tests(tests, NULL, NULL);
#endif
}
