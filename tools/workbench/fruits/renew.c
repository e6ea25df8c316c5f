/* The index as a file: what of the former one stays, what is added, numbers, and writing it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stages/base/buffer/array.h"
#include "tools/workbench/fruits/builder.h"
#include "tools/workbench/fruits/sources.h"

#define UNFINISHED_NAME CRN_FRUIT_INDEX_NAME ".part"

#define COMPARE CRN_FRUITS_COMPARE

/* --- the former index ------------------------------------------------------------------------- */

static int copy(void *ret_to, const void *from, uint64_t count, size_t size)
{
    void **to = ret_to;
    for (uint64_t i = 0; i < count; i++)
        if (crn_array_grow(to, i, size) < 0)
            return -ENOMEM;
    if (count > 0)
        memcpy(*to, from, count * size);
    return 0;
}

static int take_views(crn_fruit_builder *builder, const crn_fruit_table *former)
{
    for (uint64_t number = 0; number < former->head->fruit_count; number++) {
        const crn_recorded_fruit *fruit = &former->fruits[number];
        for (uint32_t i = 0; i < fruit->view_count; i++) {
            if (crn_array_grow(&builder->met, builder->met_count, sizeof *builder->met) < 0)
                return -ENOMEM;
            builder->met[builder->met_count++] =
                (crn_met_view){.epoch = fruit->epoch,
                               .fruit = fruit->fruit,
                               .lane = fruit->lane,
                               .time_ns = fruit->time_ns,
                               .number = number,
                               .at = former->views[fruit->first_view + i]};
        }
    }
    return 0;
}

/* All but the fruits, which take_verdicts() adds to. */
static int take_over(crn_fruit_builder *builder, const crn_fruit_table *former)
{
    const crn_fruit_index *head = former->head;
    builder->head = *head;
    builder->head.fruit_count = builder->head.view_count = builder->head.note_bytes = 0;
    if (head->fruit_count > 0)
        builder->judged_to_ns = former->fruits[former->by_time[head->fruit_count - 1]].time_ns;
    builder->paths = malloc(head->path_bytes + 1);
    if (!builder->paths)
        return -ENOMEM;
    memcpy(builder->paths, former->paths, head->path_bytes);
    int r = copy(&builder->recordings, former->recordings, head->recording_count,
                 sizeof *builder->recordings);
    if (r == 0)
        r = copy(&builder->lots, former->lots, head->lot_count, sizeof *builder->lots);
    if (r == 0 && head->note_bytes > 0)
        r = crn_fruit_builder_note(builder, former->notes, head->note_bytes - 1);
    return r == 0 ? take_views(builder, former) : r;
}

/* What their verdicts said. */
static void take_verdicts(crn_fruit_builder *builder, const crn_fruit_table *former)
{
    for (uint64_t i = 0; i < builder->head.fruit_count; i++) {
        crn_met_fruit *fruit = &builder->fruits[i];
        if (fruit->number == CRN_FRUIT_NEW)
            continue;
        const crn_recorded_fruit *known = &former->fruits[fruit->number];
        fruit->of.kind = known->kind;
        fruit->of.found = known->found;
        fruit->of.lot = known->lot;
        fruit->of.verdict = known->verdict;
        fruit->of.shown_view = known->shown_view;
    }
}

static int by_time(const void *left, const void *right)
{
    const crn_met_fruit *a = left, *b = right;
    int order = COMPARE(a->of.time_ns, b->of.time_ns);
    return order ? order : COMPARE(a->of.first_view, b->of.first_view);
}

static int by_number(const void *left, const void *right)
{
    const crn_met_fruit *a = left, *b = right;
    return COMPARE(a->number, b->number);
}

/* Gives new fruits the next numbers, by time, and sorts all by number. */
static uint64_t *number_fruits(crn_fruit_builder *builder, uint64_t next)
{
    uint64_t count = builder->head.fruit_count;
    uint64_t *numbers = malloc((count + 1) * sizeof *numbers);
    if (!numbers)
        return NULL;
    qsort(builder->fruits, count, sizeof *builder->fruits, by_time);
    for (uint64_t i = 0; i < count; i++) {
        if (builder->fruits[i].number == CRN_FRUIT_NEW)
            builder->fruits[i].number = next++;
        numbers[i] = builder->fruits[i].number;
    }
    qsort(builder->fruits, count, sizeof *builder->fruits, by_number);
    return numbers;
}

/* --- the file --------------------------------------------------------------------------------- */

