/* Records of minutes: whatever is put in comes out, and nothing else does. CRN_CASES is the number
 * of records (2,000 by default). */
#include <errno.h>

#include "stages/base/little_endian.h"
#include "tests/unit/monitor/minutes/minutes_fixture.h"

/* As many bits as it may need, each number of them as likely. */
static uint64_t any_number(crn_random *random)
{
    return crn_random_next(random) >> crn_random_below(random, 64);
}

static crn_minute_record any_record(crn_random *random)
{
    crn_minute_record record = {.sequence = (uint32_t)any_number(random) | 1,
                                .minute = (uint32_t)any_number(random),
                                .recipe = crn_random_below(random, CRN_MINUTES_NAMES),
                                .lot = crn_random_below(random, CRN_MINUTES_NAMES)};
    for (uint32_t lanes = crn_random_below(random, 20); lanes > 0; lanes--) {
        crn_minute_lane lane = {.lane = (uint32_t)any_number(random),
                                .verdicts = {any_number(random), any_number(random), 0},
                                .with_defect = any_number(random)};
        if (!crn_minute_record_add_lane(&record, &lane))
            break;
    }
    uint64_t fruits = any_number(random), measured = any_number(random);
    for (uint32_t classes = crn_random_below(random, 25); classes > 0; classes--) {
        crn_minute_class class = {.name = crn_random_below(random, CRN_MINUTES_NAMES),
                                  .fruits = any_number(random),
                                  .area_px = any_number(random),
                                  .area_mm2 = any_number(random)};
        record.fruits = fruits;
        record.measured = measured;
        if (!crn_minute_record_add_class(&record, &class))
            break;
    }
    if (record.class_count == 0)
        record.fruits = record.measured = 0;
    return record;
}

static void expect_equal(const crn_minute_record *read, const crn_minute_record *written)
{
    assert_int_equal(read->sequence, written->sequence);
    assert_int_equal(read->minute, written->minute);
    assert_int_equal(read->recipe, written->recipe);
    assert_int_equal(read->lot, written->lot);
    assert_int_equal(read->fruits, written->fruits);
    assert_int_equal(read->measured, written->measured);
    assert_int_equal(read->lane_count, written->lane_count);
    assert_int_equal(read->class_count, written->class_count);
    for (uint32_t i = 0; i < read->lane_count; i++) {
        const crn_minute_lane *lane = &read->lanes[i], *wanted = &written->lanes[i];
        assert_int_equal(lane->lane, wanted->lane);
        assert_memory_equal(lane->verdicts, wanted->verdicts, sizeof lane->verdicts);
        assert_int_equal(lane->with_defect, wanted->with_defect);
    }
    for (uint32_t i = 0; i < read->class_count; i++) {
        const crn_minute_class *class = &read->classes[i], *wanted = &written->classes[i];
        assert_int_equal(class->name, wanted->name);
        assert_int_equal(class->fruits, wanted->fruits);
        assert_int_equal(class->area_px, wanted->area_px);
        assert_int_equal(class->area_mm2, wanted->area_mm2);
    }
}

static void records_are_read_as_written(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    unsigned char bytes[CRN_MINUTES_RECORD_BYTES];
    uint32_t most_lanes = 0, most_classes = 0;
    for (uint32_t cases = crn_random_cases(2000); cases > 0; cases--) {
        crn_minute_record record = any_record(&random), read;
        crn_minute_record_pack(&record, bytes);
        assert_true(crn_minute_record_parse(bytes, &read));
        expect_equal(&read, &record);
        most_lanes = record.lane_count > most_lanes ? record.lane_count : most_lanes;
        most_classes = record.class_count > most_classes ? record.class_count : most_classes;
    }
    assert_true(most_lanes > 0 && most_classes > 0);
}

