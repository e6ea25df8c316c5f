/* A sorter's file: what it means, all that is told of a faulty one, and what a reload may change.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/line/daemon.h"
#include "tests/support/programs/readme_reference.h"
#include "tools/sorter/modbus/server.h"
#include "tools/sorter/settings/settings.h"

#define GOOD                                                                                       \
    "line: {endpoint: 'tcp://127.0.0.1:5556'}\n"                                                   \
    "outlets:\n"                                                                                   \
    "  names: [first, waste, again]\n"                                                             \
    "  default: first\n"                                                                           \
    "  late: again\n"                                                                              \
    "  partial: rules\n"                                                                           \
    "  silence: again\n"                                                                           \
    "  unmeasured: again\n"                                                                        \
    "outputs: {tcp: {bind: '127.0.0.1:0'}}\n"

static crn_sorter_settings settings;
static char *said;

static int set_up(void **state)
{
    memset(&settings, 0, sizeof settings);
    said = NULL;
    return test_folder_make(state);
}

static int tear_down(void **state)
{
    crn_sorter_settings_done(&settings);
    free(said);
    return test_folder_remove(state);
}

static int load(const char *yaml, crn_sorter_settings *ret_settings)
{
    char path[128];
    size_t size;
    free(said);
    said = NULL;
    daemon_write_config(test_folder, "sorter.yaml", yaml, path);
    FILE *out = open_memstream(&said, &size);
    int r = crn_sorter_settings_load(path, out, ret_settings);
    assert_int_equal(fclose(out), 0);
    return r;
}

static void expect_fault(const char *yaml, const char *wanted)
{
    static crn_sorter_settings faulty;
    memset(&faulty, 0, sizeof faulty);
    assert_int_equal(load(yaml, &faulty), -EINVAL);
    crn_sorter_settings_done(&faulty);
    if (!strstr(said, wanted))
        fail_msg("'%s' was not said, but: %s", wanted, said);
}

static void a_file_names_outlets_rules_and_outputs(void **state)
{
    (void)state;
    int r = load(GOOD "rules:\n"
                      "  - {outlet: waste, when: rot.area_px > 50}\n"
                      "  - {outlet: again, when: \"any('fresh hail', area_px > 3)\"}\n",
                 &settings);
    assert_string_equal(said, "");
    assert_int_equal(r, 0);
    assert_int_equal(settings.outlets.choice.by_default, 0);
    assert_int_equal(settings.outlets.choice.late, 2);
    assert_int_equal(settings.outlets.choice.partial, CRN_NO_OUTLET);
    assert_int_equal(crn_rules_count(settings.outlets.rules), 2);
    assert_int_equal(settings.outlets.rule_outlet[0], 1);
    assert_int_equal(settings.outlets.rule_outlet[1], 2);
    assert_int_equal(settings.line.late_ms, 50);
    assert_int_equal(settings.outputs.tcp.clients, 8);
}

static void rules_may_stand_before_the_outlets(void **state)
{
    (void)state;
    assert_int_equal(load("rules: [{when: stale, outlet: waste}]\n" GOOD, &settings), 0);
    assert_int_equal(settings.outlets.rule_outlet[0], 1);
}

static void faults_have_the_place_in_the_file(void **state)
{
    (void)state;
    expect_fault(GOOD "rules:\n  - {outlet: waste, when: rot.area_px > x}\n",
                 "sorter.yaml:11:41: rules[1].when: unknown field 'x'");
    expect_fault(GOOD "rules:\n  - {outlet: waste, when: \"rot.area_px > x\"}\n", ":11:42: ");
    expect_fault(GOOD "rules:\n  - {outlet: waste, when: '\"h\xc3\xa4il\".area_px > x'}\n",
                 ":11:45: ");
    expect_fault(GOOD "rules:\n  - {outlet: waste, when: \"rot.area_px >\n      x\"}\n",
                 ":11:27: rules[1].when: at 'x': unknown field 'x'");
    expect_fault(GOOD "rules:\n  - {outlet: wast, when: stale}\n",
                 ":11:14: rules[1].outlet: 'wast' is not in outlets.names, did you mean 'waste'?");
    expect_fault(GOOD "rules:\n  - {outlet: waste}\n", ":11:5: rules[1].when is missing");
    expect_fault(GOOD "rules: stale\n", ":10:8: rules: a value given, a list of");
    expect_fault(GOOD "rules: [{outlet: waste, when: stale, whn: 3}]\n", "did you mean 'when'?");
}

static void all_faults_are_told_at_once(void **state)
{
    (void)state;
    expect_fault("line: {endpoint: 5556, key: a}\n"
                 "outlets: {names: [a, b c, a, rules], default: x, late: a, partial: b,\n"
                 "          silence: a}\n"
                 "rules: [{outlet: a, when: lane > 1 and lane < 1}]\n"
                 "outputs: {tcp: {bind: nowhere, clients: 99}}\n",
                 ":1:18: line.endpoint: '5556' is not an endpoint");
    static const char *const wanted[] = {
        ":1:29: line.key: without line.server_key",
        ":2:1: outlets.unmeasured is missing",
        ":2:22: outlets.names: 'b c' is not a name",
        ":2:27: outlets.names: 'a' is a duplicate",
        ":2:30: outlets.names: 'rules' is not a name",
        ":2:47: outlets.default: 'x' is not in outlets.names",
        ":4:40: rules[1].when: what is required here of lane",
        ":5:23: outputs.tcp.bind: 'nowhere' is not an address",
        ":5:41: outputs.tcp.clients: 99 is out of range",
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(said, wanted[i]))
            fail_msg("'%s' was not said, but: %s", wanted[i], said);
    expect_fault("", "the file is empty, line, outlets and outputs expected");
    expect_fault("line: {endpoint: 'ipc://x'}\noutlets: {names: a, default: a, late: a, partial: "
                 "a, silence: a, unmeasured: a}\n",
                 "outputs: there is none");
    expect_fault("line: {endpoint: 'ipc://x'}\noutlets: {names: a, default: a, late: a, partial: "
                 "a, silence: a, unmeasured: a}\noutputs: {mqtt: {broker: 'b:1', topic: 'a/#'}}\n",
                 ":3:40: outputs.mqtt.topic: 'a/#' is not a topic");
}

#define FIRING                                                                                     \
    "firing: {source: modbus, speed_max: 8000, tolerance: 30}\n"                                   \
    "ejectors:\n"

#define PLC                                                                                        \
    "line: {endpoint: 'ipc://x'}\n"                                                                \
    "outlets: {names: [end, waste], default: end, late: end, partial: rules, silence: end, "       \
    "unmeasured: end}\n"                                                                           \
    "outputs: {modbus_client: {address: 'plc:502'}}\n"

static void ejectors_are_a_list(void **state)
{
    (void)state;
    if (!crn_modbus_is_built())
        skip();
    int r =
        load(PLC FIRING "  - {outlet: waste, distance: 900, coil: 3, input: 8, confirm_ms: 90}\n"
                        "  - {outlet: waste, lane: 2, distance: 900, coil: 4}\n",
             &settings);
    assert_string_equal(said, "");
    assert_int_equal(r, 0);
    assert_int_equal(settings.ejectors.count, 2);
    assert_int_equal(settings.ejectors.item[0].outlet, 1);
    assert_int_equal(settings.ejectors.item[0].input, 8);
    assert_int_equal(settings.ejectors.item[1].lane, 2);
    assert_int_equal(settings.ejectors.item[1].input, CRN_NO_INPUT);
}

static void faulty_ejectors_are_told(void **state)
{
    (void)state;
    if (!crn_modbus_is_built())
        skip();
    expect_fault(
        PLC FIRING "  - {outlet: wast, distance: 900, coil: 3}\n",
        ":6:14: ejectors[1].outlet: 'wast' is not in outlets.names, did you mean 'waste'?");
    expect_fault(PLC FIRING "  - {outlet: waste, coil: 3}\n",
                 ":6:5: ejectors[1].distance is missing");
    expect_fault(PLC FIRING "  - {outlet: end, distance: 900, coil: 3}\n",
                 "'end' is outlets.silence");
    expect_fault(PLC FIRING "  - {outlet: waste, distance: 900, coil: 3}\n"
                            "  - {outlet: waste, distance: 800, coil: 4}\n",
                 ":7:5: ejectors[2]: ejectors[1] has the same outlet and lane");
    expect_fault(PLC FIRING "  - {outlet: waste, distance: 900, coil: 3}\n"
                            "  - {outlet: waste, lane: 1, distance: 800, coil: 3}\n",
                 "ejectors[2].coil: ejectors[1] has the same");
    expect_fault(PLC FIRING "  - {outlet: waste, distance: 900, coil: 3, input: 3}\n",
                 "input: without confirm_ms");
    expect_fault(PLC FIRING "  - {outlet: waste, distance: 900, coil: 3, confirm_ms: 3}\n",
                 "nothing confirms");
    expect_fault(GOOD "ejectors: 3\n", "ejectors: a value given, a list of");
}

static void ejectors_need_what_fires(void **state)
{
    (void)state;
    if (!crn_modbus_is_built())
        skip();
    expect_fault(PLC "ejectors: [{outlet: waste, distance: 9, coil: 3}]\n",
                 ":4:11: ejectors: without firing.source, it expected");
    static const char *const wanted[] = {"without firing.speed_max", "without firing.tolerance"};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strstr(said, wanted[i]))
            fail_msg("'%s' was not said, but: %s", wanted[i], said);
    expect_fault(GOOD FIRING "  - {outlet: waste, distance: 900, coil: 3}\n",
                 "ejectors: without outputs.modbus_client.address");
    expect_fault(GOOD "firing: {source: mqtt, confirm_topic: seen}\n",
                 "firing.source: mqtt without outputs.mqtt.broker");
    expect_fault(GOOD "firing: {source: views}\n", "firing.source: without ejectors");
    expect_fault(PLC, "outputs.modbus_client: nothing is written to it");
}

static void a_reload_changes_rules_and_outlets_alone(void **state)
{
    (void)state;
    static crn_sorter_settings file;
    memset(&file, 0, sizeof file);
    assert_int_equal(load(GOOD, &settings), 0);
    assert_int_equal(load("rules: [{outlet: waste, when: stale}]\nlog: {level: debug}\n"
                          "line: {endpoint: 'tcp://127.0.0.1:5556', silence_ms: 40}\n"
                          "outlets: {names: [first, waste, again], default: again, late: again, "
                          "partial: again, silence: again, unmeasured: again}\n"
                          "outputs: {tcp: {bind: '127.0.0.1:0'}}\n",
                          &file),
                     0);
    assert_int_equal(crn_sorter_settings_fixed(&settings, &file, "f", stderr), 0);
    strcpy(file.line.endpoint, "ipc://x");
    strcpy(file.outlets.names.item[1], "dust");
    file.outputs.tcp.alive_ms = 7;
    file.ejectors.count = 1;
    char *differences;
    size_t size;
    FILE *out = open_memstream(&differences, &size);
    assert_int_equal(crn_sorter_settings_fixed(&settings, &file, "f", out), 4);
    fclose(out);
    assert_non_null(strstr(differences,
                           "f: line.endpoint is \"tcp://127.0.0.1:5556\" while it runs "
                           "and \"ipc://x\" in the file: restart it\n"));
    assert_non_null(strstr(differences, "f: outlets.names is "));
    assert_non_null(strstr(differences, "f: outputs.tcp.alive_ms is 1000 while"));
    assert_non_null(strstr(differences, "f: ejectors differ from those while it runs"));
    free(differences);
    crn_sorter_settings_done(&file);
}

static void the_readme_lists_the_keys(void **state)
{
    (void)state;
    readme_expect_reference("tools/sorter/README.md", crn_sorter_settings_print_reference);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_file_names_outlets_rules_and_outputs),
        TEST(rules_may_stand_before_the_outlets),
        TEST(ejectors_are_a_list),
        TEST(faulty_ejectors_are_told),
        TEST(ejectors_need_what_fires),
        TEST(faults_have_the_place_in_the_file),
        TEST(all_faults_are_told_at_once),
        TEST(a_reload_changes_rules_and_outlets_alone),
        TEST(the_readme_lists_the_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
