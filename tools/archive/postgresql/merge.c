#include "tools/archive/postgresql/merge.h"

#include <inttypes.h>
#include <stdio.h>

/* Sequences that are missing between a lane's last fruit that is there and its last one now. */
static const char count_missing[] =
    "SELECT LEAST(COALESCE(SUM(missing), 0), 9223372036854775807)::bigint FROM ("
    " SELECT MAX(s.sequence)::numeric - r.reached - COUNT(*) AS missing FROM staged_fruits s"
    " JOIN (SELECT run_id, lane, COALESCE((SELECT MAX(sequence) FROM fruits f"
    "   WHERE f.run_id = l.run_id AND f.lane = l.lane), -1) AS reached"
    "   FROM (SELECT DISTINCT run_id, lane FROM staged_fruits) l) r USING (run_id, lane)"
    " WHERE s.sequence > r.reached GROUP BY run_id, lane, r.reached) lanes";

static const char add_fruits[] =
    "INSERT INTO fruits SELECT * FROM staged_fruits ON CONFLICT DO NOTHING";

static const char find_known[] =
    "SELECT fruit_id FROM staged_fruits s"
    " WHERE NOT EXISTS (SELECT 1 FROM fruits f WHERE f.fruit_id = s.fruit_id)";

static const char add_levels[] =
    "INSERT INTO levels SELECT * FROM staged_levels ON CONFLICT DO NOTHING";

/*
 * Of each outcome the ranges of its fruits that have none: between the ends of those that are there
 * and the next one's begin, with one before all of them. Answers how many outcomes had such a
 * range.
 */
static const char add_outcomes[] =
    "WITH ranges AS MATERIALIZED ("
    " SELECT s.*, r.first, r.behind FROM staged_outcomes s CROSS JOIN LATERAL ("
    "  SELECT GREATEST(reached, s.sequence) AS first, LEAST(next, s.sequence + s.fruits) AS behind"
    "  FROM (SELECT sequence + fruits AS reached,"
    "    LEAD(sequence, 1, 9223372036854775807) OVER (ORDER BY sequence) AS next"
    "   FROM (SELECT -1::bigint AS sequence, 0::bigint AS fruits"
    "    UNION ALL SELECT o.sequence, o.fruits FROM outcomes o"
    "    WHERE o.run_id = s.run_id AND o.lane = s.lane AND o.sequence < s.sequence + s.fruits"
    "     AND o.sequence >= COALESCE((SELECT MAX(p.sequence) FROM outcomes p"
    "      WHERE p.run_id = s.run_id AND p.lane = s.lane AND p.sequence <= s.sequence),"
    "      s.sequence)) known) pieces) r WHERE r.first < r.behind),"
    " added AS (INSERT INTO outcomes SELECT run_id, lane, first, behind - first, fruit, outlet_id,"
    "  reason_id, rule, decided_ns, sorter_id, result_id FROM ranges)"
    " SELECT COUNT(*) FROM (SELECT DISTINCT run_id, lane, sequence FROM ranges) one";

static const char add_results[] =
    "UPDATE outcomes o SET result_id = s.result_id FROM staged_results s"
    " WHERE o.run_id = s.run_id AND o.lane = s.lane AND o.sequence = s.sequence AND o.fruits = 1"
    " AND o.result_id IS NULL";

static const char count_without_outcome[] =
    "SELECT COUNT(*) FROM staged_results s WHERE NOT EXISTS (SELECT 1 FROM outcomes o"
    " WHERE o.run_id = s.run_id AND o.lane = s.lane AND o.sequence = s.sequence AND o.fruits = 1)";

/* How many rows a table in memory has. */
static int count_rows(crn_archive *from, const char *table, int64_t *ret_rows, crn_error *error)
{
    char sql[64];
    sqlite3_stmt *question = NULL;
    snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM %s", table);
    int r = crn_archive_prepare(from, sql, &question, error);
    *ret_rows =
        r == 0 && sqlite3_step(question) == SQLITE_ROW ? sqlite3_column_int64(question, 0) : 0;
    sqlite3_finalize(question);
    return r;
}

