/* Recipes: what they replace, their faults, their place in print and hash; and what a running line
 * cannot take in. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stages/config/config.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/config_text.h"
#include "tests/support/parts/same_config.h"

#define OWN                                                                                        \
    "classes: [{name: ground}, {name: rot, level: 0.5}, {name: hail}]\n"                           \
    "chain: [convolve: {kernel: gaussian, size: 3}, contours: {}]\n"                               \
    "latency: {budget_ms: 80, assemble_ms: 300, guard_ms: 5}\n"

static void a_recipe_replaces_what_it_names(void **state)
{
    (void)state;
    crn_config file, config;
    config_text_load(OWN
                     "recipes:\n"
                     "  plum: {classes: {hail: 0.3, rot: {}}, latency: {budget_ms: 50}}\n"
                     "  pear: {classes: {rot: {level: 0.9}}, chain: [contours: {min_area_px: 4}]}\n"
                     "  same: {}\n"
                     "  nothing:\n",
                     &file);
    assert_int_equal(crn_config_use_recipe(&file, "plum", &config), 0);
    assert_string_equal(config.recipe, "plum");
    assert_true(isnan(config.classes.level[0]) && isnan(config.classes.level[1]));
    assert_true(config.classes.level[2] == 0.3);
    assert_int_equal(config.steps, 2);
    assert_int_equal(config.latency.budget_ms, 50);
    assert_int_equal(config.latency.assemble_ms, 300);
    assert_int_equal(config.latency.guard_ms, 5);
    crn_config_done(&config);
    assert_int_equal(crn_config_use_recipe(&file, "pear", &config), 0);
    assert_true(config.classes.level[1] == 0.9 && isnan(config.classes.level[2]));
    assert_int_equal(config.steps, 1);
    assert_int_equal(config.latency.budget_ms, 80);
    crn_config_done(&config);
    assert_int_equal(crn_config_use_recipe(&file, "apple", &config), -ENOENT);
    const char *const own[] = {"", "same", "nothing"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(crn_config_use_recipe(&file, own[i], &config), 0);
        assert_string_equal(config.recipe, own[i]);
        config.recipe[0] = '\0';
        memset(config.recipe, 0, sizeof config.recipe);
        assert_true(crn_same_config(&file, &config));
        crn_config_done(&config);
    }
    crn_config_done(&file);
}

static void their_order_in_the_file_does_not_matter(void **state)
{
    (void)state;
    crn_config before, after;
    config_text_load("recipes: {plum: {classes: {rot: 0.4}}}\n" OWN, &before);
    config_text_load(OWN "recipes: {plum: {classes: {rot: 0.4}}}\n", &after);
    assert_true(crn_same_config(&before, &after));
    crn_config_done(&before);
    crn_config_done(&after);
}

static void each_fault_is_told_where_it_stands(void **state)
{
    (void)state;
    static const struct {
        const char *text, *fault;
    } cases[] = {
        {"recipes: [plum]\n", "f:4:10: recipes: a list given, a map such as"},
        {"recipes: {plum: 3}\n", "f:4:17: recipes.plum: a value given, keys expected: classes"},
        {"recipes: {'': {}}\n", "f:4:11: recipes: '' is not a name, 1 to 47 bytes expected"},
        {"recipes: {--none: {}}\n",
         "f:4:11: recipes: '--none' begins with '-', a letter or digit expected"},
        {"recipes: {' one': {}}\n",
         "f:4:11: recipes: ' one' begins or ends with a blank, none expected"},
        {"recipes: {'one ': {}}\n",
         "f:4:11: recipes: 'one ' begins or ends with a blank, none expected"},
        {"recipes: {a: {}, a: {}}\n", "f:4:18: recipes: 'a' is a duplicate"},
        {"recipes: {\"a\\nb\": {}}\n", "holds characters that cannot be printed"},
        {"recipes: {a: {class: {}}}\n", "f:4:15: recipes.a: unknown key 'class', known: classes"},
        {"recipes: {a: {latency: {}, latency: {}}}\n", "recipes.a: 'latency' is a duplicate"},
        {"recipes: {a: {classes: {mould: 0.4}}}\n",
         "f:4:25: recipes.a.classes: there is no class 'mould' in 'classes'"},
        {"recipes: {a: {classes: {rot: 0.4, rot: 0.4}}}\n",
         "recipes.a.classes: 'rot' is a duplicate"},
        {"recipes: {a: {classes: {rot: 4}}}\n", "f:4:30: recipes.a.classes: 4 is out of range"},
        {"recipes: {a: {classes: {rot: {levl: 0.4}}}}\n", "did you mean 'level'?"},
        {"recipes: {a: {classes: [rot]}}\n", "recipes.a.classes: a list given"},
        {"recipes: {a: {chain: [convolve: {kernel: gaussian, size: 3}]}}\n",
         "chain: no contours stage"},
        {"recipes: {a: {chain: [convolve: {kernel: /nowhere}, contours: {}]}}\n", "/nowhere"},
        {"recipes: {a: {latency: {budget: 5}}}\n", "unknown key 'budget' in recipes.a.latency"},
        {"recipes: {a: {latency: {guard_ms: 80}}}\n",
         "f:4:35: latency.guard_ms: 80 is not below budget_ms, which is 80"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1024], *faults;
        crn_config config;
        snprintf(text, sizeof text, OWN "%s", cases[i].text);
        assert_int_equal(config_text_parse(text, &faults, &config), -EINVAL);
        if (!strstr(faults, cases[i].fault))
            fail_msg("%s gives %s", cases[i].text, faults);
        if (strchr(faults, '\n')[1])
            fail_msg("%s gives more than one line: %s", cases[i].text, faults);
        free(faults);
    }
}

static uint64_t hash_of(const char *text, const char *recipe)
{
    crn_config file, config;
    uint64_t hash;
    config_text_load(text, &file);
    assert_int_equal(crn_config_use_recipe(&file, recipe, &config), 0);
    assert_int_equal(crn_config_hash(&config, &hash, NULL), 0);
    crn_config_done(&config);
    crn_config_done(&file);
    return hash;
}

static void the_hash_tells_recipes_apart(void **state)
{
    (void)state;
    static const char two[] = OWN "recipes: {a: {classes: {rot: 0.4}}, b: {classes: {rot: 0.3}}}\n";
    assert_int_not_equal(hash_of(two, ""), hash_of(two, "a"));
    assert_int_not_equal(hash_of(two, "b"), hash_of(two, "a"));
    assert_int_not_equal(hash_of(OWN, ""), hash_of(two, ""));
    assert_int_equal(hash_of(OWN, ""), hash_of(OWN "recipes: {}\n", ""));
}

static void only_live_keys_may_differ(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    crn_config running, file;
    config_text_load(OWN, &running);
    config_text_load("classes: [{name: ground, level: 0.1}, {name: rot}, {name: hail}]\n"
                     "chain: [contours: {}]\n"
                     "latency: {budget_ms: 70}\n"
                     "ingest: {values: trust}\n"
                     "run: {stop_ms: 5}\n"
                     "recipes: {a: {}}\n"
                     "log: {level: debug}\n",
                     &file);
    assert_int_equal(crn_config_fixed_differences(&running, &file, NULL), 0);
    crn_config_done(&file);
    config_text_load("classes: [{name: ground}, {name: hail, level: 0.5}, {name: rot}]\n"
                     "chain: [contours: {}]\n"
                     "ingest: {bind: ['ipc://a', 'ipc://b']}\n"
                     "run: {devices: [0, 1]}\n"
                     "publish: {log: {dir: /tmp}, grader: {alive_ms: 5}}\n"
                     "control: {path: /tmp/x}\n",
                     &file);
    file.file = "my.yaml";
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(crn_config_fixed_differences(&running, &file, out), 7);
    fclose(out);
    assert_non_null(strstr(text,
                           "my.yaml: ingest.bind is [\"ipc://a\", \"ipc://b\"] in the file and "
                           "[\"tcp://127.0.0.1:5555\"] in the running daemon"));
    assert_non_null(strstr(text, "my.yaml: classes[1].name is hail in the file and rot in"));
    assert_non_null(strstr(text, "run.devices is [0, 1] in the file and [0] in"));
    assert_non_null(strstr(text, "publish.log.dir is \"/tmp\""));
    assert_non_null(strstr(text, "control.path is"));
    free(text);
    crn_config_done(&file);
    crn_config_done(&running);
}

static void all_that_differs_is_listed_with_both_values(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size = 0;
    crn_config before, after;
    config_text_load("classes: [{name: ground}, {name: rot, level: 0.5}]\n"
                     "chain: [morphology: {operation: open, size: 3}, contours: {}]\n"
                     "recipes: {a: {classes: {rot: 0.4}}, b: {}}\n",
                     &before);
    config_text_load("classes: [{name: ground, level: 0.1}, {name: rot, level: 0.5}]\n"
                     "chain: [morphology: {operation: open, size: 5, optional: true},"
                     " contours: {}]\n"
                     "latency: {budget_ms: 70}\n"
                     "recipes: {a: {classes: {rot: 0.3}, latency: {budget_ms: 100},\n"
                     "              chain: [contours: {}]}, c: {}}\n",
                     &after);
    FILE *out = open_memstream(&text, &size);
    int32_t count = crn_config_differences(&before, &after, out);
    fclose(out);
    assert_string_equal(text, "classes.ground.level: none -> 0.1\n"
                              "chain[0].morphology.size: 3 -> 5\n"
                              "chain[0].morphology.optional: false -> true\n"
                              "latency.budget_ms: 100 -> 70\n"
                              "recipes.a.ground.level: none -> 0.1\n"
                              "recipes.a.rot.level: 0.4 -> 0.3\n"
                              "recipes.a.chain: morphology, contours -> contours\n"
                              "recipes.b: there -> none\n"
                              "recipes.c: none -> there\n");
    assert_int_equal(count, 9);
    assert_int_equal(crn_config_differences(&before, &before, NULL), 0);
    free(text);
    crn_config_done(&after);
    crn_config_done(&before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recipe_replaces_what_it_names),
        cmocka_unit_test(their_order_in_the_file_does_not_matter),
        cmocka_unit_test(each_fault_is_told_where_it_stands),
        cmocka_unit_test(the_hash_tells_recipes_apart),
        cmocka_unit_test(only_live_keys_may_differ),
        cmocka_unit_test(all_that_differs_is_listed_with_both_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
