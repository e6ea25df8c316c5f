/* What the state folder keeps: minutes, alarms, the log of changes with the settings' texts, the
 * recipe in force. Each is on the disk when its call returns. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/control/changes/file.h"
#include "src/control/changes/settings_texts.h"
#include "src/control/kept/kept_recipe.h"
#include "src/formats/changes/chain.h"
#include "src/formats/changes/settings_text.h"
#include "src/formats/minutes/reader.h"
#include "src/monitor/alarms/file.h"
#include "src/monitor/minutes/file.h"
#include "tests/faults/power/writers.h"

static crn_error error;

/* --- minutes --- */

enum { RECORDS = 64, MINUTES = 150, SYNCED = 5 /* minutes at once */ };

static crn_minutes_file *open_minutes(const char *folder)
{
    crn_minutes_file *file;
    if (crn_minutes_file_open(folder, RECORDS, &file, &error) < 0 ||
        crn_minutes_file_load(file, &error) < 0)
        fail_msg("%s", error.text);
    return file;
}

static void write_minute(crn_minutes_file *file, uint32_t minute)
{
    char recipe[16];
    snprintf(recipe, sizeof recipe, "recipe %u", minute);
    crn_minute_record record = {.minute = minute,
                                .recipe = crn_minutes_file_name(file, CRN_MINUTES_RECIPE, recipe)};
    crn_minute_record_add_lane(&record, &(crn_minute_lane){3, {minute, 0, 0}, minute});
    assert_int_equal(crn_minutes_file_write(file, &record), 0);
}

static void write_minutes(const char *folder)
{
    crn_minutes_file *file = open_minutes(folder);
    for (uint32_t minute = 1; minute <= MINUTES; minute++) {
        write_minute(file, minute);
        if (minute % SYNCED > 0)
            continue;
        assert_int_equal(crn_minutes_file_sync(file), 0);
        disk_acknowledge(minute);
    }
    crn_minutes_file_close(&file);
}

/* Each minute as it was written, in order; of those that were synced all that nothing was written
 * over. */
static void expect_minutes(const power_moment *moment)
{
    crn_minutes_reader reader;
    crn_minute_record record;
    char path[160];
    uint32_t last = 0, there = 0, acknowledged = (uint32_t)moment->acknowledged;
    uint32_t first = acknowledged + SYNCED + 1 > RECORDS ? acknowledged + SYNCED + 1 - RECORDS : 1;
    snprintf(path, sizeof path, "%s/" CRN_MINUTES_FILE, moment->folder);
    if (crn_minutes_open(path, &reader, &error) < 0)
        fail_msg("%s", error.text);
    while (crn_minutes_next(&reader, &record) == 1) {
        char recipe[16];
        snprintf(recipe, sizeof recipe, "recipe %u", record.minute);
        assert_true(record.minute > last);
        last = record.minute;
        assert_int_equal(record.lanes[0].verdicts[CRN_VERDICT_COMPLETE], last);
        assert_string_equal(crn_minutes_text(&reader, record.recipe), recipe);
        there += last >= first && last <= acknowledged;
    }
    crn_minutes_close(&reader);
    if (acknowledged > 0)
        assert_int_equal(there, acknowledged - first + 1);
}

static void check_minutes(const power_moment *moment)
{
    crn_minutes_file *file = open_minutes(moment->folder);
    expect_minutes(moment);
    write_minute(file, 2 * MINUTES);
    crn_minutes_file_close(&file);
}

const power_writer power_minutes = {"minutes", NULL, write_minutes, check_minutes};

/* --- alarms --- */

#define ALARMS 12

static void write_alarms(const char *folder)
{
    crn_alarm_book *book;
    crn_alarm_file *file;
    assert_int_equal(crn_alarm_book_create(0, &book), 0);
    if (crn_alarm_file_open(folder, book, &file, &error) < 0)
        fail_msg("%s", error.text);
    for (uint64_t step = 1; step <= 2 * ALARMS; step++) { /* raised, then cleared */
        crn_alarm alarm = {.number = (step + 1) / 2,
                           .row = crn_condition_named("wrong_scale"),
                           .values = {.lane = 2, .name = "per_cent"},
                           .raised_ms = 100,
                           .cleared_ms = step % 2 ? 0 : 200};
        assert_int_equal(crn_alarm_file_write(file, &alarm), 0);
        assert_int_equal(crn_alarm_file_sync(file), 0);
        disk_acknowledge(step);
    }
    crn_alarm_file_close(&file);
    crn_alarm_book_free(&book);
}

