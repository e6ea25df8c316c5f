#include "tools/archive/database.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/formats/verdict_log/writer.h"
#include "stages/base/file/disk_room.h"
#include "stages/base/file/folder.h"
#include "stages/base/file/new_file.h"
#include "stages/base/file/path_lock.h"
#include "tools/archive/schema.h"

#define SPARE_BYTES (2 * CRN_VERDICT_LOG_SPARE_BYTES)

#define BUSY_MS 10000 /* while another program migrates or checkpoints */

/*
 * synchronous: a commit returns once the log of the write (WAL) is on the disk. The cache's 64 MiB,
 * and a checkpoint every 32 MiB (8192 pages), limit memory and the WAL's size; what it grew to
 * while another program read for long is cut after the next checkpoint.
 */
static const char pragmas[] = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                              "PRAGMA cache_size = -65536; PRAGMA wal_autocheckpoint = 8192;"
                              "PRAGMA journal_size_limit = 33554432; PRAGMA temp_store = MEMORY";

static int lock(crn_archive *archive, crn_error *error)
{
    char *copy = strdup(archive->path);
    archive->folder = copy ? strdup(dirname(copy)) : NULL;
    free(copy);
    if (!archive->folder)
        return crn_error_set(error, -ENOMEM, "%s: no memory", archive->path);
    int r = crn_folder_check(archive->folder, R_OK | W_OK | X_OK, "archive", error);
    if (r == 0)
        r = crn_new_file_check(archive->path, error);
    if (r < 0)
        return r;
    long holder = 0;
    r = crn_path_lock(archive->path, &archive->lock, &holder);
    if (r == -EADDRINUSE)
        return crn_error_set(error, -EBUSY,
                             "%s: another cernita-archive (process %ld) writes to it: end that, or "
                             "name another file",
                             archive->path, holder);
    return r < 0
               ? crn_error_set(error, r, "%s.lock: cannot be made: %s", archive->path, strerror(-r))
               : 0;
}

static int run_text(crn_archive *archive, const char *sql, crn_error *error)
{
    int code = sqlite3_exec(archive->database, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? 0 : crn_archive_fail(archive->database, archive->path, error);
}

int crn_archive_open(crn_archive *archive, const char *path, crn_error *error)
{
    *archive = (crn_archive){.path = path, .lock = -1};
    int r = lock(archive, error);
    if (r < 0)
        return r;
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); /* else each allocation takes a lock to count it */
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &archive->database, flags, NULL) != SQLITE_OK)
        return crn_archive_fail(archive->database, path, error);
    sqlite3_busy_timeout(archive->database, BUSY_MS);
    r = crn_archive_migrate(archive->database, path, &crn_archive_schema_current, error);
    if (r == 0 && sqlite3_exec(archive->database, pragmas, NULL, NULL, NULL) != SQLITE_OK)
        r = crn_archive_fail(archive->database, path, error);
    return r;
}

int crn_archive_open_memory(crn_archive *archive, crn_error *error)
{
    *archive = (crn_archive){.path = ":memory:", .lock = -1};
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(archive->path, &archive->database, flags, NULL) != SQLITE_OK)
        return crn_archive_fail(archive->database, archive->path, error);
    int r =
        crn_archive_migrate(archive->database, archive->path, &crn_archive_schema_current, error);
    return r == 0 ? run_text(archive, "PRAGMA journal_mode = OFF; BEGIN", error) : r;
}

void crn_archive_close(crn_archive *archive)
{
    if (archive->database) {
        sqlite3_stmt *statement;
        while ((statement = sqlite3_next_stmt(archive->database, NULL)))
            sqlite3_finalize(statement);
        sqlite3_close(archive->database);
    }
    crn_path_unlock(archive->path, archive->lock);
    free(archive->folder);
    *archive = (crn_archive){.lock = -1};
}

int crn_archive_prepare(crn_archive *archive, const char *sql, sqlite3_stmt **ret_statement,
                        crn_error *error)
{
    int code = sqlite3_prepare_v3(archive->database, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                  ret_statement, NULL);
    return code == SQLITE_OK ? 0 : crn_archive_fail(archive->database, archive->path, error);
}

int crn_archive_run(crn_archive *archive, sqlite3_stmt *statement, crn_error *error)
{
    int code = sqlite3_step(statement);
    int r = code == SQLITE_DONE ? 0 : crn_archive_fail(archive->database, archive->path, error);
    sqlite3_reset(statement);
    return r;
}

int crn_archive_begin(crn_archive *archive, crn_error *error)
{
    crn_error fault;
    int r =
        crn_disk_check_room(archive->folder, CRN_ARCHIVE_TRANSACTION_BYTES, SPARE_BYTES, &fault);
    if (r < 0)
        return crn_error_set(error, r,
                             "%s, and start again: the verdict log still has what is not archived",
                             fault.text);
    return run_text(archive, "BEGIN IMMEDIATE", error);
}

int crn_archive_commit(crn_archive *archive, crn_error *error)
{
    int r = run_text(archive, "COMMIT", error);
    if (r < 0)
        crn_archive_undo(archive);
    return r;
}

void crn_archive_undo(crn_archive *archive)
{
    if (!sqlite3_get_autocommit(archive->database)) /* SQLite itself may have done it */
        run_text(archive, "ROLLBACK", NULL);
}

int crn_archive_get_position(crn_archive *archive, const char *source,
                             crn_verdict_position *ret_position, crn_error *error)
{
    sqlite3_stmt *question = NULL;
    int r = crn_archive_prepare(
        archive, "SELECT segment, segment_created_ns, byte FROM sources WHERE source = ?",
        &question, error);
    if (r < 0)
        return r;
    sqlite3_bind_text(question, 1, source, -1, SQLITE_STATIC);
    int code = sqlite3_step(question);
    *ret_position = (crn_verdict_position){.number = 0};
    if (code == SQLITE_ROW)
        *ret_position =
            (crn_verdict_position){.number = (uint64_t)sqlite3_column_int64(question, 0),
                                   .created_ns = (uint64_t)sqlite3_column_int64(question, 1),
                                   .offset = (uint64_t)sqlite3_column_int64(question, 2)};
    else if (code != SQLITE_DONE)
        r = crn_archive_fail(archive->database, archive->path, error);
    sqlite3_finalize(question);
    return r;
}

int crn_archive_set_position(crn_archive *archive, const char *source,
                             const crn_verdict_position *position, crn_error *error)
{
    sqlite3_stmt *statement = NULL;
    int r = crn_archive_prepare(archive, "INSERT OR REPLACE INTO sources VALUES (?, ?, ?, ?)",
                                &statement, error);
    if (r < 0)
        return r;
    sqlite3_bind_text(statement, 1, source, -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, (int64_t)position->number);
    sqlite3_bind_int64(statement, 3, (int64_t)position->created_ns);
    sqlite3_bind_int64(statement, 4, (int64_t)position->offset);
    r = crn_archive_run(archive, statement, error);
    sqlite3_finalize(statement);
    return r;
}
