/* Sorting of crossings: same order as insertion sort, in O(n log n) comparisons for any input. */
#include "stages/stage/crossings.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/random.h"

enum { ROWS = 40, COLUMNS = 60, COUNT = 5000 };

typedef struct crossings_fixture {
    crn_crossing memory[3][COUNT]; /* input, and two buffers to sort in */
    uint32_t starts[COLUMNS + 1];
    crn_crossings crossings;
} crossings_fixture;

static void set_up(crossings_fixture *f, uint32_t count)
{
    memcpy(f->memory[1], f->memory[0], count * sizeof(crn_crossing));
    f->crossings = (crn_crossings){.all = f->memory[1],
                                   .spare = f->memory[2],
                                   .starts = f->starts,
                                   .count = count,
                                   .rows = ROWS,
                                   .columns = COLUMNS};
}

/* A second implementation of "left of". */
static int order(const crn_crossing *a, const crn_crossing *b)
{
    if (a->row != b->row)
        return a->row < b->row ? -1 : 1;
    if (a->column != b->column)
        return a->column < b->column ? -1 : 1;
    bool a_chord = a->kind == CRN_CROSSING_CHORD, b_chord = b->kind == CRN_CROSSING_CHORD;
    if (a_chord || b_chord)
        return (int)b_chord - (int)a_chord;
    if (a->x != b->x)
        return a->x < b->x ? -1 : 1;
    if (a->slope != b->slope)
        return a->slope < b->slope ? -1 : 1;
    return (int)b->ends_high - (int)a->ends_high;
}

/* Sorted, stable (`contour` tells the original order), and complete. */
static void check_sorted(const crossings_fixture *f)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < f->crossings.count; i++) {
        const crn_crossing *now = &f->crossings.all[i], *before = now - 1;
        sum += now->contour;
        if (i == 0)
            continue;
        int way = order(before, now);
        assert_true(way < 0 || (way == 0 && before->contour < now->contour));
    }
    uint64_t count = f->crossings.count;
    assert_int_equal(sum, count * (count - 1) / 2);
}

static crn_crossing random_crossing(crn_random *random, uint32_t number, uint32_t places)
{
    uint32_t place = crn_random_below(random, places);
    return (crn_crossing){
        .row = (int32_t)(place / COLUMNS) % ROWS,
        .column = (int32_t)(place % COLUMNS),
        .contour = number,
        .kind = (int8_t)(crn_random_once_in(random, 6) ? CRN_CROSSING_CHORD : CRN_CROSSING_PATH),
        .ends_high = crn_random_once_in(random, 2),
        .x = (double)crn_random_below(random, 1 << (number % 12)),
        .slope = (double)crn_random_below(random, 3)};
}

static void test_sorts_crossings_however_many_share_a_pixel(void **state)
{
    (void)state;
    static const uint32_t places[] = {1, 2, 7, 100, ROWS * COLUMNS};
    static crossings_fixture f;
    crn_random random = {crn_random_seed()};
    for (uint32_t count = 0; count <= COUNT; count += 1 + count / 3)
        for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
            for (uint32_t i = 0; i < count; i++)
                f.memory[0][i] = random_crossing(&random, i, places[p]);
            set_up(&f, count);
            crn_pace pace = crn_pace_start(NULL);
            crn_crossings_sort(&f.crossings, &pace);
            check_sorted(&f);
        }
}

/* Contours far outside the picture, possible only if a sender writes into maps while they are read:
 * all crossings are clamped to the last column, in the worst order. */
static void test_takes_n_log_n_comparisons_when_all_share_a_pixel(void **state)
{
    (void)state;
    static crossings_fixture f;
    for (uint32_t i = 0; i < COUNT; i++)
        f.memory[0][i] =
            (crn_crossing){.row = 3, .column = COLUMNS - 1, .contour = i, .x = 1e9 - i};
    set_up(&f, COUNT);
    crn_pace pace = crn_pace_start(NULL);
    uint64_t compared = crn_crossings_sort(&f.crossings, &pace);
    assert_in_range(compared, COUNT - 1,
                    COUNT * 20); /* 13 is log2(COUNT); n^2 / 2 would be 12,500,000 */
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(f.crossings.all[i].contour, COUNT - 1 - i);
}

static bool is_over(const void *owner)
{
    return *(const bool *)owner;
}

static void test_ends_once_time_is_over(void **state)
{
    (void)state;
    static crossings_fixture f;
    crn_context *context;
    bool over = true;
    assert_int_equal(crn_context_create(1, &context), 0);
    crn_context_limit(context, is_over, &over);
    set_up(&f, COUNT);
    crn_pace pace = crn_pace_start(context);
    assert_int_equal(crn_crossings_sort(&f.crossings, &pace), 0);
    assert_true(pace.over);
    crn_context_free(&context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sorts_crossings_however_many_share_a_pixel),
        cmocka_unit_test(test_takes_n_log_n_comparisons_when_all_share_a_pixel),
        cmocka_unit_test(test_ends_once_time_is_over)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
