/* A line's alarm list in an archive: each alarm once, and what became of it, while the daemon
 * writes the list and over the list's own end. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/monitor/alarms/file.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/archived.h"
#include "tests/support/parts/logged.h"
#include "tools/archive/state/state.h"

#define NOBODY  65534
#define TIME_MS INT64_C(1764230400000)

#define COUNT(what) "SELECT COUNT(*) FROM " what

static char list_path[160];
static crn_alarm_book *book;
static crn_alarm_file *list;
static crn_archive archive;
static crn_state_import *state;
static crn_error error;
static char notice[1024];
static int notices; /* but of the log of changes, which these folders do not have */

static void keep_notice(const char *line)
{
    if (strstr(line, "changes.jsonl"))
        return;
    snprintf(notice, sizeof notice, "%s", line);
    notices++;
}

static void open_list(void)
{
    assert_int_equal(crn_alarm_book_create(TIME_MS, &book), 0);
    if (crn_alarm_file_open(logged_folder, book, &list, &error) < 0)
        fail_msg("%s", error.text);
}

static void close_list(void)
{
    crn_alarm_file_close(&list);
    crn_alarm_book_free(&book);
}

static void open_import(void)
{
    notices = 0;
    assert_int_equal(crn_archive_open(&archive, archived_path, &error), 0);
    crn_state_settings settings = {.dir = logged_folder, .tell = keep_notice};
    assert_int_equal(crn_state_import_open(&archive, &settings, &state, &error), 0);
}

static void close_import(void)
{
    if (state)
        crn_state_import_close(&state);
    crn_archive_close(&archive);
}

static int set_up(void **context)
{
    int r = archived_setup(context);
    snprintf(list_path, sizeof list_path, "%s/" CRN_ALARMS_FILE, logged_folder);
    state = NULL;
    archive = (crn_archive){.lock = -1};
    return r;
}

static int tear_down(void **context)
{
    close_list();
    return logged_teardown(context);
}

static void step(void)
{
    if (crn_state_import_step(state, &error) < 0)
        fail_msg("%s", error.text);
}

static void expect(const char *sql, double expected)
{
    double found = archived_ask(sql);
    if (found != expected)
        fail_msg("%s: %.17g, expected %.17g", sql, found, expected);
}

/* Lanes, the whole line, and a figure that is none. */
static crn_alarm drift(uint64_t number)
{
    crn_alarm alarm = {.number = number,
                       .row = crn_condition_named(number % 2 ? "lane_drifts" : "lot_drifts"),
                       .values = {.lane = number % 2 ? (int64_t)number : -1,
                                  .count = 1000 + (double)number,
                                  .percent = number == 4 ? 1.0 / 0.0 : 150},
                       .raised_ms = TIME_MS + (int64_t)number};
    strcpy(alarm.values.name, "rot");
    return alarm;
}

static void write_alarm(const crn_alarm *alarm)
{
    assert_int_equal(crn_alarm_file_write(list, alarm), 0);
    assert_int_equal(crn_alarm_file_sync(list), 0);
}

static void write_alarms(uint64_t first, uint64_t last)
{
    for (uint64_t number = first; number <= last; number++) {
        crn_alarm alarm = drift(number);
        assert_int_equal(crn_alarm_file_write(list, &alarm), 0);
    }
    assert_int_equal(crn_alarm_file_sync(list), 0);
}

static void what_was_raised_is_archived_once_with_what_became_of_it(void **context)
{
    (void)context;
    open_list();
    write_alarms(1, 4);
    open_import();
    step();
    step();
    expect(COUNT("alarms"), 4);
    expect(COUNT("alarms WHERE condition = 'lane_drifts' AND lane = number AND name = 'rot'"
                 " AND count = 1000 + number AND percent = 150 AND cleared_ns IS NULL"
                 " AND raised_ns = 1764230400000000000 + number * 1000000"
                 " AND acknowledged_ns IS NULL AND acknowledged_by IS NULL"),
           2);
    expect(COUNT("alarms WHERE lane IS NULL AND condition = 'lot_drifts'"), 2);
    expect(COUNT("alarms WHERE number = 4 AND percent IS NULL"), 1);
    crn_alarm alarm = drift(3);
    alarm.cleared_ms = TIME_MS + 500;
    alarm.acknowledged_ms = TIME_MS + 600;
    strcpy(alarm.acknowledged_by, "meier");
    write_alarm(&alarm);
    step();
    expect(COUNT("alarms"), 4);
    expect(COUNT("alarms WHERE number = 3 AND cleared_ns = 1764230400500000000"
                 " AND acknowledged_ns = 1764230400600000000 AND acknowledged_by = 'meier'"),
           1);
    assert_int_equal(crn_state_import_get_stats(state).alarms, 4);
    close_import();
    open_import();
    step();
    assert_int_equal(crn_state_import_get_stats(state).alarms, 0);
    assert_int_equal(notices, 0);
    close_import();
    expect(COUNT("alarms"), 4);
}

