/*
 * Every command that documents, help texts, messages and pages print is taken by its program
 * (check_commands.py); those of the fruit page, cernita-top and the workbench do what they should,
 * and the Python of documents and workbench runs with what a wheel has (run_commands.py).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/shell.h"
#include "tests/support/sanitized.h"

#define SCRIPTS "/usr/bin/python3 -B " CRN_TEST_DATA "/line/programs/commands/"
#define CHECK   SCRIPTS "check_commands.py " CRN_BIN
#define RUN     SCRIPTS "run_commands.py " CRN_BIN " " CRN_BIN "/../lib/libcernita.so"

static void all_are_taken_by_their_programs(void **state)
{
    (void)state;
    static char output[16384];
    if (crn_test_shell(CHECK " 2>&1", output, sizeof output) != 0)
        fail_msg("%s", output);
}

/* Writes the text into a file of a new folder, and runs a script on it, which must fail and say
 * what is wanted. */
static void expect_fault(const char *name, const char *text, const char *script, const char *wanted)
{
    char folder[] = "/tmp/cernita-commands-XXXXXX", path[128], command[768], output[8192];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "mkdir %s/page", folder);
    assert_int_equal(system(path), 0);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    snprintf(command, sizeof command, "%s %s 2>&1", script, path);
    int status = crn_test_shell(command, output, sizeof output);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    if (status != 1 || !strstr(output, wanted))
        fail_msg("%s: %s: status %d, not '%s' in: %s", name, text, status, wanted, output);
}

static void wrong_ones_are_found_in_each_kind_of_text(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *wanted;
    } kinds[] = {
        {"block.md", "Thus:\n\n    cernita-why /var/log 3 4711 --fruit 5\n", "'--fruit'"},
        {"fence.md", "```\n$ build/bin/cernita-tail --jsn tcp://x:1\n```\n", "'--jsn'"},
        {"inline.md", "See `cernitactl recipies`.\n", "'recipies'"},
        {"many.md", "See `cernita-top HOST:PORT 3 4`.\n", "3 operands"},
        {"value.md", "    cernita-synth r.tif --fruits many\n", "--fruits 'many'"},
        {"message.c", "x(\"see cernita-why DIR \"\n  \"--lates, it tells\");\n", "'--lates'"},
        {"help.c", "\"A fruit: `cernita-why HOST:PORT LANE FRUIT MORE` says why\"", "4 operands"},
        {"sentence.c", "\"cernitactl recipies lists them\"", "'recipies'"},
        {"page/fruit.js", "say('a', `cernita-why ${host} --lane ${lane} --fruit ${fruit}`)",
         "'--fruit'"},
        {"page/words.js", "x: 'then cernita-tail --logs DIR finds them',", "'--logs'"},
        {"alerts.yml", "a: `cernita-why HOST:PORT --partly` names them\n", "'--partly'"},
        {"cernitad.service.in", "ExecStart=@CMAKE_INSTALL_FULL_BINDIR@/cernitad --confg x\n",
         "'--confg'"},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        expect_fault(kinds[i].name, kinds[i].text, CHECK, kinds[i].wanted);
}

#ifndef CRN_SANITIZED /* Python cannot load a library with a sanitizer */
static void need(const char *modules)
{
    char command[128];
    snprintf(command, sizeof command, "/usr/bin/python3 -c 'import %s' 2>/dev/null", modules);
    if (system(command))
        skip();
}

static void those_of_pages_and_workbench_run(void **state)
{
    (void)state;
    static char output[16384];
    need("numpy");
    if (crn_test_shell(RUN " 2>&1", output, sizeof output) != 0)
        fail_msg("%s", output);
}

static void python_that_a_wheel_cannot_run_is_found(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"```python\nimport internals\n```\n", "No module named 'internals'"},
        {"```python\nimport cernita\ncernita.read(\"a.png\")\n```\n", "no attribute 'read'"},
        {"```python\nfrom cernita import haar\nhaar(picture, levls=3)\n```\n", "'levls'"},
    };
    need("numpy");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expect_fault("python.md", texts[i][0], RUN, texts[i][1]);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_taken_by_their_programs),
        cmocka_unit_test(wrong_ones_are_found_in_each_kind_of_text),
#ifndef CRN_SANITIZED
        cmocka_unit_test(those_of_pages_and_workbench_run),
        cmocka_unit_test(python_that_a_wheel_cannot_run_is_found),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
