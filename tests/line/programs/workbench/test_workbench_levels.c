/* cernita-workbench --levels: the levels of a labelled recording, without a browser. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/programs/shell.h"
#include "tests/support/programs/workbench_program.h"

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

/* With --labels and a folder of recordings the page has both; what it asks is answered. */
static void the_page_asks_for_levels(void **state)
{
    static const char yaml[] = "classes: [{name: a, level: 0.5}, {name: b, level: 0.5}]\n"
                               "chain: [contours]\n";
    workbench bench;
    char path[64];
    (void)state;
    expect("mkdir rec labels; cernita-synth rec/1.tif --fruits 1 --size 64x40 --classes 2 && "
           "cernita-synth rec/2.tif --fruits 1 --size 64x40 --classes 2 && "
           "printf 'fruit,view,class,has_defect\\n0,0,rot,1\\n' >labels/labels.csv",
           0, "");
    assert_int_equal(chdir(test_folder), 0);
    workbench_start(&bench, (const char *const[]){"--labels", "labels", "rec", NULL});
    workbench_reply open = workbench_ask(&bench, "GET", "/pictures", "-", NULL, 0);
    const char *labels = strstr(open.body, "labels\",\"kind\":\"labels");
    assert_non_null(labels);
    while (strncmp(labels, "\"id\"", 4) != 0)
        labels--;
    int id = (int)workbench_number(labels, "id");
    snprintf(path, sizeof path, "/levels?labels=%d&backend=serial&threads=1", id);
    workbench_reply all = workbench_post(&bench, 200, path, yaml);
    assert_int_equal((int)workbench_number(all.body, "views"), 8);
    assert_int_equal((int)workbench_number(all.body, "labelled_views"), 2);
    assert_non_null(strstr(all.body, "\"name\":\"rot\"")); /* as the recording names it */
    snprintf(path, sizeof path, "/levels?labels=%d&in=%d&backend=serial&threads=1", id, id + 1);
    workbench_reply one = workbench_post(&bench, 200, path, yaml);
    assert_int_equal((int)workbench_number(one.body, "labelled_views"), 1);
    snprintf(path, sizeof path, "/levels?labels=%d&in=1&backend=serial&threads=1", id);
    workbench_expect_refusal(&bench, 404, path, yaml, "this recording is not open");
    workbench_expect_refusal(&bench, 404, "/levels?labels=1&backend=serial&threads=1", yaml,
                             "these labels are not open");
    snprintf(path, sizeof path, "/levels?labels=%d&backend=serial&threads=1", id);
    workbench_expect_refusal(&bench, 422, path,
                             "classes: [{name: a, level: 0.5}]\nchain: [contours]\n",
                             "no class of this name");
    workbench_reply_free(&open);
    workbench_reply_free(&all);
    workbench_reply_free(&one);
    workbench_stop(&bench);
    assert_int_equal(chdir("/"), 0);
}

/* A form of files: name and content in turn, NULL at the end. */
static workbench_reply send_labels(const workbench *bench, const char *const files[])
{
    char body[4096] = "";
    size_t size = 0;
    for (int i = 0; files[i]; i += 2)
        size += (size_t)snprintf(body + size, sizeof body - size,
                                 "--cut\r\nContent-Disposition: form-data; name=\"file\"; "
                                 "filename=\"%s\"\r\nContent-Type: text/csv\r\n\r\n%s\r\n",
                                 files[i], files[i + 1]);
    size += (size_t)snprintf(body + size, sizeof body - size, "--cut--\r\n");
    return workbench_ask(bench, "POST", "/labels?name=of%20apples",
                         "X-Cernita-Workbench: 1\r\nContent-Type: multipart/form-data; "
                         "boundary=cut\r\n",
                         body, size);
}

static void expect_reply(workbench_reply reply, int code, const char *wanted)
{
    if (reply.code != code || !strstr(reply.body, wanted))
        fail_msg("%d %s, not %d %s", reply.code, reply.body, code, wanted);
    workbench_reply_free(&reply);
}

/* How many files and folders of this workbench there are, itself included. */
static int count_stored(const workbench *bench)
{
    char command[160];
    snprintf(command, sizeof command, "find /dev/shm/cernita-workbench-%d-* 2>/dev/null | wc -l",
             (int)bench->pid);
    assert_int_equal(crn_test_shell(command, output, sizeof output), 0);
    return atoi(output);
}

/* A folder that the page sends is what --labels names: its labels, and no other files. */
static void a_folder_of_labels_is_sent(void **state)
{
    static const char yaml[] = "classes: [{name: a, level: 0.5}, {name: b, level: 0.5}]\n"
                               "chain: [contours]\n";
    static const char header[] = "fruit,view,class,has_defect\n";
    workbench bench;
    char path[64], rows[96];
    (void)state;
    if (access("/dev/shm", W_OK) != 0)
        skip();
    expect("rm -rf rec; mkdir rec; cernita-synth rec/1.tif --fruits 1 --size 64x40 --classes 2", 0,
           "");
    assert_int_equal(chdir(test_folder), 0);
    workbench_start(&bench, (const char *const[]){"rec", NULL});
    int before = count_stored(&bench);
    snprintf(rows, sizeof rows, "%s0,0,rot,1\n0,1,rot,0\n", header);
    workbench_reply sent =
        send_labels(&bench, (const char *const[]){"labels.csv", rows, "photo.png", "x",
                                                  "../../1-0.png", "x", "1-2-3-4.png", "x", NULL});
    assert_int_equal(sent.code, 200);
    assert_non_null(strstr(sent.body, "\"of apples\",\"kind\":\"labels\""));
    assert_int_equal(count_stored(&bench), before + 2); /* the folder, labels.csv */
    int id = (int)workbench_number(sent.body, "id");
    snprintf(path, sizeof path, "/levels?labels=%d&backend=serial&threads=1", id);
    workbench_reply levels = workbench_post(&bench, 200, path, yaml);
    assert_int_equal((int)workbench_number(levels.body, "labelled_views"), 2);
    workbench_reply_free(&levels);
    workbench_reply_free(&sent);
    /* A mask that is no picture is refused when it is read, as one of the command line. */
    sent = send_labels(&bench, (const char *const[]){"0-0.png", "x", NULL});
    snprintf(path, sizeof path, "/levels?labels=%d&backend=serial&threads=1",
             (int)workbench_number(sent.body, "id"));
    workbench_reply_free(&sent);
    workbench_expect_refusal(&bench, 422, path, yaml, "of apples-2/0-0.png: ");
    before = count_stored(&bench);
    expect_reply(send_labels(&bench, (const char *const[]){"a.png", "x", "0.png", "x", NULL}), 422,
                 "of apples-3: has neither labels.csv nor a mask, FRUIT-VIEW.png");
    expect_reply(send_labels(&bench, (const char *const[]){"1-0.png", "x", "0-0.tif", "x",
                                                           "1-0.png", "y", NULL}),
                 422, "1-0.png: two files have this name");
    workbench_expect_refusal(&bench, 415, "/labels?name=a", "text", "a form of files");
    assert_int_equal(count_stored(&bench), before); /* nothing is left of what is refused */
    workbench_stop(&bench);
    assert_int_equal(count_stored(&bench), 0);
    assert_int_equal(chdir("/"), 0);
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
        cmocka_unit_test_setup_teardown(the_page_asks_for_levels, test_folder_make,
                                        test_folder_remove),
        cmocka_unit_test_setup_teardown(a_folder_of_labels_is_sent, test_folder_make,
                                        test_folder_remove),
        cmocka_unit_test_setup_teardown(faults_are_one_line, test_folder_make, test_folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
