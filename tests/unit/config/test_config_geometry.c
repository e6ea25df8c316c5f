/* Section geometry: its keys, its faults, recipes over it, and a file without it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stages/config/config.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/config_text.h"
#include "tests/support/parts/same_config.h"

#define OWN                                                                                        \
    "classes: [{name: ground}, {name: fruit}, {name: rot, level: 0.5}]\n"                          \
    "chain: [contours: {}]\n"

static char *print(const crn_config *config)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    crn_config_print(config, out);
    fclose(out);
    return text;
}

/* The hash of the settings, which is in each verdict, is that of the printed file. */
static void a_file_without_it_prints_as_before(void **state)
{
    (void)state;
    crn_config config;
    config_text_load(OWN "recipes: {plum: {classes: {rot: 0.4}}}\n", &config);
    char *text = print(&config);
    assert_false(crn_config_measures(&config));
    assert_null(strstr(text, "geometry"));
    free(text);
    crn_config_done(&config);
    config_text_load(OWN "geometry:\n", &config);
    assert_false(crn_config_measures(&config));
    crn_config_done(&config);
}

static void its_keys_are_read_and_come_back(void **state)
{
    (void)state;
    crn_config config, again;
    config_text_load(OWN "geometry: {mm_per_px: 0.5}\n", &config);
    assert_true(crn_config_measures(&config));
    assert_int_equal(config.geometry.mm_per_px.count, 1);
    assert_true(config.geometry.mm_per_px.item[0] == 0.5 && config.geometry.roll_deg == 90);
    assert_true(config.geometry.estimate_roll && config.geometry.surface.optional);
    assert_int_equal(config.geometry.fruit.from, CRN_FRUIT_FROM_PHOTO);
    assert_int_equal(config.geometry.outside, CRN_OUTSIDE_MARK);
    crn_config_done(&config);
    config_text_load(
        OWN "geometry: {mm_per_px: [0.42, 0.41], distance_mm: 600, roll_axis: x, roll_deg: -60,\n"
            "  estimate_roll: false, outside: drop, fruit: {class: fruit, level: 0.4},\n"
            "  surface: {optional: false}}\n"
            "recipes: {plum: {geometry: {roll_deg: 45, fruit: {from: photo}}}}\n",
        &config);
    assert_int_equal(config.geometry.mm_per_px.count, 2);
    assert_true(config.geometry.mm_per_px.item[1] == 0.41 && config.geometry.distance_mm == 600);
    assert_int_equal(config.geometry.fruit.from, CRN_FRUIT_FROM_CLASS);
    assert_string_equal(config.geometry.fruit.class_name, "fruit");
    char *text = print(&config);
    config_text_load(text, &again);
    assert_true(crn_same_config(&config, &again));
    free(text);
    crn_config_done(&again);
    assert_int_equal(crn_config_use_recipe(&config, "plum", &again), 0);
    assert_true(again.geometry.roll_deg == 45 && !again.geometry.estimate_roll);
    assert_int_equal(again.geometry.fruit.from, CRN_FRUIT_FROM_PHOTO);
    assert_true(again.geometry.fruit.level == 0.4 && again.geometry.mm_per_px.item[0] == 0.42);
    assert_false(again.geometry.surface.optional);
    crn_config_done(&again);
    crn_config_done(&config);
}

static void lanes_may_have_scales_of_their_own(void **state)
{
    (void)state;
    crn_config config, again;
    config_text_load(OWN "geometry: {mm_per_px: [0.5, 0.6], lanes: {0-2: {mm_per_px: 0.4},\n"
                         "  7: {mm_per_px: [0.1, 0.2, 0.3]}, 4000000000: {mm_per_px: 1}}}\n"
                         "recipes: {plum: {geometry: {roll_deg: 45}}}\n",
                     &config);
    static const struct {
        uint32_t lane, view;
        double mm_per_px;
    } expected[] = {{0, 0, 0.4},        {2, 9, 0.4},         {3, 0, 0.5}, {3, 1, 0.6},
                    {3, 2, 0.6},        {7, 0, 0.1},         {7, 2, 0.3}, {7, 3, 0.3},
                    {4000000000, 5, 1}, {UINT32_MAX, 0, 0.5}};
    char *text = print(&config);
    config_text_load(text, &again);
    assert_true(crn_same_config(&config, &again));
    free(text);
    crn_config_done(&again);
    assert_int_equal(crn_config_use_recipe(&config, "plum", &again), 0);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_true(crn_config_mm_per_px(&again, expected[i].lane, expected[i].view) ==
                    expected[i].mm_per_px);
    crn_config_done(&again);
    crn_config_done(&config);
}

static void a_running_line_takes_it_in(void **state)
{
    (void)state;
    crn_config without, with;
    config_text_load(OWN, &without);
    config_text_load(OWN "geometry: {mm_per_px: 0.5}\n", &with);
    assert_int_equal(crn_config_fixed_differences(&without, &with, NULL), 0);
    assert_int_equal(crn_config_fixed_differences(&with, &without, NULL), 0);
    crn_config_done(&without);
    crn_config_done(&with);
}

