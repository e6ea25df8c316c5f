/* A sorter's outcomes in an archive: each fruit's once, whatever state their log is in. CRN_CASES
 * is the number of random logs (20), CRN_SEED the seed. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/formats/outcomes/outcome.h"
#include "stages/base/log.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/free_space.h"
#include "tests/support/parts/archived.h"
#include "tests/support/parts/logged.h"
#include "tests/support/programs/shell.h"
#include "tools/archive/rows/tables.h"

#define PROGRAM     CRN_BIN "/cernita-archive"
#define LANES       3
#define MANY        10050 /* more than a transaction has */
#define OUTLETS     4
#define RESULTS     3
#define ONE_SEGMENT UINT64_MAX

static crn_random source;
static crn_encoder *encoder;
static uint64_t next[LANES];    /* sequence */
static uint64_t sums[OUTLETS];  /* fruits by outlet */
static uint64_t total, records; /* fruits, outcomes */
static uint64_t result_sums[RESULTS], results;
static crn_intake_stats stats;
static crn_error error;
static char notice[1024];

static const char *const outlets[OUTLETS] = {"first", "second", "waste", "dead"};
static const char *const result_names[RESULTS] = {"confirmed", "missed", "lost"};

static int set_up(void **state)
{
    source = (crn_random){crn_random_seed()};
    memset(next, 0, sizeof next);
    memset(sums, 0, sizeof sums);
    memset(result_sums, 0, sizeof result_sums);
    total = records = results = 0;
    if (crn_encoder_create(CRN_FORMAT_MSGPACK, &encoder) < 0)
        return -1;
    return archived_setup(state);
}

static int tear_down(void **state)
{
    crn_encoder_free(&encoder);
    return logged_teardown(state);
}

static void append(crn_verdict_writer *writer, uint32_t lane, uint64_t sequence, uint64_t fruits,
                   int outlet)
{
    crn_outcome outcome = {.sorter = "5eed",
                           .run = CRN_ARCHIVED_RUN,
                           .lane = lane,
                           .sequence = sequence,
                           .fruits = fruits,
                           .fruit = fruits == 1 ? 100 + sequence : 0,
                           .decided_ns = 1000 + (int64_t)sequence,
                           .rule = (uint64_t)outlet};
    const unsigned char *bytes;
    size_t size;
    strcpy(outcome.outlet, outlets[outlet]);
    strcpy(outcome.reason, fruits == 1 ? "rule" : "lost");
    assert_int_equal(crn_outcome_pack(&outcome, encoder, &bytes, &size), 0);
    assert_int_equal(crn_verdict_writer_append(writer, lane, bytes, size, &error), 0);
}

static void append_result(crn_verdict_writer *writer, uint32_t lane, uint64_t sequence, int result)
{
    crn_firing_outcome firing = {.run = CRN_ARCHIVED_RUN, .lane = lane, .sequence = sequence};
    const unsigned char *bytes;
    size_t size;
    strcpy(firing.result, result_names[result]);
    assert_int_equal(crn_firing_outcome_pack(&firing, encoder, &bytes, &size), 0);
    assert_int_equal(crn_verdict_writer_append(writer, lane, bytes, size, &error), 0);
}

/* Random outcomes of all lanes; each tenth stands for several fruits. Of each second other fruit it
 * is told how it ended, after some others. */
static void append_random(crn_verdict_writer *writer, uint32_t count)
{
    uint32_t waiting_lane = 0;
    uint64_t waiting = 0;
    bool waits = false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t lane = crn_random_below(&source, LANES);
        int outlet = (int)crn_random_below(&source, OUTLETS);
        uint64_t fruits = crn_random_below(&source, 10) ? 1 : 2 + crn_random_below(&source, 9);
        if (waits && crn_random_below(&source, 3) == 0) {
            int result = (int)crn_random_below(&source, RESULTS);
            append_result(writer, waiting_lane, waiting, result);
            result_sums[result]++;
            results++;
            waits = false;
        }
        append(writer, lane, next[lane], fruits, outlet);
        if (!waits && fruits == 1 && crn_random_below(&source, 2)) {
            waits = true;
            waiting_lane = lane;
            waiting = next[lane];
        }
        next[lane] += fruits;
        sums[outlet] += fruits;
        total += fruits;
        records++;
    }
}

static void write_random(uint64_t segment_bytes, uint32_t count)
{
    crn_verdict_writer *writer = logged_writer(segment_bytes, 0);
    append_random(writer, count);
    crn_verdict_writer_close(&writer);
}

static void keep_notice(const char *line)
{
    snprintf(notice, sizeof notice, "%s", line);
}

