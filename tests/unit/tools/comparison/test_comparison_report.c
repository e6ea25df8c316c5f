/* The report of two runs: its files, their numbers, and what goes wrong with them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/parts/made_verdict.h"
#include "tests/support/small_disk.h"
#include "tools/common/comparison/report.h"

#define FRUITS 60

static crn_random random_numbers;
static crn_error error;

static char folder[128];

static const crn_texts *outlets; /* of the next report; NULL: it has none */

static crn_comparison_report *open_report(const char *name)
{
    static char path[128];
    crn_comparison_report *report = NULL;
    snprintf(path, sizeof path, "%s/%s", test_folder, name);
    snprintf(folder, sizeof folder, "%s", path);
    crn_comparison_settings settings = {
        .dir = path, .run = {"<before>", "after"}, .outlets = outlets};
    return crn_comparison_report_open(&settings, &report, &error) ? NULL : report;
}

/* The text of a file of the report; the caller frees it. */
static char *read_file(const char *name)
{
    char path[256];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    assert_int_equal(fstat(fileno(file), &about), 0);
    char *text = calloc(1, (size_t)about.st_size + 1);
    assert_int_equal(fread(text, 1, (size_t)about.st_size, file), about.st_size);
    fclose(file);
    return text;
}

static uint32_t count(const char *text, const char *what)
{
    uint32_t found = 0;
    while ((text = strstr(text, what))) {
        text += strlen(what);
        found++;
    }
    return found;
}

static crn_photo no_photo(void *context, const crn_worst_fruit *fruit, uint64_t view)
{
    uint64_t *last = context;
    (void)view;
    assert_true(fruit->order + 1 >= *last); /* in the order in which they were added */
    *last = fruit->order + 1;
    return (crn_photo){0};
}

/* Every other fruit is equal. */
static void the_report_has_each_fruit_that_differs(void **state)
{
    (void)state;
    crn_made_sums sums[CRN_COMPARED_RUNS] = {{0}, {0}};
    uint64_t last = 0;
    random_numbers = (crn_random){crn_random_seed()};
    crn_comparison_report *report = open_report("report");
    assert_non_null(report);
    for (uint64_t i = 0; i < FRUITS; i++) {
        crn_verdict_pair p = {0};
        crn_comparison_key key = {3, 9, i, i % 2, {0, 0}};
        crn_verdict_pair_make(&p, &random_numbers, i, sums);
        assert_int_equal(
            crn_comparison_report_add(report, &key, &p.packed[0], &p.packed[i % 2 ? 1 : 0], &error),
            0);
        crn_verdict_pair_drop(&p);
    }
    crn_verdict_pair p = {0}, bad = {0};
    crn_verdict_pair_make(&p, &random_numbers, FRUITS, sums);
    crn_comparison_key key = {4, 9, 1, 1, {0, 0}};
    assert_int_equal(crn_comparison_report_add(report, &key, &p.packed[0], NULL, &error), 0);
    assert_int_equal(crn_messagepack_json_init(&bad.packed[0], "{\"v\":1}", 7, &error), 0);
    assert_int_equal(crn_comparison_report_add(report, &key, &bad.packed[0], &p.packed[1], &error),
                     0);
    crn_verdict_pair_drop(&p);
    crn_verdict_pair_drop(&bad);
    assert_null(read_file("report.html")); /* not before it is complete */
    assert_int_equal(crn_comparison_report_finish(report, no_photo, &last, &error), 0);
    crn_comparison_report_free(&report);

    char *csv = read_file("fruits.csv"), *json = read_file("report.json"),
         *page = read_file("report.html");
    assert_int_equal(count(csv, "\r\n"), 1 + CRN_MADE_CLASSES * (FRUITS / 2 + 1));
    assert_int_equal(count(csv, ",\"hail \"\"2\"\"\","), FRUITS / 2 + 1);
    assert_int_equal(count(json, "\"verdict_before\":"), FRUITS / 2 + 1 + CRN_WORST_MAX);
    assert_int_equal(count(json, "\"compared\":60,\"unequal\":30,"), 1);
    assert_int_equal(count(json, "\"after_only\":0,\"second_verdicts\":0,\"unreadable\":1,"), 1);
    crn_messagepack_json parsed;
    assert_int_equal(crn_messagepack_json_init(&parsed, json, strlen(json), &error), 0);
    crn_messagepack_json_done(&parsed);
    assert_int_equal(count(page, "<img "), CRN_WORST_MAX);
    assert_int_equal(count(page, "&lt;before&gt;"), 1);
    assert_int_equal(count(page, "hail &quot;2&quot;") > 0, 1);
    assert_int_equal(count(page, "have no photographs"), 1);
    free(csv);
    free(json);
    free(page);
}

