#include "tools/archive/schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* README.md describes each column. In the SQL that SQLite and PostgreSQL share but for the words of
 * postgresql/schema.c. Texts that repeat are in small tables; rows of fruits, views and
 * defects are appended, so that inserting costs the same at any size of the file. */
static const char first_schema[] =
    "CREATE TABLE runs (run_id INTEGER PRIMARY KEY, run TEXT NOT NULL UNIQUE) STRICT;"
    "CREATE TABLE settings (settings_id INTEGER PRIMARY KEY, hash TEXT NOT NULL UNIQUE,"
    " text TEXT) STRICT;"
    "CREATE TABLE lots (lot_id INTEGER PRIMARY KEY, lot TEXT NOT NULL UNIQUE,"
    " grower TEXT, variety TEXT) STRICT;"
    "CREATE TABLE names (name_id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;"
    "CREATE TABLE levels (settings_id INTEGER NOT NULL, class_id INTEGER NOT NULL, level REAL,"
    " PRIMARY KEY (settings_id, class_id)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE fruits (fruit_id INTEGER PRIMARY KEY,"
    " run_id INTEGER NOT NULL, lane INTEGER NOT NULL, sequence INTEGER NOT NULL,"
    " epoch INTEGER NOT NULL, fruit INTEGER NOT NULL,"
    " settings_id INTEGER, recipe_id INTEGER, lot_id INTEGER,"
    " verdict_id INTEGER NOT NULL, closed_by_id INTEGER,"
    " stale INTEGER NOT NULL, truncated INTEGER NOT NULL, encoder INTEGER NOT NULL,"
    " captured_ns INTEGER NOT NULL, published_ns INTEGER NOT NULL, deadline_ns INTEGER NOT NULL,"
    " views_expected INTEGER NOT NULL, views_received INTEGER NOT NULL,"
    " views_judged INTEGER NOT NULL, budget_us INTEGER, total_us INTEGER, assembly_us INTEGER,"
    " diameter_mm REAL, length_mm REAL, coverage REAL, seen_mm2 REAL,"
    " UNIQUE (run_id, lane, sequence)) STRICT;"
    "CREATE INDEX fruits_by_time ON fruits (published_ns);"
    "CREATE INDEX fruits_by_lot ON fruits (lot_id) WHERE lot_id IS NOT NULL;"
    "CREATE TABLE views (fruit_id INTEGER NOT NULL, view INTEGER NOT NULL,"
    " state_id INTEGER, reason_id INTEGER, backend_id INTEGER,"
    " captured_ns INTEGER, encoder INTEGER, received_us INTEGER, queue_us INTEGER, run_us INTEGER,"
    " PRIMARY KEY (fruit_id, view)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE totals (fruit_id INTEGER NOT NULL, class_id INTEGER NOT NULL,"
    " count INTEGER NOT NULL, area_px REAL, spots INTEGER, area_mm2 REAL,"
    " largest_mm2 REAL, longest_mm REAL,"
    " PRIMARY KEY (fruit_id, class_id)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE defects (fruit_id INTEGER NOT NULL, defect INTEGER NOT NULL,"
    " view INTEGER NOT NULL, class_id INTEGER, closed INTEGER NOT NULL,"
    " hole INTEGER NOT NULL, on_fruit INTEGER NOT NULL, area_px REAL, mean_probability REAL,"
    " x0_px INTEGER, y0_px INTEGER, x1_px INTEGER, y1_px INTEGER,"
    " PRIMARY KEY (fruit_id, defect)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE spots (fruit_id INTEGER NOT NULL, spot INTEGER NOT NULL,"
    " class_id INTEGER, area_mm2 REAL, length_mm REAL, width_mm REAL, lambda_deg REAL,"
    " v REAL, PRIMARY KEY (fruit_id, spot)) STRICT, WITHOUT ROWID;"
    "CREATE TABLE sources (source TEXT PRIMARY KEY, segment INTEGER NOT NULL,"
    " segment_created_ns INTEGER NOT NULL, byte INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE VIEW gaps AS SELECT run_id, lane, before + 1 AS first, sequence - 1 AS last FROM"
    " (SELECT run_id, lane, sequence, LAG(sequence, 1, -1) OVER"
    " (PARTITION BY run_id, lane ORDER BY sequence) AS before FROM fruits) AS numbered"
    " WHERE sequence > before + 1;";