/* An empty array may be NULL, which fwrite does not take. */
static void write_array(const void *array, size_t size, size_t count, FILE *file)
{
    if (count)
        fwrite(array, size, count, file);
}

static int write_file(const crn_fruit_builder *builder, const uint64_t *by_time, crn_error *error)
{
    const crn_fruit_index *head = &builder->head;
    FILE *file = fopen(UNFINISHED_NAME, "we");
    if (!file)
        return crn_error_set(error, -errno, "the index cannot be stored: %s", strerror(errno));
    write_array(head, sizeof *head, 1, file);
    for (uint64_t i = 0; i < head->fruit_count; i++)
        write_array(&builder->fruits[i].of, sizeof builder->fruits[i].of, 1, file);
    write_array(by_time, sizeof *by_time, head->fruit_count, file);
    for (size_t i = 0; i < builder->met_count; i++)
        write_array(&builder->met[i].at, sizeof builder->met[i].at, 1, file);
    write_array(builder->recordings, sizeof *builder->recordings, head->recording_count, file);
    write_array(builder->lots, sizeof *builder->lots, head->lot_count, file);
    write_array(builder->paths, 1, head->path_bytes, file);
    write_array(builder->notes, 1, head->note_bytes, file);
    bool failed = ferror(file) != 0;
    failed = fclose(file) != 0 || failed;
    if (!failed && rename(UNFINISHED_NAME, CRN_FRUIT_INDEX_NAME) == 0)
        return 0;
    unlink(UNFINISHED_NAME);
    return crn_error_set(error, -ENOSPC,
                         "there is no memory left for the index of %llu views: name fewer "
                         "recordings",
                         (unsigned long long)head->view_count);
}

/* Without a former index. */
static int begin(crn_fruit_builder *builder, const crn_fruit_sources *sources)
{
    builder->head.has_verdicts = sources->archive || sources->log;
    builder->judged_to_ns = INT64_MAX;
    if (crn_array_grow(&builder->lots, 0, sizeof *builder->lots) < 0)
        return -ENOMEM;
    memset(builder->lots[0], 0, sizeof builder->lots[0]);
    builder->head.lot_count = 1;
    return 0;
}

static int read_verdicts(crn_fruit_builder *builder, const crn_fruit_sources *sources,
                         crn_error *error)
{
    int r = sources->archive ? crn_fruit_read_archive(builder, sources->archive, error) : 0;
    return r == 0 && sources->log ? crn_fruit_read_log(builder, sources->log, error) : r;
}

int crn_fruit_sources_check(const crn_fruit_sources *sources, crn_error *error)
{
    static crn_fruit_builder empty; /* large; no verdict is of its fruits */
    return read_verdicts(&empty, sources, error);
}

static int finish(crn_fruit_builder *builder, const crn_fruit_sources *sources,
                  const crn_fruit_table *former, crn_error *error)
{
    uint64_t *by_time_numbers = NULL;
    int r = crn_fruit_builder_join(builder, error);
    if (r == 0 && former->head)
        take_verdicts(builder, former);
    if (r == 0)
        r = read_verdicts(builder, sources, error);
    if (r == 0) {
        by_time_numbers = number_fruits(builder, former->head ? former->head->fruit_count : 0);
        r = by_time_numbers ? write_file(builder, by_time_numbers, error)
                            : crn_error_set(error, -ENOMEM,
                                            "no memory for an index of so many "
                                            "views");
    }
    free(by_time_numbers);
    return r;
}

int crn_fruit_index_renew(const crn_fruit_sources *sources, crn_error *error)
{
    static crn_fruit_builder builder; /* large */
    crn_fruit_table former;
    crn_error ignored;
    bool is_there = crn_fruit_table_open(&former, &ignored) == 0, has_changed = !is_there;
    builder = (crn_fruit_builder){0};
    int r = is_there ? take_over(&builder, &former) : begin(&builder, sources);
    if (r < 0)
        crn_error_set(error, r, "no memory for an index of so many views");
    uint64_t stamp = crn_fruit_sources_stamp(sources);
    has_changed |= stamp != builder.head.verdict_stamp;
    builder.head.verdict_stamp = stamp;
    if (r == 0)
        r = crn_fruit_read_recordings(&builder, sources, &has_changed, error);
    if (r == 0 && has_changed)
        r = finish(&builder, sources, &former, error);
    crn_fruit_table_close(&former);
    free(builder.met);
    free(builder.fruits);
    free(builder.recordings);
    free(builder.lots);
    free(builder.paths);
    free(builder.notes);
    return r;
}
