/*
 * The power fails after each call that a writer makes to the disk: what it keeps opens again, holds
 * what was synced, and nothing else than what was written.
 *
 * CRN_CASES is the number of moments of each writer (60 by default, spread over its calls; 0: each
 * of them), CRN_SEED the seed of what the disk loses.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/faults/power/writers.h"
#include "tests/support/free_space.h"
#include "tests/support/parts/logged.h"

#include "stages/base/log.h"

#define DRAWN 4 /* losses that are drawn for a moment, beside losing all and nothing */

static char line_folder[80], image_folder[80];
static crn_random generator;
static uint32_t moments;

static void remove_folder(const char *path)
{
    char command[160];
    snprintf(command, sizeof command, "rm -rf %s", path);
    assert_int_equal(system(command), 0);
}

static void lose_power(const power_writer *writer, size_t calls, disk_loss loss)
{
    crn_random before = generator;
    remove_folder(image_folder);
    assert_int_equal(mkdir(image_folder, 0755), 0);
    power_moment moment = {.folder = image_folder, .keeps_all = loss == DISK_KEEPS_ALL};
    moment.acknowledged = disk_image(calls, loss, &generator, image_folder);
    if (getenv("CRN_LOG"))
        print_message("%s: after %zu calls, loss %d, CRN_SEED=%" PRIu64 "\n", writer->name, calls,
                      loss, before.state);
    writer->check(&moment);
}

static void power_fails_at_any_moment(void **state)
{
    const power_writer *writer = *state;
    generator.state = crn_random_seed();
    assert_int_equal(mkdir(line_folder, 0755), 0);
    disk_watch(line_folder, writer->ignored);
    writer->work(line_folder);
    disk_unwatch();
    size_t calls = disk_calls(), step = moments ? 1 + calls / moments : 1, losses = 0;
    for (size_t at = crn_random_below(&generator, (uint32_t)step); at <= calls; at += step) {
        lose_power(writer, at, DISK_KEEPS_ALL);
        lose_power(writer, at, DISK_LOSES_ALL);
        for (int i = 0; i < DRAWN; i++)
            lose_power(writer, at, DISK_DRAWS);
        losses += 2 + DRAWN;
    }
    print_message("%s: %zu losses of power within %zu calls\n", writer->name, losses, calls);
}

static int set_up(void **state)
{
    snprintf(line_folder, sizeof line_folder, "%s", "");
    if (logged_setup(state) < 0)
        return -1;
    snprintf(power_log_folder, sizeof power_log_folder, "%s", logged_folder);
    snprintf(line_folder, sizeof line_folder, "%s/line", logged_folder);
    snprintf(image_folder, sizeof image_folder, "%s/image", logged_folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    strcpy(logged_folder, power_log_folder);
    return logged_teardown(state);
}

#define TEST(writer)                                                                               \
    {                                                                                              \
#writer, power_fails_at_any_moment, set_up, tear_down, (void *)(uintptr_t)&power_##writer  \
    }

int main(void)
{
    moments = crn_random_cases(60);
    crn_log_set_level(CRN_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        TEST(recording), TEST(verdict_log), TEST(archived), TEST(minutes),
        TEST(alarms),    TEST(changes),     TEST(recipe),   TEST(archive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
