#include "src/monitor/minutes/table.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MS_PER_S 1000

const int64_t crn_minutes_step_s[CRN_MINUTES_STEPS] = {60, 600, 3600};

typedef struct minutes_cell {
    int32_t column;
    uint32_t looked_for, fruits, measured;
    uint64_t area_px, area_mm2;
} minutes_cell;

typedef struct minutes_row {
    int64_t number; /* steps since 1970 */
    uint64_t verdicts[CRN_VERDICT_LATE + 1], with_defect;
    int32_t cell_count;
    minutes_cell cells[CRN_CLASSES_MAX]; /* of the classes that were looked for */
} minutes_row;

struct crn_minutes_table {
    char columns[CRN_MINUTES_COLUMNS][CRN_MINUTES_TEXT_MAX + 1];
    uint32_t used[CRN_MINUTES_COLUMNS]; /* rows that have a cell in it; 0: its name is free */
    minutes_row rows[CRN_MINUTES_STEPS][CRN_MINUTES_ROWS]; /* by number, modulo */
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

/* Whether a row of that number is one of those up to now. */
static bool is_shown(int64_t number, int64_t now_number)
{
    return number <= now_number && number > now_number - CRN_MINUTES_ROWS;
}

static void empty_row(crn_minutes_table *table, minutes_row *row, int64_t number)
{
    for (int32_t i = 0; i < row->cell_count; i++)
        table->used[row->cells[i].column]--;
    memset(row, 0, offsetof(minutes_row, cells));
    row->number = number;
}

static void empty_old_rows(crn_minutes_table *table, int64_t now_minute)
{
    for (crn_minutes_step step = 0; step < CRN_MINUTES_STEPS; step++) {
        int64_t now_number = now_minute * 60 / crn_minutes_step_s[step];
        for (int32_t i = 0; i < CRN_MINUTES_ROWS; i++)
            if (table->rows[step][i].number <= now_number - CRN_MINUTES_ROWS)
                empty_row(table, &table->rows[step][i], 0);
    }
}

/* The column of that name or, if there is none, a free one; -1: there is none either. */
static int32_t look_up_column(const crn_minutes_table *table, const char *name)
{
    int32_t unused = -1;
    for (int32_t i = CRN_MINUTES_COLUMNS - 1; i >= 0; i--) {
        if (table->used[i] == 0)
            unused = i;
        else if (strcmp(table->columns[i], name) == 0)
            return i;
    }
    return unused;
}

/* -1: there are too many. */
static int32_t find_column(crn_minutes_table *table, const char *name, int64_t now_minute)
{
    int32_t column = look_up_column(table, name);
    if (column < 0) {
        empty_old_rows(table, now_minute);
        column = look_up_column(table, name);
    }
    if (column >= 0 && table->used[column] == 0)
        strcpy(table->columns[column], name);
    return column;
}

/* NULL: there are too many. */
static minutes_cell *find_cell(crn_minutes_table *table, minutes_row *row, const char *name,
                               int64_t now_minute)
{
    for (int32_t i = 0; i < row->cell_count; i++)
        if (strcmp(table->columns[row->cells[i].column], name) == 0)
            return &row->cells[i];
    int32_t column = row->cell_count < CRN_CLASSES_MAX ? find_column(table, name, now_minute) : -1;
    if (column < 0)
        return NULL;
    minutes_cell *cell = &row->cells[row->cell_count++];
    *cell = (minutes_cell){.column = column};
    table->used[column]++;
    return cell;
}

/* Empty if there was none of that number; NULL: pages do not show it, or another one instead. */
static minutes_row *find_row(crn_minutes_table *table, crn_minutes_step step, int64_t minute,
                             int64_t now_minute)
{
    int64_t number = minute * 60 / crn_minutes_step_s[step];
    int64_t now_number = now_minute * 60 / crn_minutes_step_s[step];
    minutes_row *row = &table->rows[step][number % CRN_MINUTES_ROWS];
    if (number <= now_number - CRN_MINUTES_ROWS)
        return NULL;
    if (row->number == number)
        return row;
    if (number > now_number && is_shown(row->number, now_number))
        return NULL;
    empty_row(table, row, number);
    return row;
}

static void add_lanes(minutes_row *row, const crn_minute_record *record)
{
    for (uint32_t i = 0; i < record->lane_count; i++) {
        for (int kind = 0; kind <= CRN_VERDICT_LATE; kind++)
            row->verdicts[kind] += record->lanes[i].verdicts[kind];
        row->with_defect += record->lanes[i].with_defect;
    }
}

/* Returns false if pages lack a class. */
static bool add_classes(crn_minutes_table *table, minutes_row *row, const crn_minute_record *record,
                        const crn_minutes_name *names, int64_t now_minute)
{
    bool has_all = true;
    for (uint32_t i = 0; i < record->class_count && record->fruits > 0; i++) {
        const crn_minute_class *class = &record->classes[i];
        if (class->name >= CRN_MINUTES_NAMES || !names[class->name].text[0])
            continue;
        minutes_cell *cell = find_cell(table, row, names[class->name].text, now_minute);
        has_all &= cell != NULL;
        if (!cell)
            continue;
        cell->looked_for += (uint32_t)record->fruits;
        cell->measured += (uint32_t)record->measured;
        cell->fruits += (uint32_t) class->fruits;
        cell->area_px += class->area_px;
        cell->area_mm2 += class->area_mm2;
    }
    return has_all;
}

bool crn_minutes_table_add(crn_minutes_table *table, const crn_minute_record *record,
                           const crn_minutes_name *names, int64_t now_minute)
{
    bool has_all = true;
    for (crn_minutes_step step = 0; step < CRN_MINUTES_STEPS; step++) {
        minutes_row *row = find_row(table, step, record->minute, now_minute);
        if (!row)
            continue;
        add_lanes(row, record);
        has_all &= add_classes(table, row, record, names, now_minute);
    }
    return has_all;
}

/* --- as a message --- */

static double unscaled(uint64_t area)
{
    return (double)area / CRN_MINUTES_AREA_SCALE;
}

static void put_classes(const crn_minutes_table *table, const minutes_row *row,
                        crn_encoder *encoder)
{
    crn_encoder_text(encoder, "classes");
    crn_encoder_map(encoder, (uint32_t)row->cell_count);
    for (int32_t i = 0; i < row->cell_count; i++) {
        const minutes_cell *cell = &row->cells[i];
        crn_encoder_text(encoder, table->columns[cell->column]);
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

/* Where the first step begins at that time or later. */
static int64_t round_up(int64_t time_ms, int64_t step_ms)
{
    int64_t after = time_ms % step_ms;
    return after == 0 || time_ms > INT64_MAX - step_ms ? time_ms : time_ms - after + step_ms;
}

void crn_minutes_query_round(crn_minutes_query *query)
{
    int64_t step_ms = crn_minutes_step_s[query->step] * MS_PER_S;
    query->from_ms = round_up(query->from_ms, step_ms);
    query->to_ms = round_up(query->to_ms, step_ms);
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

/* --- the last hour --- */

void crn_minutes_table_hour(const crn_minutes_table *table, int64_t now_minute,
                            crn_minutes_hour *ret_hour)
{
    crn_minutes_totals totals = {.count = 0};
    *ret_hour = (crn_minutes_hour){.fruits = 0};
    for (int64_t minute = now_minute - 60; minute < now_minute; minute++) {
        const minutes_row *row = row_at(table, CRN_MINUTES_STEP_MINUTE, minute);
        if (!row)
            continue;
        for (int kind = 0; kind <= CRN_VERDICT_LATE; kind++)
            ret_hour->fruits += row->verdicts[kind];
        ret_hour->with_defect += row->with_defect;
        for (int32_t i = 0; i < row->cell_count; i++)
            crn_minutes_totals_add(&totals, table->columns[row->cells[i].column],
                                   row->cells[i].looked_for, row->cells[i].fruits);
    }
    const crn_minutes_total *worst = crn_minutes_totals_worst(&totals);
    if (worst)
        ret_hour->worst = *worst;
}
