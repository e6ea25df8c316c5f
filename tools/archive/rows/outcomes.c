#include "tools/archive/rows/outcomes.h"

#include <string.h>

#include "tools/archive/schema.h"

_Static_assert(CRN_OUTCOME_TEXT_BYTES <= CRN_DECODED_TEXT_BYTES, "names are as long");

int crn_archive_outcomes_init(crn_archive_outcomes *outcomes, crn_archive *archive,
                              crn_error *error)
{
    const struct {
        sqlite3_stmt **statement;
        const char *sql;
    } all[] = {
        /* Both answer NULL where there is none. */
        {&outcomes->before, "SELECT (SELECT sequence + fruits FROM outcomes"
                            " WHERE run_id = ?1 AND lane = ?2 AND sequence <= ?3"
                            " ORDER BY sequence DESC LIMIT 1)"},
        {&outcomes->after, "SELECT MIN(sequence) FROM outcomes"
                           " WHERE run_id = ?1 AND lane = ?2 AND sequence > ?3"},
        {&outcomes->insert,
         "INSERT INTO outcomes (run_id, lane, sequence, fruits, fruit, outlet_id,"
         " reason_id, rule, decided_ns, sorter_id)"
         " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"},
        {&outcomes->set_result, "UPDATE outcomes SET result_id = ?4 WHERE run_id = ?1 AND lane = ?2"
                                " AND sequence = ?3 AND fruits = 1 AND result_id IS NULL"},
        /* 0: there is no such fruit. */
        {&outcomes->result, "SELECT COUNT(*) FROM outcomes"
                            " WHERE run_id = ?1 AND lane = ?2 AND sequence = ?3 AND fruits = 1"},
    };
    memset(outcomes, 0, sizeof *outcomes);
    outcomes->archive = archive;
    int r = crn_archive_names_init(&outcomes->names, archive, error);
    for (size_t i = 0; i < sizeof all / sizeof *all && r == 0; i++)
        r = crn_archive_prepare(archive, all[i].sql, all[i].statement, error);
    return r;
}

/* A sequence that a question about run, lane and sequence answers; `otherwise` if that is NULL. */
static int ask(crn_archive_outcomes *outcomes, sqlite3_stmt *question, const int64_t key[3],
               int64_t otherwise, int64_t *ret_sequence, crn_error *error)
{
    for (int i = 0; i < 3; i++)
        sqlite3_bind_int64(question, i + 1, key[i]);
    int r = sqlite3_step(question) == SQLITE_ROW
                ? 0
                : crn_archive_fail(outcomes->archive->database, outcomes->archive->path, error);
    *ret_sequence = r < 0 || sqlite3_column_type(question, 0) == SQLITE_NULL
                        ? otherwise
                        : sqlite3_column_int64(question, 0);
    sqlite3_reset(question);
    return r;
}

/* Binds what all rows of an outcome have in common; the small tables' rows are made. */
static int bind_outcome(crn_archive_outcomes *outcomes, const crn_outcome *outcome,
                        int64_t *ret_run_id, crn_error *error)
{
    const struct {
        crn_archive_table table;
        const char *text;
        int column;
    } texts[] = {{CRN_ARCHIVE_RUNS, outcome->run, 1},
                 {CRN_ARCHIVE_NAMES, outcome->outlet, 6},
                 {CRN_ARCHIVE_NAMES, outcome->reason, 7},
                 {CRN_ARCHIVE_NAMES, outcome->sorter, 10}};
    int64_t ids[4] = {0};
    int r = 0;
    for (int i = 0; i < 4 && r == 0; i++) {
        r = crn_archive_names_id(&outcomes->names, texts[i].table, texts[i].text, &ids[i], error);
        sqlite3_bind_int64(outcomes->insert, texts[i].column, ids[i]);
    }
    sqlite3_bind_int64(outcomes->insert, 2, (int64_t)outcome->lane);
    sqlite3_bind_int64(outcomes->insert, 5, (int64_t)outcome->fruit);
    if (outcome->rule)
        sqlite3_bind_int64(outcomes->insert, 8, (int64_t)outcome->rule);
    else
        sqlite3_bind_null(outcomes->insert, 8);
    sqlite3_bind_int64(outcomes->insert, 9, outcome->decided_ns);
    *ret_run_id = ids[0];
    return r;
}

int crn_archive_outcomes_add(crn_archive_outcomes *outcomes, const crn_outcome *outcome,
                             bool *ret_is_new, crn_error *error)
{
    int64_t key[3] = {0, (int64_t)outcome->lane, (int64_t)outcome->sequence};
    int64_t end = key[2] + (int64_t)outcome->fruits;
    *ret_is_new = false;
    int r = bind_outcome(outcomes, outcome, &key[0], error);
    while (r == 0 && key[2] < end) {
        int64_t covered = 0, next = 0;
        r = ask(outcomes, outcomes->before, key, key[2], &covered, error);
        if (r == 0 && covered > key[2]) {
            key[2] = covered;
            continue;
        }
        if (r == 0)
            r = ask(outcomes, outcomes->after, key, end, &next, error);
        if (r < 0)
            return r;
        next = next < end ? next : end;
        sqlite3_bind_int64(outcomes->insert, 3, key[2]);
        sqlite3_bind_int64(outcomes->insert, 4, next - key[2]);
        r = crn_archive_run(outcomes->archive, outcomes->insert, error);
        *ret_is_new = true;
        key[2] = next;
    }
    return r;
}

int crn_archive_outcomes_set_result(crn_archive_outcomes *outcomes,
                                    const crn_firing_outcome *firing, crn_added_result *ret_result,
                                    crn_error *error)
{
    sqlite3_stmt *update = outcomes->set_result;
    int64_t key[3] = {0, (int64_t)firing->lane, (int64_t)firing->sequence}, result_id = 0, is_there;
    int r = crn_archive_names_id(&outcomes->names, CRN_ARCHIVE_RUNS, firing->run, &key[0], error);
    if (r == 0)
        r = crn_archive_names_id(&outcomes->names, CRN_ARCHIVE_NAMES, firing->result, &result_id,
                                 error);
    if (r < 0)
        return r;
    for (int i = 0; i < 3; i++)
        sqlite3_bind_int64(update, i + 1, key[i]);
    sqlite3_bind_int64(update, 4, result_id);
    r = crn_archive_run(outcomes->archive, update, error);
    *ret_result = CRN_RESULT_ADDED;
    if (r < 0 || sqlite3_changes(outcomes->archive->database) == 1)
        return r;
    r = ask(outcomes, outcomes->result, key, 0, &is_there, error);
    *ret_result = is_there ? CRN_RESULT_KNOWN : CRN_RESULT_MISSING;
    return r;
}
