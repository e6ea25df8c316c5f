/* Two runs, fruit by fruit: sums and confusion tables of random verdicts counted in two ways, the
 * fruits that changed most, and the report's files. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
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

typedef struct pair {
    crn_encoder *encoder[CRN_COMPARED_RUNS];
    crn_messagepack_json packed[CRN_COMPARED_RUNS];
    crn_decoded *verdict[CRN_COMPARED_RUNS];
} pair;

static crn_random random_numbers;
static crn_error error;

static void make_pair(pair *p, uint64_t sequence, crn_made_sums sums[CRN_COMPARED_RUNS])
{
    for (int run = 0; run < CRN_COMPARED_RUNS; run++) {
        crn_made_facts facts = {run ? "2" : "1", 3, sequence};
        const unsigned char *bytes;
        size_t size;
        assert_int_equal(
            crn_encoder_create(run ? CRN_FORMAT_JSON : CRN_FORMAT_MSGPACK, &p->encoder[run]), 0);
        crn_made_verdict(p->encoder[run], &random_numbers, &facts, &sums[run], &bytes, &size);
        assert_int_equal(crn_messagepack_json_init(&p->packed[run], bytes, size, &error), 0);
        assert_int_equal(crn_decode(&p->packed[run], &p->verdict[run], &error), 0);
    }
}

static void drop_pair(pair *p)
{
    for (int run = 0; run < CRN_COMPARED_RUNS; run++) {
        crn_decoded_free(&p->verdict[run]);
        crn_messagepack_json_done(&p->packed[run]);
        crn_encoder_free(&p->encoder[run]);
    }
}

/* --- sums --- */

static void expect_sums(const crn_run_changes *changes, const crn_made_sums *sums)
{
    uint64_t late[CRN_COMPARED_RUNS] = {0, 0};
    for (int kind = 0; kind < CRN_CHANGED_KINDS; kind++) {
        late[CRN_BEFORE] += changes->kinds[CRN_VERDICT_LATE][kind];
        late[CRN_AFTER] += changes->kinds[kind][CRN_VERDICT_LATE];
    }
    assert_int_equal(changes->fruits, FRUITS);
    for (int run = 0; run < CRN_COMPARED_RUNS; run++) {
        assert_int_equal(late[run], sums[run].late);
        for (uint32_t i = 0; i < changes->class_count; i++) {
            const crn_class_changes *class = &changes->classes[i];
            int made = 0;
            while (strcmp(crn_made_classes[made], class->name) != 0)
                made++;
            uint64_t found = class->fruits[1][1] + class->fruits[!run][run];
            assert_int_equal(found, sums[run].found[made]);
            assert_true(fabs(class->area_px[run] - sums[run].area_px[made]) <= 0);
        }
    }
}

/* The fruit of the largest change among those left, the first of equal ones; FRUITS: there is none.
 */
static size_t find_most(const crn_fruit_change *change, const bool *is_taken, bool any_kind,
                        bool kind_differs)
{
    size_t most = FRUITS;
    for (size_t i = 0; i < FRUITS; i++)
        if (!is_taken[i] && (any_kind || change[i].kind_differs == kind_differs) &&
            (most == FRUITS || change[i].changed_px > change[most].changed_px))
            most = i;
    return most;
}

/* Ten with another kind of verdict, and then the largest changes of all; among equal changes it is
 * not said here which. */
static void expect_worst(const crn_run_changes *changes, const crn_fruit_change *change)
{
    bool is_taken[FRUITS] = {false};
    double sum = 0, expected = 0;
    for (int i = 0; i < CRN_WORST_MAX; i++) {
        size_t most = find_most(change, is_taken, i >= CRN_WORST_OF_KIND, true);
        if (most == FRUITS)
            most = find_most(change, is_taken, true, true);
        is_taken[most] = true;
        expected += change[most].changed_px;
    }
    assert_int_equal(changes->worst_count, CRN_WORST_MAX);
    for (uint32_t i = 0; i < CRN_WORST_MAX; i++) {
        const crn_worst_fruit *worst = changes->worst[i];
        assert_int_equal(worst->order, worst->fruit);
        sum += change[worst->fruit].changed_px;
        if (i == 0)
            continue;
        const crn_worst_fruit *before = changes->worst[i - 1];
        assert_true(before->change.kind_differs >= worst->change.kind_differs);
        if (before->change.kind_differs != worst->change.kind_differs)
            continue;
        assert_true(before->change.changed_px >= worst->change.changed_px);
        if (before->change.changed_px <= worst->change.changed_px)
            assert_true(before->order < worst->order);
    }
    assert_true(fabs(sum - expected) < 1e-6);
}

static double changed_px(const pair *p)
{
    double sum = 0;
    for (int class = 0; class < CRN_MADE_CLASSES; class ++) {
        double area[CRN_COMPARED_RUNS] = {0, 0};
        for (int run = 0; run < CRN_COMPARED_RUNS; run++)
            for (uint32_t i = 0; i < p->verdict[run]->defect_count; i++)
                if (!strcmp(p->verdict[run]->defects[i].name, crn_made_classes[class]))
                    area[run] += p->verdict[run]->defects[i].area_px;
        sum += fabs(area[CRN_AFTER] - area[CRN_BEFORE]);
    }
    return sum;
}

