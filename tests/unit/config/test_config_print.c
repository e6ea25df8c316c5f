/* Printing: the output loads to the same settings, and the reference names every key. */
#include <stdio.h>
#include <stdlib.h>

#include "stages/config/config.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/same_config.h"
#include "tests/unit/config/config_stages.h"

static void assert_round_trip(const crn_config *config)
{
    static crn_config again;
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    crn_config_print(config, out);
    fclose(out);
    int r = crn_config_parse("printed", text, bytes, stderr, &again);
    bool same = r == 0 && crn_same_config(&again, config);
    if (!same)
        print_message("%s", text);
    assert_int_equal(r, 0);
    assert_true(same);
    crn_config_done(&again);
    free(text);
}

static void test_good_files_come_back(void **state)
{
    (void)state;
    static const char *const names[] = {"good_minimal", "good_full", "good_texts",
                                        "good_windows", "good_json", "stages"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        static crn_config config;
        char path[1024];
        snprintf(path, sizeof path, "%s/data/config/%s.yaml", CRN_TEST_DATA, names[i]);
        assert_int_equal(crn_config_load(path, stderr, &config), 0);
        assert_round_trip(&config);
        crn_config_done(&config);
    }
}

static void test_numbers_come_back_to_the_last_bit(void **state)
{
    (void)state;
    static const double numbers[] = {0.1,      1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0,
                                     -2.5e-30, 1e15,    1e16,   123456789012345680.0,   1};
    static crn_config config;
    assert_int_equal(crn_config_load(CRN_TEST_DATA "/data/config/stages.yaml", stderr, &config), 0);
    expected_convolve_settings *settings = config.chain[0].settings;
    assert_ptr_equal(config.chain[0].stage, &convolve);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        settings->gain = numbers[i];
        assert_round_trip(&config);
    }
    crn_config_done(&config);
}

static void test_every_printable_text_comes_back(void **state)
{
    (void)state;
    static crn_config config;
    assert_int_equal(crn_config_load(CRN_TEST_DATA "/data/config/stages.yaml", stderr, &config), 0);
    /* Every printable ASCII character alone, first, last, and all of them together. */
    char all[CRN_TEXT_BYTES] = "";
    for (char c = ' '; c <= '~'; c++) {
        all[strlen(all)] = c;
        memset(config.record.dir, 0, sizeof config.record.dir);
        config.record.dir[0] = c;
        assert_round_trip(&config);
        snprintf(config.record.dir, sizeof config.record.dir, "%ca%c", c, c);
        assert_round_trip(&config);
    }
    memcpy(config.record.dir, all, sizeof all);
    assert_round_trip(&config);
    memset(config.record.dir, 0, sizeof config.record.dir);
    memset(config.record.dir, '"', CRN_TEXT_BYTES - 1);
    assert_round_trip(&config);
    crn_config_done(&config);
}

static void test_the_reference_has_every_kind_of_row(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "| Key | Default | Range or choices | Meaning |\n|---|---|---|---|\n| `ingest.bind` |",
        "\n| `limits.lanes` | `64` | a whole number from 1 to 1024 | distinct lanes; ",
        "\n| `classes[].name` | required | a text | the class",
        "\n| `classes[].level` | none | a number from 0 to 1 | probability",
        "\n| `chain[].convolve` | | | lays a kernel over the maps |\n",
        "\n| `chain[].convolve.kernel` | required | a text | name or file |\n",
        "\n| `chain[].convolve.gain` | `1` | a number, a finite one | factor |\n",
        "\n| `chain[].convolve.tile` | `7x3` | N or WxH, sides of 1 to 99 | cut into |\n",
        "`chain[].convolve.scales` | empty | N or WxH or a list of at most 16, sides of 2 to 64 |",
        "\n| `chain[].contours.border` | `closed` | open or closed | of the picture |\n",
        "\n| `chain[].contours.min_area_px` | `0` | a number, at least 0 | smaller",
        "\n| `chain[].contours.optional` | `false` | true or false | skipped",
        "\n| `chain[].shape.optional` | `false` | true or false | skipped",
        "\n| `run.backend` | `auto` | auto, serial, openmp or cuda | ",
        "\n| `publish.grader.format` | `msgpack` | msgpack or json | ",
        "\n| `record.dir` | empty | a text | ",
        "\n| `log.level` | `info` | error, warning, info or debug | "};
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    crn_config_print_reference(out);
    fclose(out);
    const char *at = text;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *found = strstr(at, rows[i]);
        if (!found)
            print_message("no row %s in\n%s", rows[i], text);
        assert_non_null(found);
        at = found + 1;
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_files_come_back),
        cmocka_unit_test(test_numbers_come_back_to_the_last_bit),
        cmocka_unit_test(test_every_printable_text_comes_back),
        cmocka_unit_test(test_the_reference_has_every_kind_of_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
