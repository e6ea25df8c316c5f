/* Verdicts of an archive (cernita-archive), which is only read: also while it is written, or
 * without the right to write in its folder. */
#include <errno.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "src/formats/verdict/kind.h"
#include "stages/base/file/regular_file.h"
#include "tools/workbench/fruits/builder.h"
#include "tools/workbench/fruits/verdict.h"

#define BUSY_MS 10000 /* while another program migrates or checkpoints */

/* `published_ns` is in an index; the largest outline's view, and the classes one after the other.
 */
static const char question_text[] =
    "SELECT f.lane, f.epoch, f.fruit, v.name, l.lot,"
    " (SELECT view FROM defects d WHERE d.fruit_id = f.fruit_id AND NOT d.hole"
    "  ORDER BY area_px DESC LIMIT 1),"
    " (SELECT group_concat(c.name, char(10)) FROM totals t JOIN names c ON c.name_id = t.class_id"
    "  WHERE t.fruit_id = f.fruit_id AND t.count > 0)"
    ", f.fruit_id"
    " FROM fruits f JOIN names v ON v.name_id = f.verdict_id LEFT JOIN lots l USING (lot_id)"
    " WHERE f.published_ns BETWEEN ? AND ?";

static int fail(sqlite3 *database, const char *path, crn_error *error)
{
    int code = sqlite3_extended_errcode(database) & 0xff;
    const char *why = sqlite3_errmsg(database);
    if (code == SQLITE_CANTOPEN || code == SQLITE_READONLY) /* WAL mode needs a file beside it */
        return crn_error_set(error, -EACCES,
                             "%s: cannot be read: give this user the right to read it and its "
                             "folder, or name a copy",
                             path);
    if (code == SQLITE_NOTADB || code == SQLITE_ERROR)
        return crn_error_set(error, -EMEDIUMTYPE,
                             "%s: is not an archive that this version reads (%s): name a file of "
                             "cernita-archive",
                             path, why);
    return crn_error_set(error, -EIO, "%s: cannot be read: %s", path, why);
}

static crn_verdict_kind kind_of(const char *name)
{
    crn_verdict_kind kind = CRN_VERDICT_PARTIAL; /* of a newer kind: not whole, as far as known */
    if (name)
        crn_verdict_kind_find(name, &kind);
    return kind;
}

static uint64_t read_classes(crn_fruit_builder *builder, const char *names)
{
    uint64_t found = 0;
    while (names && *names) {
        char name[CRN_CLASS_NAME_MAX];
        size_t length = strcspn(names, "\n");
        size_t kept = length < sizeof name ? length : sizeof name - 1;
        memcpy(name, names, kept);
        name[kept] = '\0';
        found |= crn_fruit_builder_class(builder, name);
        names += length + (names[length] == '\n');
    }
    return found;
}

static int take_row(crn_fruit_builder *builder, sqlite3_stmt *row)
{
    bool has_view = sqlite3_column_type(row, 5) == SQLITE_INTEGER;
    const crn_fruit_verdict verdict = {
        .lane = (uint64_t)sqlite3_column_int64(row, 0),
        .epoch = (uint64_t)sqlite3_column_int64(row, 1),
        .fruit = (uint64_t)sqlite3_column_int64(row, 2),
        .kind = (int32_t)kind_of((const char *)sqlite3_column_text(row, 3)),
        .lot = (const char *)sqlite3_column_text(row, 4),
        .shown_view = has_view ? (uint32_t)sqlite3_column_int64(row, 5) : UINT32_MAX,
        .found = read_classes(builder, (const char *)sqlite3_column_text(row, 6)),
        .place = {.fruit_id = sqlite3_column_int64(row, 7)},
    };
    return crn_fruit_builder_judge(builder, &verdict);
}

static int open_archive(const char *path, sqlite3 **ret_database, crn_error *error)
{
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX;
    int fd = crn_regular_open(path, error); /* SQLite's own words do not tell why not */
    if (fd < 0)
        return fd;
    close(fd);
    int code = sqlite3_open_v2(path, ret_database, flags, NULL);
    if (code == SQLITE_OK)
        sqlite3_busy_timeout(*ret_database, BUSY_MS);
    return code == SQLITE_OK ? 0 : fail(*ret_database, path, error);
}

