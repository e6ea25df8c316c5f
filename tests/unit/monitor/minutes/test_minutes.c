/*
 * Random verdicts through counter, thread and file: the minutes in the file, and what pages get of
 * them, add up to what the verdicts do. CRN_CASES is the number of runs (20 by default).
 */
#include <inttypes.h>
#include <sched.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "tests/support/fixture.h"
#include "tests/support/line/log_capture.h"
#include "tests/unit/monitor/minutes/minutes_fixture.h"

#define RECORDS 4096

/* An hour in 2026, in minutes since 1970, some minutes before the present. */
#define NOON (INT64_C(492778) * 60)
#define NOW  (NOON + 12)

static uint64_t time_in(int64_t minute)
{
    return (uint64_t)(minute * CRN_MINUTE_NS + CRN_MINUTE_NS / 2);
}

static void set_clock(int64_t minute)
{
    crn_clock_set((int64_t)time_in(minute) - crn_realtime_ns());
}

static int set_up(void **state)
{
    set_clock(NOW);
    return test_folder_make(state);
}

static crn_minutes *start(uint32_t records)
{
    crn_minutes *minutes;
    assert_int_equal(crn_minutes_start(test_folder, records, MADE_LANES, &minutes), 0);
    return minutes;
}

/* Adds up the whole file. Returns the number of its records. */
static uint32_t read_file(made_sums *ret_sums)
{
    crn_minutes_reader reader;
    crn_minute_record record;
    uint32_t count = 0, last = 0;
    int r;
    memset(ret_sums, 0, sizeof *ret_sums);
    open_reader(&reader);
    while ((r = crn_minutes_next(&reader, &record)) == 1) {
        assert_true(record.sequence > last);
        last = record.sequence;
        add_record(&reader, &record, ret_sums);
        count++;
    }
    assert_int_equal(r, 0);
    assert_int_equal(reader.damaged, 0);
    crn_minutes_close(&reader);
    return count;
}

/* Reloads, restarts, and a clock that goes on, stands, is set forwards and back. */
static void minutes_add_up_to_the_verdicts(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    crn_config configs[3];
    for (uint32_t i = 0; i < 3; i++)
        make_config(&configs[i], i, i == 0 ? "" : i == 1 ? "Äpfel" : "pears");
    for (uint32_t runs = crn_random_cases(20); runs > 0; runs--) {
        made_sums made = {0}, read;
        int64_t minute = NOON;
        crn_minutes *minutes = start(RECORDS);
        uint32_t changes = 0; /* of minute or settings, each with four sums at most */
        for (uint32_t fruits = crn_random_below(&random, 3000); fruits > 0; fruits--) {
            int64_t before = minute;
            if (crn_random_once_in(&random, 50))
                minute += crn_random_between(&random, -2, 3);
            if (crn_random_once_in(&random, 500))
                minute += crn_random_between(&random, -100000, 100000);
            if (crn_random_once_in(&random, 100))
                crn_minute_counter_look(crn_minutes_counter(minutes), (int64_t)time_in(minute),
                                        false);
            changes += minute != before || fruits % 100 == 0;
            if (changes == 15 || crn_random_once_in(&random, 1000)) { /* no more can wait */
                crn_minutes_stop(&minutes);
                minutes = start(RECORDS);
                changes = 0;
            }
            count_fruit(crn_minutes_counter(minutes), &random,
                        &configs[(fruits / 100 + crn_random_below(&random, 2)) % 3],
                        time_in(minute), &made);
        }
        crn_minutes_stop(&minutes);
        read_file(&read);
        assert_memory_equal(&read, &made, sizeof made);
        assert_int_equal(unlink(minutes_path()), 0);
    }
}