/* The same, counted from what was given. */
static void expect_outlets(const char *json, uint32_t fruits[3][3])
{
    char row[128];
    for (int before = 0; before < 3; before++)
        for (int after = 0; after < 3; after++) {
            snprintf(row, sizeof row, "{\"before\":\"%s\",\"after\":\"%s\",\"fruits\":%u}",
                     outlets->item[before], outlets->item[after], fruits[before][after]);
            assert_int_equal(count(json, row), 1);
        }
}

/* Equal verdicts with another outlet as well: measures in mm² may be all that changed. */
static void outlets_before_and_after_are_counted_and_listed(void **state)
{
    (void)state;
    static const crn_texts names = {.count = 3, .item = {"first", "second", "waste"}};
    enum { MANY = CRN_MOVED_MAX + 50 };
    crn_made_sums sums[CRN_COMPARED_RUNS] = {{0}, {0}};
    uint32_t fruits[3][3] = {{0}}, moved = 0;
    random_numbers = (crn_random){crn_random_seed()};
    outlets = &names;
    crn_comparison_report *report = open_report("outlets");
    outlets = NULL;
    for (uint64_t i = 0; i < MANY; i++) {
        crn_verdict_pair p = {0};
        int32_t before = (int32_t)(i % 3), after = i < 140 ? (before + 1) % 3 : before;
        crn_comparison_key key = {3, 9, i, before != after, {before, after}};
        fruits[before][after]++;
        moved += before != after;
        crn_verdict_pair_make(&p, &random_numbers, i, sums);
        assert_int_equal(
            crn_comparison_report_add(report, &key, &p.packed[0], &p.packed[0], &error), 0);
        crn_verdict_pair_drop(&p);
    }
    crn_comparison_key lone = {3, 9, MANY, 1, {CRN_NO_OUTLET, CRN_NO_OUTLET}};
    crn_verdict_pair p = {0};
    crn_verdict_pair_make(&p, &random_numbers, MANY, sums);
    assert_int_equal(crn_comparison_report_add(report, &lone, &p.packed[0], NULL, &error), 0);
    crn_verdict_pair_drop(&p);
    assert_int_equal(crn_comparison_report_finish(report, NULL, NULL, &error), 0);
    crn_comparison_report_free(&report);

    outlets = &names;
    char *csv = read_file("fruits.csv"), *json = read_file("report.json"),
         *page = read_file("report.html");
    expect_outlets(json, fruits);
    outlets = NULL;
    assert_int_equal(count(json, "\"outlet_differs\":140,"), 1);
    assert_int_equal(count(json, "\"outlet_before\":\"waste\",\"outlet_after\":\"first\","),
                     fruits[2][0]);
    assert_int_equal(count(json, "\"outlet_before\":null,\"outlet_after\":null,"), 1);
    assert_int_equal(count(csv, "verdict_after,outlet_before,outlet_after,changed_px2,"), 1);
    assert_int_equal(count(csv, ",first,second,"), CRN_MADE_CLASSES * fruits[0][1]);
    assert_int_equal(count(csv, ",none,,,"), CRN_MADE_CLASSES);
    assert_int_equal(count(page, " → "), CRN_MOVED_MAX);
    assert_int_equal(count(page, "<dt>another outlet</dt><dd>140</dd>"), 1);
    assert_int_equal(count(page, "; outlet second, before first; epoch 9"), 7); /* of 20 drawn */
    assert_int_equal(moved, 140);
    free(csv);
    free(json);
    free(page);
}

/* Nothing of a report changes. */
static void without_outlets_none_are_told(void **state)
{
    (void)state;
    crn_made_sums sums[CRN_COMPARED_RUNS] = {{0}, {0}};
    crn_comparison_report *report = open_report("without");
    crn_comparison_key key = {3, 9, 1, 1, {0, 1}};
    crn_verdict_pair p = {0};
    crn_verdict_pair_make(&p, &random_numbers, 1, sums);
    assert_int_equal(crn_comparison_report_add(report, &key, &p.packed[0], &p.packed[1], &error),
                     0);
    crn_verdict_pair_drop(&p);
    assert_int_equal(crn_comparison_report_finish(report, NULL, NULL, &error), 0);
    crn_comparison_report_free(&report);
    char *csv = read_file("fruits.csv"), *json = read_file("report.json"),
         *page = read_file("report.html");
    assert_int_equal(count(csv, "outlet") + count(json, "outlet"), 0);
    assert_int_equal(count(page, "<h2>Outlets") + count(page, "another outlet"), 0);
    assert_int_equal(count(page, "or outlet") + count(page, "; outlet "), 0);
    free(csv);
    free(json);
    free(page);
}

