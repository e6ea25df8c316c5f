/* The tables of keys with the real stages: complete, consistent, and as documented in config/. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/log.h"
#include "stages/config/internal.h"
#include "stages/backend.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/same_config.h"
#include "tests/support/programs/readme_reference.h"

/* The problem with one row of a settings struct of that size, or NULL. */
static const char *row_fault(const crn_param *row, size_t settings_bytes)
{
    _Alignas(16) static unsigned char settings[1 << 18];
    bool size = row->type == CRN_PARAM_SIZE || row->type == CRN_PARAM_SIZES;
    bool number = row->type == CRN_PARAM_INTEGER || row->type == CRN_PARAM_REAL;
    if (strspn(row->key, "abcdefghijklmnopqrstuvwxyz_0123456789") != strlen(row->key))
        return "the key is not in small letters";
    if (row->offset + crn_param_bytes(row->type) > settings_bytes)
        return "the value lies past the settings";
    if ((number || size) && !(row->min < row->max))
        return "the range is empty";
    if ((row->type == CRN_PARAM_CHOICE) != (row->choices != NULL))
        return "choices without CHOICE or the other way round";
    if (!row->help || !row->help[0] || row->help[strlen(row->help) - 1] == '.' ||
        strpbrk(row->help, "|\n"))
        return "the help is not one clause";
    if (crn_param_fall_back(row, settings, NULL) < 0)
        return "the fallback is not a value of the row";
    return NULL;
}

static void assert_rows(const char *name, const crn_param *rows, size_t settings_bytes)
{
    int count = 0;
    for (const crn_param *row = rows; row && row->key; row++, count++) {
        const char *fault = row_fault(row, settings_bytes);
        if (fault)
            fail_msg("%s.%s: %s", name, row->key, fault);
        for (const crn_param *other = rows; other != row; other++)
            assert_string_not_equal(other->key, row->key);
    }
    assert_true(count < CRN_NAMES_MAX / 2);
}

static void assert_sections(const crn_section *sections)
{
    for (const crn_section *section = sections; section && section->key; section++) {
        size_t bytes = section->kind == CRN_SECTION_CLASSES ? sizeof(crn_class_settings)
                       : section->kind == CRN_SECTION_CHAIN ? sizeof(crn_step)
                                                            : sizeof(crn_config);
        assert_true(section->rows || section->sections || section->kind == CRN_SECTION_RECIPES ||
                    section->kind == CRN_SECTION_OWN);
        assert_rows(section->key, section->rows, bytes);
        assert_sections(section->sections);
    }
}

static void test_the_tables_are_whole(void **state)
{
    (void)state;
    assert_sections(crn_sections);
}

static void test_the_stages_tables_are_whole(void **state)
{
    (void)state;
    const crn_param *every = crn_section_of(CRN_SECTION_CHAIN)->rows;
    assert_non_null(crn_stages[0]);
    for (int i = 0; crn_stages[i]; i++) {
        const crn_stage *stage = crn_stages[i];
        assert_non_null(stage->help);
        assert_rows(stage->name, stage->params, stage->settings_bytes);
        for (const crn_param *row = stage->params; row && row->key; row++)
            for (const crn_param *other = every; other->key; other++)
                assert_string_not_equal(row->key, other->key);
        for (int j = 0; j < i; j++)
            assert_string_not_equal(stage->name, crn_stages[j]->name);
    }
}

static void test_choices_stand_in_their_enumerations_order(void **state)
{
    (void)state;
    static crn_config c;
    static const char text[] = "classes: [{name: a, level: 0.5}]\nchain: [contours]\n"
                               "log: {level: warning}\nrun: {backend: cuda}\n"
                               "publish: {grader: {format: json}}\n";
    assert_int_equal(crn_config_parse("f", text, sizeof text - 1, stderr, &c), 0);
    assert_int_equal(c.log.level, CRN_LOG_WARNING);
    assert_int_equal(c.run.backend, CRN_BACKEND_CUDA);
    assert_int_equal(c.publish.grader.format, CRN_FORMAT_JSON);
    assert_int_equal(c.publish.viewers.format, CRN_FORMAT_MSGPACK);
    crn_config_done(&c);
}