/* The sums of the file as the reader in README.md finds them. */
static void expect_documented(const made_sums *sums)
{
    static const uint32_t by_name[] = {5, 4, 3, 1, 2}; /* of made_names, sorted by bytes */
    char command[256], line[128];
    uint64_t lanes[CRN_VERDICT_LATE + 2] = {0};
    for (int lane = 0; lane < MADE_LANES; lane++) {
        for (int kind = 0; kind <= CRN_VERDICT_LATE; kind++)
            lanes[kind] += sums->verdicts[lane][kind];
        lanes[CRN_VERDICT_LATE + 1] += sums->with_defect[lane];
    }
    snprintf(command, sizeof command,
             "python3 " CRN_TEST_DATA "/unit/monitor/minutes/check_minutes.py " CRN_TEST_DATA
             "/../src/formats/minutes/README.md '%s'",
             minutes_path());
    FILE *read = popen(command, "r");
    assert_non_null(read);
    char wanted[128];
    snprintf(wanted, sizeof wanted, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", lanes[0],
             lanes[1], lanes[2], lanes[3]);
    assert_non_null(fgets(line, sizeof line, read));
    assert_string_equal(line, wanted);
    for (size_t i = 0; i < sizeof by_name / sizeof *by_name; i++) {
        uint32_t class = by_name[i];
        snprintf(wanted, sizeof wanted, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                 made_names[class], sums->fruits[class], sums->area_px[class],
                 sums->area_mm2[class]);
        assert_non_null(fgets(line, sizeof line, read));
        assert_string_equal(line, wanted);
    }
    assert_int_equal(fgetc(read), EOF);
    assert_int_equal(pclose(read), 0);
}

static void the_documented_reader_finds_the_same(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    crn_config configs[2];
    made_sums made = {0};
    if (system("python3 -c 'import zlib'") != 0)
        skip();
    for (uint32_t i = 0; i < 2; i++)
        make_config(&configs[i], i, "pears");
    crn_minutes *minutes = start(RECORDS);
    for (int fruit = 0; fruit < 2000; fruit++)
        count_fruit(crn_minutes_counter(minutes), &random, &configs[fruit / 10 % 2],
                    time_in(NOON + fruit / 200), &made); /* all can wait */
    crn_minutes_stop(&minutes);
    expect_documented(&made);
}

/* One record for each minute, told by its fruits on lane 100. */
static void count_minute(crn_minutes *minutes, const crn_config *config, int64_t minute,
                         int64_t fruits)
{
    crn_lane lane = {.number = 100};
    crn_fruit fruit = {.lane = &lane, .config = config};
    crn_class_total totals[CRN_CLASSES_MAX] = {{0}};
    crn_published published = {.facts = {.published_ns = time_in(minute)}, .totals = totals};
    crn_minute_counter_look(crn_minutes_counter(minutes), (int64_t)time_in(minute), false);
    for (; fruits > 0; fruits--)
        crn_minute_counter_add(crn_minutes_counter(minutes), &fruit, &published);
}

static void a_full_ring_forgets_the_oldest(void **state)
{
    (void)state;
    enum { SMALL = 16 };
    crn_config config;
    crn_minutes_reader reader;
    crn_minute_record record;
    make_config(&config, 0, "");
    for (int64_t written = 0; written < 3 * SMALL;) {
        crn_minutes *minutes = start(SMALL);
        for (int i = 0; i < 7; i++, written++)
            count_minute(minutes, &config, NOON + written, written + 1);
        crn_minutes_stop(&minutes);
        open_reader(&reader);
        int64_t expected = written > SMALL ? written - SMALL : 0;
        for (; crn_minutes_next(&reader, &record) == 1; expected++) {
            assert_int_equal(record.minute, NOON + expected);
            assert_int_equal(record.lanes[0].verdicts[CRN_VERDICT_COMPLETE], expected + 1);
        }
        assert_int_equal(expected, written);
        crn_minutes_close(&reader);
    }
}

/* Each byte of a record, and what lies beside it stays. */
static void a_torn_record_loses_its_minute_alone(void **state)
{
    (void)state;
    enum { MINUTES = 5, TORN = 2 };
    crn_config config;
    crn_minutes_reader reader;
    crn_minute_record record;
    make_config(&config, 0, "pears");
    crn_minutes *minutes = start(RECORDS);
    for (int64_t i = 0; i < MINUTES; i++)
        count_minute(minutes, &config, NOON + i, i + 1);
    crn_minutes_stop(&minutes);
    for (uint32_t bit = 0; bit < CRN_MINUTES_RECORD_BYTES * 8; bit++) {
        off_t at = (off_t)crn_minutes_record_offset(RECORDS, TORN + 1) + bit / 8;
        FILE *file = fopen(minutes_path(), "r+");
        assert_non_null(file);
        for (int mends = 0; mends < 2; mends++) {
            fseek(file, at, SEEK_SET);
            int byte = fgetc(file) ^ 1 << bit % 8;
            fseek(file, at, SEEK_SET);
            fputc(byte, file);
            fflush(file);
            open_reader(&reader);
            int64_t expected = 0;
            while (crn_minutes_next(&reader, &record) == 1) {
                expected += expected == TORN && !mends;
                assert_int_equal(record.lanes[0].verdicts[CRN_VERDICT_COMPLETE], ++expected);
                assert_string_equal(crn_minutes_text(&reader, record.recipe), "pears");
            }
            assert_int_equal(expected, MINUTES);
            assert_int_equal(reader.damaged, !mends);
            crn_minutes_close(&reader);
        }
        fclose(file);
    }
}

