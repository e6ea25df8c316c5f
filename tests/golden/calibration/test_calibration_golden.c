/* Corners of chequerboards against OpenCV's, which make_calibration.py wrote. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tools/common/calibration/calibration.h"

enum { COLUMNS = 7, ROWS = 5 };

#define FOLDER CRN_TEST_DATA "/golden/calibration/"

static void find(const char *name, crn_calibration *ret_found)
{
    char path[512];
    crn_picture picture;
    crn_error error;
    snprintf(path, sizeof path, FOLDER "%s.png", name);
    int r = crn_picture_read(path, &picture, &error);
    if (r == 0)
        r = crn_calibrate(&picture, name, &(crn_calibration_target){.pitch_mm = 10}, ret_found,
                          &error);
    if (r < 0)
        fail_msg("%s", error.text);
    crn_picture_free(&picture);
    assert_int_equal(ret_found->corners.count, COLUMNS * ROWS);
}

static double distance_to(const crn_calibration *found, double x, double y)
{
    double nearest = INFINITY;
    for (size_t i = 0; i < found->corners.count; i++)
        nearest = fmin(nearest, hypot(found->corners.at[i].x - x, found->corners.at[i].y - y));
    return nearest;
}

static void corners_are_opencvs(void **state)
{
    (void)state;
    FILE *file = fopen(FOLDER "corners.csv", "re");
    char line[128], last[32] = "";
    crn_calibration found = {0};
    int boards = 0, corners = 0;
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    while (fgets(line, sizeof line, file)) {
        char name[32];
        double x, y;
        assert_int_equal(sscanf(line, "%31[^,],%*d,%lf,%lf", name, &x, &y), 3);
        if (strcmp(name, last) != 0) {
            crn_calibration_done(&found);
            find(name, &found);
            strcpy(last, name);
            boards++;
        }
        double off = distance_to(&found, x, y), most = strcmp(name, "noisy") == 0 ? 0.4 : 0.15;
        if (off > most)
            fail_msg("%s: OpenCV's corner at %g, %g is %g px from the nearest", name, x, y, off);
        corners++;
    }
    fclose(file);
    crn_calibration_done(&found);
    assert_int_equal(boards, 6);
    assert_int_equal(corners, 6 * COLUMNS * ROWS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(corners_are_opencvs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
