/* The benchmarks and bindings as programs: they run and print the requested results. The bindings
 * are skipped where Debian's Python has no numpy, scipy or scikit-image. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/operators/cuda.h"
#include "tests/support/programs/apply_program.h"
#include "tests/support/programs/json_lines.h"
#include "tests/support/sanitized.h"
#include "tools/bench/frame.h"

#define bench(...) apply_run_program(CRN_BIN "/cernita-bench", __VA_ARGS__)

static void check_timing(yajl_val line)
{
    double median = crn_json_number(line, "median_ms");
    assert_true(crn_json_number(line, "min_ms") > 0);
    assert_true(crn_json_number(line, "min_ms") <= median &&
                median <= crn_json_number(line, "max_ms"));
    assert_true(crn_json_number(line, "runs") >= 1);
    assert_true(crn_json_number(line, "mpx_per_s") > 0 && crn_json_number(line, "copies") > 0);
    assert_true(crn_json_number(line, "threads") == 1);
}

static void operators_are_timed(void **state)
{
    (void)state;
    const char *some =
        "operators --operator diamond-square --threads 1 --backend openmp --seconds 1e-3 --json";
    assert_int_equal(bench("%s", some), 0);
    assert_int_equal(crn_json_check_lines(apply_output, check_timing), 2);
    assert_int_equal(bench("operators --operator haar --backend serial --seconds 1e-3"), 0);
    assert_non_null(strstr(apply_output, "median ms"));
    assert_non_null(strstr(apply_output, "denoise 2"));
    assert_null(strstr(apply_output, "openmp"));
}

/* What the benchmarks in Python make a peer's picture and parameters from. */
static void check_case(yajl_val line)
{
    const char *name[] = {"name", NULL}, *element[] = {"element", NULL};
    const char *text = YAJL_GET_STRING(yajl_tree_get(line, name, yajl_t_string));
    assert_non_null(text);
    assert_true(crn_json_number(line, "planes") > 0 && crn_json_number(line, "height") > 0);
    assert_true(crn_json_number(line, "width") > 0);
    if (strcmp(text, "opening u8 RGB 1920x2560, rect 11") != 0)
        return;
    assert_string_equal(YAJL_GET_STRING(yajl_tree_get(line, element, yajl_t_string)), "rect");
    assert_true(crn_json_number(line, "size") == 11 && crn_json_number(line, "width") == 2560);
}

static void cases_are_listed(void **state)
{
    (void)state;
    assert_int_equal(bench("list --json"), 0);
    assert_non_null(strstr(apply_output, "\"name\":\"opening u8 RGB 1920x2560, rect 11\""));
    assert_true(crn_json_check_lines(apply_output, check_case) > 20);
    assert_int_equal(bench("list"), 0);
    assert_non_null(strstr(apply_output, "exponent 13"));
}

static void check_verdict(yajl_val line)
{
    assert_true(crn_json_number(line, "defects") == 40 && crn_json_number(line, "points") == 5);
    assert_true(crn_json_number(line, "bytes") > 40 * (5 * 2 * sizeof(float)));
    assert_true(crn_json_number(line, "pack_us") > 0 && crn_json_number(line, "store_us") > 0);
    assert_true(crn_json_number(line, "join_us") > 0 && crn_json_number(line, "copy_us") >= 0);
}

static void packing_is_timed(void **state)
{
    (void)state;
    assert_int_equal(bench("verdict --defects 40 --points 5 --json"), 0);
    assert_int_equal(crn_json_check_lines(apply_output, check_verdict), 2);
}

static void check_phases(yajl_val line)
{
    double sum = crn_json_number(line, "first_ms") + crn_json_number(line, "second_ms");
    double all = crn_json_number(line, "all_ms");
    assert_true(all > 0 && sum >= all * 0.999);
}

static void phases_add_up(void **state)
{
    (void)state;
    assert_int_equal(bench("phases --seconds 1e-3 --json"), 0);
    assert_int_equal(crn_json_check_lines(apply_output, check_phases), 14);
}

