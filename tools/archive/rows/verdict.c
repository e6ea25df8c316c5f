#include "tools/archive/rows/verdict.h"

#include <math.h>
#include <string.h>

#include "tools/archive/schema.h"

#define US_PER_MS    1000.0
#define US_MAX       1e15
#define PX_MAX       1e9
#define FRUIT_VALUES "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"

int crn_archive_rows_init(crn_archive_rows *rows, crn_archive *archive, crn_error *error)
{
    const struct {
        sqlite3_stmt **statement;
        const char *sql;
    } all[] = {
        {&rows->last, "SELECT MAX(sequence) FROM fruits WHERE run_id = ? AND lane = ?"},
        {&rows->fruit, "INSERT OR IGNORE INTO fruits VALUES (NULL, " FRUIT_VALUES ")"},
        {&rows->view, "INSERT OR IGNORE INTO views VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
        {&rows->total, "INSERT OR IGNORE INTO totals VALUES (?, ?, ?, ?, ?, ?, ?, ?)"},
        {&rows->defect,
         "INSERT OR IGNORE INTO defects VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
        {&rows->spot, "INSERT OR IGNORE INTO spots VALUES (?, ?, ?, ?, ?, ?, ?, ?)"},
        {&rows->level, "INSERT OR IGNORE INTO levels VALUES (?, ?, ?)"},
    };
    memset(rows, 0, sizeof *rows);
    rows->archive = archive;
    int r = crn_archive_names_init(&rows->names, archive, error);
    for (size_t i = 0; i < sizeof all / sizeof *all && r == 0; i++)
        r = crn_archive_prepare(archive, all[i].sql, all[i].statement, error);
    return r;
}

/* --- one row: its columns in order, and the first error --- */

typedef struct archive_row {
    crn_archive_rows *rows;
    sqlite3_stmt *statement;
    int column; /* the last bound */
    int r;
    crn_error *error;
} archive_row;

static archive_row begin_row(crn_archive_rows *rows, sqlite3_stmt *statement, crn_error *error)
{
    return (archive_row){.rows = rows, .statement = statement, .error = error};
}

static void put(archive_row *row, int64_t number)
{
    sqlite3_bind_int64(row->statement, ++row->column, number);
}

static void put_null(archive_row *row)
{
    sqlite3_bind_null(row->statement, ++row->column);
}

/* All 64 bits: above 2^63 - 1 it shows as a negative number. */
static void put_bits(archive_row *row, uint64_t number)
{
    put(row, (int64_t)number);
}

/* NaN becomes NULL. */
static void put_real(archive_row *row, double number)
{
    sqlite3_bind_double(row->statement, ++row->column, number);
}

static void put_us(archive_row *row, double ms)
{
    double us = ms * US_PER_MS;
    if (fabs(us) < US_MAX)
        put(row, llround(us));
    else
        put_null(row);
}

/* A whole pixel; `px` is rounded before. */
static void put_px(archive_row *row, double px)
{
    if (fabs(px) < PX_MAX)
        put(row, (int64_t)px);
    else
        put_null(row);
}

static void put_text(archive_row *row, crn_archive_table table, const char *text)
{
    int64_t id = 0;
    if (row->r == 0 && *text)
        row->r = crn_archive_names_id(&row->rows->names, table, text, &id, row->error);
    if (id)
        put(row, id);
    else
        put_null(row);
}

static int end_row(archive_row *row)
{
    return row->r ? row->r : crn_archive_run(row->rows->archive, row->statement, row->error);
}

/* --- the tables --- */

static int add_fruit(crn_archive_rows *rows, const crn_decoded *v, int64_t run_id, crn_error *error)
{
    const crn_decoded_surface *surface = &v->surface;
    archive_row row = begin_row(rows, rows->fruit, error);
    put(&row, run_id);
    put_bits(&row, v->lane);
    put_bits(&row, v->sequence);
    put_bits(&row, v->epoch);
    put_bits(&row, v->fruit);
    put_text(&row, CRN_ARCHIVE_SETTINGS, v->settings);
    put_text(&row, CRN_ARCHIVE_NAMES, v->recipe);
    put_text(&row, CRN_ARCHIVE_LOTS, v->lot);
    put_text(&row, CRN_ARCHIVE_NAMES, crn_verdict_kind_names[v->kind]);
    put_text(&row, CRN_ARCHIVE_NAMES, v->closed_by);
    put(&row, v->stale);
    put(&row, v->truncated);
    put_bits(&row, v->encoder);
    put_bits(&row, v->captured_ns);
    put_bits(&row, v->published_ns);
    put_bits(&row, v->deadline_ns);
    put_bits(&row, v->views_expected);
    put_bits(&row, v->views_received);
    put_bits(&row, v->views_judged);
    put_us(&row, v->budget_ms);
    put_us(&row, v->total_ms);
    put_us(&row, v->assembly_ms);
    put_real(&row, surface->is_measured ? surface->diameter_mm : NAN);
    put_real(&row, surface->is_measured ? surface->length_mm : NAN);
    put_real(&row, surface->is_measured ? surface->coverage : NAN);
    put_real(&row, surface->is_measured ? surface->seen_mm2 : NAN);
    return end_row(&row);
}

static int add_view(crn_archive_rows *rows, int64_t fruit_id, const crn_decoded_view *view,
                    crn_error *error)
{
    bool is_received = !isnan(view->received_ms);
    archive_row row = begin_row(rows, rows->view, error);
    put(&row, fruit_id);
    put_bits(&row, view->view);
    put_text(&row, CRN_ARCHIVE_NAMES, view->state);
    put_text(&row, CRN_ARCHIVE_NAMES, view->reason);
    put_text(&row, CRN_ARCHIVE_NAMES, view->backend);
    if (is_received) {
        put_bits(&row, view->captured_ns);
        put_bits(&row, view->encoder);
    } else {
        put_null(&row);
        put_null(&row);
    }
    put_us(&row, view->received_ms);
    put_us(&row, view->queue_ms);
    put_us(&row, view->run_ms);
    return end_row(&row);
}

static const crn_decoded_measure *find_measure(const crn_decoded_surface *surface, const char *name)
{
    for (uint32_t i = 0; surface->is_measured && i < surface->measure_count; i++)
        if (strcmp(surface->measures[i].name, name) == 0)
            return &surface->measures[i];
    return NULL;
}

/* A class that was found; levels tell which were looked for. */
static int add_total(crn_archive_rows *rows, int64_t fruit_id, const crn_decoded_total *total,
                     const crn_decoded_measure *measure, crn_error *error)
{
    if (total->count == 0 && !(measure && measure->count))
        return 0;
    archive_row row = begin_row(rows, rows->total, error);
    put(&row, fruit_id);
    put_text(&row, CRN_ARCHIVE_NAMES, total->name);
    put_bits(&row, total->count);
    put_real(&row, total->area_px);
    if (measure)
        put_bits(&row, measure->count);
    else
        put_null(&row);
    put_real(&row, measure ? measure->area_mm2 : NAN);
    put_real(&row, measure ? measure->largest_mm2 : NAN);
    put_real(&row, measure ? measure->longest_mm : NAN);
    return end_row(&row);
}

static int add_defect(crn_archive_rows *rows, int64_t fruit_id, uint32_t index,
                      const crn_decoded_defect *defect, crn_error *error)
{
    archive_row row = begin_row(rows, rows->defect, error);
    put(&row, fruit_id);
    put(&row, index);
    put_bits(&row, defect->view);
    put_text(&row, CRN_ARCHIVE_NAMES, defect->name);
    put(&row, defect->closed);
    put(&row, defect->hole);
    put(&row, defect->on_fruit);
    put_real(&row, defect->area_px);
    put_real(&row, defect->mean_probability);
    put_px(&row, floor(defect->bbox[0]));
    put_px(&row, floor(defect->bbox[1]));
    put_px(&row, ceil(defect->bbox[2]));
    put_px(&row, ceil(defect->bbox[3]));
    return end_row(&row);
}

static int add_spot(crn_archive_rows *rows, int64_t fruit_id, uint32_t index,
                    const crn_decoded_spot *spot, crn_error *error)
{
    archive_row row = begin_row(rows, rows->spot, error);
    put(&row, fruit_id);
    put(&row, index);
    put_text(&row, CRN_ARCHIVE_NAMES, spot->name);
    put_real(&row, spot->area_mm2);
    put_real(&row, spot->length_mm);
    put_real(&row, spot->width_mm);
    put_real(&row, spot->lambda_deg);
    put_real(&row, spot->v);
    return end_row(&row);
}

/* The classes that settings look for, with their levels: the same in each of their verdicts. */
static int add_levels(crn_archive_rows *rows, const crn_decoded *verdict, crn_error *error)
{
    int64_t id;
    if (!*verdict->settings)
        return 0;
    int r = crn_archive_names_id(&rows->names, CRN_ARCHIVE_SETTINGS, verdict->settings, &id, error);
    if (r < 0 || id == rows->levels_id)
        return r;
    for (uint32_t i = 0; i < verdict->total_count && r == 0; i++) {
        archive_row row = begin_row(rows, rows->level, error);
        put(&row, id);
        put_text(&row, CRN_ARCHIVE_NAMES, verdict->totals[i].name);
        put_real(&row, verdict->totals[i].level);
        r = end_row(&row);
    }
    rows->levels_id = id;
    return r;
}

static int add_parts(crn_archive_rows *rows, int64_t fruit_id, const crn_decoded *v,
                     crn_error *error)
{
    int r = 0;
    for (uint32_t i = 0; i < v->view_count && r == 0; i++)
        r = add_view(rows, fruit_id, &v->views[i], error);
    for (uint32_t i = 0; i < v->total_count && r == 0; i++)
        r = add_total(rows, fruit_id, &v->totals[i], find_measure(&v->surface, v->totals[i].name),
                      error);
    for (uint32_t i = 0; i < v->defect_count && r == 0; i++)
        r = add_defect(rows, fruit_id, i, &v->defects[i], error);
    for (uint32_t i = 0; v->surface.is_measured && i < v->surface.spot_count && r == 0; i++)
        r = add_spot(rows, fruit_id, i, &v->surface.spots[i], error);
    return r;
}

/* How many sequences of this run and lane are missing between the last one archived and `sequence`;
 * 0 if that is above. */
static int count_missing(crn_archive_rows *rows, int64_t run_id, const crn_decoded *verdict,
                         uint64_t *ret_missing, crn_error *error)
{
    sqlite3_bind_int64(rows->last, 1, run_id);
    sqlite3_bind_int64(rows->last, 2, (int64_t)verdict->lane);
    int r = 0;
    if (sqlite3_step(rows->last) == SQLITE_ROW) {
        bool is_first = sqlite3_column_type(rows->last, 0) == SQLITE_NULL;
        uint64_t next = is_first ? 0 : (uint64_t)sqlite3_column_int64(rows->last, 0) + 1;
        *ret_missing = verdict->sequence > next ? verdict->sequence - next : 0;
    } else {
        r = crn_archive_fail(rows->archive->database, rows->archive->path, error);
    }
    sqlite3_reset(rows->last);
    return r;
}

int crn_archive_rows_add(crn_archive_rows *rows, const crn_decoded *verdict, crn_added *ret_added,
                         crn_error *error)
{
    sqlite3 *database = rows->archive->database;
    int64_t run_id;
    crn_added added = {.is_new = false};
    int r = crn_archive_names_id(&rows->names, CRN_ARCHIVE_RUNS, verdict->run, &run_id, error);
    if (r == 0)
        r = count_missing(rows, run_id, verdict, &added.missing, error);
    if (r == 0)
        r = add_fruit(rows, verdict, run_id, error);
    if (r < 0)
        return r;
    added.is_new = sqlite3_changes(database) == 1;
    if (added.is_new) {
        int64_t fruit_id = sqlite3_last_insert_rowid(database);
        r = add_parts(rows, fruit_id, verdict, error);
        if (r == 0)
            r = add_levels(rows, verdict, error);
    }
    *ret_added = added;
    return r;
}
