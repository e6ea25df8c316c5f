/*
 * A process that writes alarms is killed (SIGKILL) at any moment: the file then has what was told
 * to be written, and nothing torn. CRN_CASES is the number of moments (100 by default).
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/monitor/alarms/file.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/random.h"

/* Alarms that are written again and again, and by how much their numbers grow. */
#define ALARMS 8

static crn_alarm_book *book;
static crn_alarm_file *file;

static void open_file(void)
{
    crn_error error;
    crn_alarm_file_close(&file);
    crn_alarm_book_free(&book);
    assert_int_equal(crn_alarm_book_create(0, &book), 0);
    if (crn_alarm_file_open(test_folder, book, &file, &error) < 0)
        fail_msg("%s", error.text);
}

/* An alarm whose values all follow from its number and from how often it was written. */
static crn_alarm make_alarm(uint64_t number, int64_t step)
{
    crn_alarm alarm = {
        .number = number,
        .row = crn_condition_rows[(number + (uint64_t)step) % (uint64_t)crn_condition_row_count],
        .values = {.lane = step, .count = (double)step, .hours = (double)number},
        .raised_ms = step,
        .cleared_ms = step + 1,
        .acknowledged_ms = step + 2,
        .shelved_until_ms = step + 3};
    snprintf(alarm.values.name, sizeof alarm.values.name, "%0100lld", (long long)step);
    snprintf(alarm.acknowledged_by, sizeof alarm.acknowledged_by, "%040lld", (long long)step);
    return alarm;
}

/* Steps that the child has written to the disk, in the order of their alarms. */
typedef struct written_steps {
    uint64_t first; /* number of the first of ALARMS */
    int64_t step;   /* all of them have been written so often */
} written_steps;

/* Writes all alarms, waits for the disk, and tells it, until it is killed. */
static _Noreturn void write_for_ever(int tell, written_steps from)
{
    for (;;) {
        from.step++;
        if (from.step % 16 == 0)
            from.first++; /* one more alarm, in place of the oldest once the file is full */
        for (uint64_t i = 0; i < ALARMS; i++) {
            crn_alarm alarm = make_alarm(from.first + i, from.step);
            if (crn_alarm_file_write(file, &alarm) < 0)
                _exit(1);
        }
        if (crn_alarm_file_sync(file) < 0 || write(tell, &from, sizeof from) != sizeof from)
            _exit(1);
    }
}

/* What is there was written, as it is: of the last steps that were told, or newer. */
static void expect_written(written_steps told)
{
    for (uint64_t i = 0; i < ALARMS; i++) {
        uint64_t number = told.first + i;
        const crn_alarm *alarm = crn_alarm_book_find(book, number);
        assert_non_null(alarm);
        assert_true(alarm->raised_ms >= told.step);
        crn_alarm whole = make_alarm(number, alarm->raised_ms);
        assert_ptr_equal(alarm->row, whole.row);
        assert_memory_equal(&alarm->values, &whole.values, sizeof whole.values);
        assert_int_equal(alarm->cleared_ms, whole.cleared_ms);
        assert_int_equal(alarm->acknowledged_ms, whole.acknowledged_ms);
        assert_string_equal(alarm->acknowledged_by, whole.acknowledged_by);
        assert_int_equal(alarm->shelved_until_ms, whole.shelved_until_ms);
    }
}

/* Has a child write until so many rounds were told, and kills it a moment later. */
static written_steps kill_after(uint32_t rounds, uint32_t spins, written_steps from)
{
    int pipe_ends[2];
    written_steps told = from;
    assert_int_equal(pipe(pipe_ends), 0);
    pid_t child = crn_cleanup_fork();
    if (child == 0) {
        close(pipe_ends[0]);
        write_for_ever(pipe_ends[1], from);
    }
    close(pipe_ends[1]);
    for (uint32_t i = 0; i < rounds; i++)
        assert_int_equal(read(pipe_ends[0], &told, sizeof told), sizeof told);
    for (volatile uint32_t i = 0; i < spins; i++)
        continue;
    kill(child, SIGKILL);
    assert_int_equal(crn_cleanup_wait(child, NULL), child);
    while (read(pipe_ends[0], &told, sizeof told) == sizeof told)
        continue;
    close(pipe_ends[0]);
    return told;
}

static void a_kill_at_any_moment_loses_nothing(void **state)
{
    (void)state;
    uint32_t moments = crn_random_cases(100);
    crn_random random = {crn_random_seed()};
    written_steps told = {.first = 1, .step = 0};
    open_file();
    for (uint32_t i = 0; i < moments; i++) {
        written_steps before = told;
        told = kill_after(crn_random_below(&random, 4), crn_random_below(&random, 1000000), told);
        open_file();
        if (told.step > before.step)
            expect_written(told);
        told.step += 16;        /* beyond what may have been written and not told */
        if (i == moments / 2) { /* on to a file that is full */
            told.first = CRN_ALARMS_KEPT - ALARMS;
        }
    }
    crn_alarm_file_close(&file);
    crn_alarm_book_free(&book);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_kill_at_any_moment_loses_nothing)};
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