/* A new list numbers its alarms, and its writings, as the one before. */
static void a_list_that_begins_again_is_archived_beside_the_one_before(void **context)
{
    (void)context;
    open_list();
    write_alarms(1, 3);
    open_import();
    step();
    close_list();
    assert_int_equal(unlink(list_path), 0);
    open_list();
    for (uint64_t number = 1; number <= 3; number++) {
        crn_alarm alarm = drift(number);
        alarm.raised_ms += 86400000;
        write_alarm(&alarm);
    }
    step();
    close_import();
    expect(COUNT("alarms"), 6);
}

static void the_archive_keeps_what_the_list_forgets(void **context)
{
    (void)context;
    open_list();
    write_alarms(1, CRN_ALARMS_KEPT);
    open_import();
    step();
    write_alarms(CRN_ALARMS_KEPT + 1, CRN_ALARMS_KEPT + 10);
    step();
    close_import();
    expect(COUNT("alarms"), CRN_ALARMS_KEPT + 10);
}

/* Both records of one alarm, and one of another. */
static void a_torn_record_keeps_no_other_from_the_archive(void **context)
{
    (void)context;
    open_list();
    write_alarms(1, 8);
    FILE *file = fopen(list_path, "r+");
    assert_non_null(file);
    const off_t torn[] = {crn_alarm_record_offset(5, 0), crn_alarm_record_offset(5, 1),
                          crn_alarm_record_offset(6, 0)};
    for (size_t i = 0; i < sizeof torn / sizeof *torn; i++) {
        fseek(file, (long)torn[i] + 100, SEEK_SET);
        fputc('x', file);
    }
    assert_int_equal(fclose(file), 0);
    open_import();
    step();
    close_import();
    expect(COUNT("alarms"), 7);
    expect(COUNT("alarms WHERE number = 5"), 0);
}

/* A time that ns do not hold. */
static void an_alarm_of_no_time_is_passed_over(void **context)
{
    (void)context;
    open_list();
    crn_alarm alarm = drift(1);
    alarm.raised_ms = INT64_MAX;
    write_alarm(&alarm);
    alarm = drift(2);
    alarm.cleared_ms = INT64_MAX;
    write_alarm(&alarm);
    open_import();
    step();
    close_import();
    expect(COUNT("alarms WHERE cleared_ns IS NULL"), 1);
}

static void no_list_is_no_fault(void **context)
{
    (void)context;
    open_import();
    step();
    close_import();
    assert_int_equal(notices, 0);
    expect(COUNT("alarms"), 0);
}

static void a_file_that_is_no_list_is_one_line(void **context)
{
    (void)context;
    open_import();
    for (int size = 0; size <= CRN_ALARMS_FILE_BYTES; size += (int)CRN_ALARMS_FILE_BYTES) {
        FILE *file = fopen(list_path, "w");
        assert_non_null(file);
        assert_int_equal(ftruncate(fileno(file), size), 0);
        assert_int_equal(fclose(file), 0);
        step();
        step();
        assert_int_equal(notices, 1);
        assert_non_null(strstr(notice, "/alarms: is not an alarm list"));
        assert_int_not_equal(crn_state_import_get_fault(state), 0);
    }
    assert_int_equal(unlink(list_path), 0);
    open_list();
    write_alarms(1, 1);
    step();
    close_import();
    expect(COUNT("alarms"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        TEST(what_was_raised_is_archived_once_with_what_became_of_it),
        TEST(a_list_that_begins_again_is_archived_beside_the_one_before),
        TEST(the_archive_keeps_what_the_list_forgets),
        TEST(a_torn_record_keeps_no_other_from_the_archive),
        TEST(an_alarm_of_no_time_is_passed_over),
        TEST(no_list_is_no_fault),
        TEST(a_file_that_is_no_list_is_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
