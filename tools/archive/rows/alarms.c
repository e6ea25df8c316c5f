#include "tools/archive/rows/alarms.h"

#include <math.h>

#include "stages/base/clock.h"

int crn_archive_alarms_init(crn_archive_alarms *alarms, crn_archive *archive, crn_error *error)
{
    *alarms = (crn_archive_alarms){.archive = archive};
    return crn_archive_prepare(
        archive,
        "INSERT INTO alarms VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (source, number, raised_ns) DO UPDATE SET cleared_ns = excluded.cleared_ns,"
        " acknowledged_ns = excluded.acknowledged_ns, acknowledged_by = excluded.acknowledged_by",
        &alarms->put, error);
}

static void bind_text(sqlite3_stmt *row, int column, const char *text)
{
    if (*text)
        sqlite3_bind_text(row, column, text, -1, SQLITE_STATIC);
    else
        sqlite3_bind_null(row, column);
}

/* Such as a share of a usual one of 0. */
static void bind_figure(sqlite3_stmt *row, int column, double value)
{
    if (isfinite(value))
        sqlite3_bind_double(row, column, value);
    else
        sqlite3_bind_null(row, column);
}

/* False: it did not happen, or not in the years that 63 bits of ns hold. */
static bool is_time(int64_t ms)
{
    return ms > 0 && ms <= INT64_MAX / CRN_NS_PER_MS;
}

static void bind_time(sqlite3_stmt *row, int column, int64_t ms)
{
    if (is_time(ms))
        sqlite3_bind_int64(row, column, ms * CRN_NS_PER_MS);
    else
        sqlite3_bind_null(row, column);
}

int crn_archive_alarms_put(crn_archive_alarms *alarms, const char *source,
                           const crn_alarm_record *record, bool *ret_is_new, crn_error *error)
{
    sqlite3_stmt *row = alarms->put;
    *ret_is_new = false;
    if (!is_time(record->raised_ms))
        return 0;
    sqlite3_set_last_insert_rowid(alarms->archive->database, 0); /* an update leaves it */
    sqlite3_bind_text(row, 1, source, -1, SQLITE_STATIC);
    sqlite3_bind_int64(row, 2, (int64_t)record->number);
    bind_time(row, 3, record->raised_ms);
    sqlite3_bind_text(row, 4, record->condition, -1, SQLITE_STATIC);
    if (record->lane >= 0)
        sqlite3_bind_int64(row, 5, record->lane);
    else
        sqlite3_bind_null(row, 5);
    bind_text(row, 6, record->name);
    const double figures[] = {record->count, record->percent, record->seconds, record->hours};
    for (int i = 0; i < 4; i++)
        bind_figure(row, 7 + i, figures[i]);
    bind_time(row, 11, record->cleared_ms);
    bind_time(row, 12, record->acknowledged_ms);
    bind_text(row, 13, record->acknowledged_by);
    int r = crn_archive_run(alarms->archive, row, error);
    *ret_is_new = r == 0 && sqlite3_last_insert_rowid(alarms->archive->database) != 0;
    return r;
}