static void sums_are_those_of_the_verdicts(void **state)
{
    (void)state;
    random_numbers = (crn_random){crn_random_seed()};
    for (uint32_t round = 0; round < crn_random_cases(50); round++) {
        crn_made_sums sums[CRN_COMPARED_RUNS] = {{0}, {0}};
        crn_run_changes *changes = crn_run_changes_create();
        static crn_fruit_change changed[FRUITS];
        for (uint64_t i = 0; i < FRUITS; i++) {
            pair p = {0};
            crn_fruit_change change;
            crn_worst_fruit *worst;
            make_pair(&p, i, sums);
            crn_fruit_change_find(p.verdict[0], p.verdict[1], 0, &change);
            double px = changed_px(&p);
            assert_true(fabs(change.changed_px - px) <= 0);
            assert_int_equal(change.areas_differ, px > 0);
            assert_int_equal(change.kind_differs, p.verdict[0]->kind != p.verdict[1]->kind);
            if (i % 7 == 0) /* some are equal */
                change.changed_px = 1e6;
            changed[i] = change;
            crn_compared_fruit fruit = {3, 0, i, 1, &change};
            assert_int_equal(crn_run_changes_add(changes, &fruit, &worst), 0);
            drop_pair(&p);
        }
        expect_sums(changes, sums);
        expect_worst(changes, changed);
        crn_run_changes_free(&changes);
    }
}

static uint32_t add_made(crn_run_changes *changes, uint64_t number, bool kind_differs, double px)
{
    crn_fruit_change change = {.kind_differs = kind_differs, .changed_px = px};
    crn_compared_fruit fruit = {0, 0, number, 1, &change};
    crn_worst_fruit *worst;
    change.kind[CRN_AFTER] = kind_differs ? CRN_VERDICT_PARTIAL : CRN_VERDICT_COMPLETE;
    assert_int_equal(crn_run_changes_add(changes, &fruit, &worst), 0);
    return worst != NULL;
}

/* Whatever its area; of many a part, so that there is room for others. */
static void another_verdict_is_among_the_worst(void **state)
{
    (void)state;
    crn_run_changes *changes = crn_run_changes_create();
    for (uint64_t i = 0; i < 30; i++)
        add_made(changes, i, false, 100 + (double)i);
    assert_int_equal(add_made(changes, 30, true, 0), 1);
    assert_int_equal(changes->worst_count, CRN_WORST_MAX);
    assert_int_equal(changes->worst[0]->fruit, 30);
    assert_int_equal(changes->worst[1]->fruit, 29);
    assert_int_equal(changes->worst[CRN_WORST_MAX - 1]->fruit, 11);
    for (uint64_t i = 31; i < 60; i++)
        add_made(changes, i, true, 0);
    assert_int_equal(changes->worst[CRN_WORST_OF_KIND - 1]->fruit, 39);
    assert_int_equal(changes->worst[CRN_WORST_OF_KIND]->fruit, 29);
    assert_int_equal(add_made(changes, 60, true, 1000), 1); /* instead of one of its own kind */
    assert_int_equal(changes->worst[0]->fruit, 60);
    assert_int_equal(changes->worst[CRN_WORST_OF_KIND]->fruit, 29);
    assert_int_equal(changes->worst[CRN_WORST_MAX - 1]->fruit, 20);
    crn_run_changes_free(&changes);
}

/* --- one fruit --- */

static crn_decoded *measured(const char *class, double area_mm2)
{
    crn_decoded *verdict = calloc(1, sizeof *verdict);
    verdict->surface.is_measured = true;
    verdict->surface.measure_count = class != NULL;
    if (class) {
        crn_decoded_measure *measure = &verdict->surface.measures[0];
        *measure = (crn_decoded_measure){.count = 2, .area_mm2 = area_mm2, .longest_mm = 7};
        strcpy(measure->name, class);
    }
    return verdict;
}

static void what_was_measured_and_not_found_is_zero(void **state)
{
    (void)state;
    crn_decoded *before = measured("rot", 12.5), *after = measured(NULL, 0);
    crn_fruit_change change;
    crn_fruit_change_find(before, after, 0, &change);
    assert_int_equal(change.class_count, 1);
    assert_true(fabs(change.classes[0].run[CRN_BEFORE].area_mm2 - 12.5) <= 0);
    assert_true(fabs(change.classes[0].run[CRN_BEFORE].longest_mm - 7) <= 0);
    assert_true(fabs(change.classes[0].run[CRN_AFTER].area_mm2) <= 0);
    assert_true(fabs(change.classes[0].run[CRN_AFTER].spots) <= 0);
    after->surface.is_measured = false;
    crn_fruit_change_find(before, after, 0, &change);
    assert_true(isnan(change.classes[0].run[CRN_AFTER].area_mm2));
    crn_decoded_free(&before);
    crn_decoded_free(&after);
}

