/* What pages get of records: which rows and classes there are, in whatever order records come. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/monitor/minutes/table.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"

/* An hour in 2026, in minutes since 1970. */
#define NOW (INT64_C(492777) * 60)

/* Names 1 to CLASSES are "class 1" and so on. */
#define CLASSES 1200

static crn_minutes_name names[CRN_MINUTES_NAMES];
static crn_minutes_table *table;
static int64_t now;

static int set_up(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= CLASSES; i++) {
        names[i].kind = CRN_MINUTES_CLASS;
        snprintf(names[i].text, sizeof names[i].text, "class %u", i);
    }
    now = NOW;
    return crn_minutes_table_create(&table);
}

static int tear_down(void **state)
{
    (void)state;
    crn_minutes_table_free(&table);
    return 0;
}

/* So many fruits in a minute, half of them with the class. */
static bool add(int64_t minute, uint64_t fruits, uint32_t class)
{
    crn_minute_record record = {.minute = (uint32_t)minute, .fruits = fruits};
    crn_minute_record_add_lane(&record, &(crn_minute_lane){1, {fruits, 0, 0}, fruits / 2});
    crn_minute_record_add_class(&record, &(crn_minute_class){class, fruits / 2, 100, 0});
    return crn_minutes_table_add(table, &record, names, now);
}

/* Freed by the next call. */
static const char *rows(crn_minutes_step step)
{
    static char *text;
    crn_encoder *encoder;
    const unsigned char *bytes;
    size_t size;
    crn_minutes_query query = {.step = step, .to_ms = INT64_MAX, .now_ms = now * 60000};
    assert_int_equal(crn_encoder_create(CRN_FORMAT_JSON, &encoder), 0);
    crn_minutes_table_put(table, &query, encoder);
    assert_int_equal(crn_encoder_end(encoder, &bytes, &size), 0);
    free(text);
    text = strndup((const char *)bytes, size);
    crn_encoder_free(&encoder);
    return text;
}

static bool tells(crn_minutes_step step, const char *wanted)
{
    return strstr(rows(step), wanted) != NULL;
}

/* Two years of other classes, as the file has them. */
static void classes_of_the_past_leave_room_for_those_of_today(void **state)
{
    (void)state;
    for (uint32_t i = 1; i < CLASSES; i++)
        assert_true(add(NOW - 100 * 1440 - (CLASSES - i) * 1440, 100, i));
    assert_true(add(NOW, 100, CLASSES));
    assert_true(
        tells(CRN_MINUTES_STEP_MINUTE, "\"class 1200\":{\"looked_for\":100,\"fruits\":50,"));
    assert_true(tells(CRN_MINUTES_STEP_HOUR, "\"class 1200\":{\"looked_for\":100,\"fruits\":50,"));
    assert_false(tells(CRN_MINUTES_STEP_HOUR, "\"class 1199\""));
}

/* A daemon that goes on for years, with a new class each day; with pauses in which rows stay. */
static void a_class_that_is_seen_no_more_makes_room(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= CLASSES; i++, now += i % 50 ? 1440 : 90 * 1440) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, "\"class %u\"", i);
        assert_true(add(now, 100, i));
        assert_true(tells(CRN_MINUTES_STEP_MINUTE, wanted));
        assert_true(tells(CRN_MINUTES_STEP_HOUR, wanted));
    }
}

/* As where another product's settings come in each day. */
static void a_class_set_that_changes_loses_none(void **state)
{
    (void)state;
    enum { DIFFERENT = 400 };
    char wanted[64];
    for (uint32_t i = 1; i <= DIFFERENT; i++)
        assert_true(add(NOW - 1440 + i, i * 2, i));
    for (uint32_t i = 1; i <= DIFFERENT; i++) {
        snprintf(wanted, sizeof wanted, "\"class %u\":{\"looked_for\":%u,\"fruits\":%u,", i, i * 2,
                 i);
        assert_true(tells(CRN_MINUTES_STEP_MINUTE, wanted));
        assert_true(tells(CRN_MINUTES_STEP_TEN_MINUTES, wanted));
        assert_true(tells(CRN_MINUTES_STEP_HOUR, wanted));
    }
}

static void more_classes_than_fit_are_told(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= CRN_CLASSES_MAX; i++)
        assert_true(add(NOW, 100, i));
    assert_true(add(NOW, 100, 1));
    assert_false(add(NOW, 100, CRN_CLASSES_MAX + 1));
    assert_true(tells(CRN_MINUTES_STEP_HOUR, "\"class 64\""));
    assert_false(tells(CRN_MINUTES_STEP_HOUR, "\"class 65\""));
}

static void a_wrong_clock_erases_nothing(void **state)
{
    (void)state;
    const int64_t wrong[] = {-15000 * 60, -1500, -1500 * 60, 1500, 15000 * 60};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        for (int order = 0; order < 2; order++) {
            crn_minutes_table_free(&table);
            assert_int_equal(crn_minutes_table_create(&table), 0);
            add(order ? NOW + wrong[i] : NOW, order ? 1 : 36000, 1);
            add(order ? NOW : NOW + wrong[i], order ? 36000 : 1, 1);
            assert_true(tells(CRN_MINUTES_STEP_HOUR, "\"complete\":36000"));
            assert_true(tells(CRN_MINUTES_STEP_MINUTE, "\"complete\":36000"));
        }
    }
}

/* 60 minutes, of these the classes together; the share decides, not the number. */
static void the_last_hour_has_its_worst_class(void **state)
{
    (void)state;
    crn_minutes_hour hour;
    crn_minutes_table_hour(table, NOW, &hour);
    assert_int_equal(hour.fruits, 0);
    assert_string_equal(hour.worst.name, "");
    add(NOW - 61, 1000, 9);
    add(NOW - 60, 3, 2);
    add(NOW - 1, 400, 1);
    add(NOW, 1000, 9);
    crn_minutes_table_hour(table, NOW, &hour);
    assert_int_equal(hour.fruits, 403);
    assert_int_equal(hour.with_defect, 201);
    assert_string_equal(hour.worst.name, "class 1");
    assert_int_equal(hour.worst.looked_for, 400);
    add(NOW - 30, 2, 3);
    add(NOW - 29, 1, 1);
    crn_minutes_table_hour(table, NOW, &hour);
    assert_string_equal(hour.worst.name, "class 3");
    assert_int_equal(hour.worst.fruits, 1);
}

static void a_row_gives_way_to_a_newer_one(void **state)
{
    (void)state;
    add(NOW, 36000, 1);
    now = NOW + 1500;
    add(now, 7, 1);
    assert_true(tells(CRN_MINUTES_STEP_MINUTE, "\"complete\":7,"));
    assert_false(tells(CRN_MINUTES_STEP_MINUTE, "\"complete\":36000"));
    assert_true(tells(CRN_MINUTES_STEP_HOUR, "\"complete\":36000"));
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_of_the_past_leave_room_for_those_of_today),
        cmocka_unit_test(a_class_that_is_seen_no_more_makes_room),
        cmocka_unit_test(a_class_set_that_changes_loses_none),
        cmocka_unit_test(more_classes_than_fit_are_told),
        cmocka_unit_test(a_wrong_clock_erases_nothing),
        cmocka_unit_test(the_last_hour_has_its_worst_class),
        cmocka_unit_test(a_row_gives_way_to_a_newer_one),
    };
    CRN_SET_FIXTURE(tests, set_up, tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
