/* The alarm file: written and read, full, damaged, and on disks that fail. */
#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "src/monitor/alarms/thread.h"
#include "stages/base/clock.h"
#include "tests/unit/monitor/alarms/alarm_file_fixture.h"

static void what_was_written_is_read(void **state)
{
    (void)state;
    crn_alarm alarm = {.number = 7,
                       .row = crn_condition_named("disk_full_soon"),
                       .values = {.lane = -1,
                                  .count = 1e6,
                                  .percent = 0.5,
                                  .seconds = 3.25,
                                  .hours = 17,
                                  .name = "Käse \"9\""},
                       .raised_ms = INT64_C(1764230000123),
                       .cleared_ms = INT64_C(1764230000456),
                       .acknowledged_ms = INT64_C(1764230000789),
                       .acknowledged_by = "fe80::1234:5678:9abc:def0%enp0s31f6",
                       .shelved_until_ms = INT64_C(1764230001000)};
    open_quietly();
    assert_null(crn_alarm_book_find(book, 7));
    assert_int_equal(crn_alarm_file_write(file, &alarm), 0);
    assert_int_equal(crn_alarm_file_sync(file), 0);
    open_quietly();
    const crn_alarm *read = crn_alarm_book_find(book, 7);
    assert_non_null(read);
    assert_ptr_equal(read->row, alarm.row);
    assert_memory_equal(&read->values, &alarm.values, sizeof alarm.values);
    assert_int_equal(read->raised_ms, alarm.raised_ms);
    assert_int_equal(read->cleared_ms, alarm.cleared_ms);
    assert_int_equal(read->acknowledged_ms, alarm.acknowledged_ms);
    assert_string_equal(read->acknowledged_by, alarm.acknowledged_by);
    assert_int_equal(read->shelved_until_ms, alarm.shelved_until_ms);
    assert_int_equal(crn_alarm_book_newest(book), 7);
}

/* The file keeps its size, and the newest stay. */
static void a_full_file_forgets_the_oldest(void **state)
{
    (void)state;
    struct stat before, after;
    open_quietly();
    assert_int_equal(stat(path, &before), 0);
    for (uint64_t number = 1; number <= CRN_ALARMS_KEPT + 10; number++) {
        crn_alarm alarm = {.number = number,
                           .row = crn_condition_named("wrong_scale"),
                           .values = {.name = "per_cent"},
                           .raised_ms = (int64_t)number};
        assert_int_equal(crn_alarm_file_write(file, &alarm), 0);
    }
    open_quietly();
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(after.st_size, before.st_size);
    assert_true((off_t)before.st_blocks * 512 >= before.st_size); /* the space is reserved */
    assert_null(crn_alarm_book_find(book, 10));
    for (uint64_t number = 11; number <= CRN_ALARMS_KEPT + 10; number++)
        expect_raised(number, (int64_t)number);
}

/* Another version's, cut or longer: one line says where it is, and the list begins anew. */
static void a_file_that_cannot_be_read_is_set_aside(void **state)
{
    (void)state;
    char aside[128];
    struct stat about;
    snprintf(aside, sizeof aside, "%s.damaged", path);
    for (int fault = 0; fault < 34; fault++) {
        open_quietly();
        write_alarm(5, 100);
        close_file();
        assert_int_equal(stat(path, &about), 0);
        unsigned char byte;
        if (fault == 32) {
            assert_int_equal(truncate(path, 0), 0);
        } else if (fault == 33) {
            assert_int_equal(truncate(path, about.st_size + 1), 0);
        } else {
            transfer(fault, &byte, 1, false);
            byte ^= 4;
            transfer(fault, &byte, 1, true);
        }
        const char *said = open_file();
        assert_non_null(strstr(said, aside));
        assert_int_equal(count_lines(said), 1);
        assert_null(crn_alarm_book_find(book, 5));
        assert_int_equal(unlink(aside), 0);
        assert_int_equal(crn_alarm_book_newest(book), 0);
    }
}

static void what_a_killed_start_left_is_removed(void **state)
{
    (void)state;
    char part[128];
    snprintf(part, sizeof part, "%s.part", path);
    FILE *left = fopen(part, "w");
    assert_non_null(left);
    fputs("half", left);
    fclose(left);
    open_quietly();
    assert_int_equal(access(part, F_OK), -1);
}

/* A row of the table that was taken out since. */
static void an_alarm_of_an_unknown_condition_is_left_out(void **state)
{
    (void)state;
    crn_condition gone = {.id = "gone"};
    crn_alarm alarm = {.number = 5, .row = &gone, .raised_ms = 100};
    open_quietly();
    assert_int_equal(crn_alarm_file_write(file, &alarm), 0);
    write_alarm(6, 100);
    open_quietly();
    assert_null(crn_alarm_book_find(book, 5));
    expect_raised(6, 100);
}

static void a_folder_is_one_lines_own(void **state)
{
    (void)state;
    crn_alarm_book *other;
    crn_alarm_file *none = NULL;
    crn_error error;
    open_quietly();
    assert_int_equal(crn_alarm_book_create(0, &other), 0);
    assert_int_equal(crn_alarm_file_open(test_folder, other, &none, &error), -EWOULDBLOCK);
    assert_non_null(strstr(error.text, path));
    assert_int_equal(crn_alarm_file_open("/nowhere/state", other, &none, &error), -ENOENT);
    assert_non_null(strstr(error.text, "/nowhere/state"));
    crn_alarm_book_free(&other);
}