/* A verdict that is not there, classes that only one run has, areas within the tolerance. */
static void one_run_may_lack_what_the_other_has(void **state)
{
    (void)state;
    crn_decoded *verdict = calloc(1, sizeof *verdict), *other = calloc(1, sizeof *other);
    crn_fruit_change change;
    verdict->total_count = other->total_count = 1;
    verdict->totals[0] = (crn_decoded_total){"rot", 1, 10, NAN};
    other->totals[0] = (crn_decoded_total){"rust", 1, 10, NAN};
    crn_fruit_change_find(NULL, verdict, 0, &change);
    assert_string_equal(crn_changed_kind_name(change.kind[CRN_BEFORE]), "none");
    assert_true(change.kind_differs);
    crn_fruit_change_find(verdict, other, 0, &change);
    assert_int_equal(change.class_count, 2);
    assert_true(change.classes_differ && !change.kind_differs);
    assert_true(fabs(change.changed_px - 20) <= 0);
    other->totals[0] = (crn_decoded_total){"rot", 1, 10.25, NAN};
    crn_fruit_change_find(verdict, other, 0.25, &change);
    assert_false(change.areas_differ);
    crn_fruit_change_find(verdict, other, 0.2, &change);
    assert_true(change.areas_differ && !change.classes_differ);
    other->totals[0].area_px = NAN;
    crn_fruit_change_find(verdict, other, 1000, &change);
    assert_true(change.areas_differ && fabs(change.changed_px) <= 0);
    verdict->total_count = other->total_count = 2; /* too large to be added */
    verdict->totals[0] = (crn_decoded_total){"rot", 1, 1e308, NAN};
    verdict->totals[1] = (crn_decoded_total){"rust", 1, 1e308, NAN};
    other->totals[0] = (crn_decoded_total){"rot", 1, 0, NAN};
    other->totals[1] = (crn_decoded_total){"rust", 1, 0, NAN};
    crn_fruit_change_find(verdict, other, 0, &change);
    assert_true(fabs(change.changed_px - 1e308) <= 0);
    crn_decoded_free(&verdict);
    crn_decoded_free(&other);
}

/* --- the report --- */

static char folder[128];

static crn_comparison_report *open_report(const char *name)
{
    static char path[128];
    crn_comparison_report *report = NULL;
    snprintf(path, sizeof path, "%s/%s", test_folder, name);
    snprintf(folder, sizeof folder, "%s", path);
    crn_comparison_settings settings = {.dir = path, .run = {"<before>", "after"}};
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
        pair p = {0};
        crn_comparison_key key = {3, 9, i, i % 2};
        make_pair(&p, i, sums);
        assert_int_equal(
            crn_comparison_report_add(report, &key, &p.packed[0], &p.packed[i % 2 ? 1 : 0], &error),
            0);
        drop_pair(&p);
    }
    pair p = {0}, bad = {0};
    make_pair(&p, FRUITS, sums);
    crn_comparison_key key = {4, 9, 1, 1};
    assert_int_equal(crn_comparison_report_add(report, &key, &p.packed[0], NULL, &error), 0);
    assert_int_equal(crn_messagepack_json_init(&bad.packed[0], "{\"v\":1}", 7, &error), 0);
    assert_int_equal(crn_comparison_report_add(report, &key, &bad.packed[0], &p.packed[1], &error),
                     0);
    drop_pair(&p);
    drop_pair(&bad);
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
        crn_comparison_key key = {3, 9, 1, 0}, none = {3, 9, 2, 1};
        pair p = {0};
        make_pair(&p, 1, sums);
        assert_int_equal(
            crn_comparison_report_add(report, &key, &p.packed[0], &p.packed[0], &error), 0);
        if (without)
            assert_int_equal(crn_comparison_report_add(report, &none, NULL, NULL, &error), 0);
        else
            crn_comparison_report_second(report);
        drop_pair(&p);
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
        pair p = {0};
        crn_comparison_key key = {3, 9, i, 1};
        make_pair(&p, i, sums);
        result = crn_comparison_report_add(report, &key, &p.packed[0], &p.packed[1], &error);
        drop_pair(&p);
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
        cmocka_unit_test(sums_are_those_of_the_verdicts),
        cmocka_unit_test(another_verdict_is_among_the_worst),
        cmocka_unit_test(what_was_measured_and_not_found_is_zero),
        cmocka_unit_test(one_run_may_lack_what_the_other_has),
        cmocka_unit_test(the_report_has_each_fruit_that_differs),
        cmocka_unit_test(without_fruits_it_says_so),
        cmocka_unit_test(it_is_not_called_equal_with_other_differences),
        cmocka_unit_test(a_folder_that_cannot_be_is_one_line),
        cmocka_unit_test(a_full_disk_is_noticed_at_once),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
