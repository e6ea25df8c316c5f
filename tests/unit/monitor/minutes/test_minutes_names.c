/* The table of names in the file of minutes, where it is full: what has a number keeps its name. */
#include <fcntl.h>
#include <unistd.h>

#include "src/monitor/minutes/file.h"
#include "tests/support/fixture.h"
#include "tests/unit/monitor/minutes/minutes_fixture.h"

#define LAST (CRN_MINUTES_NAMES - 1)

static crn_minutes_file *file;

/* Opens it and reads it, as the daemon's thread does. */
static void open_file(uint32_t records)
{
    crn_error error;
    crn_minute_record record;
    crn_minutes_file_close(&file);
    assert_int_equal(crn_minutes_file_open(test_folder, records, &file, &error), 0);
    assert_int_equal(crn_minutes_file_load(file, &error), 0);
    while (crn_minutes_file_next(file, &record) > 0)
        continue;
}

static int tear_down(void **state)
{
    crn_minutes_file_close(&file);
    return test_folder_remove(state);
}

static void name_lot(uint32_t number, char ret_text[CRN_MINUTES_TEXT_MAX + 1])
{
    snprintf(ret_text, CRN_MINUTES_TEXT_MAX + 1, "lot %u", number);
}

/* Lots with the numbers up to `count`, without the syncs of so many names. */
static void write_lots(uint32_t count)
{
    int descriptor = open(minutes_path(), O_RDWR);
    unsigned char bytes[CRN_MINUTES_NAME_BYTES];
    for (uint32_t number = 1; number <= count; number++) {
        crn_minutes_name name = {.kind = CRN_MINUTES_LOT};
        name_lot(number, name.text);
        crn_minutes_name_pack(&name, bytes);
        assert_int_equal(
            pwrite(descriptor, bytes, sizeof bytes, (off_t)crn_minutes_name_offset(number)),
            sizeof bytes);
    }
    close(descriptor);
}

static void write_record(uint32_t lot, uint32_t class)
{
    crn_minute_record record = {.minute = 1 + lot, .lot = lot, .fruits = 1};
    if (class > 0)
        crn_minute_record_add_class(&record, &(crn_minute_class){.name = class, .fruits = class});
    assert_int_equal(crn_minutes_file_write(file, &record), 0);
}

/* 20 lots a day for two years. */
static void lots_leave_room_for_classes_and_recipes(void **state)
{
    (void)state;
    const uint32_t lots = LAST - CRN_MINUTES_NAMES_NO_LOTS;
    open_file(2 * CRN_MINUTES_NAMES);
    write_lots(lots);
    open_file(2 * CRN_MINUTES_NAMES);
    for (uint32_t lot = 1; lot <= lots; lot++)
        write_record(lot, 0);
    open_file(2 * CRN_MINUTES_NAMES);
    assert_int_equal(crn_minutes_file_name(file, CRN_MINUTES_LOT, "one more"), 0);
    assert_false(crn_minutes_file_has_room(file, CRN_MINUTES_LOT));
    uint32_t recipe = crn_minutes_file_name(file, CRN_MINUTES_RECIPE, "pears");
    uint32_t class = crn_minutes_file_name(file, CRN_MINUTES_CLASS, "rot");
    assert_in_range(recipe, lots + 1, LAST);
    assert_in_range(class, lots + 1, LAST);
    assert_int_not_equal(class, recipe);
    assert_int_equal(crn_minutes_file_name(file, CRN_MINUTES_LOT, "lot 7"), 7);
}

/* All numbers are taken, of them 100 by records. */
static void a_name_that_no_record_has_makes_room(void **state)
{
    (void)state;
    enum { SMALL = 100, NEW = 20 };
    char text[CRN_MINUTES_TEXT_MAX + 1];
    uint32_t numbers[NEW];
    crn_minutes_reader reader;
    crn_minute_record record;
    open_file(SMALL);
    write_lots(LAST);
    open_file(SMALL);
    for (uint32_t lot = 1; lot <= SMALL; lot++)
        write_record(lot, 0);
    open_file(SMALL);
    for (uint32_t i = 0; i < NEW; i++) {
        snprintf(text, sizeof text, "class %u", i);
        numbers[i] = crn_minutes_file_name(file, CRN_MINUTES_CLASS, text);
        assert_in_range(numbers[i], SMALL + 1, LAST);
        for (uint32_t before = 0; before < i; before++)
            assert_int_not_equal(numbers[before], numbers[i]);
    }
    for (uint32_t i = 0; i < NEW; i++)
        write_record(SMALL, numbers[i]);
    crn_minutes_file_close(&file);
    open_reader(&reader);
    for (uint32_t count = 0; crn_minutes_next(&reader, &record) == 1; count++) {
        name_lot(record.lot, text);
        assert_string_equal(crn_minutes_text(&reader, record.lot), text);
        if (count < SMALL - NEW)
            continue;
        snprintf(text, sizeof text, "class %u", count - (SMALL - NEW));
        assert_string_equal(crn_minutes_text(&reader, record.classes[0].name), text);
    }
    crn_minutes_close(&reader);
}

/* A name that is asked for again is not given away before its record is written. */
static void a_name_at_hand_is_kept(void **state)
{
    (void)state;
    enum { SMALL = 4 };
    open_file(SMALL);
    write_lots(LAST);
    open_file(SMALL);
    uint32_t lot = crn_minutes_file_name(file, CRN_MINUTES_LOT, "lot 9");
    for (uint32_t i = 0; i < 20; i++) {
        char text[16];
        snprintf(text, sizeof text, "class %u", i);
        assert_int_not_equal(crn_minutes_file_name(file, CRN_MINUTES_CLASS, text), lot);
    }
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(lots_leave_room_for_classes_and_recipes),
        cmocka_unit_test(a_name_that_no_record_has_makes_room),
        cmocka_unit_test(a_name_at_hand_is_kept),
    };
    CRN_SET_FIXTURE(tests, test_folder_make, tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
