#include "tools/archive/postgresql/copy.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stages/base/utf8.h"
#include "tools/archive/schema.h"

#define CHUNK_BYTES (64 << 10)
#define COLUMNS_MAX 64

/* The small tables: their text, and its number. */
static const struct {
    const char *name, *id, *text;
} small[CRN_ARCHIVE_TABLES] = {
    [CRN_ARCHIVE_RUNS] = {"runs", "run_id", "run"},
    [CRN_ARCHIVE_SETTINGS] = {"settings", "settings_id", "hash"},
    [CRN_ARCHIVE_LOTS] = {"lots", "lot_id", "lot"},
    [CRN_ARCHIVE_NAMES] = {"names", "name_id", "name"},
};

/* --- the bytes of a COPY --- */

typedef struct copy_stream {
    crn_pg *pg;
    char bytes[CHUNK_BYTES];
    size_t size;
    int r;
    crn_error *error;
} copy_stream;

static void flush(copy_stream *stream)
{
    if (stream->r == 0 && stream->size > 0 &&
        PQputCopyData(stream->pg->connection, stream->bytes, (int)stream->size) != 1)
        stream->r = crn_pg_fail(stream->pg, NULL, stream->error);
    stream->size = 0;
}

static void put_bytes(copy_stream *stream, const void *bytes, size_t size)
{
    for (size_t room; size > 0; size -= room, bytes = (const char *)bytes + room) {
        if (stream->size == CHUNK_BYTES)
            flush(stream);
        room = CHUNK_BYTES - stream->size;
        room = size < room ? size : room;
        memcpy(stream->bytes + stream->size, bytes, room);
        stream->size += room;
    }
}

static void put_16(copy_stream *stream, int number)
{
    uint16_t bytes = htobe16((uint16_t)number);
    put_bytes(stream, &bytes, sizeof bytes);
}

static void put_length(copy_stream *stream, int length)
{
    uint32_t bytes = htobe32((uint32_t)length);
    put_bytes(stream, &bytes, sizeof bytes);
}

static void put_64(copy_stream *stream, uint64_t bits)
{
    put_length(stream, sizeof bits);
    bits = htobe64(bits);
    put_bytes(stream, &bits, sizeof bits);
}

static void put_double(copy_stream *stream, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    put_64(stream, bits);
}

/* PostgreSQL takes UTF-8 without NUL alone; each other byte becomes a question mark. */
static void put_text(copy_stream *stream, const char *text, int length)
{
    put_length(stream, length);
    for (int i = 0; i < length;) {
        size_t bytes = 1;
        bool is_good = text[i] && ((text[i] & 0x80) == 0 ||
                                   crn_utf8_read(text + i, (size_t)(length - i), &bytes) >= 0);
        put_bytes(stream, is_good ? text + i : "?", is_good ? bytes : 1);
        i += is_good ? (int)bytes : 1;
    }
}

/* --- rows --- */

/* How the values of a column become the server's. */
typedef enum column_kind {
    COLUMN_AS_IT_IS = CRN_ARCHIVE_TABLES, /* below: a number of that small table */
    COLUMN_FRUIT,
} column_kind;

/* By its name: `before_lot_id` is one of `lots`, all that is no other table's is one of `names`. */
static column_kind kind_of(const char *column)
{
    size_t length = strlen(column);
    if (strcmp(column, "fruit_id") == 0)
        return COLUMN_FRUIT;
    for (int table = 0; table < CRN_ARCHIVE_TABLES; table++) {
        size_t suffix = strlen(small[table].id);
        if (length >= suffix && strcmp(column + length - suffix, small[table].id) == 0)
            return (column_kind)table;
    }
    bool is_name = length > 3 && strcmp(column + length - 3, "_id") == 0;
    return is_name ? (column_kind)CRN_ARCHIVE_NAMES : COLUMN_AS_IT_IS;
}

static int64_t map(const crn_pg_ids *ids, column_kind kind, int64_t number)
{
    if (kind == COLUMN_FRUIT)
        return ids->fruits + number;
    if (kind == COLUMN_AS_IT_IS || number < 0 || number > ids->tables[kind].max)
        return number;
    return ids->tables[kind].ids[number];
}

static void put_row(copy_stream *stream, sqlite3_stmt *row, int columns, const column_kind *kinds,
                    const crn_pg_ids *ids)
{
    put_16(stream, columns);
    for (int i = 0; i < columns; i++) {
        switch (sqlite3_column_type(row, i)) {
        case SQLITE_INTEGER:
            put_64(stream, (uint64_t)map(ids, kinds[i], sqlite3_column_int64(row, i)));
            break;
        case SQLITE_FLOAT:
            put_double(stream, sqlite3_column_double(row, i));
            break;
        case SQLITE_NULL:
            put_length(stream, -1);
            break;
        default: {
            const char *text = (const char *)sqlite3_column_text(row, i);
            put_text(stream, text, sqlite3_column_bytes(row, i));
        }
        }
    }
}