static int import_as(crn_intake_kind kind)
{
    crn_archive archive;
    crn_archive_tables tables;
    crn_import *import = NULL;
    notice[0] = '\0';
    stats = (crn_intake_stats){0};
    int r = crn_archive_open(&archive, archived_path, &error);
    if (r == 0)
        r = crn_archive_tables_init(&tables, &archive, &error);
    if (r == 0)
        r = crn_import_open(
            &tables.destination,
            &(crn_import_settings){.dir = logged_folder, .kind = kind, .tell = keep_notice},
            &import, &error);
    int more = 1;
    while (r == 0 && more > 0) {
        more = crn_import_step(import, &error);
        r = more < 0 ? more : 0;
        stats = *crn_import_get_stats(import);
    }
    crn_import_close(&import);
    crn_archive_close(&archive);
    return r;
}

static void import(void)
{
    if (import_as(CRN_INTAKE_OUTCOMES) < 0)
        fail_msg("%s", error.text);
}

static void expect(const char *sql, uint64_t expected)
{
    double found = archived_ask(sql);
    if (found != (double)expected)
        fail_msg("%s: %.0f, expected %.0f", sql, found, (double)expected);
}

/* Fruits by outlet, each fruit once. */
static void expect_sums(void)
{
    char sql[256];
    expect("SELECT COUNT(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'", 1);
    expect("SELECT TOTAL(fruits) FROM outcomes", total);
    for (int i = 0; i < OUTLETS; i++) {
        snprintf(sql, sizeof sql,
                 "SELECT TOTAL(fruits) FROM outcomes JOIN names ON name_id = outlet_id"
                 " WHERE name = '%s'",
                 outlets[i]);
        expect(sql, sums[i]);
    }
    for (int i = 0; i < RESULTS; i++) {
        snprintf(sql, sizeof sql,
                 "SELECT COUNT(*) FROM outcomes JOIN names ON name_id = result_id"
                 " WHERE name = '%s' AND fruits = 1",
                 result_names[i]);
        expect(sql, result_sums[i]);
    }
    expect("SELECT COUNT(result_id) FROM outcomes", results);
    expect("SELECT COUNT(*) FROM outcomes a JOIN outcomes b USING (run_id, lane)"
           " WHERE b.sequence > a.sequence AND b.sequence < a.sequence + a.fruits",
           0);
}

static void sums_are_those_of_the_log(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < crn_random_cases(20); i++) {
        uint32_t count = 1 + crn_random_below(&source, 400);
        write_random(10000, count);
        import();
        assert_int_equal(stats.added, count);
        assert_int_equal(stats.known, 0);
        assert_int_equal(stats.missing, 0);
        expect_sums();
        expect("SELECT COUNT(*) FROM outcomes", records);
    }
    expect("SELECT COUNT(*) FROM outcomes JOIN names n ON n.name_id = reason_id"
           " WHERE (fruits = 1) <> (n.name = 'rule') OR decided_ns <> 1000 + sequence",
           0);
    expect("SELECT COUNT(*) FROM outcomes JOIN names n ON n.name_id = outlet_id"
           " WHERE (rule IS NULL) <> (n.name = 'first')",
           0);
}

/* A sorter that was killed may have decided about fruits that the next one takes for lost: what was
 * decided first was done. */
static void a_fruit_has_one_outcome(void **state)
{
    (void)state;
    crn_verdict_writer *writer = logged_writer(ONE_SEGMENT, 0);
    append(writer, 1, 10, 1, 0);
    append(writer, 1, 13, 2, 1);
    append(writer, 1, 8, 10, 3); /* 8, 9, 11, 12, 15, 16, 17 */
    append(writer, 1, 10, 1, 2);
    append(writer, 1, 9, 5, 2);
    append(writer, 2, 10, 1, 0); /* of another lane */
    crn_verdict_writer_close(&writer);
    import();
    assert_int_equal(stats.added, 4);
    assert_int_equal(stats.known, 2);
    total = 11;
    sums[0] = sums[1] = 2;
    sums[3] = 7;
    expect_sums();
    expect("SELECT fruits FROM outcomes WHERE lane = 1 AND sequence = 11", 2);
    expect("SELECT fruits FROM outcomes WHERE lane = 1 AND sequence = 15", 3);
}

