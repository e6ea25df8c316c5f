#include "src/monitor/minutes/table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MS_PER_S 1000

const int64_t crn_minutes_step_s[CRN_MINUTES_STEPS] = {60, 3600};

typedef struct minutes_cell {
    uint32_t looked_for, fruits, measured;
    uint64_t area_px, area_mm2;
} minutes_cell;

typedef struct minutes_row {
    int64_t number; /* steps since 1970 */
    uint64_t verdicts[CRN_VERDICT_LATE + 1], with_defect;
    minutes_cell cells[CRN_MINUTES_COLUMNS];
} minutes_row;

struct crn_minutes_table {
    int32_t column_count;
    char columns[CRN_MINUTES_COLUMNS][CRN_MINUTES_TEXT_MAX + 1]; /* in the order of appearance */
    minutes_row rows[CRN_MINUTES_STEPS][CRN_MINUTES_ROWS];       /* by number, modulo */
};

int crn_minutes_table_create(crn_minutes_table **ret_table)
{
    *ret_table = calloc(1, sizeof **ret_table);
    return *ret_table ? 0 : -ENOMEM;
}

void crn_minutes_table_free(crn_minutes_table **table)
{
    free(*table);
    *table = NULL;
}

/* Its index, or -1: there are too many. */
static int32_t find_column(crn_minutes_table *table, const char *name)
{
    for (int32_t i = 0; i < table->column_count; i++)
        if (strcmp(table->columns[i], name) == 0)
            return i;
    if (table->column_count == CRN_MINUTES_COLUMNS || !name[0])
        return -1;
    strcpy(table->columns[table->column_count], name);
    return table->column_count++;
}

static void add_class(minutes_cell *cell, const crn_minute_record *record,
                      const crn_minute_class *class)
{
    cell->looked_for += (uint32_t)record->fruits;
    cell->measured += (uint32_t)record->measured;
    cell->fruits += (uint32_t) class->fruits;
    cell->area_px += class->area_px;
    cell->area_mm2 += class->area_mm2;
}

void crn_minutes_table_add(crn_minutes_table *table, const crn_minute_record *record,
                           const crn_minutes_name *names)
{
    for (crn_minutes_step step = 0; step < CRN_MINUTES_STEPS; step++) {
        int64_t number = (int64_t)record->minute * 60 / crn_minutes_step_s[step];
        minutes_row *row = &table->rows[step][number % CRN_MINUTES_ROWS];
        if (row->number != number)
            *row = (minutes_row){.number = number};
        for (uint32_t i = 0; i < record->lane_count; i++) {
            for (int kind = 0; kind <= CRN_VERDICT_LATE; kind++)
                row->verdicts[kind] += record->lanes[i].verdicts[kind];
            row->with_defect += record->lanes[i].with_defect;
        }
        for (uint32_t i = 0; i < record->class_count; i++) {
            uint32_t name = record->classes[i].name;
            int32_t column = find_column(table, name < CRN_MINUTES_NAMES ? names[name].text : "");
            if (column >= 0)
                add_class(&row->cells[column], record, &record->classes[i]);
        }
    }
}

/* --- as a message --- */

static double unscaled(uint64_t area)
{
    return (double)area / CRN_MINUTES_AREA_SCALE;
}

static void put_classes(const crn_minutes_table *table, const minutes_row *row,
                        crn_encoder *encoder)
{
    uint32_t looked_for = 0;
    for (int32_t i = 0; i < table->column_count; i++)
        looked_for += row->cells[i].looked_for > 0;
    crn_encoder_text(encoder, "classes");
    crn_encoder_map(encoder, looked_for);
    for (int32_t i = 0; i < table->column_count; i++) {
        const minutes_cell *cell = &row->cells[i];
        if (cell->looked_for == 0)
            continue;
        crn_encoder_text(encoder, table->columns[i]);
        crn_encoder_map(encoder, 4);
        crn_encoder_pair_unsigned(encoder, "looked_for", cell->looked_for);
        crn_encoder_pair_unsigned(encoder, "fruits", cell->fruits);
        crn_encoder_pair_real(encoder, "area_px", unscaled(cell->area_px));
        crn_encoder_pair_real(encoder, "area_mm2",
                              cell->measured > 0 ? unscaled(cell->area_mm2) : NAN);
        crn_encoder_map_end(encoder);
    }
    crn_encoder_map_end(encoder);
}

static void put_row(const crn_minutes_table *table, const minutes_row *row, int64_t step_ms,
                    crn_encoder *encoder)
{
    crn_encoder_map(encoder, 1 + CRN_VERDICT_LATE + 1 + 2);
    crn_encoder_text(encoder, "at_ms");
    crn_encoder_integer(encoder, row->number * step_ms);
    for (int kind = 0; kind <= CRN_VERDICT_LATE; kind++)
        crn_encoder_pair_unsigned(encoder, crn_verdict_kind_names[kind], row->verdicts[kind]);
    crn_encoder_pair_unsigned(encoder, "with_defect", row->with_defect);
    put_classes(table, row, encoder);
    crn_encoder_map_end(encoder);
}

/* Rows to look at, by their numbers. */
typedef struct rows_range {
    int64_t first, end;
} rows_range;

static rows_range range_of(const crn_minutes_query *query, int64_t step_ms)
{
    int64_t most = query->now_ms / step_ms + 1;
    rows_range range = {.first = query->from_ms / step_ms + (query->from_ms % step_ms > 0),
                        .end = query->to_ms / step_ms + (query->to_ms % step_ms > 0)};
    if (range.end > most)
        range.end = most;
    if (range.first < range.end - CRN_MINUTES_ROWS)
        range.first = range.end - CRN_MINUTES_ROWS;
    return range;
}

/* NULL: there were no fruits. */
static const minutes_row *row_at(const crn_minutes_table *table, crn_minutes_step step,
                                 int64_t number)
{
    const minutes_row *row = number > 0 ? &table->rows[step][number % CRN_MINUTES_ROWS] : NULL;
    return row && row->number == number ? row : NULL;
}

void crn_minutes_table_put(const crn_minutes_table *table, const crn_minutes_query *query,
                           crn_encoder *encoder)
{
    int64_t step_ms = crn_minutes_step_s[query->step] * MS_PER_S;
    rows_range range = range_of(query, step_ms);
    uint32_t count = 0;
    for (int64_t number = range.first; number < range.end; number++)
        count += row_at(table, query->step, number) != NULL;
    crn_encoder_begin(encoder);
    crn_encoder_map(encoder, 3);
    crn_encoder_text(encoder, "now_ms");
    crn_encoder_integer(encoder, query->now_ms);
    crn_encoder_pair_unsigned(encoder, "step_s", (uint64_t)crn_minutes_step_s[query->step]);
    crn_encoder_text(encoder, "rows");
    crn_encoder_array(encoder, count);
    for (int64_t number = range.first; number < range.end; number++) {
        const minutes_row *row = row_at(table, query->step, number);
        if (row)
            put_row(table, row, step_ms, encoder);
    }
    crn_encoder_array_end(encoder);
    crn_encoder_map_end(encoder);
}
