/* crn_chain_open_with(): recipes and levels instead of the file's own. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/cernita.h"
#include "stages/chain/chain.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/daemon.h"
#include "tests/support/random.h"

enum { CLASSES = 3, HEIGHT = 24, WIDTH = 32, VALUES = CLASSES * HEIGHT * WIDTH };

static const char yaml[] = "classes: [{name: background}, {name: rot, level: 0.5},\n"
                           "          {name: rust, level: 0.25}]\n"
                           "chain: [{convolve: {kernel: gaussian, size: 3}}, contours]\n";

static char folder[] = "/tmp/cernita-settings-XXXXXX", path[128];
static crn_context *context;
static float maps[VALUES];

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    daemon_write_config(folder, "line.yaml", yaml, path);
    crn_random random = {11};
    for (int i = 0; i < VALUES; i++)
        maps[i] = (float)crn_random_unit(&random);
    return crn_context_open(NULL, &context);
}

static int tear_down(void **state)
{
    (void)state;
    crn_context_free(&context);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void assert_says(const char *part)
{
    if (!strstr(crn_context_error(context), part))
        fail_msg("'%s' is not in '%s'", part, crn_context_error(context));
}

static crn_chain *open_with(const char *file, const char *recipe, const char *class_name,
                            double level)
{
    crn_chain *chain = NULL;
    crn_chain_settings settings = {recipe, &class_name, &level, class_name ? 1 : 0};
    int r = crn_chain_open_with(context, file, &settings, &chain);
    assert_int_equal(r < 0, !chain);
    assert_true(r == 0 || r == -EINVAL);
    return chain;
}

/* As a file does that says the same. */
static void recipes_and_levels_replace_the_file_s(void **state)
{
    (void)state;
    static const struct {
        const char *recipe, *class_name;
        double level;
        const char *same; /* its classes, and what follows the chain's contours */
    } cases[] = {
        {NULL, NULL, 0, "[{name: background}, {name: rot, level: 0.5}, {name: rust, level: 0.25}]"},
        {"", "rot", 0.75,
         "[{name: background}, {name: rot, level: 0.75}, {name: rust, level: 0.25}]"},
        {"plum", NULL, 0,
         "[{name: background}, {name: rot, level: 0.4}, {name: rust, level: 0.25}]"},
        {"plum", "rust", NAN, "[{name: background}, {name: rot, level: 0.4}, {name: rust}]"},
        {"plum", "background", 0.3,
         "[{name: background, level: 0.3}, {name: rot, level: 0.4}, {name: rust, level: 0.25}]"},
    };
    char with_recipe[128], same[128], text[512];
    snprintf(text, sizeof text, "%srecipes: {plum: {classes: {rot: 0.4}}, pear: {}}\n", yaml);
    daemon_write_config(folder, "with_recipe.yaml", text, with_recipe);
    crn_image in = crn_image_dense(maps, CRN_F32, CRN_HWC, CLASSES, HEIGHT, WIDTH);
    uint32_t before = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "classes: %s\n%s", cases[i].same, strstr(yaml, "chain:"));
        daemon_write_config(folder, "same.yaml", text, same);
        crn_chain *expected = open_with(same, NULL, NULL, 0);
        crn_chain *chain =
            open_with(with_recipe, cases[i].recipe, cases[i].class_name, cases[i].level);
        for (int32_t c = -1; c <= CLASSES; c++) {
            double level = crn_chain_class_level(chain, c);
            double other = crn_chain_class_level(expected, c);
            assert_true(level == other || (isnan(level) && isnan(other)));
        }
        const crn_defects *found, *wanted;
        assert_int_equal(crn_chain_judge(chain, &in, NULL, &found), 0);
        assert_int_equal(crn_chain_judge(expected, &in, NULL, &wanted), 0);
        assert_int_equal(found->defect_count, wanted->defect_count);
        assert_int_equal(found->point_count, wanted->point_count);
        assert_memory_equal(found->xy, wanted->xy, 2 * found->point_count * sizeof *found->xy);
        assert_true(found->point_count > 0 && found->point_count != before);
        before = found->point_count;
        crn_chain_free(&chain);
        crn_chain_free(&expected);
    }
}

static void levels_are_those_in_force(void **state)
{
    (void)state;
    crn_chain *chain = open_with(path, NULL, "rot", 0.75);
    assert_true(isnan(crn_chain_class_level(chain, 0)));
    assert_true(crn_chain_class_level(chain, 1) == 0.75);
    assert_true(crn_chain_class_level(chain, 2) == 0.25);
    assert_true(isnan(crn_chain_class_level(chain, 3)) && isnan(crn_chain_class_level(chain, -1)));
    assert_true(isnan(crn_chain_class_level(NULL, 0)));
    crn_chain_free(&chain);
}

static void what_the_file_does_not_have_is_refused(void **state)
{
    (void)state;
    char with_recipe[128], single[128], text[512];
    snprintf(text, sizeof text, "%srecipes: {plum: {classes: {rot: 0.4}}, pear: {}}\n", yaml);
    daemon_write_config(folder, "with_recipe.yaml", text, with_recipe);
    assert_null(open_with(with_recipe, "apple", NULL, 0));
    assert_says("with_recipe.yaml: there is no recipe 'apple'; the file has plum, pear");
    assert_null(open_with(path, "apple", NULL, 0));
    assert_says("line.yaml: there is no recipe 'apple'; the file has no recipes");
    assert_null(open_with(path, NULL, "scab", 0.5));
    assert_says("line.yaml: there is no class 'scab'; the file has background, rot, rust");
    assert_null(open_with(path, NULL, "rot", 1.25));
    assert_says("the level of 'rot' must be from 0 to 1, or NaN: not outlined; not 1.25");
    daemon_write_config(folder, "single.yaml",
                        "classes: [{name: rot, level: 0.5}]\nchain: [contours]\n", single);
    assert_null(open_with(single, NULL, "rot", NAN));
    assert_says("single.yaml: contours: no class has a level");
    crn_chain *chain = NULL;
    crn_chain_settings without = {.levels = 1};
    assert_int_equal(crn_chain_open_with(context, path, &without, &chain), -EINVAL);
    assert_says("class_names or class_levels is NULL");
    without.levels = -1;
    assert_int_equal(crn_chain_open_with(context, path, &without, &chain), -EINVAL);
    assert_says("levels is negative");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recipes_and_levels_replace_the_file_s),
        cmocka_unit_test(levels_are_those_in_force),
        cmocka_unit_test(what_the_file_does_not_have_is_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