/* The first one holds; without an outcome it is of no fruit. */
static void a_fruit_has_one_result(void **state)
{
    (void)state;
    crn_verdict_writer *writer = logged_writer(ONE_SEGMENT, 0);
    append(writer, 1, 10, 1, 0);
    append(writer, 1, 11, 2, 3);
    append_result(writer, 1, 10, 0);
    append_result(writer, 1, 10, 1);
    append_result(writer, 1, 11, 2); /* the row is of several */
    append_result(writer, 1, 9, 2);
    append_result(writer, 2, 10, 2);
    crn_verdict_writer_close(&writer);
    import();
    assert_int_equal(stats.added, 2);
    assert_int_equal(stats.results, 1);
    assert_int_equal(stats.known, 1);
    assert_int_equal(stats.missing, 3);
    total = 3;
    sums[0] = result_sums[0] = results = 1;
    sums[3] = 2;
    expect_sums();
}

static void what_was_archived_before_is_not_doubled(void **state)
{
    (void)state;
    write_random(ONE_SEGMENT, 50);
    write_random(ONE_SEGMENT, 50);
    import();
    assert_int_equal(unlink(logged_path(2)), 0); /* the position's */
    import();
    assert_int_equal(stats.added, 0);
    assert_true(stats.known >= 50);
    assert_int_equal(stats.results, 0);
    expect_sums();
}

static void an_incomplete_end_is_told(void **state)
{
    (void)state;
    struct stat about;
    crn_verdict_writer *writer = logged_writer(ONE_SEGMENT, 0);
    for (uint64_t sequence = 0; sequence < 50; sequence++)
        append(writer, 1, sequence, 1, 0);
    crn_verdict_writer_close(&writer);
    assert_int_equal(stat(logged_path(1), &about), 0);
    assert_int_equal(truncate(logged_path(1), about.st_size - 3), 0);
    import();
    assert_int_equal(stats.added, 49);
    assert_int_equal(stats.unreadable, 1);
    assert_non_null(strstr(notice, logged_path(1)));
}

static void no_outcomes_are_no_error(void **state)
{
    (void)state;
    import();
    assert_int_equal(stats.added, 0);
}

static void a_log_of_the_other_kind_is_refused(void **state)
{
    (void)state;
    archived_line line = {.random = {1}};
    archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 30);
    assert_int_equal(import_as(CRN_INTAKE_OUTCOMES), -EMEDIUMTYPE);
    assert_non_null(
        strstr(error.text, "is not an outcome of cernita-sorter: name its outputs.log.dir"));
    assert_non_null(strstr(error.text, ".verdicts: the entry at byte 16 "));
    expect("SELECT COUNT(*) FROM outcomes", 0);
    assert_int_equal(unlink(logged_path(1)), 0);
    write_random(ONE_SEGMENT, 30);
    assert_int_equal(import_as(CRN_INTAKE_VERDICTS), -EMEDIUMTYPE);
    assert_non_null(strstr(error.text, "name its folder with --sorter"));
    expect("SELECT COUNT(*) FROM fruits", 0);
}

static void room_for_others_is_left(void **state)
{
    (void)state;
    write_random(ONE_SEGMENT, 30);
    atomic_store(&free_bytes, UINT64_C(200) << 20);
    int r = import_as(CRN_INTAKE_OUTCOMES);
    atomic_store(&free_bytes, CRN_PLENTY_BYTES);
    assert_int_equal(r, -ENOSPC);
    import();
    expect_sums();
}

static void random_bytes_are_passed_over(void **state)
{
    (void)state;
    crn_verdict_writer *writer = logged_writer(ONE_SEGMENT, 0);
    for (uint32_t i = 0; i < 10 * crn_random_cases(20); i++) {
        crn_outcome outcome = {
            .run = "a", .sorter = "b", .fruits = 1, .outlet = "c", .reason = "d"};
        const unsigned char *bytes;
        size_t size;
        unsigned char copy[512];
        assert_int_equal(crn_outcome_pack(&outcome, encoder, &bytes, &size), 0);
        assert_true(size <= sizeof copy);
        memcpy(copy, bytes, size);
        /* Behind the key by which it is an outcome, and its version. */
        size_t at = 10 + crn_random_below(&source, (uint32_t)size - 10);
        copy[at] = (unsigned char)crn_random_below(&source, 256);
        assert_int_equal(crn_verdict_writer_append(writer, 0, copy, size, &error), 0);
    }
    append_random(writer, 1);
    crn_verdict_writer_close(&writer);
    import();
    expect("SELECT COUNT(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'", 1);
    assert_int_equal(stats.added + stats.known + stats.unreadable,
                     10 * (uint64_t)crn_random_cases(20) + 1);
}

/* --- the program --- */

static pid_t follow(void)
{
    char verdicts[160];
    snprintf(verdicts, sizeof verdicts, "%s/verdicts", logged_folder);
    mkdir(verdicts, 0700);
    pid_t child = crn_cleanup_fork();
    assert_true(child >= 0);
    if (child == 0) {
        execl(PROGRAM, PROGRAM, "--from", verdicts, "--sorter", logged_folder, "--to",
              archived_path, "--follow", NULL);
        _exit(1);
    }
    return child;
}