/* Who changed what: the entries of the log of changes, each as it was written, too. */
static const char changes_schema[] =
    "CREATE TABLE changes (change_id INTEGER PRIMARY KEY, source TEXT NOT NULL,"
    " number INTEGER NOT NULL, time_ns INTEGER NOT NULL, what TEXT NOT NULL,"
    " refused INTEGER NOT NULL, through TEXT, user INTEGER, user_name TEXT, process INTEGER,"
    " before_settings_id INTEGER, before_recipe_id INTEGER, before_lot_id INTEGER,"
    " settings_id INTEGER, recipe_id INTEGER, lot_id INTEGER, text_sha256 TEXT, keys TEXT,"
    " missing INTEGER NOT NULL, previous_hash TEXT, hash TEXT NOT NULL UNIQUE,"
    " entry TEXT NOT NULL) STRICT;"
    "CREATE INDEX changes_by_time ON changes (time_ns);"
    "CREATE INDEX changes_by_settings ON changes (settings_id, text_sha256);"
    "CREATE INDEX changes_by_lot ON changes (lot_id, time_ns) WHERE what = 'lot';"
    "CREATE VIEW change_gaps AS SELECT change_id, source, number, time_ns, previous_hash"
    " FROM changes c WHERE previous_hash IS NOT NULL"
    " AND NOT EXISTS (SELECT 1 FROM changes WHERE hash = c.previous_hash);";

/* Where a sorter sent fruits; a row may be of several in a row, whose verdicts it never got. */
static const char outcomes_schema[] =
    "CREATE TABLE outcomes (run_id INTEGER NOT NULL, lane INTEGER NOT NULL,"
    " sequence INTEGER NOT NULL, fruits INTEGER NOT NULL, fruit INTEGER NOT NULL,"
    " outlet_id INTEGER NOT NULL, reason_id INTEGER NOT NULL, rule INTEGER,"
    " decided_ns INTEGER NOT NULL, sorter_id INTEGER NOT NULL,"
    " PRIMARY KEY (run_id, lane, sequence)) STRICT, WITHOUT ROWID;"
    "CREATE INDEX outcomes_by_time ON outcomes (decided_ns);"
    "CREATE VIEW fruit_outcomes AS SELECT f.fruit_id, o.outlet_id, o.reason_id, o.rule,"
    " o.decided_ns FROM fruits f JOIN outcomes o ON o.run_id = f.run_id AND o.lane = f.lane"
    " AND o.sequence = (SELECT MAX(sequence) FROM outcomes"
    " WHERE run_id = f.run_id AND lane = f.lane AND sequence <= f.sequence)"
    " WHERE f.sequence < o.sequence + o.fruits;";

/* How it ended with fruits that a sorter fires itself. */
static const char results_schema[] =
    "ALTER TABLE outcomes ADD COLUMN result_id INTEGER;"
    "DROP VIEW fruit_outcomes;"
    "CREATE VIEW fruit_outcomes AS SELECT f.fruit_id, o.outlet_id, o.reason_id, o.rule,"
    " o.decided_ns, o.result_id FROM fruits f JOIN outcomes o ON o.run_id = f.run_id"
    " AND o.lane = f.lane AND o.sequence = (SELECT MAX(sequence) FROM outcomes"
    " WHERE run_id = f.run_id AND lane = f.lane AND sequence <= f.sequence)"
    " WHERE f.sequence < o.sequence + o.fruits;";

/* What a line's conditions were, and who acknowledged them. */
static const char alarms_schema[] =
    "CREATE TABLE alarms (alarm_id INTEGER PRIMARY KEY, source TEXT NOT NULL,"
    " number INTEGER NOT NULL, raised_ns INTEGER NOT NULL, condition TEXT NOT NULL,"
    " lane INTEGER, name TEXT, count REAL, percent REAL, seconds REAL, hours REAL,"
    " cleared_ns INTEGER, acknowledged_ns INTEGER, acknowledged_by TEXT,"
    " UNIQUE (source, number, raised_ns)) STRICT;"
    "CREATE INDEX alarms_by_time ON alarms (raised_ns);";

static const char *const steps[] = {first_schema, changes_schema, outcomes_schema, results_schema,
                                    alarms_schema};

const crn_archive_schema crn_archive_schema_current = {
    .steps = steps,
    .count = sizeof steps / sizeof *steps,
};

