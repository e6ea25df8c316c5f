/* cernita-synth --truth: what the file says is what the recording's maps have. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yajl/yajl_tree.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/recorded.h"
#include "tools/common/known/seen.h"

enum { FRUITS = 3, VIEWS = 4, CLASSES = 3, FILE_BYTES = 1 << 16 };

static char truth_path[80];

static int synth(const char *arguments)
{
    char command[512];
    snprintf(command, sizeof command, CRN_BIN "/cernita-synth %s %s 2>/dev/null", recorded_path,
             arguments);
    int status = system(command);
    return status < 0 ? status : status >> 8;
}

static int setup(void **state)
{
    int r = recorded_setup(state);
    snprintf(truth_path, sizeof truth_path, "%s/truth.jsonl", recorded_folder);
    return r;
}

static double number_of(yajl_val object, const char *key)
{
    yajl_val value = yajl_tree_get(object, (const char *[]){key, NULL}, yajl_t_number);
    if (!value)
        fail_msg("no number '%s'", key);
    return YAJL_GET_DOUBLE(value);
}

static yajl_val member(yajl_val object, const char *a, const char *b)
{
    yajl_val value = yajl_tree_get(object, (const char *[]){a, b, NULL}, yajl_t_any);
    assert_non_null(value);
    return value;
}

/* Makes a recording of `arguments`, and reads the lines of its truth, each to be freed. */
static void make(const char *arguments, yajl_val ret_lines[FRUITS])
{
    char all[400], text[256];
    unsigned char *bytes = calloc(1, FILE_BYTES + 1);
    snprintf(all, sizeof all, "--fruits 3 --classes 4 --size 384x95 --truth %s %s", truth_path,
             arguments);
    assert_int_equal(synth(all), 0);
    assert_in_range(recorded_load(truth_path, bytes, FILE_BYTES), 1, FILE_BYTES - 1);
    char *rest = (char *)bytes;
    for (int i = 0; i < FRUITS; i++) {
        char *line = strsep(&rest, "\n");
        ret_lines[i] = yajl_tree_parse(line, text, sizeof text);
        if (!ret_lines[i])
            fail_msg("%s", text);
        assert_int_equal((int)number_of(ret_lines[i], "fruit"), i);
    }
    assert_string_equal(rest, "");
    free(bytes);
}

/* Sums over pixels of a class's probability in the next view's maps, in square pixels. */
static void sum_maps(crn_recording_reader *reader, double sums[4])
{
    crn_recorded_view view;
    crn_error error;
    assert_true(crn_recording_next(reader, &view, &error) > 0);
    const float *maps = (const float *)view.maps;
    for (int c = 0; c < 4; c++)
        sums[c] = 0;
    for (size_t i = 0; i < (size_t)view.header.height * view.header.width * 4; i++)
        sums[i % 4] += (double)maps[i];
}

/* What all views show of a sphere's spots is their area, foreshortened. */
static void areas_are_those_of_the_maps(void **state)
{
    (void)state;
    static const char *const names[] = {"rot", "rust", "fresh hail"};
    yajl_val lines[FRUITS];
    make("--mm-per-px 0.25", lines);
    crn_recording_reader *reader = recorded_open(recorded_path);
    for (int i = 0; i < FRUITS; i++) {
        double shown[4] = {0};
        for (int view = 0; view < VIEWS; view++) {
            double sums[4];
            sum_maps(reader, sums);
            for (int c = 1; c < 4; c++)
                shown[c] += 0.0625 * sums[c];
        }
        double all = 0, patches = 0;
        for (int c = 0; c < CLASSES; c++) {
            yajl_val class = member(lines[i], "classes", names[c]);
            double area = number_of(class, "area_mm2"), noise = 4 * 0.0625 * 384 * 95 * 0.0005;
            all += area;
            assert_in_range((int)number_of(class, "count"), 0, 8);
            /* Four cosines 90 degrees apart, as far as they are positive, sum to sqrt(2) at most;
             * of what is seen, one is that of 75 degrees at least. A few pixels are the maps'. */
            assert_true(shown[c + 1] - noise <= 1.4143 * area + 1);
            assert_true(shown[c + 1] - noise >= 0.2588 * number_of(class, "seen_mm2") - 1);
            assert_true(number_of(class, "visible_mm2") <= area * (1 + 1e-9));
            assert_true(area == 0 || number_of(class, "longest_mm") > 0);
        }
        yajl_val list = member(lines[i], "patches", NULL);
        for (size_t k = 0; k < YAJL_GET_ARRAY(list)->len; k++)
            patches += number_of(YAJL_GET_ARRAY(list)->values[k], "area_mm2");
        assert_true(fabs(patches - all) < 1e-3 && all > 0);
        yajl_tree_free(lines[i]);
    }
    crn_recording_end(&reader);
}

