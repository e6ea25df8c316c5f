#include "tools/archive/postgresql/postgresql.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/archive/postgresql/merge.h"
#include "tools/archive/postgresql/schema.h"
#include "tools/archive/rows/tables.h"
#include "tools/archive/schema.h"

#define BYTES_MAX (16 << 20) /* of a transaction, which is in memory until it is copied */

#define NUMBER_BYTES 24

struct crn_postgresql {
    crn_destination destination;
    crn_pg pg;
    crn_archive memory; /* the rows of this transaction; no database: none */
    crn_archive_tables rows;
    sqlite3_stmt *result;
    int entries;  /* of this transaction */
    char *source; /* whose position it sets; NULL: none */
    crn_verdict_position position;
};

static crn_postgresql *of(crn_destination *destination)
{
    return (crn_postgresql *)destination;
}

/* --- transactions --- */

static void drop_rows(crn_postgresql *archive)
{
    if (archive->memory.path)
        crn_archive_close(&archive->memory);
    free(archive->source);
    archive->source = NULL;
    archive->entries = 0;
}

static void undo(crn_destination *destination)
{
    drop_rows(of(destination));
    crn_pg_disconnect(&of(destination)->pg); /* which undoes it there */
}

static int fail(crn_postgresql *archive, int r, const crn_error *error)
{
    drop_rows(archive);
    if (archive->pg.connection)
        crn_pg_postpone(&archive->pg, error);
    return r;
}

static int make_rows(crn_postgresql *archive, crn_error *error)
{
    static const char results[] =
        "CREATE TABLE results AS SELECT " CRN_PG_RESULT_COLUMNS " FROM outcomes WHERE FALSE;"
        "CREATE UNIQUE INDEX one ON results (run_id, lane, sequence)";
    int r = crn_archive_open_memory(&archive->memory, error);
    if (r == 0)
        r = crn_archive_tables_init(&archive->rows, &archive->memory, error);
    if (r == 0 && sqlite3_exec(archive->memory.database, results, NULL, NULL, NULL) != SQLITE_OK)
        r = crn_archive_fail(archive->memory.database, archive->memory.path, error);
    return r < 0 ? r
                 : crn_archive_prepare(&archive->memory,
                                       "INSERT OR IGNORE INTO results VALUES (?, ?, ?, ?)",
                                       &archive->result, error);
}

/* The server's transaction begins, too: a connection that broke is noticed before anything is taken
 * from the source. */
static int begin(crn_destination *destination, crn_error *error)
{
    crn_postgresql *archive = of(destination);
    drop_rows(archive);
    int r = crn_pg_connect(&archive->pg, error);
    if (r == 0)
        r = crn_pg_run(&archive->pg, "BEGIN", error);
    return r < 0 ? fail(archive, r, error) : 0;
}

static int write_position(crn_postgresql *archive, crn_error *error)
{
    char numbers[3][NUMBER_BYTES];
    const char *const values[] = {archive->source, numbers[0], numbers[1], numbers[2]};
    const crn_verdict_position *at = &archive->position;
    int64_t changed;
    snprintf(numbers[0], NUMBER_BYTES, "%" PRId64, (int64_t)at->number);
    snprintf(numbers[1], NUMBER_BYTES, "%" PRId64, (int64_t)at->created_ns);
    snprintf(numbers[2], NUMBER_BYTES, "%" PRId64, (int64_t)at->offset);
    return crn_pg_ask(&archive->pg,
                      "INSERT INTO sources VALUES ($1, $2, $3, $4) ON CONFLICT (source) DO UPDATE"
                      " SET segment = excluded.segment,"
                      " segment_created_ns = excluded.segment_created_ns, byte = excluded.byte",
                      4, values, &changed, error);
}

static int commit(crn_destination *destination, crn_intake_stats *coming, crn_error *error)
{
    crn_postgresql *archive = of(destination);
    int r = archive->entries ? crn_pg_merge(&archive->pg, &archive->memory, coming, error) : 0;
    if (r == 0 && archive->source)
        r = write_position(archive, error);
    if (r == 0)
        r = crn_pg_run(&archive->pg, "COMMIT", error);
    if (r < 0)
        return fail(archive, r, error);
    drop_rows(archive);
    crn_pg_succeeded(&archive->pg);
    return 0;
}

/* --- positions --- */

