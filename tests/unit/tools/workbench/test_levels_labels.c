/* Labels of a recording's views: rows of a CSV file, and masks. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tools/workbench/levels/labels.h"

static const crn_classes classes = {.count = 3, .name = {"sound", "rot", "fresh hail"}};

static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", test_folder, name);
    return path;
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(path_of(name), "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int has_defect(crn_labels *labels, uint32_t lane, uint64_t fruit, uint16_t view, int plane)
{
    crn_view_header header = {.lane = lane, .fruit = fruit, .view = view};
    const crn_label *label = crn_labels_find(labels, &header, plane);
    return label ? label->has_defect : -1;
}

static void rows_are_found(void **state)
{
    (void)state;
    crn_labels labels;
    crn_error error = {0};
    write_text("a.csv", "fruit,view,class,has_defect\r\n"
                        "18446744073709551615,3,rot,1\r\n"
                        "\r\n"
                        "7,0,\"fresh hail\",0\r\n"
                        "7,0,rot,1\r\n"
                        "7,0,rot,1\r\n");
    assert_true(crn_labels_are_in(path_of("a.csv")));
    assert_int_equal(crn_labels_read(path_of("a.csv"), &classes, &labels, &error), 0);
    assert_int_equal(labels.count, 3);
    assert_int_equal(has_defect(&labels, 9, UINT64_MAX, 3, 1), 1); /* without lanes: any */
    assert_int_equal(has_defect(&labels, 0, 7, 0, 2), 0);
    assert_int_equal(has_defect(&labels, 0, 7, 0, 1), 1);
    assert_int_equal(has_defect(&labels, 0, 7, 1, 1), -1);
    assert_int_equal(has_defect(&labels, 0, 7, 0, 0), -1);
    crn_labels_free(&labels);

    write_text("b.csv", "lane,fruit,view,class,has_defect\n1,7,0,rot,0\n2,7,0,rot,1\n");
    assert_int_equal(crn_labels_read(path_of("b.csv"), &classes, &labels, &error), 0);
    assert_int_equal(has_defect(&labels, 1, 7, 0, 1), 0);
    assert_int_equal(has_defect(&labels, 2, 7, 0, 1), 1);
    assert_int_equal(has_defect(&labels, 3, 7, 0, 1), -1);
    crn_labels_free(&labels);
}

#define HEADER "fruit,view,class,has_defect\n"

static void faults_name_their_line(void **state)
{
    (void)state;
    static const char *const faults[][2] = {
        {"", ".csv:1: is not fruit,view,class,has_defect"},
        {"fruit;view;class;has_defect\n", ".csv:1: is not fruit,view,class,has_defect"},
        {HEADER "x,0,rot,1\n", ".csv:2: the fruit is not a number"},
        {HEADER "-1,0,rot,1\n", ".csv:2: the fruit is not a number"},
        {HEADER "1,0,rot,1\n1,70000,rot,1\n", ".csv:3: the view is not a number"},
        {HEADER "1,0,rust,1\n", ".csv:2: there is no class of this name"},
        {HEADER "1,0,rot,yes\n", ".csv:2: has_defect is neither 0 nor 1"},
        {HEADER "1,0,rot\n", ".csv:2: has_defect is neither 0 nor 1"},
        {HEADER "1,0,rot,1,1\n", ".csv:2: there are more fields"},
        {HEADER "1,0,rot,1\n2,0,rot,0\n1,0,rot,0\n", "lines 2 and 4 say different things"},
        {"lane," HEADER "x,1,0,rot,1\n", ".csv:2: the lane is not a number"},
    };
    crn_labels labels;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        crn_error error = {0};
        write_text("f.csv", faults[i][0]);
        int r = crn_labels_read(path_of("f.csv"), &classes, &labels, &error);
        if (r != -EINVAL || !strstr(error.text, faults[i][1]))
            fail_msg("%s: %d: '%s', not '%s'", faults[i][0], r, error.text, faults[i][1]);
    }
    crn_error error = {0};
    assert_int_equal(crn_labels_read(path_of("none.csv"), &classes, &labels, &error), -ENOENT);
    write_text("k.csv", "1,0,1\n");
    assert_false(crn_labels_are_in(path_of("k.csv")));
}

static void write_mask(const char *name, int32_t width, unsigned char value)
{
    crn_picture mask;
    crn_error error = {0};
    assert_int_equal(crn_picture_create(CRN_U8, 1, 1, 4, width, &mask), 0);
    memset(mask.memory, value, 4 * (size_t)width);
    assert_int_equal(crn_picture_write(path_of(name), &mask, &error), 0);
    crn_picture_free(&mask);
}

static void masks_are_found_and_checked(void **state)
{
    (void)state;
    crn_view_header view = {.lane = 2, .fruit = 5, .view = 1, .width = 6, .height = 4};
    crn_labels labels;
    crn_picture mask = {0};
    crn_error error = {0};
    assert_int_equal(crn_labels_read(test_folder, &classes, &labels, &error), 0);
    assert_int_equal(crn_labels_read_mask(&labels, &view, 3, &mask, &error), 0);
    write_mask("5-1.tif", 6, CRN_MASK_UNKNOWN);
    assert_int_equal(crn_labels_read_mask(&labels, &view, 3, &mask, &error), 1);
    assert_true(crn_image_at(&mask.image, 0, 0, 0) == CRN_MASK_UNKNOWN);
    crn_picture_free(&mask);
    write_mask("2-5-1.png", 6, 2); /* with the lane goes before */
    assert_int_equal(crn_labels_read_mask(&labels, &view, 3, &mask, &error), 1);
    assert_true(crn_image_at(&mask.image, 0, 3, 5) == 2);
    crn_picture_free(&mask);
    write_mask("2-5-1.png", 6, 3);
    assert_int_equal(crn_labels_read_mask(&labels, &view, 3, &mask, &error), -EINVAL);
    assert_non_null(strstr(error.text, "has the value 3 at x 0, y 0; classes are 0 to 2"));
    write_mask("2-5-1.png", 7, 2);
    assert_int_equal(crn_labels_read_mask(&labels, &view, 3, &mask, &error), -EINVAL);
    assert_non_null(strstr(error.text, "2-5-1.png: is 7 x 4, but its view 6 x 4"));
    crn_labels_free(&labels);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_are_found, test_folder_make, test_folder_remove),
        cmocka_unit_test_setup_teardown(faults_name_their_line, test_folder_make,
                                        test_folder_remove),
        cmocka_unit_test_setup_teardown(masks_are_found_and_checked, test_folder_make,
                                        test_folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