static void check_values(yajl_val line)
{
    assert_true(crn_json_number(line, "memcpy_us") > 0);
    assert_true(crn_json_number(line, "memcpy_us") + crn_json_number(line, "plain_us") > 0);
    assert_true(crn_json_number(line, "memcpy_us") + crn_json_number(line, "line_us") > 0);
}

static void check_chain_values(yajl_val line)
{
    double chain = crn_json_number(line, "chain_us");
    assert_true(chain > 0 && chain + crn_json_number(line, "watched_us") > 0);
    assert_true(chain + crn_json_number(line, "pass_us") > 0);
}

static void the_check_of_values_is_timed(void **state)
{
    (void)state;
    assert_int_equal(bench("values --rounds 3 --json"), 0);
    assert_int_equal(crn_json_check_lines(apply_output, check_values), 12);
    assert_int_equal(
        bench("values --rounds 3 --json --chain " CRN_TEST_DATA "/../config/line.yaml"), 0);
    assert_int_equal(crn_json_check_lines(apply_output, check_chain_values), 6);
    assert_int_equal(bench("values --frame none.npy"), 1);
    assert_non_null(strstr(apply_output, "none.npy"));
}

static void check_reprocess(yajl_val line)
{
    const char *what[] = {"what", NULL};
    const char *text = YAJL_GET_STRING(yajl_tree_get(line, what, yajl_t_string));
    assert_non_null(text);
    assert_true(crn_json_number(line, "ms") > 0 && crn_json_number(line, "cpu_ms") > 0);
    if (strcmp(text, "cernita-reprocess") != 0)
        return;
    assert_true(crn_json_number(line, "of_slower") > 0);
    assert_true(crn_json_number(line, "of_both") >= crn_json_number(line, "of_slower"));
}

static void reprocessing_is_timed_beside_its_parts(void **state)
{
    (void)state;
    const char *with = "--config " CRN_TEST_DATA "/../config/line-full.yaml --rounds 2 --json";
    assert_int_equal(apply_run_program(CRN_BIN "/cernita-synth", "made.tif --fruits 2"), 0);
    assert_int_equal(bench("reprocess made.tif --jobs 2 %s", with), 0);
    assert_int_equal(crn_json_check_lines(apply_output, check_reprocess), 3);
    assert_int_equal(bench("reprocess none.tif %s", with), 1);
    assert_non_null(strstr(apply_output, "none.tif"));
    assert_int_equal(bench("reprocess made.tif --config none.yaml"), 1);
    assert_non_null(strstr(apply_output, "none.yaml"));
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    assert_int_equal(bench("operators --operator harr"), 2);
    assert_non_null(strstr(apply_output, "harr"));
    assert_int_equal(bench("operaters"), 2);
    assert_non_null(strstr(apply_output, "operaters"));
    assert_int_equal(bench("gpu --only nothing"), 2);
    assert_non_null(strstr(apply_output, "nothing"));
    assert_int_equal(bench("operators --threads 0"), 2);
    assert_non_null(strstr(apply_output, "threads"));
}

static void check_device_row(yajl_val line)
{
    const char *device[] = {"device", NULL}, *missing[] = {"error", NULL};
    assert_null(yajl_tree_get(line, missing, yajl_t_string));
    if (yajl_tree_get(line, device, yajl_t_string)) {
        assert_true(crn_json_number(line, "copy_gb_per_s") > 0);
        assert_true(crn_json_number(line, "upload_gb_per_s") > 0);
        return;
    }
    assert_true(crn_json_number(line, "ms") > 0 && crn_json_number(line, "floor_ms") > 0);
    assert_true(crn_json_number(line, "stream_ms") > 0 && crn_json_number(line, "graph_ms") > 0);
    assert_true(crn_json_number(line, "at_most_ms") > 0);
    assert_true(crn_json_number(line, "copies") *
                    (crn_json_number(line, "in_bytes") + crn_json_number(line, "out_bytes")) >
                120e6);
}

