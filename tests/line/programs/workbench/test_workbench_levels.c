/* cernita-workbench --levels: the levels of a labelled recording, without a browser. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/programs/shell.h"

#define CHECK                                                                                      \
    "/usr/bin/python3 -B " CRN_TEST_DATA "/line/programs/workbench/check_levels.py " CRN_BIN

static char output[16384];

/* Runs a command line in the test's folder, with the programs' folder for BIN. */
static int run(const char *command)
{
    char whole[1024];
    snprintf(whole, sizeof whole, "cd %s && PATH=%s:$PATH; { %s; } 2>&1", test_folder, CRN_BIN,
             command);
    return crn_test_shell(whole, output, sizeof output);
}

static void expect(const char *command, int status, const char *wanted)
{
    int got = run(command);
    if (got != status || !strstr(output, wanted))
        fail_msg("%s: status %d, not '%s' in: %s", command, got, wanted, output);
}

static void levels_are_numpys(void **state)
{
    (void)state;
    if (system("/usr/bin/python3 -c 'import numpy, tifffile' 2>/dev/null"))
        skip();
    if (run(CHECK " .") != 0)
        fail_msg("%s", output);
}

static void a_line_takes_what_is_printed(void **state)
{
    (void)state;
    expect(
        "cernita-synth fruits.tif --fruits 2 --size 64x40 --seed 5 && "
        "printf 'fruit,view,class,has_defect\\n0,0,rot,1\\n0,1,rot,0\\n1,0,rot,0\\n' >labels.csv",
        0, "");
    expect("cernita-workbench --levels --labels labels.csv --recall 1 fruits.tif >levels.txt && "
           "cat levels.txt",
           0, "8 views, 3 of them labelled, 0 with masks");
    /* The classes that are printed, in a line's file, which then is the one with --config. */
    expect("{ sed -n '/^classes:/,$p' levels.txt; echo 'chain: [{morphology: {operation: open, "
           "element: rect, size: 3}}, {contours: {min_area_px: 9}}, {ranklet: {windows: [8]}}]'; } "
           ">line.yaml && cernitad --config line.yaml --check",
           0, "OK: 12 classes, 3 stages");
    expect("cernita-workbench --levels --labels labels.csv --config line.yaml .", 0, "rot ");
}

static void faults_are_one_line(void **state)
{
    (void)state;
    static const struct {
        const char *command;
        int status;
        const char *wanted;
    } cases[] = {
        {"--levels r.tif", 2, "--levels needs --labels: which views have a defect?"},
        {"--levels --labels l.csv", 2, "--levels needs a recording"},
        {"--labels l.csv r.tif", 2, "need --levels"},
        {"--recall 0.5", 2, "need --levels"},
        {"--levels --labels l.csv --recall 2 r.tif", 2, "--recall '2'"},
        {"--levels --labels none.csv r.tif", 1, "none.csv: No such file or directory"},
        {"--levels --labels l.csv none.tif", 1, "none.tif: "},
        {"--levels --labels l.csv l.csv", 1, "l.csv: "},
        {"--levels --labels other.csv r.tif", 1, "other.csv: has no label of a view of the"},
        {"--levels --labels l.csv --config l.csv r.tif", 1, "l.csv: is not a line's file"},
        {"--levels --labels l.csv --config three.yaml r.tif", 1,
         "r.tif: has views of 12 classes, but 3 are named"},
        {"--levels --labels l.csv --curves none/c.csv r.tif", 1, "none/c.csv: cannot be written"},
        {"--levels --labels masks r.tif", 1, "masks/0-0.png: "},
    };
    (void)state;
    expect("cernita-synth r.tif --fruits 1 --size 64x40; mkdir masks; echo x >masks/0-0.png; "
           "printf 'fruit,view,class,has_defect\\n0,0,rot,1\\n' >l.csv; "
           "printf 'fruit,view,class,has_defect\\n9,0,rot,1\\n' >other.csv; "
           "echo 'classes: [{name: rot, level: 0.5}, {name: b}, {name: c}]\nchain: [contours]' "
           ">three.yaml",
           0, "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char command[256];
        snprintf(command, sizeof command, "cernita-workbench %s", cases[i].command);
        expect(command, cases[i].status, cases[i].wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(levels_are_numpys, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(a_line_takes_what_is_printed, test_folder_make,
                                        test_folder_remove),
        cmocka_unit_test_setup_teardown(faults_are_one_line, test_folder_make, test_folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