static int put_rows(copy_stream *stream, crn_archive *from, const char *sql, const crn_pg_ids *ids)
{
    static const char head[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0"; /* and the text's own NUL */
    column_kind kinds[COLUMNS_MAX];
    sqlite3_stmt *rows = NULL;
    int code = SQLITE_ROW, r = crn_archive_prepare(from, sql, &rows, stream->error);
    int columns = sqlite3_column_count(rows);
    for (int i = 0; i < columns && i < COLUMNS_MAX; i++)
        kinds[i] = ids ? kind_of(sqlite3_column_name(rows, i)) : COLUMN_AS_IT_IS;
    put_bytes(stream, head, sizeof head);
    while (r == 0 && stream->r == 0 && (code = sqlite3_step(rows)) == SQLITE_ROW)
        put_row(stream, rows, columns, kinds, ids);
    if (r == 0 && stream->r == 0 && code != SQLITE_DONE)
        r = crn_archive_fail(from->database, from->path, stream->error);
    sqlite3_finalize(rows);
    put_16(stream, -1);
    flush(stream);
    return r < 0 ? r : stream->r;
}

/* `sql` selects the rows. `ids`: NULL where they keep their numbers. */
static int copy(crn_pg *pg, crn_archive *from, const char *sql, const char *to,
                const crn_pg_ids *ids, crn_error *error)
{
    static copy_stream stream; /* of one thread */
    char command[128];
    stream.pg = pg;
    stream.size = 0;
    stream.r = 0;
    stream.error = error;
    snprintf(command, sizeof command, "COPY %s FROM STDIN (FORMAT binary)", to);
    PGresult *result = PQexec(pg->connection, command);
    bool is_open = PQresultStatus(result) == PGRES_COPY_IN;
    int r = is_open ? put_rows(&stream, from, sql, ids) : crn_pg_fail(pg, result, error);
    PQclear(result);
    if (!is_open)
        return r;
    if (PQputCopyEnd(pg->connection, r < 0 ? "undone" : NULL) != 1 && r == 0)
        r = crn_pg_fail(pg, NULL, error);
    while ((result = PQgetResult(pg->connection))) {
        if (PQresultStatus(result) != PGRES_COMMAND_OK && r == 0)
            r = crn_pg_fail(pg, result, error);
        bool is_stuck = PQresultStatus(result) == PGRES_COPY_IN;
        PQclear(result);
        if (is_stuck)
            break; /* the connection broke */
    }
    return r;
}

int crn_pg_copy(crn_pg *pg, crn_archive *from, const char *table, const char *to,
                const crn_pg_ids *ids, crn_error *error)
{
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT * FROM %s", table);
    return copy(pg, from, sql, to, ids, error);
}

/* --- the small tables --- */

/* What each number in memory is at the server. */
static int read_ids(crn_pg_ids *ids, crn_archive_table table, crn_pg *pg, crn_error *error)
{
    char sql[256];
    PGresult *rows;
    snprintf(
        sql, sizeof sql, "SELECT s.%s, t.%s FROM staged_%s s JOIN %s t USING (%s) ORDER BY 1 DESC",
        small[table].id, small[table].id, small[table].name, small[table].name, small[table].text);
    int r = crn_pg_query(pg, sql, 0, NULL, &rows, error);
    if (r < 0)
        return r;
    int count = PQntuples(rows);
    int64_t max = count > 0 ? crn_pg_number(rows, 0, 0) : 0;
    ids->tables[table].ids = calloc((size_t)max + 1, sizeof *ids->tables[table].ids);
    ids->tables[table].max = max;
    if (!ids->tables[table].ids)
        r = crn_error_set(error, -ENOMEM, "%s: no memory", pg->name);
    for (int i = 0; i < count && r == 0; i++)
        ids->tables[table].ids[crn_pg_number(rows, i, 0)] = crn_pg_number(rows, i, 1);
    PQclear(rows);
    return r;
}

static int make_small(crn_pg_ids *ids, crn_archive_table table, crn_archive *from, crn_pg *pg,
                      crn_error *error)
{
    const char *name = small[table].name, *id = small[table].id, *text = small[table].text;
    char sql[512], to[32];
    snprintf(to, sizeof to, "staged_%s", name);
    snprintf(sql, sizeof sql, "SELECT * FROM %s", name);
    int r = copy(pg, from, sql, to, NULL, error);
    if (r < 0)
        return r;
    snprintf(sql, sizeof sql,
             "INSERT INTO %s (%s, %s) SELECT (SELECT COALESCE(MAX(%s), 0) FROM %s)"
             " + ROW_NUMBER() OVER (ORDER BY MIN(%s)), %s FROM staged_%s s"
             " WHERE NOT EXISTS (SELECT 1 FROM %s t WHERE t.%s = s.%s) GROUP BY %s"
             " ON CONFLICT DO NOTHING",
             name, id, text, id, name, id, text, name, name, text, text, text);
    r = crn_pg_run(pg, sql, error);
    return r < 0 ? r : read_ids(ids, table, pg, error);
}

/* Also where fruits were deleted by hand, and their parts were not. */
static const char last_fruit[] =
    "SELECT GREATEST(0, (SELECT MAX(fruit_id) FROM fruits), (SELECT MAX(fruit_id) FROM views),"
    " (SELECT MAX(fruit_id) FROM totals), (SELECT MAX(fruit_id) FROM defects),"
    " (SELECT MAX(fruit_id) FROM spots))";

int crn_pg_ids_make(crn_pg_ids *ids, crn_archive *from, crn_pg *pg, crn_error *error)
{
    *ids = (crn_pg_ids){.fruits = 0};
    int r = crn_pg_ask(pg, last_fruit, 0, NULL, &ids->fruits, error);
    for (int table = 0; table < CRN_ARCHIVE_TABLES && r == 0; table++)
        r = make_small(ids, (crn_archive_table)table, from, pg, error);
    return r;
}

void crn_pg_ids_done(crn_pg_ids *ids)
{
    for (int table = 0; table < CRN_ARCHIVE_TABLES; table++)
        free(ids->tables[table].ids);
    *ids = (crn_pg_ids){.fruits = 0};
}
