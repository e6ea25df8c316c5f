/* The alarm file after power cuts: torn records, and torn blocks of the disk. */
#include "tests/unit/monitor/alarms/alarm_file_fixture.h"

/* Instead of that of the C library: no test waits for the disk. */
static void (*at_sync)(void);

int fdatasync(int descriptor)
{
    (void)descriptor;
    if (at_sync)
        at_sync();
    return 0;
}

/* A record that is torn at any byte leaves the one before; so does one that is torn over an older
 * alarm in the same place. */
static void a_torn_record_leaves_the_one_before(void **state)
{
    (void)state;
    unsigned char older[RECORD], newer[RECORD], torn[RECORD];
    open_quietly();
    write_alarm(5, 100);
    write_alarm(5, 200);
    transfer(crn_alarm_record_offset(5, 0), older, RECORD, false);
    begin_alarm(5, 300);
    transfer(crn_alarm_record_offset(5, 0), newer, RECORD, false);
    assert_memory_not_equal(older, newer, RECORD);
    close_file();
    for (size_t bytes = 0; bytes <= RECORD; bytes++) {
        memcpy(torn, older, RECORD);
        memcpy(torn, newer, bytes);
        transfer(crn_alarm_record_offset(5, 0), torn, RECORD, true);
        open_quietly();
        expect_raised(5, memcmp(torn, newer, RECORD) == 0 ? 300 : 200);
        close_file();
    }
}

/* What a disk writes as a whole or not at all, which is also what a power cut tears. */
#define BLOCK 4096

static void tear_block_of(uint64_t number, unsigned place)
{
    unsigned char junk[BLOCK];
    memset(junk, 0xAA, BLOCK);
    transfer(crn_alarm_record_offset(number, place) / BLOCK * BLOCK, junk, BLOCK, true);
}

static int syncs;
static unsigned char at_first_sync[RECORD]; /* of alarm 5 at the first sync */

static void note_second(void)
{
    if (syncs++ == 0)
        transfer(crn_alarm_record_offset(5, 1), at_first_sync, RECORD, false);
}

/* Else one power cut might tear both. */
static void the_second_place_waits_for_the_first_to_be_on_the_disk(void **state)
{
    (void)state;
    unsigned char before[RECORD], first[RECORD], after[RECORD];
    open_quietly();
    write_alarm(5, 100);
    transfer(crn_alarm_record_offset(5, 1), before, RECORD, false);
    begin_alarm(5, 200);
    syncs = 0;
    at_sync = note_second;
    int r = crn_alarm_file_sync(file);
    at_sync = NULL;
    assert_int_equal(r, 0);
    assert_int_equal(syncs, 2);
    transfer(crn_alarm_record_offset(5, 0), first, RECORD, false);
    transfer(crn_alarm_record_offset(5, 1), after, RECORD, false);
    assert_memory_equal(at_first_sync, before, RECORD);
    assert_memory_equal(after, first, RECORD);
    assert_memory_not_equal(after, before, RECORD);
}

static void expect_around(uint64_t number, int64_t raised_ms)
{
    for (uint64_t other = number - 10; other <= number + 10; other++)
        expect_raised(other, other == number ? raised_ms : 100);
}

/* The block of a record holds those of other alarms, too. */
static void a_torn_block_leaves_what_was_on_the_disk_before(void **state)
{
    (void)state;
    for (unsigned place = 0; place < 2; place++) {
        open_quietly();
        for (uint64_t number = 90; number <= 110; number++)
            write_alarm(number, 100);
        write_alarm(100, 200);
        begin_alarm(100, 300);
        close_file();
        tear_block_of(100, place);
        open_quietly();
        int64_t raised_ms = place == 0 ? 200 : 300; /* the second place is written later */
        expect_around(100, raised_ms);
        close_file();
        tear_block_of(100, 1 - place); /* the start has mended the other one */
        open_quietly();
        expect_around(100, raised_ms);
    }
}

static void a_torn_first_record_is_no_alarm(void **state)
{
    (void)state;
    unsigned char whole[RECORD], torn[RECORD];
    open_quietly();
    write_alarm(5, 100);
    begin_alarm(6, 100);
    transfer(crn_alarm_record_offset(6, 0), whole, RECORD, false);
    close_file();
    for (size_t bytes = 1; bytes < RECORD; bytes++) {
        memset(torn, 0, RECORD);
        memcpy(torn, whole, bytes);
        transfer(crn_alarm_record_offset(6, 0), torn, RECORD, true);
        const char *said = open_file();
        bool is_whole = memcmp(torn, whole, RECORD) == 0;
        expect_raised(5, 100);
        assert_int_equal(crn_alarm_book_find(book, 6) != NULL, is_whole);
        assert_int_equal(count_lines(said), !is_whole);
        /* Its number is given again, and its place is taken. */
        write_alarm(6, 700);
        open_quietly();
        expect_raised(6, 700);
        close_file();
        memset(torn, 0, RECORD);
        transfer(crn_alarm_record_offset(6, 0), torn, RECORD, true);
        transfer(crn_alarm_record_offset(6, 1), torn, RECORD, true);
    }
}

/* A new alarm that is torn over an old one does not bring back how that was before. */
static void a_torn_record_shows_no_former_state(void **state)
{
    (void)state;
    unsigned char torn[RECORD];
    open_quietly();
    write_alarm(5, 100);
    write_alarm(5, 200);
    write_alarm(5, 300);
    begin_alarm(5 + CRN_ALARMS_KEPT, 400);
    close_file();
    memset(torn, 0xAA, RECORD);
    transfer(crn_alarm_record_offset(5, 0), torn, RECORD, true);
    open_quietly();
    expect_raised(5, 300);
}

static void an_alarm_damaged_twice_is_left_out_with_a_line(void **state)
{
    (void)state;
    unsigned char bytes[RECORD];
    open_quietly();
    write_alarm(5, 100);
    write_alarm(5, 200);
    write_alarm(6, 100);
    close_file();
    for (unsigned place = 0; place < 2; place++) {
        transfer(crn_alarm_record_offset(5, place), bytes, RECORD, false);
        bytes[200] ^= 1;
        transfer(crn_alarm_record_offset(5, place), bytes, RECORD, true);
    }
    const char *said = open_file();
    assert_non_null(strstr(said, "1 of the alarms in "));
    assert_non_null(strstr(said, path));
    assert_int_equal(count_lines(said), 1);
    assert_null(crn_alarm_book_find(book, 5));
    expect_raised(6, 100);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(a_torn_record_leaves_the_one_before),
        cmocka_unit_test(the_second_place_waits_for_the_first_to_be_on_the_disk),
        cmocka_unit_test(a_torn_block_leaves_what_was_on_the_disk_before),
        cmocka_unit_test(a_torn_first_record_is_no_alarm),
        cmocka_unit_test(a_torn_record_shows_no_former_state),
        cmocka_unit_test(an_alarm_damaged_twice_is_left_out_with_a_line),
    };
    CRN_SET_FIXTURE(tests, set_up, tear_down);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