static void test_slots_are_a_section_below_ingest(void **state)
{
    (void)state;
    static crn_config c;
    static const char text[] = "classes: [{name: a, level: 0.5}]\nchain: [contours]\n"
                               "ingest: {slots: {path: run/slots, slots: 1024, kinds: memfd}}\n";
    assert_int_equal(crn_config_parse("f", text, sizeof text - 1, stderr, &c), 0);
    assert_string_equal(c.ingest.slots.path, "run/slots");
    assert_int_equal(c.ingest.slots.slots, 1024);
    assert_int_equal(c.ingest.slots.producers, 4);
    assert_int_equal(c.ingest.slots.kinds.count, 1);
    crn_config_done(&c);
}

static int read_text(const crn_param *row, const char *text, void *value)
{
    crn_error error = {""};
    crn_scalar scalar = {.text = text, .length = strlen(text), .plain = true};
    int r = crn_scalar_read(row, &scalar, value, &error);
    assert_int_equal(r < 0, error.text[0] != '\0');
    return r;
}

static void test_whole_numbers_are_plain_decimals(void **state)
{
    (void)state;
    static const crn_param row = {
        .key = "n", .type = CRN_PARAM_INTEGER, .min = -1e18, .max = 9007199254740992.0};
    static const char *const bad[] = {"10s",   "10.5",
                                      "10.0",  "010",
                                      "00",    "-0",
                                      "-01",   "1_000",
                                      "0x10",  "1e3",
                                      "+1",    "-",
                                      " 1",    "1 ",
                                      "1,000", "0o17",
                                      "0b1",   "inf",
                                      "true",  "١",
                                      "--1",   "1-",
                                      "null",  "~",
                                      "",      "9999999999999999999999"};
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0}, {"-1", -1}, {"10", 10}, {"9007199254740992", INT64_C(1) << 53}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t value = 7;
        if (read_text(&row, bad[i], &value) == 0)
            fail_msg("'%s' was read as %lld", bad[i], (long long)value);
        assert_int_equal(value, 7);
    }
    /* Beyond 64 bits, whatever the permitted range. */
    static const crn_param any = {
        .key = "n", .type = CRN_PARAM_INTEGER, .min = -INFINITY, .max = INFINITY};
    int64_t kept = 7;
    assert_true(read_text(&any, "9223372036854775808", &kept) < 0);
    assert_int_equal(kept, 7);
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t value = 7;
        assert_int_equal(read_text(&row, good[i].text, &value), 0);
        assert_int_equal(value, good[i].value);
    }
}

static void test_numbers_are_decimals_or_exponents(void **state)
{
    (void)state;
    static const crn_param row = {
        .key = "x", .type = CRN_PARAM_REAL, .min = -INFINITY, .max = INFINITY};
    static const char *const bad[] = {"nan",  ".nan",  "inf", ".inf",  "-.inf", "1e999", ".5",
                                      "5.",   "0,5",   "50%", "0x1p3", "1e",    "1e+",   "01.5",
                                      "+0.5", "1.5.1", "- 1", "1 ",    "1_0",   "-",     "e5"};
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},       {"0.5", 0.5}, {"-1.25", -1.25}, {"1e3", 1000}, {"1E-2", 0.01},
                {"2.5e+1", 25}, {"-0", 0},    {"1e-999", 0},    {"10.0", 10},  {"0.1", 0.1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        double value = 7;
        if (read_text(&row, bad[i], &value) == 0)
            fail_msg("'%s' was read as %g", bad[i], value);
        assert_true(value == 7);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double value = 7;
        assert_int_equal(read_text(&row, good[i].text, &value), 0);
        assert_true(value == good[i].value);
    }
}

static void test_sizes_are_one_or_two_whole_numbers(void **state)
{
    (void)state;
    static const crn_param row = {.key = "s", .type = CRN_PARAM_SIZE, .min = 0, .max = 1e12};
    static const char *const bad[] = {
        "",     "x",    "5x", "x5",   "5x5x5", "5 x 5", "5X5",        "5*5",
        "-5",   "5x-5", "05", "5x05", "5.0",   "5e1",   "5px",        "5,5",
        "0x1f", "5x 5", " 5", "5 ",   "true",  "null",  "2147483648", "5x99999999999999999999"};
    static const struct {
        const char *text;
        int32_t width, height;
    } good[] = {
        {"5", 5, 5}, {"7x3", 7, 3}, {"1x1", 1, 1}, {"0", 0, 0}, {"2147483647x10", INT32_MAX, 10}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        crn_size size = {-7, -7};
        if (read_text(&row, bad[i], &size) == 0)
            fail_msg("'%s' was read as %dx%d", bad[i], size.width, size.height);
        assert_true(size.width == -7 && size.height == -7);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        crn_size size = {-7, -7};
        assert_int_equal(read_text(&row, good[i].text, &size), 0);
        assert_int_equal(size.width, good[i].width);
        assert_int_equal(size.height, good[i].height);
    }
    /* Each side must be in the range, limits included. */
    static const crn_param narrow = {.key = "s", .type = CRN_PARAM_SIZES, .min = 2, .max = 4};
    static const char *const off[] = {"1", "5", "1x3", "3x1", "5x3", "3x5"};
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        crn_size size;
        assert_true(read_text(&narrow, off[i], &size) < 0);
    }
    crn_size size;
    assert_int_equal(read_text(&narrow, "2x4", &size), 0);
}