/* The next one takes its place. */
static void a_torn_last_record_is_written_over(void **state)
{
    (void)state;
    crn_config config;
    made_sums read;
    make_config(&config, 0, "");
    crn_minutes *minutes = start(RECORDS);
    count_minute(minutes, &config, NOON, 1);
    count_minute(minutes, &config, NOON + 1, 1);
    crn_minutes_stop(&minutes);
    FILE *file = fopen(minutes_path(), "r+");
    assert_non_null(file);
    fseek(file, (long)crn_minutes_record_offset(RECORDS, 2) + 50, SEEK_SET);
    fputs("torn", file);
    fclose(file);
    minutes = start(RECORDS);
    count_minute(minutes, &config, NOON + 2, 1);
    crn_minutes_stop(&minutes);
    assert_int_equal(read_file(&read), 2);
}

/* While the other thread has all buffers. */
static void no_fruit_is_lost_while_the_disk_hangs(void **state)
{
    (void)state;
    crn_minute_counter *counter;
    crn_minute_sums *sums;
    sem_t over;
    crn_random random = {crn_random_seed()};
    crn_config config;
    made_sums made = {0};
    uint64_t fruits = 0, handed_over = 0;
    make_config(&config, 0, "");
    sem_init(&over, 0, 0);
    assert_int_equal(crn_minute_counter_create(MADE_LANES, &over, &counter), 0);
    for (int64_t minute = 0; minute < 1000; minute++)
        count_fruit(counter, &random, &config, time_in(NOON + minute), &made);
    for (int rounds = 0; rounds < 2; rounds++) {
        while ((sums = crn_minute_counter_take(counter))) {
            fruits += sums->fruits;
            crn_minute_counter_give_back(counter, sums);
            assert_int_equal(sem_trywait(&over), 0);
            handed_over++;
        }
        crn_minute_counter_look(counter, 0, true);
    }
    assert_int_equal(fruits, 1000);
    assert_true(handed_over > 60); /* the first hour, minute by minute */
    crn_minute_counter_free(&counter);
    sem_destroy(&over);
}

/* A contour that the border cuts open may enclose a negative area, a pose may be of no use. */
static void areas_are_never_negative(void **state)
{
    (void)state;
    crn_config config;
    made_sums read;
    make_config(&config, 0, "");
    crn_minutes *minutes = start(RECORDS);
    crn_lane lane = {.number = 100};
    crn_fruit_surface surface = {.is_measured = true, .area_mm2 = {[1] = NAN, [2] = -3, [3] = 4}};
    crn_fruit fruit = {.lane = &lane, .config = &config, .surface = &surface};
    crn_class_total totals[CRN_CLASSES_MAX] = {[1] = {1, -12.5}, [2] = {1, NAN}, [3] = {1, 2.5}};
    crn_published published = {.facts = {.published_ns = time_in(NOON)}, .totals = totals};
    crn_minute_counter_add(crn_minutes_counter(minutes), &fruit, &published);
    crn_minutes_stop(&minutes);
    read_file(&read);
    for (int class = 1; class <= 3; class ++) {
        assert_int_equal(read.fruits[class], 1);
        assert_int_equal(read.area_px[class], class < 3 ? 0 : 250);
        assert_int_equal(read.area_mm2[class], class < 3 ? 0 : 400);
    }
}