static void a_device_is_timed_against_targets(void **state)
{
    (void)state;
    crn_test_cuda();
    assert_int_equal(
        bench("gpu --seconds 1e-3 --check --json --only 'opening u8 RGB 1920x2560, rect'"), 0);
    assert_int_equal(crn_json_check_lines(apply_output, check_device_row), 4);
    assert_int_equal(bench("gpu --seconds 1e-3 --check --json --only 'contours frame'"), 0);
    assert_int_equal(crn_json_check_lines(apply_output, check_device_row), 5);
}

static void check_parts(yajl_val line)
{
    check_timing(line);
    double parts = crn_json_number(line, "kernel_ms") + crn_json_number(line, "upload_ms");
    assert_true(parts > 0 && crn_json_number(line, "download_ms") > 0);
}

static void operators_on_a_device_have_parts(void **state)
{
    (void)state;
    crn_test_cuda();
    assert_int_equal(bench("operators --operator haar --backend cuda --seconds 1e-3 --json"), 0);
    assert_int_equal(crn_json_check_lines(apply_output, check_parts), 4);
}

static void without_a_device_it_is_said(void **state)
{
    (void)state;
    const char *why;
    if (crn_gpu_get(&why))
        skip();
    assert_int_equal(bench("gpu"), 1);
    assert_non_null(strstr(apply_output, why));
    assert_int_equal(bench("operators --backend cuda"), 1);
    assert_non_null(strstr(apply_output, why));
    assert_int_equal(bench("line --recording none.tif --backend cuda --config " CRN_TEST_DATA
                           "/../config/line.yaml"),
                     1);
    assert_non_null(strstr(apply_output, why));
}

/* Writes a .npy file, version 1.0, with that header and `count` floats 0, 1, 2… */
static void write_npy(const char *header, size_t count)
{
    FILE *file = fopen("maps.npy", "wb");
    assert_non_null(file);
    size_t length = strlen(header);
    fwrite("\x93NUMPY\1\0", 1, 8, file);
    fputc((int)(length & 255), file);
    fputc((int)(length >> 8), file);
    fwrite(header, 1, length, file);
    for (size_t i = 0; i < count; i++)
        fwrite(&(float){(float)i}, sizeof(float), 1, file);
    assert_int_equal(fclose(file), 0);
}

static void a_frame_is_read_from_npy(void **state)
{
    (void)state;
    crn_error error = {0};
    crn_image frame;
    write_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5, 2), }  \n", 30);
    assert_int_equal(crn_frame_read("maps.npy", &frame, &error), 0);
    assert_true(frame.type == CRN_F32 && frame.planes == 2 && frame.height == 3);
    assert_int_equal(frame.width, 5);
    assert_true(crn_image_at(&frame, 1, 2, 3) == 27 && crn_image_at(&frame, 0, 0, 1) == 2);
    free(frame.data);
    write_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3), }", 12);
    assert_int_equal(crn_frame_read("maps.npy", &frame, &error), 0);
    assert_true(frame.planes == 1 && crn_image_at(&frame, 0, 3, 2) == 11);
    free(frame.data);
}

static void other_files_are_no_frames(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 5, 2), }",
        "{'descr': '<f4', 'fortran_order': True, 'shape': (3, 5, 2), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (30,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5, 2, 1), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, -5, 2), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5, 2",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 5, 3), }", /* more than follow */
        "",
    };
    crn_image frame;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        crn_error error = {0};
        write_npy(headers[i], 30);
        assert_true(crn_frame_read("maps.npy", &frame, &error) < 0);
        assert_non_null(strstr(error.text, "maps.npy: "));
    }
    apply_write_text("maps.npy", "no numbers");
    assert_true(crn_frame_read("maps.npy", &frame, &(crn_error){0}) < 0);
    write_npy("{'descr': '<f2', 'fortran_order': False, 'shape': (4, 6), }", 12);
    assert_int_equal(crn_frame_read("maps.npy", &frame, &(crn_error){0}), -EINVAL); /* no f32 */
    assert_int_equal(bench("gpu --frame maps.npy"), 1);
    assert_non_null(strstr(apply_output, "numpy.save"));
    assert_int_equal(bench("gpu --frame none.npy"), 1);
    assert_non_null(strstr(apply_output, "none.npy"));
}

