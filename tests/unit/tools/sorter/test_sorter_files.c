/* The sorter's files in config/: they load, the lines in config/ look for their classes, and
 * sorter.yaml decides as the standard that it names. */
#include <stdlib.h>
#include <string.h>

#include "stages/config/config.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/rule_fruit.h"
#include "tools/sorter/decide/decider.h"

#define FOLDER CRN_TEST_DATA "/../config/"

static crn_sorter_settings settings;

static int tear_down(void **state)
{
    (void)state;
    crn_sorter_settings_done(&settings);
    memset(&settings, 0, sizeof settings);
    return 0;
}

static void load(const char *path)
{
    assert_int_equal(crn_sorter_settings_load(path, stderr, &settings), 0);
}

static void the_line_looks_for_their_classes(void **state)
{
    static const char *const paths[] = {FOLDER "sorter.yaml", FOLDER "sorter-px.yaml"};
    static crn_config line;
    assert_int_equal(crn_config_load(FOLDER "line.yaml", stderr, &line), 0);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        load(paths[i]);
        assert_string_equal(settings.line.endpoint, line.publish.grader.bind);
        for (int32_t class = 0; class < crn_rules_class_count(settings.outlets.rules); class ++) {
            int32_t at = 0;
            while (at < line.classes.count &&
                   strcmp(line.classes.name[at], crn_rules_class(settings.outlets.rules, class)) !=
                       0)
                at++;
            if (at == line.classes.count || !(line.classes.level[at] >= 0))
                fail_msg("%s: line.yaml does not look for class %s", paths[i],
                         crn_rules_class(settings.outlets.rules, class));
        }
        tear_down(state);
    }
    crn_config_done(&line);
}

/* Appends a file's text to `text`. With a mark, of the comments alone those from the mark's line up
 * to an empty one, without their "# ". */
static void append_file(const char *path, const char *mark, char *text, size_t text_bytes)
{
    char row[256];
    bool is_on = !mark;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(row, sizeof row, file)) {
        const char *begin = mark ? row + strspn(row, "# ") : row;
        if (mark && strncmp(begin, mark, strlen(mark)) == 0)
            is_on = true;
        else if (mark && row[0] != '#')
            is_on = false;
        if (mark && is_on)
            begin = row + strlen("#   ");
        if (is_on)
            strncat(text, begin, text_bytes - strlen(text) - 1);
    }
    fclose(file);
}

static void the_section_that_it_shows_is_one_of_the_line(void **state)
{
    (void)state;
    static char text[16384];
    static crn_config line;
    append_file(FOLDER "line.yaml", NULL, text, sizeof text);
    append_file(FOLDER "sorter.yaml", "geometry:", text, sizeof text);
    assert_int_equal(crn_config_parse("line.yaml", text, strlen(text), stderr, &line), 0);
    assert_true(crn_config_measures(&line));
    assert_false(line.geometry.surface.optional);
    crn_config_done(&line);
}

/* --- what the standard allows ----------------------------------------------------------------- */

/* A fruit of 40 mm with one defect; the rest of it is sound. */
typedef struct apricot {
    const char *class; /* NULL: no defect */
    double area_mm2, length_mm, width_mm, coverage;
    const char *outlet;
} apricot;

static const apricot apricots[] = {
    {NULL, 0, 0, 0, 0.96, "class1"},
    {NULL, 0, 0, 0, 0.60, "again"},
    {"rot", 3, 2, 2, 0.96, "waste"},
    {"rot", 3, 2, 2, 0.60, "waste"},
    {"rot", 1, 1, 1, 0.96, "class1"},
    {"fresh hail", 9, 3, 3, 0.96, "waste"},
    {"bruise", 99, 12, 10, 0.96, "class1"},
    {"bruise", 101, 12, 10, 0.96, "lower"},
    {"healed hail", 20, 9, 2, 0.96, "class1"},
    {"healed hail", 20, 11, 2, 0.96, "lower"},
    {"healed hail", 49, 11, 6, 0.96, "class1"},
    {"healed hail", 51, 9, 8, 0.96, "lower"},
    {"rust", 480, 40, 20, 0.96, "class1"},
    {"rust", 490, 40, 20, 0.96, "lower"},
};

