/* The alarm file of a folder of its own, for its tests. */
#ifndef CRN_TESTS_UNIT_MONITOR_ALARMS_ALARM_FILE_FIXTURE_H
#define CRN_TESTS_UNIT_MONITOR_ALARMS_ALARM_FILE_FIXTURE_H

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "src/monitor/alarms/file.h"
#include "src/formats/alarms/record.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"
#include "tests/support/folder.h"
#include "tests/support/line/log_capture.h"

enum { RECORD = CRN_ALARM_RECORD_BYTES };

static crn_alarm_book *book;
static crn_alarm_file *file;
static crn_log_capture caught;
static char path[96];

static inline int set_up(void **state)
{
    int r = test_folder_make(state);
    snprintf(path, sizeof path, "%s/alarms", test_folder);
    return r;
}

static inline void close_file(void)
{
    crn_alarm_file_close(&file);
    crn_alarm_book_free(&book);
}

static inline int tear_down(void **state)
{
    close_file();
    return test_folder_remove(state);
}

/* Opens the file anew; returns what the log said. */
static inline const char *open_file(void)
{
    crn_error error;
    close_file();
    assert_int_equal(crn_alarm_book_create(0, &book), 0);
    crn_log_capture_start(&caught);
    int r = crn_alarm_file_open(test_folder, book, &file, &error);
    const char *said = crn_log_capture_stop(&caught);
    if (r < 0)
        fail_msg("%s", error.text);
    return said;
}

static inline void open_quietly(void)
{
    assert_string_equal(open_file(), "");
}

/* Up to where a power cut may come before the disk has it. */
static inline void begin_alarm(uint64_t number, int64_t raised_ms)
{
    crn_alarm alarm = {.number = number,
                       .row = crn_condition_named("wrong_scale"),
                       .values = {.lane = 2, .name = "per_cent"},
                       .raised_ms = raised_ms};
    assert_int_equal(crn_alarm_file_write(file, &alarm), 0);
}

static inline void write_alarm(uint64_t number, int64_t raised_ms)
{
    begin_alarm(number, raised_ms);
    assert_int_equal(crn_alarm_file_sync(file), 0);
}

static inline void expect_raised(uint64_t number, int64_t raised_ms)
{
    const crn_alarm *alarm = crn_alarm_book_find(book, number);
    assert_non_null(alarm);
    assert_int_equal(alarm->raised_ms, raised_ms);
    assert_string_equal(alarm->values.name, "per_cent");
}

/* Reads or writes a part of the file. */
static inline void transfer(off_t offset, unsigned char *bytes, size_t size, bool writes)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    ssize_t count = writes ? pwrite(fd, bytes, size, offset) : pread(fd, bytes, size, offset);
    assert_int_equal(count, size);
    close(fd);
}

static inline int count_lines(const char *text)
{
    int lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

#endif