static void test_sizes_fall_back_to_lists(void **state)
{
    (void)state;
    static const struct {
        const char *fallback;
        int32_t count;
        crn_size last;
    } rows[] = {
        {"", 0, {0, 0}}, {"8", 1, {8, 8}}, {"[8, 16x4]", 2, {16, 4}}, {"[2,3,4]", 3, {4, 4}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        crn_param row = {
            .key = "s", .type = CRN_PARAM_SIZES, .fallback = rows[i].fallback, .min = 1, .max = 99};
        crn_sizes sizes = {.count = 7};
        assert_int_equal(crn_param_fall_back(&row, &sizes, NULL), 0);
        assert_int_equal(sizes.count, rows[i].count);
        if (sizes.count)
            assert_memory_equal(&sizes.item[sizes.count - 1], &rows[i].last, sizeof(crn_size));
    }
    static const char *const bad[] = {"[8, 100]", "[8, a]",
                                      "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        crn_param row = {
            .key = "s", .type = CRN_PARAM_SIZES, .fallback = bad[i], .min = 1, .max = 99};
        crn_sizes sizes = {.count = 7};
        crn_error error = {""};
        assert_int_equal(crn_param_fall_back(&row, &sizes, &error), -22);
        assert_true(error.text[0]);
        assert_int_equal(sizes.count, 7);
    }
}

static void test_booleans_are_true_or_false(void **state)
{
    (void)state;
    static const crn_param row = {.key = "b", .type = CRN_PARAM_BOOL};
    static const char *const bad[] = {"yes",  "no",    "on", "off", "maybe", "True",
                                      "TRUE", "False", "y",  "n",   "1",     "0"};
    bool value = false;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        crn_error error = {""};
        crn_scalar scalar = {.text = bad[i], .length = strlen(bad[i]), .plain = true};
        assert_int_equal(crn_scalar_read(&row, &scalar, &value, &error), -22);
        assert_non_null(strstr(error.text, "true or false expected"));
        assert_false(value);
    }
    assert_int_equal(read_text(&row, "true", &value), 0);
    assert_true(value);
    assert_int_equal(read_text(&row, "false", &value), 0);
    assert_false(value);
}

