#include "tools/archive/postgresql/schema.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/archive/schema.h"

/* The words of schema.c that PostgreSQL spells otherwise; of two that fit the first one counts.
 * Texts are ordered by their bytes in both. */
static const struct {
    const char *sqlite, *postgresql;
} words[] = {
    {"INTEGER", "BIGINT"},
    {"REAL", "DOUBLE PRECISION"},
    {"TEXT", "TEXT COLLATE \"C\""},
    {"STRICT, WITHOUT ROWID", ""},
    {"STRICT", ""},
    {"user", "\"user\""},
};

#define WORDS (sizeof words / sizeof *words)

/* The version is in a table of its own: its presence tells that a schema is an archive. */
static const char version_schema[] = "CREATE TABLE cernita_archive (version BIGINT NOT NULL);"
                                     "INSERT INTO cernita_archive VALUES (0);";

/* What a transaction's rows are copied to, before they are compared with those that are there. */
static const char *const staged[] = {"runs",   "settings", "lots",    "names",
                                     "levels", "fruits",   "outcomes"};

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The row of `words` that begins at `at`; WORDS: none. */
static size_t find_word(const char *text, const char *at)
{
    for (size_t i = 0; i < WORDS && (at == text || !is_word(at[-1])); i++) {
        size_t length = strlen(words[i].sqlite);
        if (strncmp(at, words[i].sqlite, length) == 0 && !is_word(at[length]))
            return i;
    }
    return WORDS;
}

/* A statement of schema.c as PostgreSQL's, to free(); NULL: no memory. */
static char *translate(const char *sql)
{
    char *out = NULL;
    size_t size;
    FILE *file = open_memstream(&out, &size);
    if (!file)
        return NULL;
    for (const char *at = sql; *at;) {
        size_t word = find_word(sql, at);
        if (word < WORDS) {
            fputs(words[word].postgresql, file);
            at += strlen(words[word].sqlite);
        } else {
            fputc(*at++, file);
        }
    }
    if (fclose(file) == 0)
        return out;
    free(out);
    return NULL;
}

static int run_translated(crn_pg *pg, const char *sql, crn_error *error)
{
    char *text = translate(sql);
    int r = text ? crn_pg_run(pg, text, error)
                 : crn_error_set(error, -ENOMEM, "%s: no memory", pg->name);
    free(text);
    return r;
}

/* The version of the archive; -1: the schema has no table yet. */
static int read_version(crn_pg *pg, int64_t *ret_version, crn_error *error)
{
    PGresult *about;
    int r = crn_pg_query(
        pg,
        "SELECT COUNT(*) FILTER (WHERE relname = 'cernita_archive'),"
        " COUNT(relname), COUNT(current_schema()) FROM (SELECT) one LEFT JOIN pg_class ON"
        " relnamespace = to_regnamespace(quote_ident(current_schema()))"
        " AND relkind IN ('r', 'v', 'm', 'p', 'f')",
        0, NULL, &about, error);
    if (r < 0)
        return r;
    bool is_archive = crn_pg_number(about, 0, 0) > 0, has_schema = crn_pg_number(about, 0, 2) > 0;
    bool is_empty = crn_pg_number(about, 0, 1) == 0;
    PQclear(about);
    *ret_version = -1;
    if (!has_schema)
        return crn_error_set(
            error, -ENOTCONN,
            "%s: this user may use none of the schemas of its search_path: let the "
            "database's owner be this user (ALTER DATABASE … OWNER TO …)",
            pg->name);
    if (is_archive)
        return crn_pg_ask(pg, "SELECT version FROM cernita_archive", 0, NULL, ret_version, error);
    return is_empty ? 0
                    : crn_error_set(error, -EMEDIUMTYPE,
                                    "%s: has tables of another program: name a database of the "
                                    "archive's own (createdb)",
                                    pg->name);
}

static int run_steps(crn_pg *pg, int64_t version, crn_error *error)
{
    const crn_archive_schema *schema = &crn_archive_schema_current;
    char text[16];
    snprintf(text, sizeof text, "%d", schema->count);
    int64_t changed;
    int r = version < 0 ? crn_pg_run(pg, version_schema, error) : 0;
    for (int i = version < 0 ? 0 : (int)version; r == 0 && i < schema->count; i++)
        r = run_translated(pg, schema->steps[i], error);
    return r < 0 ? r
                 : crn_pg_ask(pg, "UPDATE cernita_archive SET version = $1", 1,
                              (const char *const[]){text}, &changed, error);
}

static int make_staging(crn_pg *pg, crn_error *error)
{
    char sql[128];
    int r = 0;
    for (size_t i = 0; i < sizeof staged / sizeof *staged && r == 0; i++) {
        snprintf(sql, sizeof sql, "CREATE TEMP TABLE staged_%s (LIKE %s) ON COMMIT DELETE ROWS",
                 staged[i], staged[i]);
        r = crn_pg_run(pg, sql, error);
    }
    return r < 0 ? r
                 : crn_pg_run(pg,
                              "CREATE TEMP TABLE staged_results ON COMMIT DELETE ROWS AS"
                              " SELECT " CRN_PG_RESULT_COLUMNS " FROM outcomes WITH NO DATA",
                              error);
}

int crn_pg_migrate(crn_pg *pg, crn_error *error)
{
    int64_t version;
    int r = read_version(pg, &version, error);
    if (r == 0 && version > crn_archive_schema_current.count)
        r = crn_error_set(error, -EMEDIUMTYPE,
                          "%s: has schema %" PRId64 ", of a newer cernita-archive (this one knows "
                          "up to %d): use that one",
                          pg->name, version, crn_archive_schema_current.count);
    if (r == 0 && version < crn_archive_schema_current.count) {
        r = crn_pg_run(pg, "BEGIN", error);
        if (r == 0)
            r = run_steps(pg, version, error);
        if (r == 0)
            r = crn_pg_run(pg, "COMMIT", error);
    }
    return r == 0 ? make_staging(pg, error) : r;
}