/* Of numbers of one byte as many fit as are counted. */
static void small_entries_fill_a_record(void **state)
{
    (void)state;
    crn_minute_record lanes = {.sequence = 1}, classes = {.sequence = 1}, read;
    unsigned char bytes[CRN_MINUTES_RECORD_BYTES];
    while (crn_minute_record_add_lane(&lanes, &(crn_minute_lane){.lane = 1}))
        continue;
    assert_int_equal(lanes.lane_count, CRN_MINUTE_RECORD_LANES);
    while (crn_minute_record_add_class(&classes, &(crn_minute_class){.name = 1}))
        continue;
    assert_int_equal(classes.class_count, CRN_MINUTE_RECORD_CLASSES);
    crn_minute_record_pack(&classes, bytes);
    assert_true(crn_minute_record_parse(bytes, &read));
}

/* The largest entries still fit into a record of their own, so that every minute can be written. */
static void the_largest_entries_fit(void **state)
{
    (void)state;
    crn_minute_record lane = {0}, class = {.fruits = UINT64_MAX, .measured = UINT64_MAX};
    assert_true(crn_minute_record_add_lane(
        &lane, &(crn_minute_lane){UINT32_MAX, {UINT64_MAX, UINT64_MAX, UINT64_MAX}, UINT64_MAX}));
    assert_true(crn_minute_record_add_class(
        &class, &(crn_minute_class){UINT32_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}));
}

/* The checksum of Ethernet and PNG, bit by bit, over all but its own place. */
static void seal(unsigned char *bytes, size_t size)
{
    uint32_t crc = UINT32_MAX;
    for (size_t bit = 4 * 8; bit < size * 8; bit++) {
        crc ^= bytes[bit / 8] >> bit % 8 & 1;
        crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
    }
    crn_put_le32(bytes, ~crc);
}

/* Also with a checksum that holds: what is read stays within the record. */
static void any_bytes_are_read_or_refused(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    unsigned char bytes[CRN_MINUTES_RECORD_BYTES], entry[CRN_MINUTES_NAME_BYTES];
    crn_minute_record record;
    crn_minutes_name name;
    uint32_t parsed = 0;
    for (uint32_t cases = 10 * crn_random_cases(2000); cases > 0; cases--) {
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (unsigned char)(crn_random_next(&random) | (cases % 2 ? 0x80 : 0));
        bytes[16] %= CRN_MINUTE_RECORD_LANES + 2;
        bytes[17] %= CRN_MINUTE_RECORD_CLASSES + 2;
        memcpy(entry, bytes, sizeof entry);
        entry[4] %= 5;
        seal(bytes, sizeof bytes);
        seal(entry, sizeof entry);
        if (crn_minute_record_parse(bytes, &record) && ++parsed)
            assert_true(record.lane_count <= CRN_MINUTE_RECORD_LANES &&
                        record.class_count <= CRN_MINUTE_RECORD_CLASSES);
        if (crn_minutes_name_parse(entry, &name))
            assert_true(strlen(name.text) <= CRN_MINUTES_TEXT_MAX);
    }
    assert_true(parsed > 0);
}

static void names_and_head_are_read_as_written(void **state)
{
    (void)state;
    unsigned char bytes[CRN_MINUTES_NAME_BYTES], head[CRN_MINUTES_HEAD_BYTES];
    crn_minutes_name name = {CRN_MINUTES_LOT, "Käse \"9\""}, read;
    uint32_t records;
    crn_minutes_name_pack(&name, bytes);
    assert_true(crn_minutes_name_parse(bytes, &read));
    assert_memory_equal(&read, &name, sizeof name);
    for (size_t bit = 0; bit < sizeof bytes * 8; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_false(crn_minutes_name_parse(bytes, &read));
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    crn_minutes_pack_head(CRN_MINUTES_RECORDS, head);
    assert_int_equal(crn_minutes_parse_head(head, &records), 0);
    assert_int_equal(records, CRN_MINUTES_RECORDS);
    head[4]++;
    assert_int_equal(crn_minutes_parse_head(head, &records), -EBADMSG);
    assert_true(crn_minutes_file_bytes(CRN_MINUTES_RECORDS) < 100000000); /* two years */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_read_as_written),
        cmocka_unit_test(small_entries_fill_a_record),
        cmocka_unit_test(the_largest_entries_fit),
        cmocka_unit_test(any_bytes_are_read_or_refused),
        cmocka_unit_test(names_and_head_are_read_as_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