static void test_the_nearest_name_is_found(void **state)
{
    (void)state;
    static const crn_names names = {.count = 4, .item = {"lanes", "views", "slots", "log"}};
    static const char *const rows[][2] = {
        {"lane", "lanes"},   {"LANES", "lanes"}, {"lnaes", "lanes"}, {"veiws", "views"},
        {"viewss", "views"}, {"sluts", "slots"}, {"foo", NULL},      {"monitor", NULL},
        {"", NULL},          {"x", NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *nearest = crn_names_nearest(&names, rows[i][0]);
        if (rows[i][1])
            assert_string_equal(nearest, rows[i][1]);
        else
            assert_null(nearest);
    }
}

static void test_the_ready_line_loads(void **state)
{
    (void)state;
    static crn_config c;
    assert_int_equal(crn_config_load(CRN_TEST_DATA "/../config/line.yaml", stderr, &c), 0);
    assert_int_equal(c.classes.count, 12);
    for (int i = 0; i < 12; i++) {
        bool is_defect =
            strcmp(c.classes.name[i], "background") && strcmp(c.classes.name[i], "roller");
        assert_int_equal(isnan(c.classes.level[i]) == 0, is_defect);
    }
    assert_int_equal(c.steps, 1);
    assert_string_equal(c.chain[0].stage->name, "contours");
    assert_int_equal(c.latency.budget_ms, 100);
    assert_int_equal(c.latency.assemble_ms, 400);
    assert_string_equal(c.ingest.bind.item[0], "tcp://127.0.0.1:5555");
    assert_string_equal(c.publish.grader.bind, "tcp://127.0.0.1:5556");
    assert_string_equal(c.publish.viewers.bind, "tcp://127.0.0.1:5557");
    crn_config_done(&c);
}

/* Of its steps each is another stage, in the usual order; what is printed of it loads to the same
 * settings. */
static void test_the_full_line_loads(void **state)
{
    (void)state;
    static crn_config full, line, again;
    assert_int_equal(crn_config_load(CRN_TEST_DATA "/../config/line-full.yaml", stderr, &full), 0);
    assert_int_equal(crn_config_load(CRN_TEST_DATA "/../config/line.yaml", stderr, &line), 0);
    int at = 0;
    for (int i = 0; i < full.steps; i++, at++) {
        while (crn_stages[at] && crn_stages[at] != full.chain[i].stage)
            at++;
        if (!crn_stages[at])
            fail_msg("config/line-full.yaml: %s stands behind a later stage of "
                     "stages/stage/registry.c",
                     full.chain[i].stage->name);
    }
    assert_memory_equal(full.classes.name, line.classes.name, sizeof full.classes.name);
    assert_int_equal(crn_config_textures(&full), 2);
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    crn_config_print(&full, out);
    fclose(out);
    assert_non_null(strstr(text, "- convolve: {kernel: \"gaussian\", size: 3, border: replicate,"));
    assert_non_null(strstr(text, "- ranklet: {windows: [8, 16], optional: true}\n"));
    assert_int_equal(crn_config_parse("printed", text, bytes, stderr, &again), 0);
    assert_true(crn_same_config(&again, &full));
    free(text);
    crn_config_done(&full);
    crn_config_done(&line);
    crn_config_done(&again);
}

/* Missing inputs of a stage are reported when the file is read, at that step. */
static void test_what_cannot_be_loaded_is_a_fault(void **state)
{
    (void)state;
    static crn_config c;
    static const char text[] = "classes: [{name: a, level: 0.5}]\n"
                               "chain:\n"
                               "  - convolve: {kernel: nowhere/kernel.txt}\n"
                               "  - convolve: {kernel: gaussian, size: 4}\n"
                               "  - morphology: {element: nowhere/element.png}\n"
                               "  - contours\n"
                               "  - ranklet: {windows: 7}\n";
    static const char *const starts[] = {"f:3:5: convolve: ", "f:4:5: convolve: ",
                                         "f:5:5: morphology: ", "f:7:5: ranklet: windows: 7x7 "};
    char *faults = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&faults, &bytes);
    assert_non_null(out);
    assert_int_equal(crn_config_parse("f", text, sizeof text - 1, out, &c), -22);
    fclose(out);
    const char *at = faults;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        if (strncmp(at, starts[i], strlen(starts[i])) != 0)
            fail_msg("%s... expected in\n%s", starts[i], faults);
        at += strcspn(at, "\n") + 1;
    }
    assert_string_equal(at, "");
    assert_non_null(strstr(faults, "nowhere/kernel.txt"));
    assert_non_null(strstr(faults, "nowhere/element.png"));
    free(faults);
}

static void test_the_readme_has_the_reference(void **state)
{
    (void)state;
    readme_expect_reference("config/README.md", crn_config_print_reference);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_tables_are_whole),
        cmocka_unit_test(test_the_stages_tables_are_whole),
        cmocka_unit_test(test_choices_stand_in_their_enumerations_order),
        cmocka_unit_test(test_slots_are_a_section_below_ingest),
        cmocka_unit_test(test_whole_numbers_are_plain_decimals),
        cmocka_unit_test(test_numbers_are_decimals_or_exponents),
        cmocka_unit_test(test_sizes_are_one_or_two_whole_numbers),
        cmocka_unit_test(test_sizes_fall_back_to_lists),
        cmocka_unit_test(test_booleans_are_true_or_false),
        cmocka_unit_test(test_the_nearest_name_is_found),
        cmocka_unit_test(test_the_ready_line_loads),
        cmocka_unit_test(test_the_full_line_loads),
        cmocka_unit_test(test_what_cannot_be_loaded_is_a_fault),
        cmocka_unit_test(test_the_readme_has_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