int crn_fruit_read_archive(crn_fruit_builder *builder, const char *path, crn_error *error)
{
    sqlite3 *database = NULL;
    sqlite3_stmt *question = NULL;
    int64_t from_ns, to_ns;
    int code = SQLITE_DONE;
    crn_fruit_builder_span(builder, &from_ns, &to_ns);
    int r = open_archive(path, &database, error);
    if (r == 0 && sqlite3_prepare_v2(database, question_text, -1, &question, NULL) != SQLITE_OK)
        r = fail(database, path, error);
    if (r == 0) {
        sqlite3_bind_int64(question, 1, from_ns);
        sqlite3_bind_int64(question, 2, to_ns);
    }
    while (r == 0 && (code = sqlite3_step(question)) == SQLITE_ROW)
        if (take_row(builder, question) < 0)
            r = crn_error_set(error, -ENOMEM, "%s: no memory for its verdicts", path);
    if (r == 0 && code != SQLITE_DONE)
        r = fail(database, path, error);
    sqlite3_finalize(question);
    sqlite3_close(database);
    return r;
}

/* --- one verdict ------------------------------------------------------------------------------ */

/* As the line's verdict has them: SQLite makes the JSON. Not archived are outlines, poses, and what
 * was skipped. */
static const char verdict_text[] =
    "SELECT json_object('verdict', v.name, 'truncated', json(iif(f.truncated, 'true', 'false')),"
    " 'views_judged', f.views_judged, 'skipped', json('[]'), 'defects', json('[]'),"
    " 'totals', json((SELECT json_group_object(c.name, json_object('count', t.count,"
    "  'area_px', t.area_px)) FROM totals t JOIN names c ON c.name_id = t.class_id"
    "  WHERE t.fruit_id = f.fruit_id)),"
    " 'surface', iif(f.diameter_mm IS NULL, NULL, json_object('diameter_mm', f.diameter_mm,"
    "  'length_mm', f.length_mm, 'coverage', f.coverage, 'seen_mm2', f.seen_mm2,"
    "  'pose', json('[]'),"
    "  'classes', json((SELECT json_group_object(c.name, json_object('count', t.spots,"
    "   'area_mm2', t.area_mm2, 'largest_mm2', t.largest_mm2, 'longest_mm', t.longest_mm))"
    "   FROM totals t JOIN names c ON c.name_id = t.class_id"
    "   WHERE t.fruit_id = f.fruit_id AND t.spots IS NOT NULL)),"
    "  'defects', json((SELECT json_group_array(json_object('class', c.name,"
    "   'area_mm2', s.area_mm2, 'length_mm', s.length_mm, 'width_mm', s.width_mm,"
    "   'lambda_deg', s.lambda_deg, 'v', s.v, 'parts', json('[]'))) FROM spots s"
    "   JOIN names c ON c.name_id = s.class_id WHERE s.fruit_id = f.fruit_id)))))"
    " FROM fruits f JOIN names v ON v.name_id = f.verdict_id WHERE f.fruit_id = ?1"
    " AND f.lane = ?2 AND f.epoch = ?3 AND f.fruit = ?4";

int crn_fruit_print_archived(const char *path, const crn_recorded_fruit *fruit, FILE *out,
                             crn_error *error)
{
    sqlite3 *database = NULL;
    sqlite3_stmt *question = NULL;
    int r = open_archive(path, &database, error);
    if (r == 0 && sqlite3_prepare_v2(database, verdict_text, -1, &question, NULL) != SQLITE_OK)
        r = fail(database, path, error);
    if (r == 0) {
        sqlite3_bind_int64(question, 1, fruit->verdict.fruit_id);
        sqlite3_bind_int64(question, 2, fruit->lane);
        sqlite3_bind_int64(question, 3, (int64_t)fruit->epoch);
        sqlite3_bind_int64(question, 4, (int64_t)fruit->fruit);
        int code = sqlite3_step(question);
        const void *text = code == SQLITE_ROW ? sqlite3_column_text(question, 0) : NULL;
        if (text)
            fputs(text, out);
        else if (code == SQLITE_DONE)
            r = crn_error_set(error, -ENOENT, "%s: the fruit's verdict is no longer there", path);
        else
            r = fail(database, path, error);
    }
    sqlite3_finalize(question);
    sqlite3_close(database);
    return r;
}