/* Another lot, and other settings, while the other thread has all buffers. */
static void lots_and_settings_are_not_mixed_while_the_disk_hangs(void **state)
{
    (void)state;
    enum { MINUTES = 100, FRUITS = 40 };
    static const crn_class_total totals[CRN_CLASSES_MAX] = {[1] = {1, 1}};
    crn_minute_counter *counter;
    crn_minute_sums *sums;
    sem_t over;
    crn_config configs[2];
    uint64_t of_first = 0, of_other_lot = 0, mixed = 0, looked_for = 0, rot = 0;
    make_config(&configs[0], 0, "pears");
    make_config(&configs[1], 2, "apples");
    sem_init(&over, 0, 0);
    assert_int_equal(crn_minute_counter_create(MADE_LANES, &over, &counter), 0);
    for (uint32_t i = 0; i < MINUTES + 2 * FRUITS; i++) {
        crn_lane lane = {.number = 100};
        crn_fruit fruit = {.lane = &lane, .config = &configs[i >= MINUTES + FRUITS]};
        snprintf(fruit.lot, sizeof fruit.lot, i < MINUTES ? "first" : "second");
        crn_published published = {.facts = {.published_ns = time_in(NOON + i)}, .totals = totals};
        crn_minute_counter_add(counter, &fruit, &published);
    }
    for (int rounds = 0; rounds < 2; rounds++) {
        while ((sums = crn_minute_counter_take(counter))) {
            bool is_first = strcmp(sums->lot, "first") == 0;
            assert_true(!is_first || strcmp(sums->recipe, "pears") == 0);
            assert_int_equal(sums->is_mixed, sums->recipe[0] == '\0');
            assert_true(!sums->is_mixed || sums->lot[0] == '\0');
            of_first += is_first ? sums->fruits : 0;
            of_other_lot += strcmp(sums->lot, "second") == 0 ? sums->fruits : 0;
            mixed += sums->is_mixed ? sums->fruits : 0;
            looked_for += sums->looked_for;
            rot += sums->classes[1].fruits;
            crn_minute_counter_give_back(counter, sums);
        }
        crn_minute_counter_look(counter, 0, true);
    }
    assert_int_equal(of_first + of_other_lot + mixed, MINUTES + 2 * FRUITS);
    assert_true(of_first > 60 && of_first <= MINUTES);
    assert_true(mixed >= 2 * FRUITS);
    assert_int_equal(looked_for, MINUTES + FRUITS); /* those of the other settings are not known */
    assert_int_equal(rot, MINUTES + FRUITS);
    crn_minute_counter_free(&counter);
    sem_destroy(&over);
}

/* --- what pages get --- */

static char *ask(crn_minutes *minutes, crn_minutes_query query)
{
    crn_encoder *encoder;
    const unsigned char *bytes;
    size_t size;
    assert_int_equal(crn_encoder_create(CRN_FORMAT_JSON, &encoder), 0);
    crn_minutes_put(minutes, &query, encoder);
    assert_int_equal(crn_encoder_end(encoder, &bytes, &size), 0);
    char *text = strndup((const char *)bytes, size);
    crn_encoder_free(&encoder);
    return text;
}

/* Waits until the thread has what was counted before. */
static char *ask_until(crn_minutes *minutes, crn_minutes_query query, const char *wanted)
{
    for (int64_t end_ns = crn_now_ns() + 60 * CRN_NS_PER_S;; sched_yield()) {
        char *text = ask(minutes, query);
        if (strstr(text, wanted))
            return text;
        if (crn_now_ns() > end_ns)
            fail_msg("no %s in %s", wanted, text);
        free(text);
    }
}

static const crn_minutes_query last_day = {
    .from_ms = (NOON - 1440) * 60000, .to_ms = (NOW + 10) * 60000, .now_ms = NOW * 60000};

