/* The table of a sorter's metrics: names, a sample for each, the reference in its README. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/programs/readme_reference.h"
#include "tools/sorter/monitor/families.h"

static char *text;

static int set_up(void **state)
{
    size_t size;
    static crn_sorter_settings settings = {.outlets.names = {.count = 1, .item = {"only"}},
                                           .ejectors.count = 1};
    const crn_sorter_observation observation = {.settings = &settings, .run = "a"};
    FILE *out = open_memstream(&text, &size);
    (void)state;
    crn_sorter_families_print(&observation, out);
    return fclose(out);
}

static int tear_down(void **state)
{
    (void)state;
    free(text);
    return 0;
}

/* Prometheus' rules: base units, and _total of counters alone. */
static void names_follow_the_rules(void **state)
{
    (void)state;
    int count = 0;
    for (const char *type = text; (type = strstr(type, "# TYPE ")); count++) {
        char name[128], kind[16];
        type += strlen("# TYPE ");
        assert_int_equal(sscanf(type, "%127s %15s", name, kind), 2);
        bool is_total =
            strlen(name) > 6 && strcmp(name + strlen(name) - strlen("_total"), "_total") == 0;
        assert_int_equal(is_total, strcmp(kind, "counter") == 0);
        assert_true(strncmp(name, "cernita_sorter_", 15) == 0 || strncmp(name, "process_", 8) == 0);
        char sample[160];
        snprintf(sample, sizeof sample, "\n%s", name);
        assert_non_null(strstr(type, sample));
    }
    assert_true(count > 20);
}

static void the_readme_has_the_reference(void **state)
{
    (void)state;
    readme_expect_reference("tools/sorter/monitor/README.md", crn_sorter_families_print_reference);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_follow_the_rules),
        cmocka_unit_test(the_readme_has_the_reference),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