/* Removes a fruit that the server has from memory, so that its parts are not copied. */
static int drop(crn_archive *from, int64_t fruit_id, crn_error *error)
{
    static const char *const parts[] = {"views", "totals", "defects", "spots"};
    char sql[96];
    int r = 0;
    for (int i = 0; i < 4 && r == 0; i++) {
        sqlite3_stmt *statement = NULL;
        snprintf(sql, sizeof sql, "DELETE FROM %s WHERE fruit_id = ?", parts[i]);
        r = crn_archive_prepare(from, sql, &statement, error);
        sqlite3_bind_int64(statement, 1, fruit_id);
        if (r == 0)
            r = crn_archive_run(from, statement, error);
        sqlite3_finalize(statement);
    }
    return r;
}

static int drop_known(crn_pg *pg, crn_archive *from, const crn_pg_ids *ids, int64_t *ret_known,
                      crn_error *error)
{
    PGresult *known;
    int r = crn_pg_query(pg, find_known, 0, NULL, &known, error);
    if (r < 0)
        return r;
    *ret_known = PQntuples(known);
    for (int i = 0; i < PQntuples(known) && r == 0; i++)
        r = drop(from, crn_pg_number(known, i, 0) - ids->fruits, error);
    PQclear(known);
    return r;
}

static int merge_fruits(crn_pg *pg, crn_archive *from, const crn_pg_ids *ids,
                        crn_intake_stats *coming, crn_error *error)
{
    static const char *const parts[] = {"views", "totals", "defects", "spots"};
    int64_t rows, added = 0, missing = 0, known = 0;
    int r = count_rows(from, "fruits", &rows, error);
    if (r < 0 || rows == 0)
        return r;
    r = crn_pg_copy(pg, from, "levels", "staged_levels", ids, error);
    if (r == 0)
        r = crn_pg_run(pg, add_levels, error);
    if (r == 0)
        r = crn_pg_copy(pg, from, "fruits", "staged_fruits", ids, error);
    if (r == 0)
        r = crn_pg_ask(pg, count_missing, 0, NULL, &missing, error);
    if (r == 0)
        r = crn_pg_ask(pg, add_fruits, 0, NULL, &added, error);
    if (r == 0 && added < rows)
        r = drop_known(pg, from, ids, &known, error);
    for (int i = 0; i < 4 && r == 0; i++)
        r = crn_pg_copy(pg, from, parts[i], parts[i], ids, error);
    coming->added -= (uint64_t)known;
    coming->known += (uint64_t)known;
    coming->missing += (uint64_t)missing;
    return r;
}

static int merge_outcomes(crn_pg *pg, crn_archive *from, const crn_pg_ids *ids,
                          crn_intake_stats *coming, crn_error *error)
{
    int64_t rows, added = 0;
    int r = count_rows(from, "outcomes", &rows, error);
    if (r < 0 || rows == 0)
        return r;
    r = crn_pg_copy(pg, from, "outcomes", "staged_outcomes", ids, error);
    if (r == 0)
        r = crn_pg_ask(pg, add_outcomes, 0, NULL, &added, error);
    uint64_t known = (uint64_t)(rows - added);
    known = known < coming->added ? known : coming->added; /* one may have been of several rows */
    coming->added -= known;
    coming->known += known;
    return r;
}

static int merge_results(crn_pg *pg, crn_archive *from, const crn_pg_ids *ids,
                         crn_intake_stats *coming, crn_error *error)
{
    int64_t rows, added = 0, missing = 0;
    int r = count_rows(from, "results", &rows, error);
    if (r < 0 || rows == 0)
        return r;
    r = crn_pg_copy(pg, from, "results", "staged_results", ids, error);
    if (r == 0)
        r = crn_pg_ask(pg, count_without_outcome, 0, NULL, &missing, error);
    if (r == 0)
        r = crn_pg_ask(pg, add_results, 0, NULL, &added, error);
    coming->results -= (uint64_t)(rows - added);
    coming->missing += (uint64_t)missing;
    coming->known += (uint64_t)(rows - added - missing);
    return r;
}

int crn_pg_merge(crn_pg *pg, crn_archive *from, crn_intake_stats *coming, crn_error *error)
{
    crn_pg_ids ids;
    int r = crn_pg_ids_make(&ids, from, pg, error);
    if (r == 0)
        r = merge_fruits(pg, from, &ids, &coming[CRN_INTAKE_VERDICTS], error);
    if (r == 0)
        r = merge_outcomes(pg, from, &ids, &coming[CRN_INTAKE_OUTCOMES], error);
    if (r == 0)
        r = merge_results(pg, from, &ids, &coming[CRN_INTAKE_OUTCOMES], error);
    crn_pg_ids_done(&ids);
    return r;
}