/* The views' headers have the poses of the file; the fruit is that wide. */
static void poses_are_those_of_the_headers(void **state)
{
    (void)state;
    yajl_val lines[FRUITS];
    make("--poses --ratio 1.25 --slip 20 --rollers 60 --dirt 20 --neighbour --dent 10", lines);
    crn_recording_reader *reader = recorded_open(recorded_path);
    for (int i = 0; i < FRUITS; i++) {
        yajl_val list = member(lines[i], "views", NULL);
        assert_int_equal(YAJL_GET_ARRAY(list)->len, VIEWS);
        for (int k = 0; k < VIEWS; k++) {
            yajl_val pose = YAJL_GET_ARRAY(list)->values[k];
            crn_recorded_view view;
            crn_error error;
            assert_true(crn_recording_next(reader, &view, &error) > 0);
            const crn_view_header *header = &view.header;
            assert_true(header->flags & CRN_WIRE_FLAG_POSE);
            assert_true(fabs((double)header->pose.x - number_of(pose, "x")) < 1e-3);
            assert_true(fabs((double)header->pose.rx - number_of(pose, "rx")) < 1e-3);
            assert_true(fabs((double)header->pose.roll_rad * 180 / M_PI -
                             number_of(pose, "roll_deg")) < 1e-2);
            assert_true(fabs(number_of(lines[i], "diameter_mm") - number_of(pose, "rx")) < 1e-3);
            assert_true(fabs(number_of(lines[i], "length_mm") - number_of(pose, "ry")) < 1e-3);
        }
        double coverage = number_of(lines[i], "coverage");
        assert_true(coverage > 0.8 && coverage < 0.98);
        yajl_tree_free(lines[i]);
    }
    crn_recording_end(&reader);
}

static void what_is_wrong_leaves_no_file(void **state)
{
    (void)state;
    char arguments[200];
    assert_int_equal(synth("--fruits 1 --slip 10"), 2);
    snprintf(arguments, sizeof arguments, "--fruits 1 --truth %s --distance 2", truth_path);
    assert_int_equal(synth(arguments), 2);
    snprintf(arguments, sizeof arguments, "--fruits 1 --truth %s/none/truth", recorded_folder);
    assert_int_equal(synth(arguments), 1);
    snprintf(arguments, sizeof arguments, "--fruits 1 --truth %s --skin %s", truth_path,
             "/dev/null");
    assert_int_equal(synth(arguments), 1);
    assert_int_equal(access(recorded_path, F_OK), -1);
    assert_int_equal(access(truth_path, F_OK), -1);
}

static int clear(void **state)
{
    (void)state;
    recorded_clear();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(areas_are_those_of_the_maps, clear),
        cmocka_unit_test_teardown(poses_are_those_of_the_headers, clear),
        cmocka_unit_test_teardown(what_is_wrong_leaves_no_file, clear),
    };
    return cmocka_run_group_tests(tests, setup, recorded_teardown);
}