static void without_fruits_it_says_so(void **state)
{
    (void)state;
    crn_comparison_report *report = open_report("none");
    assert_int_equal(crn_comparison_report_finish(report, NULL, NULL, &error), 0);
    crn_comparison_report_free(&report);
    char *page = read_file("report.html"), *json = read_file("report.json");
    assert_int_equal(count(page, "nothing was compared"), 1);
    assert_int_equal(count(json, "{\"fruits\":[\n],\n\"version\":1,"), 1);
    free(page);
    free(json);
}

static void read_page_and_remove(crn_comparison_report *report, const char *text)
{
    assert_int_equal(crn_comparison_report_finish(report, NULL, NULL, &error), 0);
    crn_comparison_report_free(&report);
    char *page = read_file("report.html");
    assert_int_equal(count(page, text), 1);
    assert_int_equal(count(page, "All verdicts are equal"), 0);
    free(page);
}

/* A fruit without any verdict, a second verdict on one: they are differences. */
static void it_is_not_called_equal_with_other_differences(void **state)
{
    (void)state;
    for (int without = 0; without < 2; without++) {
        crn_made_sums sums[CRN_COMPARED_RUNS] = {{0}, {0}};
        crn_comparison_report *report = open_report("unequal");
        crn_comparison_key key = {3, 9, 1, 0, {0, 0}}, none = {3, 9, 2, 1, {0, 0}};
        crn_verdict_pair p = {0};
        crn_verdict_pair_make(&p, &random_numbers, 1, sums);
        assert_int_equal(
            crn_comparison_report_add(report, &key, &p.packed[0], &p.packed[0], &error), 0);
        if (without)
            assert_int_equal(crn_comparison_report_add(report, &none, NULL, NULL, &error), 0);
        else
            crn_comparison_report_second(report);
        crn_verdict_pair_drop(&p);
        read_page_and_remove(report, without ? ">1 fruits have no verdict in either run."
                                             : ">1 times a run has a second verdict on a fruit");
    }
}

static void a_folder_that_cannot_be_is_one_line(void **state)
{
    (void)state;
    assert_null(open_report("not/there"));
    assert_non_null(strstr(error.text, "/not/there: cannot make the folder of the report: "));
    char path[128];
    snprintf(path, sizeof path, "%s/file", test_folder);
    fclose(fopen(path, "w"));
    assert_null(open_report("file"));
    assert_non_null(strstr(error.text, "/file: cannot write a report there: "));
    assert_null(strchr(error.text, '\n'));
}

/* Exit status of the child: 77 if no small disk can be mounted here. */
static int fill_disk(void)
{
    crn_made_sums sums[CRN_COMPARED_RUNS] = {{0}, {0}};
    crn_comparison_report *report = NULL;
    int result = 0;
    mkdir(folder, 0700);
    if (!crn_small_disk_mount(folder, "64k") || !(report = open_report("disk")))
        return 77;
    for (uint64_t i = 0; i < 1000 && !result; i++) {
        crn_verdict_pair p = {0};
        crn_comparison_key key = {3, 9, i, 1, {0, 0}};
        crn_verdict_pair_make(&p, &random_numbers, i, sums);
        result = crn_comparison_report_add(report, &key, &p.packed[0], &p.packed[1], &error);
        crn_verdict_pair_drop(&p);
    }
    crn_comparison_report_free(&report);
    char *left = read_file("fruits.csv");
    return result != -ENOSPC || left || !strstr(error.text, "make room, or name another folder");
}

static void a_full_disk_is_noticed_at_once(void **state)
{
    (void)state;
    int status;
    snprintf(folder, sizeof folder, "%s/disk", test_folder);
    pid_t child = fork();
    if (child == 0)
        _exit(fill_disk());
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_report_has_each_fruit_that_differs),
        cmocka_unit_test(outlets_before_and_after_are_counted_and_listed),
        cmocka_unit_test(without_outlets_none_are_told),
        cmocka_unit_test(without_fruits_it_says_so),
        cmocka_unit_test(it_is_not_called_equal_with_other_differences),
        cmocka_unit_test(a_folder_that_cannot_be_is_one_line),
        cmocka_unit_test(a_full_disk_is_noticed_at_once),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