/* What is wrong with a file, and how that is reported. */
static const struct {
    const char *text, *fault;
} faulty[] = {
    {"geometry: {roll_deg: 90}\n", "f:3:11: geometry.mm_per_px is missing, the scale"},
    {"geometry: {mm_per_px: 0}\n", "f:3:23: geometry.mm_per_px: 0 is out of range, 0.0001 to"},
    {"geometry: {mm_per_px: []}\n", "f:3:11: geometry.mm_per_px is missing"},
    {"geometry: {mm_per_px: 0.4mm}\n", "f:3:23: geometry.mm_per_px: '0.4mm'"},
    {"geometry: {mm_per_px: [1, 2, 3]}\nlimits: {views: 2}\n",
     "f:3:23: geometry.mm_per_px: 3 scales, at most limits.views, which is 2"},
    {"geometry: {mm_per_px: 1, roll_deg: 0, estimate_roll: false}\n",
     "f:3:36: geometry.roll_deg: 0 (unknown) without estimate_roll"},
    {"geometry: {mm_per_px: 1, fruit: {from: class}}\n", "f:3:40: geometry.fruit.class: missing"},
    {"geometry: {mm_per_px: 1, fruit: {class: peel}}\n",
     "f:3:41: geometry.fruit.class: there is no class 'peel' in 'classes'"},
    {"geometry: {mm_per_px: 1, fruit: {class: rot, from: photo}}\n",
     "f:3:41: geometry.fruit.class: 'rot' is not looked at, from: class expected"},
    {"geometry: {mm_per_px: 1, fruit: {clas: rot}}\n", "did you mean 'class'?"},
    {"geometry: {mm_per_px: 1, lanes: 3}\n", "f:3:33: geometry.lanes: a value given, a map"},
    {"geometry: {mm_per_px: 1, lanes: {a: {mm_per_px: 1}}}\n",
     "f:3:34: geometry.lanes: 'a' is not a lane, a number or a range"},
    {"geometry: {mm_per_px: 1, lanes: {'1, 3': {mm_per_px: 1}}}\n", "'1, 3' is not a lane"},
    {"geometry: {mm_per_px: 1, lanes: {0-4: {mm_per_px: 1}, 3: {mm_per_px: 2}}}\n",
     "f:3:55: geometry.lanes: '3' overlaps 0-4, each lane once expected"},
    {"geometry: {mm_per_px: 1, lanes: {3: {}}}\n", "f:3:34: geometry.lanes.3.mm_per_px is missing"},
    {"geometry: {mm_per_px: 1, lanes: {3: {mm_per_px: 0}}}\n",
     "geometry.lanes.3.mm_per_px: 0 is out of range, 0.0001 to"},
    {"geometry: {mm_per_px: 1, lanes: {3: {mm_per_px: []}}}\n",
     "geometry.lanes.3.mm_per_px: an empty list, at least one number expected"},
    {"geometry: {mm_per_px: 1, lanes: {3: {mm: 2}}}\n", "geometry.lanes.3"},
    {"limits: {views: 2}\ngeometry: {mm_per_px: 1, lanes: {3: {mm_per_px: [1, 2, 3]}}}\n",
     "f:4:33: geometry.lanes: 3 scales of lane 3, at most limits.views, which is 2"},
    {"geometry: {mm_per_px: 1}\nrecipes: {plum: {geometry: {lanes: {}}}}\n",
     "unknown key 'lanes' in recipes.plum.geometry"},
    {"recipes: {plum: {geometry: {roll_deg: 60}}}\n",
     "f:3:28: recipes.plum.geometry: the file has no section geometry"},
    {"geometry: {mm_per_px: 1}\nrecipes: {plum: {geometry: {mm_per_px: 2}}}\n",
     "unknown key 'mm_per_px' in recipes.plum.geometry"},
    {"geometry: {mm_per_px: 1}\nrecipes: {plum: {geometry: {fruit: {class: peel}}}}\n",
     "recipes.plum.geometry.fruit.class: there is no class 'peel'"},
};

static void each_fault_is_told_where_it_stands(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faulty / sizeof *faulty; i++) {
        char text[1024], *faults;
        crn_config config;
        snprintf(text, sizeof text, OWN "%s", faulty[i].text);
        assert_int_equal(config_text_parse(text, &faults, &config), -EINVAL);
        if (!strstr(faults, faulty[i].fault))
            fail_msg("%s\ngave %s\nnot %s", faulty[i].text, faults, faulty[i].fault);
        free(faults);
    }
    static const char *const good[] = {
        "geometry: {mm_per_px: 1, roll_deg: 0}\n",
        "geometry: {mm_per_px: 1, roll_deg: 0, estimate_roll: false, fruit: {from: header}}\n",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char text[1024];
        crn_config config;
        snprintf(text, sizeof text, OWN "%s", good[i]);
        config_text_load(text, &config);
        crn_config_done(&config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_without_it_prints_as_before),
        cmocka_unit_test(its_keys_are_read_and_come_back),
        cmocka_unit_test(lanes_may_have_scales_of_their_own),
        cmocka_unit_test(a_running_line_takes_it_in),
        cmocka_unit_test(each_fault_is_told_where_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
