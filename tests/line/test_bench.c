/* The benchmarks and the bindings as programs: that they run, and say what they are asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <yajl/yajl_tree.h>

#include "tests/support/apply_program.h"

#define bench(...) apply_run_program(CRN_BIN "/cernita-bench", __VA_ARGS__)

static double number_of(yajl_val line, const char *key)
{
    const char *path[] = {key, NULL};
    yajl_val value = yajl_tree_get(line, path, yajl_t_number);
    assert_non_null(value);
    return YAJL_GET_DOUBLE(value);
}

/* Calls `check` on every line of what was printed; returns how many. */
static int check_lines(void check(yajl_val line))
{
    int lines = 0;
    for (char *text = strtok(apply_output, "\n"); text; text = strtok(NULL, "\n"), lines++) {
        char fault[128];
        yajl_val line = yajl_tree_parse(text, fault, sizeof fault);
        if (!line)
            fail_msg("%s: %s", text, fault);
        check(line);
        yajl_tree_free(line);
    }
    return lines;
}

static void check_timing(yajl_val line)
{
    double median = number_of(line, "median_ms");
    assert_true(number_of(line, "min_ms") > 0);
    assert_true(number_of(line, "min_ms") <= median && median <= number_of(line, "max_ms"));
    assert_true(number_of(line, "runs") >= 1);
    assert_true(number_of(line, "mpx_per_s") > 0 && number_of(line, "copies") > 0);
    assert_true(number_of(line, "threads") == 1);
}

static void operators_are_timed(void **state)
{
    (void)state;
    const char *some =
        "operators --operator diamond-square --threads 1 --backend openmp --seconds 1e-3 --json";
    assert_int_equal(bench("%s", some), 0);
    assert_int_equal(check_lines(check_timing), 2);
    assert_int_equal(bench("operators --operator haar --backend serial --seconds 1e-3"), 0);
    assert_non_null(strstr(apply_output, "median ms"));
    assert_non_null(strstr(apply_output, "denoise 2"));
    assert_null(strstr(apply_output, "openmp"));
}

static void check_phases(yajl_val line)
{
    double sum = number_of(line, "first_ms") + number_of(line, "second_ms");
    double all = number_of(line, "all_ms");
    assert_true(all > 0 && sum >= all * 0.999);
}

static void phases_add_up(void **state)
{
    (void)state;
    assert_int_equal(bench("phases --seconds 1e-3 --json"), 0);
    assert_int_equal(check_lines(check_phases), 14);
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    assert_int_equal(bench("operators --operator harr"), 2);
    assert_non_null(strstr(apply_output, "harr"));
    assert_int_equal(bench("operaters"), 2);
    assert_non_null(strstr(apply_output, "operaters"));
    assert_int_equal(bench("operators --threads 0"), 2);
    assert_non_null(strstr(apply_output, "threads"));
}

/* A library under a sanitizer cannot be loaded into a program without it. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define BINDINGS_LOAD 1

static void bindings_pass_arguments_on(void **state)
{
    (void)state;
    int status =
        apply_run_program("/usr/bin/python3", "%s %s %s", CRN_TEST_DATA "/line/check_bindings.py",
                          CRN_BIN "/../lib/libcernita.so", CRN_TEST_DATA "/../tools/python");
    assert_string_equal(apply_output, "all as meant\n");
    assert_int_equal(status, 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(operators_are_timed, apply_setup, apply_teardown),
        cmocka_unit_test_setup_teardown(phases_add_up, apply_setup, apply_teardown),
        cmocka_unit_test_setup_teardown(what_is_wrong_is_said, apply_setup, apply_teardown),
#ifdef BINDINGS_LOAD
        cmocka_unit_test_setup_teardown(bindings_pass_arguments_on, apply_setup, apply_teardown),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