int crn_archive_fail(sqlite3 *database, const char *path, crn_error *error)
{
    int code = sqlite3_extended_errcode(database);
    switch (code & 0xff) {
    case SQLITE_FULL:
        return crn_error_set(error, -ENOSPC,
                             "%s: its disk is full: make room and start again; the verdict log "
                             "still has what is not archived",
                             path);
    case SQLITE_NOTADB:
        return crn_error_set(error, -EMEDIUMTYPE,
                             "%s: is not an SQLite database: name another file", path);
    case SQLITE_CORRUPT:
        return crn_error_set(error, -EBADMSG,
                             "%s: is damaged (%s): move it away and start again, which archives "
                             "what the log still has; sqlite3 FILE .recover reads the rest",
                             path, sqlite3_errmsg(database));
    case SQLITE_BUSY:
        return crn_error_set(error, -EBUSY,
                             "%s: another program writes to it: end that, and start again", path);
    case SQLITE_READONLY:
        return crn_error_set(error, -EACCES,
                             "%s: may not be written: let the user who runs this program own it "
                             "and its folder",
                             path);
    case SQLITE_NOMEM:
        return crn_error_set(error, -ENOMEM, "%s: no memory", path);
    default: {
        int fault = sqlite3_system_errno(database);
        return crn_error_set(error, -EIO, "%s: %s%s%s", path, sqlite3_errmsg(database),
                             fault ? ": " : "", fault ? strerror(fault) : "");
    }
    }
}

/* A whole number that SQL answers. 0 or a negative errno. */
static int ask(sqlite3 *database, const char *path, const char *sql, int64_t *ret_number,
               crn_error *error)
{
    sqlite3_stmt *question = NULL;
    bool is_answered = sqlite3_prepare_v2(database, sql, -1, &question, NULL) == SQLITE_OK &&
                       sqlite3_step(question) == SQLITE_ROW;
    *ret_number = is_answered ? sqlite3_column_int64(question, 0) : 0;
    int r = is_answered ? 0 : crn_archive_fail(database, path, error);
    sqlite3_finalize(question);
    return r;
}

/* The version of the file; 0: it is empty. */
static int read_version(sqlite3 *database, const char *path, int count, int64_t *ret_version,
                        crn_error *error)
{
    int64_t application = 0, tables = 0;
    int r = ask(database, path, "PRAGMA application_id", &application, error);
    if (r == 0)
        r = ask(database, path, "PRAGMA user_version", ret_version, error);
    if (r == 0)
        r = ask(database, path, "SELECT COUNT(*) FROM sqlite_schema", &tables, error);
    if (r < 0)
        return r;
    bool is_empty = application == 0 && *ret_version == 0 && tables == 0;
    if (!is_empty && (application != CRN_ARCHIVE_APPLICATION_ID || *ret_version < 1))
        return crn_error_set(error, -EMEDIUMTYPE,
                             "%s: is the database of another program: name another file", path);
    if (*ret_version > count)
        return crn_error_set(error, -EMEDIUMTYPE,
                             "%s: has schema %" PRId64 ", of a newer cernita-archive (this one "
                             "knows up to %d): use that one",
                             path, *ret_version, count);
    return 0;
}

static int run_steps(sqlite3 *database, const char *path, const crn_archive_schema *schema,
                     crn_error *error)
{
    int64_t version;
    int r = read_version(database, path, schema->count, &version, error);
    for (; r == 0 && version < schema->count; version++)
        if (sqlite3_exec(database, schema->steps[version], NULL, NULL, NULL) != SQLITE_OK)
            r = crn_archive_fail(database, path, error);
    char versions[128];
    snprintf(versions, sizeof versions, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             CRN_ARCHIVE_APPLICATION_ID, schema->count);
    if (r == 0 && sqlite3_exec(database, versions, NULL, NULL, NULL) != SQLITE_OK)
        r = crn_archive_fail(database, path, error);
    return r;
}

int crn_archive_migrate(sqlite3 *database, const char *path, const crn_archive_schema *schema,
                        crn_error *error)
{
    int64_t version;
    int r = read_version(database, path, schema->count, &version, error);
    if (r < 0 || version == schema->count)
        return r;
    if (sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return crn_archive_fail(database, path, error);
    r = run_steps(database, path, schema, error);
    if (r == 0 && sqlite3_exec(database, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        r = crn_archive_fail(database, path, error);
    if (r < 0)
        sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL);
    return r;
}
