/* Deciding about a fruit, and telling the outputs, allocates nothing. This file replaces the
 * allocation functions of the process. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/line/daemon.h"
#include "tests/support/programs/rule_fruit.h"
#include "tests/support/sanitized.h"
#include "tools/sorter/outputs/outputs.h"

#ifdef CRN_SANITIZED

static void deciding_allocates_nothing(void **state)
{
    (void)state;
    skip(); /* sanitizers replace malloc themselves */
}

#else

/* glibc's internal entry points, which remain available to programs that replace malloc. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);

static bool counting;
static unsigned allocations;

void *malloc(size_t bytes)
{
    allocations += counting;
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    allocations += counting;
    return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    allocations += counting;
    return __libc_realloc(memory, bytes);
}

#define FRUITS 20000
#define LANES  8

static void take(void *context, const crn_decision *decision)
{
    crn_outputs_send(context, decision);
}

static void load(crn_sorter_settings *settings)
{
    char path[128];
    daemon_write_config(
        test_folder, "sorter.yaml",
        "line: {endpoint: 'tcp://127.0.0.1:1'}\n"
        "outlets: {names: [first, waste, again], default: first, late: again,\n"
        "          partial: rules, silence: again, unmeasured: again}\n"
        "rules:\n"
        "  - {outlet: waste, when: 'any(rot, area_px > 50 and mean_probability > 0.5)'}\n"
        "  - {outlet: again, when: 'rot.area_px > 20 and not (lane == 3 or stale)'}\n"
        "outputs: {tcp: {bind: '127.0.0.1:0'}}\n",
        path);
    assert_int_equal(crn_sorter_settings_load(path, stderr, settings), 0);
    if (crn_modbus_is_built())
        snprintf(settings->outputs.modbus_server.bind, sizeof settings->outputs.modbus_server.bind,
                 "127.0.0.1:0");
}

/* Fruits of several lanes, some lost before them, late or with a defect. */
static void decide(crn_decider *decider, crn_rule_fruit *fruit, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        fruit->verdict.lane = i % LANES;
        fruit->verdict.sequence = i / LANES * 2;
        fruit->verdict.kind = i % 7 ? CRN_VERDICT_COMPLETE : CRN_VERDICT_LATE;
        fruit->defects[0].area_px = i % 80;
        crn_decider_verdict(decider, &fruit->verdict, i, i);
        crn_decider_look(decider, i);
    }
}

static void deciding_allocates_nothing(void **state)
{
    (void)state;
    static crn_sorter_settings settings;
    static crn_outputs outputs;
    static crn_rule_fruit fruit;
    char path[128];
    crn_decider *decider = NULL;
    crn_kept_sequences *kept = NULL;
    crn_error error = {""};
    load(&settings);
    snprintf(path, sizeof path, "%s/sequences", test_folder);
    assert_int_equal(crn_kept_sequences_open(path, &kept, &error), 0);
    assert_int_equal(crn_outputs_open(&outputs, &settings, "0a", 0, &error), 0);
    assert_int_equal(crn_decider_create(&settings, take, &outputs, kept, &decider), 0);
    crn_rule_fruit_init(&fruit);
    crn_rule_fruit_look_for(&fruit, "rot");
    crn_rule_fruit_add(&fruit, "rot", 60, 0.8);
    decide(decider, &fruit, 0, 2 * LANES); /* each lane is noted once */
    counting = true;
    decide(decider, &fruit, 2 * LANES, FRUITS);
    counting = false;
    assert_int_equal(allocations, 0);
    assert_true(crn_decider_get_stats(decider)->outlet[1] > FRUITS / 10);
    assert_true(crn_decider_get_stats(decider)->lost > FRUITS / 2);
    crn_decider_free(&decider);
    crn_kept_sequences_close(&kept);
    crn_outputs_close(&outputs);
    crn_sorter_settings_done(&settings);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(deciding_allocates_nothing, test_folder_make,
                                        test_folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