static void pages_get_rows_of_minutes_and_hours(void **state)
{
    (void)state;
    crn_config config;
    crn_minutes_query query = last_day;
    make_config(&config, 0, "");
    crn_minutes *minutes = start(RECORDS);
    count_minute(minutes, &config, NOON - 1441, 9); /* too early */
    count_minute(minutes, &config, NOON - 70, 2);
    count_minute(minutes, &config, NOON - 1, 3);
    count_minute(minutes, &config, NOON - 70, 4); /* after the clock was set back */
    crn_minutes_stop(&minutes);
    minutes = start(RECORDS); /* and from the file */
    char *text = ask_until(minutes, query, "\"complete\":6");
    assert_null(strstr(text, "\"complete\":9"));
    assert_non_null(strstr(text, "\"step_s\":60"));
    assert_non_null(strstr(text, "\"rot\":{\"looked_for\":6,\"fruits\":0,\"area_px\":0,"
                                 "\"area_mm2\":null}"));
    free(text);
    query.step = CRN_MINUTES_STEP_HOUR;
    query.from_ms = 0;
    text = ask_until(minutes, query, "\"complete\":9");
    assert_non_null(strstr(text, "\"step_s\":3600"));
    free(text);
    query.to_ms = query.from_ms = INT64_MAX;
    text = ask(minutes, query);
    assert_non_null(strstr(text, "\"rows\":[]"));
    free(text);
    crn_minutes_stop(&minutes);
}

/* While it is wrong pages may lack what is in its future; then all is there again. */
static void a_clock_that_was_wrong_erases_nothing(void **state)
{
    (void)state;
    const int64_t wrong[] = {-15000 * 60, 15000 * 60};
    crn_config config;
    make_config(&config, 0, "");
    for (int i = 0; i < 2; i++) {
        crn_minutes *minutes = start(RECORDS);
        count_minute(minutes, &config, NOW, 300);
        count_minute(minutes, &config, NOW + 1, 1);
        free(ask_until(minutes, last_day, "\"complete\":300"));
        set_clock(NOW + wrong[i]);
        count_minute(minutes, &config, NOW + wrong[i], 1);
        count_minute(minutes, &config, NOW + wrong[i] + 1, 1);
        const crn_minutes_query by_wrong_clock = {.to_ms = INT64_MAX,
                                                  .now_ms = (NOW + wrong[i]) * 60000};
        char wanted[64];
        snprintf(wanted, sizeof wanted, "\"at_ms\":%" PRId64, by_wrong_clock.now_ms);
        free(ask_until(minutes, by_wrong_clock, wanted));
        set_clock(NOW + 5);
        count_minute(minutes, &config, NOW + 5, 1);
        count_minute(minutes, &config, NOW + 6, 1);
        crn_minutes_query hours = {
            .step = CRN_MINUTES_STEP_HOUR, .to_ms = INT64_MAX, .now_ms = NOW * 60000};
        free(ask_until(minutes, last_day, "\"complete\":300"));
        free(ask_until(minutes, hours, "\"complete\":302"));
        crn_minutes_stop(&minutes);
        assert_int_equal(unlink(minutes_path()), 0);
    }
}

static void without_a_folder_there_is_memory(void **state)
{
    (void)state;
    static crn_log_capture caught;
    crn_config config;
    crn_minutes *minutes;
    make_config(&config, 0, "");
    const char *const folders[] = {"", "/nowhere/state"};
    const char *const said[] = {"as state.dir is empty", "/nowhere/state/minutes: No such file"};
    for (int i = 0; i < 2; i++) {
        crn_log_capture_start(&caught);
        assert_int_equal(crn_minutes_start(folders[i], RECORDS, MADE_LANES, &minutes), 0);
        count_minute(minutes, &config, NOON - 5, 7);
        count_minute(minutes, &config, NOON - 4, 1);
        free(ask_until(minutes, last_day, "\"complete\":7"));
        crn_minutes_stop(&minutes);
        assert_non_null(strstr(crn_log_capture_stop(&caught), said[i]));
    }
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(minutes_add_up_to_the_verdicts),
        cmocka_unit_test(the_documented_reader_finds_the_same),
        cmocka_unit_test(a_full_ring_forgets_the_oldest),
        cmocka_unit_test(a_torn_record_loses_its_minute_alone),
        cmocka_unit_test(a_torn_last_record_is_written_over),
        cmocka_unit_test(no_fruit_is_lost_while_the_disk_hangs),
        cmocka_unit_test(areas_are_never_negative),
        cmocka_unit_test(lots_and_settings_are_not_mixed_while_the_disk_hangs),
        cmocka_unit_test(pages_get_rows_of_minutes_and_hours),
        cmocka_unit_test(a_clock_that_was_wrong_erases_nothing),
        cmocka_unit_test(without_a_folder_there_is_memory),
    };
    CRN_SET_FIXTURE(tests, set_up, test_folder_remove);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
