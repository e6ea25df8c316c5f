#include "stages/stage/crossings.h"

#include <string.h>

/* Up to this many are sorted by insertion, more by merging. */
#define FEW 16

/* Strict order of crossings in one row and column. */
static bool precedes(const crn_crossing *a, const crn_crossing *b)
{
    /* The position of chords is irrelevant and any number may pass one pixel: not compared. */
    if (a->kind == CRN_CROSSING_CHORD || b->kind == CRN_CROSSING_CHORD)
        return a->kind == CRN_CROSSING_CHORD && b->kind != CRN_CROSSING_CHORD;
    /* Several contours may meet in a pixel exactly at the level; they diverge below it. */
    if (a->x != b->x)
        return a->x < b->x;
    if (a->slope != b->slope)
        return a->slope < b->slope;
    /* Where two contours coincide, that pixel, a low one, lies between them. */
    return a->ends_high && !b->ends_high;
}

static bool is_same_place(const crn_crossing *a, const crn_crossing *b)
{
    return a->row == b->row && a->column == b->column;
}

/* One pass of a stable counting sort, by row or by column; swaps the buffers. */
static void sort_pass(crn_crossings *s, bool by_row, crn_pace *pace)
{
    uint32_t *starts = s->starts;
    int32_t keys = by_row ? s->rows : s->columns;
    memset(starts, 0, ((size_t)keys + 1) * sizeof *starts);
    for (uint32_t i = 0; i < s->count; i++)
        starts[(by_row ? s->all[i].row : s->all[i].column) + 1]++;
    for (int32_t key = 0; key < keys; key++)
        starts[key + 1] += starts[key];
    for (uint32_t i = 0; i < s->count && !crn_pace_over(pace, 16); i++)
        s->spare[starts[by_row ? s->all[i].row : s->all[i].column]++] = s->all[i];
    crn_crossing *sorted = s->spare;
    s->spare = s->all;
    s->all = sorted;
}

/* Insertion sort of a few crossings. */
static uint64_t sort_few(crn_crossing *few, uint32_t count)
{
    uint64_t compared = 0;
    for (uint32_t i = 1; i < count; i++) {
        crn_crossing moving = few[i];
        uint32_t to = i;
        for (; to > 0; to--) {
            compared++;
            if (!precedes(&moving, &few[to - 1]))
                break;
            few[to] = few[to - 1];
        }
        few[to] = moving;
    }
    return compared;
}

/* Merges the sorted ranges a .. b and b .. end. */
static uint64_t merge(const crn_crossing *a, const crn_crossing *b, const crn_crossing *end,
                      crn_crossing *to)
{
    const crn_crossing *middle = b;
    uint64_t compared = 0;
    while (a < middle && b < end) {
        compared++;
        *to++ = precedes(b, a) ? *b++ : *a++;
    }
    memcpy(to, a, (size_t)(middle - a) * sizeof *to);
    memcpy(to + (middle - a), b, (size_t)(end - b) * sizeof *to);
    return compared;
}

/* Merge sort of the crossings in one row and column. */
static uint64_t sort_place(crn_crossing *all, crn_crossing *spare, size_t count, crn_pace *pace)
{
    uint64_t compared = 0;
    crn_crossing *from = all, *to = spare;
    for (size_t i = 0; i < count; i += FEW)
        compared += sort_few(from + i, (uint32_t)(count - i < FEW ? count - i : FEW));
    for (size_t each = FEW; each < count; each *= 2) {
        for (size_t i = 0; i < count; i += 2 * each) {
            size_t middle = count - i < each ? count : i + each;
            size_t end = count - i < 2 * each ? count : i + 2 * each;
            if (crn_pace_over(pace, (int64_t)(end - i) * 8))
                return compared;
            compared += merge(from + i, from + middle, from + end, to + i);
        }
        crn_crossing *merged = to;
        to = from;
        from = merged;
    }
    if (from != all)
        memcpy(all, from, count * sizeof *all);
    return compared;
}

uint64_t crn_crossings_sort(crn_crossings *s, crn_pace *pace)
{
    uint64_t compared = 0;
    for (int by_row = 0; by_row < 2; by_row++) {
        sort_pass(s, by_row, pace);
        if (pace->over)
            return compared;
    }
    for (uint32_t begin = 0, end; begin < s->count; begin = end) {
        for (end = begin + 1; end < s->count; end++)
            if (!is_same_place(&s->all[begin], &s->all[end]))
                break;
        if (end - begin == 1)
            continue;
        if (end - begin <= FEW)
            compared += sort_few(s->all + begin, end - begin);
        else
            compared += sort_place(s->all + begin, s->spare + begin, end - begin, pace);
        if (pace->over)
            break;
    }
    return compared;
}
