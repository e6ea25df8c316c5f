/*
 * An archive's file: opening, one writer at a time, transactions. Readers (SQLite's own shell, a
 * report) may use it meanwhile: it is in WAL mode. A transaction is on the disk once it is
 * committed; a program that is killed at any moment leaves the last one that was.
 *
 * One thread at a time.
 */
#ifndef CRN_TOOLS_ARCHIVE_DATABASE_H
#define CRN_TOOLS_ARCHIVE_DATABASE_H

#include <sqlite3.h>

#include "src/formats/verdict_log/reader.h"
#include "stages/base/error.h"

typedef struct crn_archive {
    sqlite3 *database;
    const char *path; /* the caller's */
    char *folder;     /* its */
    int lock;         /* PATH.lock; -1: none */
} crn_archive;

/* Opens or makes the file, and migrates it. 0, or a negative errno with one line in *error; close
 * it in either case. */
int crn_archive_open(crn_archive *archive, const char *path, crn_error *error);
void crn_archive_close(crn_archive *archive);

/* An empty archive in memory, without a position or a disk that is checked: its rows are for
 * another database. As crn_archive_open. */
int crn_archive_open_memory(crn_archive *archive, crn_error *error);

/* Prepares a statement, for the lifetime of the archive. 0, or a negative errno with *error. */
int crn_archive_prepare(crn_archive *archive, const char *sql, sqlite3_stmt **ret_statement,
                        crn_error *error);

/* Runs a statement that returns no row, and resets it. 0, or a negative errno with *error. */
int crn_archive_run(crn_archive *archive, sqlite3_stmt *statement, crn_error *error);

/* What a transaction may take of its source, about. */
#define CRN_ARCHIVE_TRANSACTION_BYTES (UINT64_C(64) << 20)

/* Begin only where the disk has room for such a transaction, and for the verdict log, which may be
 * on the same one. 0, or a negative errno with *error; commit then has undone the transaction. */
int crn_archive_begin(crn_archive *archive, crn_error *error);
int crn_archive_commit(crn_archive *archive, crn_error *error);
void crn_archive_undo(crn_archive *archive);

/* How far a log is archived: zeros if it never was. Setting it is part of a transaction. 0, or a
 * negative errno with *error. */
int crn_archive_get_position(crn_archive *archive, const char *source,
                             crn_verdict_position *ret_position, crn_error *error);
int crn_archive_set_position(crn_archive *archive, const char *source,
                             const crn_verdict_position *position, crn_error *error);

#endif