/* A library built with a sanitizer cannot be loaded into a program without it. */
#ifndef CRN_SANITIZED
/* Runs a script on a library of this build, and asserts what it prints; skipped where Debian's
 * Python lacks a module. */
static void run_script(const char *modules, const char *script, const char *library,
                       const char *wanted)
{
    char command[256];
    snprintf(command, sizeof command, "/usr/bin/python3 -c 'import %s' 2>/dev/null", modules);
    if (system(command))
        skip();
    int status = apply_run_program("/usr/bin/python3", "-B %s/%s %s/%s %s", CRN_TEST_DATA, script,
                                   CRN_BIN "/../lib", library, CRN_TEST_DATA "/../tools/python");
    assert_string_equal(apply_output, wanted);
    assert_int_equal(status, 0);
}

static void bindings_pass_arguments_on(void **state)
{
    (void)state;
    run_script("numpy, scipy, skimage", "python/check_bindings.py", "libcernita.so",
               "all as meant\n");
}

static void internals_read_files_and_kernels(void **state)
{
    (void)state;
    run_script("numpy", "line/programs/python/check_internals.py", "libcernita.so",
               "all as meant\n");
}

static void arrays_of_other_libraries_are_read_where_they_lie(void **state)
{
    (void)state;
    run_script("numpy", "python/check_device_arrays.py", "libcernita.so", "all as meant\n");
}

static void tensors_are_taken_or_told_their_cure(void **state)
{
    (void)state;
    run_script("numpy", "python/check_tensors.py", "libcernita.so", "all as meant\n");
}

static void bindings_name_wrong_arguments(void **state)
{
    (void)state;
    run_script("numpy", "python/check_binding_faults.py", "libcernita.so", "all named\n");
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(operators_are_timed, apply_setup, apply_teardown),
        cmocka_unit_test_setup_teardown(cases_are_listed, apply_setup, apply_teardown),
        cmocka_unit_test_setup_teardown(packing_is_timed, apply_setup, apply_teardown),
        cmocka_unit_test_setup_teardown(phases_add_up, apply_setup, apply_teardown),
        cmocka_unit_test_setup_teardown(the_check_of_values_is_timed, apply_setup, apply_teardown),
        cmocka_unit_test_setup_teardown(reprocessing_is_timed_beside_its_parts, apply_setup,
                                        apply_teardown),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_said, apply_setup, apply_teardown),
        cmocka_unit_test_setup_teardown(a_device_is_timed_against_targets, apply_setup,
                                        apply_teardown),
        cmocka_unit_test_setup_teardown(operators_on_a_device_have_parts, apply_setup,
                                        apply_teardown),
        cmocka_unit_test_setup_teardown(without_a_device_it_is_said, apply_setup, apply_teardown),
        cmocka_unit_test_setup_teardown(a_frame_is_read_from_npy, apply_setup, apply_teardown),
        cmocka_unit_test_setup_teardown(other_files_are_no_frames, apply_setup, apply_teardown),
#ifndef CRN_SANITIZED
        cmocka_unit_test_setup_teardown(bindings_pass_arguments_on, apply_setup, apply_teardown),
        cmocka_unit_test_setup_teardown(internals_read_files_and_kernels, apply_setup,
                                        apply_teardown),
        cmocka_unit_test_setup_teardown(arrays_of_other_libraries_are_read_where_they_lie,
                                        apply_setup, apply_teardown),
        cmocka_unit_test_setup_teardown(bindings_name_wrong_arguments, apply_setup, apply_teardown),
        cmocka_unit_test_setup_teardown(tensors_are_taken_or_told_their_cure, apply_setup,
                                        apply_teardown),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
