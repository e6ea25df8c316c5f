/* The index of recorded fruits: what a renewal adds, keeps and reads, compared with an index that
 * is made anew. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/formats/verdict_log/format.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/parts/logged.h"
#include "tests/support/parts/recorded.h"
#include "tests/support/random.h"
#include "tools/workbench/fruits/index.h"
#include "tools/workbench/fruits/verdict.h"

#define BEGIN_NS UINT64_C(1700000000000000000)
#define EPOCH    7

static char recordings[PATH_MAX], log_folder[PATH_MAX], index_folder[PATH_MAX], home[PATH_MAX];
static char *named[] = {recordings};
static crn_fruit_sources sources;
static crn_error error;

static void enter(const char *folder)
{
    assert_int_equal(chdir(folder), 0);
}

static int set_up(void **state)
{
    if (!getcwd(home, sizeof home) || test_folder_make(state))
        return -1;
    snprintf(recordings, sizeof recordings, "%s/recordings", test_folder);
    snprintf(log_folder, sizeof log_folder, "%s/log", test_folder);
    snprintf(index_folder, sizeof index_folder, "%s/index", test_folder);
    sources = (crn_fruit_sources){.named = named, .named_count = 1};
    return mkdir(recordings, 0700) || mkdir(log_folder, 0700) || mkdir(index_folder, 0700) ||
           chdir(index_folder);
}

static int tear_down(void **state)
{
    enter(home);
    return test_folder_remove(state);
}

static crn_recorded_view view_of(uint64_t fruit, uint32_t view)
{
    crn_recorded_view made = recorded_small(2 * fruit + view);
    made.header.lane = 0;
    made.header.fruit = fruit;
    made.header.epoch = EPOCH;
    made.header.view = (uint16_t)view;
    made.header.views = 2;
    made.arrived_ns = BEGIN_NS + fruit * 1000000000 + view;
    return made;
}

/* A recording of views `from` to `to` - 1, two of each fruit. */
static void record(const char *name, uint64_t from, uint64_t to)
{
    char path[PATH_MAX + 64];
    crn_recording_writer *writer = NULL;
    snprintf(path, sizeof path, "%s/%s", recordings, name);
    assert_int_equal(crn_recording_create(path, true, &writer, &error), 0);
    for (uint64_t i = from; i < to; i++) {
        crn_recorded_view view = view_of(i / 2, i % 2);
        recorded_add(writer, &view);
    }
    recorded_finish(writer);
}

static void judge(unsigned from, unsigned to, const char *kind)
{
    logged_fruit verdicts[64] = {{0}};
    for (unsigned fruit = from; fruit < to; fruit++)
        verdicts[fruit - from] = (logged_fruit){0, EPOCH, fruit, kind, 10};
    logged_made_up(log_folder, verdicts);
    sources.log = log_folder;
}

static crn_fruit_table renew(void)
{
    crn_fruit_table table = {0};
    if (crn_fruit_index_renew(&sources, &error) < 0 || crn_fruit_table_open(&table, &error) < 0)
        fail_msg("%s", error.text);
    return table;
}

static void renewed_fruits_keep_their_numbers(void **state)
{
    (void)state;
    record("b.tif", 20, 39); /* of fruit 19 one view */
    crn_fruit_table table = renew();
    assert_int_equal(table.head->fruit_count, 10);
    crn_fruit_table_close(&table);
    record("a.tif", 10, 20); /* before them */
    record("c.tif", 39, 48); /* the other view of fruit 19, and later ones */
    table = renew();
    assert_int_equal(table.head->fruit_count, 19);
    for (uint64_t number = 0; number < 10; number++)
        assert_int_equal(table.fruits[number].fruit, 10 + number);
    for (uint64_t i = 0; i < 19; i++)
        assert_int_equal(table.fruits[table.by_time[i]].fruit, 5 + i);
    const crn_recorded_fruit *split = &table.fruits[9];
    assert_int_equal(split->view_count, 2);
    assert_non_null(strstr(crn_fruit_table_path(&table, &table.views[split->first_view]), "b.tif"));
    assert_non_null(
        strstr(crn_fruit_table_path(&table, &table.views[split->first_view + 1]), "c.tif"));
    crn_fruit_table_close(&table);
}

static ino_t index_file(void)
{
    struct stat status;
    crn_fruit_table table = renew();
    crn_fruit_table_close(&table);
    assert_int_equal(stat(CRN_FRUIT_INDEX_NAME, &status), 0);
    return status.st_ino;
}

/* What was read once need not be there any more. */
static void what_has_not_changed_is_not_read_again(void **state)
{
    (void)state;
    record("a.tif", 0, 8);
    judge(0, 2, "complete");
    ino_t first = index_file();
    int held =
        open(CRN_FRUIT_INDEX_NAME, O_RDONLY | O_CLOEXEC); /* so that its number is not reused */
    assert_int_equal(index_file(), first);
    judge(2, 4, "late");
    assert_int_not_equal(index_file(), first);
    close(held);
    enter(recordings);
    assert_int_equal(unlink("a.tif"), 0);
    enter(index_folder);
    record("b.tif", 8, 10);
    crn_fruit_table table = renew();
    assert_int_equal(table.head->fruit_count, 5);
    assert_int_equal(table.head->verdicts, 4);
    assert_int_equal(table.head->note_bytes, 0);
    crn_fruit_table_close(&table);
}

