/*
 * Line files of 0.1.0, as they were: they load with the same meaning, or what they need is said.
 * CHANGELOG.md lists what changes for them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/config/config.h"
#include "src/ingest/access/access.h"
#include "tests/support/cmocka_prelude.h"

#define MINIMAL "classes: [{name: rot, level: 0.5}]\nchain: [contours]\n"

static crn_config config;
static char faults[4096];

static void load(const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/data/config/0.1.0/%s.yaml", CRN_TEST_DATA, name);
    assert_int_equal(crn_config_load(path, stderr, &config), 0);
}

/* Whether its addresses may be bound as they stand; what is said otherwise is in `faults`. */
static int check_exposed(void)
{
    FILE *out = fmemopen(faults, sizeof faults, "w");
    assert_non_null(out);
    int r = crn_access_check_exposed(&config, out);
    fclose(out);
    return r;
}

static void the_ready_files_load_as_they_are(void **state)
{
    (void)state;
    static const char *const names[] = {"line", "line-full"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        load(names[i]);
        assert_int_equal(config.classes.count, 12);
        assert_int_equal(config.latency.budget_ms, 100);
        assert_int_equal(config.publish.grader.alive_ms, 0);
        assert_string_equal(config.publish.log.dir, "");
        assert_string_equal(config.access.keys, "");
        assert_string_equal(config.control.path, "");
        assert_int_equal(config.record.keep_gib, 0);
        assert_int_equal(config.record.keep_days, 0);
        assert_int_equal(config.realtime.line_priority, 0);
        assert_false(config.realtime.lock_memory);
        assert_null(config.recipes);
        assert_int_equal(check_exposed(), 0);
        crn_config_done(&config);
    }
}

/* It has every key of 0.1.0 away from its default. */
static void every_key_is_still_known(void **state)
{
    (void)state;
    load("every_key");
    assert_string_equal(config.record.dir, "/var/lib/cernita");
    assert_int_equal(config.record.segment_mib, 16);
    assert_int_equal(config.publish.grader.high_water_mark, 100000);
    assert_int_equal(config.limits.open_fruits, 65536);
    assert_int_equal(config.run.workers, 256);
    crn_config_done(&config);
}

static void addresses_that_others_reach_name_both_cures(void **state)
{
    (void)state;
    load("every_key");
    assert_true(check_exposed() < 0);
    assert_non_null(strstr(faults, "ingest.bind: other machines can connect to tcp://*:5555"));
    assert_non_null(strstr(faults, "other machines can connect to tcp://eth0:5556"));
    assert_null(strstr(faults, "publish.grader.bind")); /* tcp://[::1] */
    assert_non_null(strstr(faults, "set access.keys to a folder of keys"));
    assert_non_null(strstr(faults, "or write `access: {plain_tcp: true}`"));
    config.access.plain_tcp = true;
    assert_int_equal(check_exposed(), 0);
    crn_config_done(&config);
}

/* 0.1.0 had no limits.peer_mib, and view_mib up to 1024. */
static void large_views_need_no_new_limit(void **state)
{
    (void)state;
    static const char text[] = MINIMAL "limits: {view_mib: 1024}\n";
    assert_int_equal(crn_config_parse("f", text, sizeof text - 1, stderr, &config), 0);
    assert_int_equal(config.limits.peer_mib, 1024);
    crn_config_done(&config);
    static const char small[] = MINIMAL "limits: {view_mib: 200}\n";
    assert_int_equal(crn_config_parse("f", small, sizeof small - 1, stderr, &config), 0);
    assert_int_equal(config.limits.peer_mib, 256);
    crn_config_done(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ready_files_load_as_they_are),
        cmocka_unit_test(every_key_is_still_known),
        cmocka_unit_test(addresses_that_others_reach_name_both_cures),
        cmocka_unit_test(large_views_need_no_new_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
