/*
 * A process that counts fruits is killed (SIGKILL) at any moment: what it was told to be written is
 * in the file, and nothing torn. CRN_CASES is the number of moments (100 by default).
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/monitor/minutes/file.h"
#include "tests/unit/monitor/minutes/minutes_fixture.h"

#define RECORDS 100000

/* Opens the file anew. */
static crn_minutes_file *open_file(void)
{
    crn_minutes_file *file;
    crn_error error;
    if (crn_minutes_file_open(test_folder, RECORDS, &file, &error) < 0 ||
        crn_minutes_file_load(file, &error) < 0)
        fail_msg("%s", error.text);
    return file;
}

/* Writes a minute after the other, the fruits of each being its number, and tells each. */
static _Noreturn void write_for_ever(crn_minutes_file *file, int tell, uint32_t minute)
{
    for (;;) {
        char recipe[16];
        snprintf(recipe, sizeof recipe, "recipe %u", minute % 1000);
        crn_minute_record record = {
            .minute = ++minute, .recipe = crn_minutes_file_name(file, CRN_MINUTES_RECIPE, recipe)};
        crn_minute_record_add_lane(&record, &(crn_minute_lane){3, {minute, 0, 0}, minute});
        if (crn_minutes_file_write(file, &record) < 0 ||
            write(tell, &minute, sizeof minute) != sizeof minute)
            _exit(1);
    }
}

/* Has a child write until so many minutes were told, and kills it a moment later. Returns the last
 * that was told. */
static uint32_t kill_after(uint32_t minutes, uint32_t spins, uint32_t from)
{
    int pipe_ends[2];
    uint32_t told = from;
    assert_int_equal(pipe(pipe_ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(pipe_ends[0]);
        write_for_ever(open_file(), pipe_ends[1], from);
    }
    close(pipe_ends[1]);
    for (uint32_t i = 0; i < minutes; i++)
        assert_int_equal(read(pipe_ends[0], &told, sizeof told), sizeof told);
    for (volatile uint32_t i = 0; i < spins; i++)
        continue;
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    while (read(pipe_ends[0], &told, sizeof told) == sizeof told)
        continue;
    close(pipe_ends[0]);
    return told;
}

/* Each minute once, in order, up to the last one. Returns it. */
static uint32_t expect_minutes(uint32_t told)
{
    crn_minutes_reader reader;
    crn_minute_record record;
    char recipe[16];
    uint32_t minute = 0;
    open_reader(&reader);
    while (crn_minutes_next(&reader, &record) == 1) {
        snprintf(recipe, sizeof recipe, "recipe %u", minute % 1000);
        assert_int_equal(record.minute, ++minute);
        assert_int_equal(record.lanes[0].verdicts[CRN_VERDICT_COMPLETE], minute);
        assert_string_equal(crn_minutes_text(&reader, record.recipe), recipe);
    }
    assert_int_equal(reader.damaged, 0);
    assert_true(minute >= told);
    crn_minutes_close(&reader);
    return minute;
}

static void a_kill_at_any_moment_loses_nothing(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    uint32_t minute = 0;
    crn_minutes_file *file = open_file();
    crn_minutes_file_close(&file);
    for (uint32_t moments = crn_random_cases(100); moments > 0 && minute < RECORDS / 2; moments--) {
        uint32_t told =
            kill_after(crn_random_below(&random, 4), crn_random_below(&random, 1000000), minute);
        minute = expect_minutes(told);
    }
    assert_true(minute > 0);
}

/* While it makes the file: the next start has one all the same. */
static void a_kill_while_the_file_is_made_leaves_none_or_a_whole_one(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    for (uint32_t moments = crn_random_cases(100); moments > 0; moments--) {
        unlink(minutes_path());
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            open_file();
            _exit(0);
        }
        for (volatile uint32_t i = crn_random_below(&random, 3000000); i > 0; i--)
            continue;
        kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        crn_minutes_file *file = open_file();
        crn_minutes_file_close(&file);
        assert_int_equal(expect_minutes(0), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kill_at_any_moment_loses_nothing),
        cmocka_unit_test(a_kill_while_the_file_is_made_leaves_none_or_a_whole_one),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