static void check_alarms(const power_moment *moment)
{
    crn_alarm_book *book;
    crn_alarm_file *file;
    assert_int_equal(crn_alarm_book_create(0, &book), 0);
    if (crn_alarm_file_open(moment->folder, book, &file, &error) < 0)
        fail_msg("%s", error.text);
    uint64_t steps = moment->acknowledged;
    for (uint64_t number = 1; number <= ALARMS; number++) {
        const crn_alarm *alarm = crn_alarm_book_find(book, number);
        if (2 * number - 1 <= steps)
            assert_non_null(alarm);
        if (!alarm)
            continue;
        assert_int_equal(alarm->raised_ms, 100);
        assert_true(2 * number - 1 <= steps + 1); /* what was being written may be there */
        if (2 * number <= steps)
            assert_true(alarm->cleared_ms > 0);
    }
    crn_alarm_file_close(&file);
    crn_alarm_book_free(&book);
}

const power_writer power_alarms = {"alarms", NULL, write_alarms, check_alarms};

/* --- changes --- */

#define CHANGES 12

static void settings_of(uint64_t number, char hash[17], char text[64])
{
    snprintf(hash, 17, "%016" PRIx64, number);
    snprintf(text, 64, "budget_ms: %" PRIu64 "\n", number);
}

static void append(crn_change_file *file, uint64_t number)
{
    crn_change change = {.time_ns = 1, .user = 0, .process = 1, .what = "reload"};
    char text[64];
    strcpy(change.through, "control");
    settings_of(number, change.after.settings, text);
    if (crn_change_file_append(file, &change, &error) < 0)
        fail_msg("%s", error.text);
}

static void change_settings(const char *folder)
{
    crn_change_file *file;
    char hash[17], text[64];
    if (crn_change_file_open(folder, false, &file, &error) < 0)
        fail_msg("%s", error.text);
    for (uint64_t number = 1; number <= CHANGES; number++) {
        settings_of(number, hash, text);
        if (crn_settings_text_keep(folder, hash, text, &error) < 0)
            fail_msg("%s", error.text);
        append(file, number);
        disk_acknowledge(number);
    }
    crn_change_file_close(&file);
}

static void expect_text(const char *folder, uint64_t number)
{
    char hash[17], text[64], *found;
    size_t size;
    settings_of(number, hash, text);
    if (crn_settings_text_read(folder, hash, &found, &size, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(found, text, size);
    free(found);
}

/*
 * All entries that were acknowledged, with their texts; the chain goes on over what was cut. An
 * entry that was being written may have its end and not its middle, where a file grows before its
 * bytes are there: that cannot be told from an alteration, and is not to be.
 */
static void check_changes(const power_moment *moment)
{
    crn_change_file *file;
    crn_change_chain chain;
    char path[160];
    if (crn_change_file_open(moment->folder, false, &file, &error) < 0)
        fail_msg("%s", error.text);
    uint64_t last = crn_change_file_last(file)->number;
    assert_in_range(last, moment->acknowledged, moment->acknowledged + 1);
    for (uint64_t number = 1; number <= last; number++)
        expect_text(moment->folder, number);
    append(file, 2 * CHANGES);
    crn_change_file_close(&file);
    snprintf(path, sizeof path, "%s/" CRN_CHANGES_FILE, moment->folder);
    FILE *stream = fopen(path, "r");
    assert_non_null(stream);
    assert_int_equal(crn_change_chain_read(stream, NULL, NULL, &chain), 0);
    fclose(stream);
    bool is_of_writing = !moment->keeps_all && chain.fault_line == moment->acknowledged + 1;
    if (chain.fault_line && !is_of_writing)
        fail_msg("line %" PRIu64 ": %s", chain.fault_line, chain.fault);
    assert_int_equal(chain.last.number, last + 1);
}

const power_writer power_changes = {"log of changes", NULL, change_settings, check_changes};

/* --- the recipe in force; the lot is kept by the same functions --- */

#define LINE "/etc/cernita/apples.yaml"

static void keep_recipes(const char *folder)
{
    char recipe[16];
    for (uint64_t number = 1; number <= 12; number++) {
        snprintf(recipe, sizeof recipe, "r%" PRIu64, number);
        assert_int_equal(crn_kept_recipe_write(folder, LINE, recipe, &error), 0);
        disk_acknowledge(number);
    }
}

static void check_recipe(const power_moment *moment)
{
    char recipe[CRN_RECIPE_NAME_BYTES];
    int r = crn_kept_recipe_read(moment->folder, LINE, recipe, &error);
    if (r == -ENOENT && moment->acknowledged == 0)
        return;
    if (r < 0)
        fail_msg("%s", error.text);
    assert_in_range(strtoull(recipe + 1, NULL, 10), moment->acknowledged, moment->acknowledged + 1);
}

const power_writer power_recipe = {"recipe in force", NULL, keep_recipes, check_recipe};