static bool has_archived(pid_t child, void *fruits)
{
    (void)child;
    return access(archived_path, F_OK) == 0 &&
           archived_ask("SELECT COUNT(*) FROM sqlite_schema WHERE name = 'outcomes'") == 1 &&
           archived_ask("SELECT TOTAL(fruits) FROM outcomes") >= *(double *)fruits;
}

static void kills_lose_nothing_and_double_nothing(void **state)
{
    (void)state;
    crn_verdict_writer *writer = logged_writer(20000, 0);
    double before = 0;
    for (uint32_t i = 0; i < crn_random_cases(20); i++) {
        pid_t child = follow();
        append_random(writer, crn_random_below(&source, i % 4 ? 300 : 12000));
        if (i % 4 == 0) /* it gets as far as the log was before */
            crn_test_await(child, has_archived, &before);
        before = (double)total;
        for (volatile uint32_t spin = crn_random_below(&source, 5000000); spin > 0; spin--)
            continue;
        kill(child, SIGKILL);
        crn_cleanup_wait(child, NULL);
    }
    crn_verdict_writer_close(&writer);
    import();
    assert_int_equal(stats.unreadable, 0);
    expect_sums();
    expect("SELECT COUNT(*) FROM outcomes", records);
}

/* A fruit's outlet, by its verdict, also where one outcome stands for several fruits. */
static void fruits_have_their_outlets(void **state)
{
    (void)state;
    char outcomes[160], command[512], output[512];
    archived_line line = {.random = {1}, .lanes = 1};
    archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 30);
    snprintf(outcomes, sizeof outcomes, "%s/outcomes", logged_folder);
    assert_int_equal(mkdir(outcomes, 0700), 0);
    crn_verdict_writer *writer = NULL;
    assert_int_equal(
        crn_verdict_writer_open(
            &(crn_verdict_log_settings){.dir = outcomes, .segment_bytes = 100000}, &writer, &error),
        0);
    for (uint64_t sequence = 0; sequence < 20; sequence++)
        append(writer, 0, sequence, 1, 1);
    append(writer, 0, 20, 8, 3);
    append_result(writer, 0, 7, 1);
    for (uint64_t sequence = 0; sequence < MANY; sequence++)
        append(writer, 1, sequence, 1, 0);
    crn_verdict_writer_close(&writer);
    snprintf(command, sizeof command, PROGRAM " --from %s --sorter %s --to %s 2>&1", logged_folder,
             outcomes, archived_path);
    assert_int_equal(crn_test_shell(command, output, sizeof output), 0);
    assert_non_null(strstr(output, "30 verdicts archived"));
    assert_non_null(strstr(output, "10071 outcomes and 1 results archived, 0 were there, 0 results"
                                   " without an outcome, 0 unreadable"));
    expect("SELECT COUNT(*) FROM fruit_outcomes", 28);
    expect("SELECT COUNT(*) FROM fruit_outcomes JOIN names ON name_id = outlet_id"
           " JOIN fruits USING (fruit_id) WHERE name = 'dead' AND sequence BETWEEN 20 AND 27",
           8);
    expect("SELECT sequence FROM fruit_outcomes JOIN names ON name_id = result_id"
           " JOIN fruits USING (fruit_id) WHERE name = 'missed'",
           7);
}

/* Verdicts are archived, whatever is wrong with the outcomes. */
static void verdicts_are_archived_beside_a_wrong_folder(void **state)
{
    (void)state;
    char command[512], output[1024];
    archived_line line = {.random = {1}};
    archived_write(&line, CRN_FORMAT_MSGPACK, ONE_SEGMENT, 30);
    snprintf(command, sizeof command, PROGRAM " --from %s --sorter %s --to %s 2>&1", logged_folder,
             logged_folder, archived_path);
    assert_int_equal(crn_test_shell(command, output, sizeof output), 1);
    assert_non_null(strstr(output, "30 verdicts archived"));
    archived_expect_sums(&line.sums);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        TEST(sums_are_those_of_the_log),
        TEST(a_fruit_has_one_outcome),
        TEST(a_fruit_has_one_result),
        TEST(what_was_archived_before_is_not_doubled),
        TEST(an_incomplete_end_is_told),
        TEST(no_outcomes_are_no_error),
        TEST(a_log_of_the_other_kind_is_refused),
        TEST(room_for_others_is_left),
        TEST(random_bytes_are_passed_over),
        TEST(kills_lose_nothing_and_double_nothing),
        TEST(fruits_have_their_outlets),
        TEST(verdicts_are_archived_beside_a_wrong_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
