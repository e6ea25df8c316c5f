/* cernita-bench outlets: a few fruits go through line and sorter to a PLC's register and coil,
 * and past the floor. */
#include <string.h>

#include <yajl/yajl_tree.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/apply_program.h"
#include "tests/support/programs/shell.h"

#define FRUITS 5
#define ROWS   10

static double number_of(yajl_val row, const char *key)
{
    const char *path[] = {key, NULL};
    yajl_val value = yajl_tree_get(row, path, yajl_t_number);
    assert_non_null(value);
    return YAJL_GET_DOUBLE(value);
}

/* The line has time enough for each fruit on any machine. */
static void the_way_to_a_plc_is_timed(void **state)
{
    (void)state;
#ifndef CRN_HAS_MODBUS
    skip();
#endif
    int rows = 0;
    assert_int_equal(
        apply_run_program(CRN_BIN "/cernita-synth", "one.tif --fruits 1 --size 32x32 --classes 12"),
        0);
    assert_int_equal(crn_test_shell("sed 's/budget_ms: [0-9]*/budget_ms: 60000/; "
                                    "s/assemble_ms: [0-9]*/assemble_ms: 60000/' " CRN_TEST_DATA
                                    "/../config/line.yaml > patient.yaml && " CRN_BIN
                                    "/cernita-bench outlets --recording one.tif --config "
                                    "patient.yaml --fruits 5 --rate 20 --cnn-ms 1 --json",
                                    apply_output, sizeof apply_output),
                     0);
    for (char *text = strtok(apply_output, "\n"); text; text = strtok(NULL, "\n"), rows++) {
        char fault[128];
        yajl_val row = yajl_tree_parse(text, fault, sizeof fault);
        assert_non_null(row);
        assert_int_equal(number_of(row, "fruits"), FRUITS);
        assert_true(number_of(row, "p50_ms") > 0);
        assert_true(number_of(row, "p50_ms") <= number_of(row, "p99_ms"));
        assert_true(number_of(row, "p99_ms") <= number_of(row, "max_ms"));
        yajl_tree_free(row);
    }
    assert_int_equal(rows, ROWS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_way_to_a_plc_is_timed, apply_setup, apply_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