#define SEEN_MM2 4825 /* 96 % of a sphere of 40 mm */

static void note_outlet(void *context, const crn_decision *decision)
{
    *(int32_t *)context = decision->outlet;
}

/* The verdict of that fruit by a line that looks for all classes of the rules. */
static void make_verdict(const apricot *a, crn_decoded_spot *spot, crn_rule_fruit *fruit)
{
    crn_decoded_surface *surface = &fruit->verdict.surface;
    crn_rule_fruit_init(fruit);
    *surface = (crn_decoded_surface){.is_measured = true,
                                     .diameter_mm = 40,
                                     .length_mm = 40,
                                     .coverage = a->coverage,
                                     .seen_mm2 = SEEN_MM2,
                                     .spot_count = a->class ? 1 : 0,
                                     .spots = spot};
    *spot = (crn_decoded_spot){
        .area_mm2 = a->area_mm2, .length_mm = a->length_mm, .width_mm = a->width_mm};
    for (int32_t class = 0; class < crn_rules_class_count(settings.outlets.rules); class ++) {
        const char *name = crn_rules_class(settings.outlets.rules, class);
        crn_decoded_measure *measure = &surface->measures[surface->measure_count++];
        crn_rule_fruit_look_for(fruit, name);
        snprintf(measure->name, sizeof measure->name, "%s", name);
        if (!a->class || strcmp(name, a->class) != 0)
            continue;
        snprintf(spot->name, sizeof spot->name, "%s", name);
        measure->count = 1;
        measure->area_mm2 = measure->largest_mm2 = a->area_mm2;
        measure->longest_mm = a->length_mm;
    }
}

static void apricots_go_where_the_standard_has_them(void **state)
{
    (void)state;
    crn_decider *decider = NULL;
    int32_t outlet = CRN_NO_OUTLET;
    load(FOLDER "sorter.yaml");
    assert_int_equal(crn_decider_create(&settings, note_outlet, &outlet, NULL, &decider), 0);
    for (size_t i = 0; i < sizeof apricots / sizeof *apricots; i++) {
        crn_rule_fruit fruit;
        crn_decoded_spot spot;
        make_verdict(&apricots[i], &spot, &fruit);
        fruit.verdict.sequence = i;
        crn_decider_verdict(decider, &fruit.verdict, 0, 0);
        if (strcmp(settings.outlets.names.item[outlet], apricots[i].outlet) != 0)
            fail_msg("fruit %zu is for %s, %s expected", i, settings.outlets.names.item[outlet],
                     apricots[i].outlet);
    }
    crn_decider_free(&decider);
}

/* A line without the section geometry. */
static void without_measures_none_is_sound(void **state)
{
    (void)state;
    crn_decider *decider = NULL;
    int32_t outlet = CRN_NO_OUTLET;
    crn_rule_fruit fruit;
    crn_decoded_spot spot;
    load(FOLDER "sorter.yaml");
    assert_int_equal(crn_decider_create(&settings, note_outlet, &outlet, NULL, &decider), 0);
    make_verdict(&apricots[0], &spot, &fruit);
    fruit.verdict.surface = (crn_decoded_surface){.is_measured = false};
    crn_decider_verdict(decider, &fruit.verdict, 0, 0);
    assert_string_equal(settings.outlets.names.item[outlet], "again");
    crn_decider_free(&decider);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_line_looks_for_their_classes),
        TEST(the_section_that_it_shows_is_one_of_the_line),
        TEST(apricots_go_where_the_standard_has_them),
        TEST(without_measures_none_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