static int get_position(crn_destination *destination, const char *source,
                        crn_verdict_position *ret_position, crn_error *error)
{
    crn_postgresql *archive = of(destination);
    PGresult *row = NULL;
    *ret_position = (crn_verdict_position){.number = 0};
    int r = crn_pg_connect(&archive->pg, error);
    if (r == 0)
        r = crn_pg_query(&archive->pg,
                         "SELECT segment, segment_created_ns, byte FROM sources WHERE source = $1",
                         1, &source, &row, error);
    if (r < 0)
        return fail(archive, r, error);
    if (PQntuples(row) > 0)
        *ret_position = (crn_verdict_position){.number = (uint64_t)crn_pg_number(row, 0, 0),
                                               .created_ns = (uint64_t)crn_pg_number(row, 0, 1),
                                               .offset = (uint64_t)crn_pg_number(row, 0, 2)};
    PQclear(row);
    return 0;
}

static int set_position(crn_destination *destination, const char *source,
                        const crn_verdict_position *position, crn_error *error)
{
    crn_postgresql *archive = of(destination);
    free(archive->source);
    archive->source = strdup(source);
    archive->position = *position;
    return archive->source ? 0 : crn_error_set(error, -ENOMEM, "%s: no memory", archive->pg.name);
}

/* --- rows --- */

/* The first entry of a transaction makes the tables for its rows. */
static int prepare(crn_postgresql *archive, crn_error *error)
{
    return archive->entries++ ? 0 : make_rows(archive, error);
}

/* What the server has, and what is missing before, is counted by the commit. */
static int add_verdict(crn_destination *destination, const crn_entry *entry,
                       const crn_decoded *verdict, crn_added *ret_added, crn_error *error)
{
    crn_postgresql *archive = of(destination);
    (void)entry;
    int r = prepare(archive, error);
    if (r == 0)
        r = crn_archive_rows_add(&archive->rows.rows, verdict, ret_added, error);
    ret_added->missing = 0;
    return r;
}

static int add_outcome(crn_destination *destination, const crn_entry *entry,
                       const crn_outcome *outcome, bool *ret_is_new, crn_error *error)
{
    crn_postgresql *archive = of(destination);
    (void)entry;
    int r = prepare(archive, error);
    return r == 0 ? crn_archive_outcomes_add(&archive->rows.outcomes, outcome, ret_is_new, error)
                  : r;
}

/* Its outcome may be one that the server has, so that results wait in a table of their own. */
static int add_result(crn_destination *destination, const crn_entry *entry,
                      const crn_firing_outcome *firing, crn_added_result *ret_result,
                      crn_error *error)
{
    crn_postgresql *archive = of(destination);
    crn_archive_names *names = &archive->rows.outcomes.names;
    int64_t run_id = 0, result_id = 0;
    (void)entry;
    int r = prepare(archive, error);
    if (r == 0)
        r = crn_archive_names_id(names, CRN_ARCHIVE_RUNS, firing->run, &run_id, error);
    if (r == 0)
        r = crn_archive_names_id(names, CRN_ARCHIVE_NAMES, firing->result, &result_id, error);
    if (r < 0)
        return r;
    sqlite3_bind_int64(archive->result, 1, run_id);
    sqlite3_bind_int64(archive->result, 2, (int64_t)firing->lane);
    sqlite3_bind_int64(archive->result, 3, (int64_t)firing->sequence);
    sqlite3_bind_int64(archive->result, 4, result_id);
    r = crn_archive_run(&archive->memory, archive->result, error);
    *ret_result = sqlite3_changes(archive->memory.database) ? CRN_RESULT_ADDED : CRN_RESULT_KNOWN;
    return r;
}

/* --- opening --- */

static const crn_destination_functions functions = {
    .begin = begin,
    .commit = commit,
    .undo = undo,
    .get_position = get_position,
    .set_position = set_position,
    .add_verdict = add_verdict,
    .add_outcome = add_outcome,
    .add_result = add_result,
};

int crn_postgresql_open(const char *url, crn_postgresql **ret_archive, crn_error *error)
{
    crn_postgresql *archive = calloc(1, sizeof *archive);
    if (!archive)
        return crn_error_set(error, -ENOMEM, "PostgreSQL: no memory");
    archive->destination = (crn_destination){.functions = &functions,
                                             .entries_max = 10000,
                                             .bytes_max = BYTES_MAX,
                                             .entry_bytes_max = SIZE_MAX};
    int r = crn_pg_init(&archive->pg, url, error);
    if (r < 0) {
        crn_postgresql_close(&archive);
        return r;
    }
    *ret_archive = archive;
    return 0;
}

void crn_postgresql_close(crn_postgresql **archive)
{
    if (!*archive)
        return;
    drop_rows(*archive);
    crn_pg_done(&(*archive)->pg);
    free(*archive);
    *archive = NULL;
}

crn_destination *crn_postgresql_get_destination(crn_postgresql *archive)
{
    return &archive->destination;
}