/* A recording that could not be read, and now can: the note goes. */
static void a_recording_that_is_written_again_is_read_again(void **state)
{
    (void)state;
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/a.tif", recordings);
    recorded_save(path, "no recording", 12);
    record("b.tif", 4, 8);
    snprintf(path, sizeof path, "%s/c.tif", recordings);
    recorded_save(path, "none either", 11);
    crn_fruit_table table = renew();
    assert_int_equal(table.head->fruit_count, 2);
    assert_non_null(strstr(table.notes, "/a.tif: "));
    crn_fruit_table_close(&table);
    record("a.tif", 0, 4);
    record("b.tif", 4, 10); /* grew */
    table = renew();
    assert_int_equal(table.head->fruit_count, 5);
    assert_int_equal(table.head->view_count, 10);
    char *notes = strndup(table.notes, table.head->note_bytes);
    assert_null(strstr(notes, "/a.tif: "));
    assert_non_null(strstr(notes, "/c.tif: "));
    free(notes);
    crn_fruit_table_close(&table);
}

/* As if the segment had been written before any of the recordings. */
static void make_old(uint64_t segment)
{
    char path[PATH_MAX + 64];
    const struct timespec times[2] = {{(time_t)(BEGIN_NS / 1000000000) - 3600, 0},
                                      {(time_t)(BEGIN_NS / 1000000000) - 3600, 0}};
    crn_verdict_log_path(path, sizeof path, log_folder, segment);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Each verdict is found again where the index says, also those of a segment that is not read
 * again. */
static void later_verdicts_are_found(void **state)
{
    (void)state;
    record("a.tif", 0, 20);
    judge(0, 5, "complete");
    crn_fruit_table table = renew();
    assert_int_equal(table.head->verdicts, 5);
    crn_fruit_table_close(&table);
    make_old(1);
    judge(5, 9, "partial");
    table = renew();
    assert_int_equal(table.head->verdicts, 9);
    for (uint64_t i = 0; i < 10; i++) {
        char *text = NULL, wanted[32];
        size_t size;
        FILE *out = open_memstream(&text, &size);
        assert_int_equal(crn_fruit_verdict_print(&sources, &table.fruits[i], out, &error), 0);
        assert_int_equal(fclose(out), 0);
        snprintf(wanted, sizeof wanted, "\"fruit\":\"%d\"", (int)i);
        char plain[32];
        snprintf(plain, sizeof plain, "\"fruit\":%d,", (int)i);
        if (i == 9)
            assert_string_equal(text, "{\"verdict\":null}\n");
        else
            assert_true(strstr(text, wanted) || strstr(text, plain));
        free(text);
    }
    crn_fruit_table_close(&table);
}

/* All but the numbers, which are those of the renewed one. */
static void expect_same(const crn_fruit_table *renewed, const crn_fruit_table *made)
{
    assert_int_equal(renewed->head->fruit_count, made->head->fruit_count);
    assert_int_equal(renewed->head->view_count, made->head->view_count);
    assert_int_equal(renewed->head->verdicts, made->head->verdicts);
    for (uint64_t i = 0; i < made->head->fruit_count; i++) {
        const crn_recorded_fruit *a = &renewed->fruits[renewed->by_time[i]];
        const crn_recorded_fruit *b = &made->fruits[made->by_time[i]];
        assert_int_equal(b - made->fruits, i); /* by time */
        assert_true(a->fruit == b->fruit && a->lane == b->lane && a->epoch == b->epoch);
        assert_true(a->time_ns == b->time_ns && a->kind == b->kind && a->found == b->found);
        assert_int_equal(a->view_count, b->view_count);
        for (uint32_t k = 0; k < a->view_count; k++) {
            const crn_view_place *of_a = &renewed->views[a->first_view + k],
                                 *of_b = &made->views[b->first_view + k];
            assert_true(of_a->view == of_b->view && of_a->offset == of_b->offset);
            assert_string_equal(crn_fruit_table_path(renewed, of_a),
                                crn_fruit_table_path(made, of_b));
        }
    }
}

/* Recordings that cut fruits in two, and verdicts before and after them, in random order. */
static void renewals_end_as_an_index_that_is_made_anew(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    char anew[PATH_MAX + 64], name[64];
    enum { PIECES = 6, EACH = 7 };
    bool is_there[2][PIECES] = {{false}};
    for (uint32_t step = 0; step < 2 * PIECES; step++) {
        uint32_t kind, piece;
        do {
            kind = (uint32_t)crn_random_below(&random, 2);
            piece = (uint32_t)crn_random_below(&random, PIECES);
        } while (is_there[kind][piece]);
        is_there[kind][piece] = true;
        if (kind == 0) {
            snprintf(name, sizeof name, "%u.tif", piece);
            record(name, piece * EACH, (piece + 1) * EACH);
        } else {
            judge(piece * EACH / 2, piece * EACH / 2 + 3, piece % 2 ? "complete" : "late");
        }
        crn_fruit_table renewed = renew();
        snprintf(anew, sizeof anew, "%s/anew%u", test_folder, step);
        assert_int_equal(mkdir(anew, 0700), 0);
        enter(anew);
        crn_fruit_table made = renew();
        enter(index_folder);
        if (sources.log || renewed.head->verdicts == 0)
            expect_same(&renewed, &made);
        crn_fruit_table_close(&made);
        crn_fruit_table_close(&renewed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(renewed_fruits_keep_their_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_has_not_changed_is_not_read_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_recording_that_is_written_again_is_read_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(later_verdicts_are_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(renewals_end_as_an_index_that_is_made_anew, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
