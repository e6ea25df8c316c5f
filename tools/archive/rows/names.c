#include "tools/archive/rows/names.h"

#include <errno.h>
#include <string.h>

#include "stages/base/fnv.h"
#include "tools/archive/schema.h"

static const struct {
    const char *insert, *find;
} statements[CRN_ARCHIVE_TABLES] = {
    [CRN_ARCHIVE_RUNS] = {"INSERT OR IGNORE INTO runs (run) VALUES (?)",
                          "SELECT run_id FROM runs WHERE run = ?"},
    [CRN_ARCHIVE_SETTINGS] = {"INSERT OR IGNORE INTO settings (hash) VALUES (?)",
                              "SELECT settings_id FROM settings WHERE hash = ?"},
    [CRN_ARCHIVE_LOTS] = {"INSERT OR IGNORE INTO lots (lot) VALUES (?)",
                          "SELECT lot_id FROM lots WHERE lot = ?"},
    [CRN_ARCHIVE_NAMES] = {"INSERT OR IGNORE INTO names (name) VALUES (?)",
                           "SELECT name_id FROM names WHERE name = ?"},
};

int crn_archive_names_init(crn_archive_names *names, crn_archive *archive, crn_error *error)
{
    memset(names, 0, sizeof *names);
    names->archive = archive;
    int r = 0;
    for (int table = 0; table < CRN_ARCHIVE_TABLES && r == 0; table++) {
        r = crn_archive_prepare(archive, statements[table].insert, &names->tables[table].insert,
                                error);
        if (r == 0)
            r = crn_archive_prepare(archive, statements[table].find, &names->tables[table].find,
                                    error);
    }
    return r;
}

static int ask(crn_archive_names *names, crn_archive_table table, const char *text, int64_t *ret_id,
               crn_error *error)
{
    sqlite3_stmt *insert = names->tables[table].insert, *find = names->tables[table].find;
    sqlite3_bind_text(insert, 1, text, -1, SQLITE_STATIC);
    int r = crn_archive_run(names->archive, insert, error);
    if (r < 0)
        return r;
    sqlite3_bind_text(find, 1, text, -1, SQLITE_STATIC);
    if (sqlite3_step(find) == SQLITE_ROW)
        *ret_id = sqlite3_column_int64(find, 0);
    else
        r = crn_archive_fail(names->archive->database, names->archive->path, error);
    sqlite3_reset(find);
    return r;
}

int crn_archive_names_id(crn_archive_names *names, crn_archive_table table, const char *text,
                         int64_t *ret_id, crn_error *error)
{
    uint64_t hash = crn_fnv1a(CRN_FNV1A_START + table, text, strlen(text));
    size_t at = (hash ^ hash >> 32) & (CRN_ARCHIVE_CACHED - 1);
    if (names->cache[at].id && names->cache[at].table == table &&
        strcmp(names->cache[at].text, text) == 0) {
        *ret_id = names->cache[at].id;
        return 0;
    }
    int r = ask(names, table, text, ret_id, error);
    if (r == 0) {
        names->cache[at].table = table;
        names->cache[at].id = *ret_id;
        strcpy(names->cache[at].text, text);
    }
    return r;
}