/* --- with the thread --- */

static const crn_condition_held held = {.values = {.lane = 2, .name = "per_cent"}};

static uint64_t tell(crn_alarms *alarms, crn_condition_event event)
{
    crn_condition_held one = held;
    one.row = crn_condition_named("wrong_scale");
    crn_alarms_tell(alarms, &one, event);
    return crn_alarms_kept(alarms).newest;
}

static int64_t now_in_ms(void)
{
    return crn_realtime_ns() / CRN_NS_PER_MS;
}

static void a_restart_finds_the_list(void **state)
{
    (void)state;
    crn_alarms *alarms;
    crn_alarm alarm;
    assert_int_equal(crn_alarms_open(test_folder, &alarms), 0);
    uint64_t first = tell(alarms, CRN_CONDITION_RAISED);
    tell(alarms, CRN_CONDITION_HOLDS);
    assert_true(crn_alarms_get(alarms, first, &alarm));
    assert_int_equal(alarm.cleared_ms, 0);
    tell(alarms, CRN_CONDITION_ENDED);
    assert_int_equal(crn_alarms_acknowledge(alarms, first, "local"), 1);
    uint64_t second = tell(alarms, CRN_CONDITION_RAISED);
    int64_t closing_ms = now_in_ms();
    crn_alarms_close(&alarms);
    int64_t closed_ms = now_in_ms();
    while (now_in_ms() <= closed_ms)
        continue;
    assert_int_equal(crn_alarms_open(test_folder, &alarms), 0);
    assert_true(crn_alarms_get(alarms, first, &alarm));
    assert_string_equal(alarm.acknowledged_by, "local");
    assert_true(crn_alarms_get(alarms, second, &alarm)); /* it ended with the line */
    assert_in_range(alarm.cleared_ms, closing_ms, closed_ms);
    assert_int_equal(tell(alarms, CRN_CONDITION_RAISED), second + 1);
    crn_alarms_close(&alarms);
}

/* The daemon died with an alarm active. */
static void what_was_active_is_cleared_by_the_start(void **state)
{
    (void)state;
    crn_alarms *alarms;
    crn_alarm alarm;
    open_quietly();
    write_alarm(5, 100);
    close_file();
    int64_t starting_ms = now_in_ms();
    assert_int_equal(crn_alarms_open(test_folder, &alarms), 0);
    assert_true(crn_alarms_get(alarms, 5, &alarm));
    assert_true(alarm.cleared_ms >= starting_ms);
    assert_int_equal(crn_alarms_summary(alarms).open, 1); /* nobody acknowledged it */
    crn_alarms_close(&alarms);
}

static void without_a_folder_the_list_is_in_memory(void **state)
{
    (void)state;
    static const struct {
        const char *dir, *said;
    } cases[] = {{"", "state.dir is empty"}, {"/nowhere/state", "/nowhere/state/alarms: "}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        crn_alarms *alarms;
        crn_log_capture_start(&caught);
        int r = crn_alarms_open(cases[i].dir, &alarms);
        const char *said = crn_log_capture_stop(&caught);
        assert_int_equal(r, 0);
        assert_non_null(strstr(said, cases[i].said));
        assert_int_equal(count_lines(said), 1);
        assert_int_equal(tell(alarms, CRN_CONDITION_RAISED), 1);
        assert_int_equal(crn_alarms_summary(alarms).open, 1);
        crn_alarms_close(&alarms);
    }
}

/* Waits until nobody has the file open. */
static void await_closed(void)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    close(fd);
}

static void a_disk_that_fails_is_logged_once(void **state)
{
    (void)state;
    struct rlimit old, tight;
    crn_alarms *alarms;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(crn_alarms_open(test_folder, &alarms), 0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    tight = (struct rlimit){8192, old.rlim_max};
    crn_log_capture_start(&caught);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    for (int i = 0; i < 40; i++) {
        tell(alarms, CRN_CONDITION_RAISED);
        tell(alarms, CRN_CONDITION_ENDED);
        if (i == 20)
            await_closed(); /* at the first failure, beyond the limit */
    }
    assert_int_equal(crn_alarms_summary(alarms).open, 40);
    crn_alarms_close(&alarms);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    const char *said = crn_log_capture_stop(&caught);
    assert_non_null(strstr(said, "cannot be written"));
    assert_int_equal(count_lines(said), 1);
    open_quietly(); /* what was written before is there */
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
        cmocka_unit_test(a_full_file_forgets_the_oldest),
        cmocka_unit_test(a_file_that_cannot_be_read_is_set_aside),
        cmocka_unit_test(what_a_killed_start_left_is_removed),
        cmocka_unit_test(an_alarm_of_an_unknown_condition_is_left_out),
        cmocka_unit_test(a_folder_is_one_lines_own),
        cmocka_unit_test(a_restart_finds_the_list),
        cmocka_unit_test(what_was_active_is_cleared_by_the_start),
        cmocka_unit_test(without_a_folder_the_list_is_in_memory),
        cmocka_unit_test(a_disk_that_fails_is_logged_once),
    };
    CRN_SET_FIXTURE(tests, set_up, tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
