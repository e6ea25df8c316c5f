#include "tools/archive/rows/changes.h"

#include <errno.h>
#include <string.h>

#include "src/formats/changes/read.h"
#include "tools/archive/schema.h"

#define CHANGE_VALUES "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?"

int crn_archive_changes_init(crn_archive_changes *changes, crn_archive *archive, crn_error *error)
{
    const struct {
        sqlite3_stmt **statement;
        const char *sql;
    } all[] = {
        {&changes->known, "SELECT 1 FROM changes WHERE hash = ?"},
        {&changes->change, "INSERT INTO changes VALUES (NULL, " CHANGE_VALUES ")"},
        /* What was said last of a lot holds, also where an older log is archived after a newer. */
        {&changes->lot,
         "UPDATE lots SET grower = IIF(is_newest, IFNULL(?2, grower), IFNULL(grower, ?2)),"
         " variety = IIF(is_newest, IFNULL(?3, variety), IFNULL(variety, ?3))"
         " FROM (SELECT ?4 >= MAX(time_ns) AS is_newest FROM changes"
         " WHERE lot_id = ?1 AND what = 'lot' AND refused = 0) WHERE lots.lot_id = ?1"},
        {&changes->kept_text,
         "SELECT settings_id, text FROM settings WHERE hash = ? AND text IS NOT NULL"},
        {&changes->named_text, "SELECT COUNT(*), TOTAL(text_sha256 = ?2) FROM changes"
                               " WHERE settings_id = ?1 AND text_sha256 IS NOT NULL"},
        {&changes->text, "UPDATE settings SET text = ?2 WHERE settings_id = ?1"},
    };
    memset(changes, 0, sizeof *changes);
    changes->archive = archive;
    int r = crn_archive_names_init(&changes->names, archive, error);
    for (size_t i = 0; i < sizeof all / sizeof *all && r == 0; i++)
        r = crn_archive_prepare(archive, all[i].sql, all[i].statement, error);
    return r;
}

/* Whether a question about one text has a row. */
static int ask_text(crn_archive_changes *changes, sqlite3_stmt *question, const char *text,
                    bool *ret_has_row, crn_error *error)
{
    sqlite3_bind_text(question, 1, text, -1, SQLITE_STATIC);
    int code = sqlite3_step(question);
    int r = code == SQLITE_ROW || code == SQLITE_DONE
                ? 0
                : crn_archive_fail(changes->archive->database, changes->archive->path, error);
    *ret_has_row = code == SQLITE_ROW;
    sqlite3_reset(question);
    return r;
}

/* --- entries --- */

static void bind_text(sqlite3_stmt *statement, int column, const char *text)
{
    if (text && *text)
        sqlite3_bind_text(statement, column, text, -1, SQLITE_STATIC);
    else
        sqlite3_bind_null(statement, column);
}

/* The settings, recipe and lot, in three columns from there on; their rows are made. */
static int bind_state(crn_archive_changes *changes, int column, const crn_change_state *state,
                      crn_error *error)
{
    const struct {
        crn_archive_table table;
        const char *text;
    } parts[] = {{CRN_ARCHIVE_SETTINGS, state->settings},
                 {CRN_ARCHIVE_NAMES, state->recipe},
                 {CRN_ARCHIVE_LOTS, state->lot}};
    int r = 0;
    for (int i = 0; i < 3 && r == 0; i++) {
        int64_t id = 0;
        if (*parts[i].text)
            r = crn_archive_names_id(&changes->names, parts[i].table, parts[i].text, &id, error);
        if (id)
            sqlite3_bind_int64(changes->change, column + i, id);
        else
            sqlite3_bind_null(changes->change, column + i);
    }
    return r;
}

/* The entry that was written before this one, in whatever file; NULL: none was. */
static const char *find_before(const crn_change *change, const crn_change_links *links)
{
    if (change->continues)
        return change->continues_hash;
    return strcmp(links->previous, crn_change_no_previous) == 0 ? NULL : links->previous;
}

static int insert(crn_archive_changes *changes, const crn_archive_entry *entry,
                  const crn_change *change, crn_error *error)
{
    const crn_change_links *links = entry->links;
    sqlite3_stmt *row = changes->change;
    bind_text(row, 1, entry->source);
    sqlite3_bind_int64(row, 2, (int64_t)links->number);
    sqlite3_bind_int64(row, 3, change->time_ns);
    sqlite3_bind_text(row, 4, change->what, -1, SQLITE_STATIC);
    sqlite3_bind_int64(row, 5, change->refused);
    bind_text(row, 6, change->through);
    sqlite3_bind_int64(row, 7, change->user);
    bind_text(row, 8, change->user_name);
    sqlite3_bind_int64(row, 9, change->process);
    int r = bind_state(changes, 10, &change->before, error);
    if (r == 0)
        r = bind_state(changes, 13, &change->after, error);
    bind_text(row, 16, change->after.text);
    bind_text(row, 17, change->keys);
    sqlite3_bind_int64(row, 18, (int64_t)change->missing);
    bind_text(row, 19, find_before(change, links));
    sqlite3_bind_text(row, 20, links->hash, -1, SQLITE_STATIC);
    sqlite3_bind_text(row, 21, entry->line, (int)entry->length, SQLITE_STATIC);
    return r < 0 ? r : crn_archive_run(changes->archive, row, error);
}

/* The rest of the line of `keys` that begins so, cut out of *keys; NULL: there is none. */
static const char *find_key(const char *keys, const char *head, char out[CRN_CHANGE_KEYS_BYTES])
{
    for (; *keys; keys += strcspn(keys, "\n"), keys += *keys == '\n') {
        if (strncmp(keys, head, strlen(head)) != 0)
            continue;
        keys += strlen(head);
        size_t length = strcspn(keys, "\n");
        memcpy(out, keys, length);
        out[length] = '\0';
        return out;
    }
    return NULL;
}

/* The grower and variety that an entry says of its lot. */
static int set_lot(crn_archive_changes *changes, const crn_change *change, crn_error *error)
{
    char grower[CRN_CHANGE_KEYS_BYTES], variety[CRN_CHANGE_KEYS_BYTES];
    int64_t lot_id;
    if (strcmp(change->what, "lot") != 0 || change->refused || !change->after.lot[0])
        return 0;
    int r =
        crn_archive_names_id(&changes->names, CRN_ARCHIVE_LOTS, change->after.lot, &lot_id, error);
    if (r < 0)
        return r;
    sqlite3_bind_int64(changes->lot, 1, lot_id);
    bind_text(changes->lot, 2, find_key(change->keys, "grower: ", grower));
    bind_text(changes->lot, 3, find_key(change->keys, "variety: ", variety));
    sqlite3_bind_int64(changes->lot, 4, change->time_ns);
    return crn_archive_run(changes->archive, changes->lot, error);
}

/* --- texts of settings --- */

/* Whether entries name no other text of these settings, or this one, too. */
static int ask_named(crn_archive_changes *changes, int64_t settings_id, const char *sha256,
                     bool *ret_is_named, crn_error *error)
{
    sqlite3_stmt *question = changes->named_text;
    sqlite3_bind_int64(question, 1, settings_id);
    sqlite3_bind_text(question, 2, sha256, -1, SQLITE_STATIC);
    int r = 0;
    if (sqlite3_step(question) == SQLITE_ROW)
        *ret_is_named =
            sqlite3_column_int64(question, 0) == 0 || sqlite3_column_double(question, 1) > 0;
    else
        r = crn_archive_fail(changes->archive->database, changes->archive->path, error);
    sqlite3_reset(question);
    return r;
}

static int put_text(crn_archive_changes *changes, int64_t settings_id, const char *text,
                    size_t size, crn_error *error)
{
    sqlite3_bind_int64(changes->text, 1, settings_id);
    sqlite3_bind_text(changes->text, 2, text, (int)size, SQLITE_STATIC);
    return crn_archive_run(changes->archive, changes->text, error);
}

/* A text may be archived before the entries that name it: then it was compared with none. */
static int drop_other_text(crn_archive_changes *changes, const crn_change_state *state,
                           bool *ret_is_dropped, crn_error *error)
{
    sqlite3_stmt *question = changes->kept_text;
    char sha256[CRN_SHA256_TEXT_BYTES];
    int64_t id = 0;
    *ret_is_dropped = false;
    if (!state->text[0])
        return 0;
    sqlite3_bind_text(question, 1, state->settings, -1, SQLITE_STATIC);
    int code = sqlite3_step(question);
    if (code == SQLITE_ROW) {
        id = sqlite3_column_int64(question, 0);
        const void *text = sqlite3_column_text(question, 1);
        crn_sha256_text(text, (size_t)sqlite3_column_bytes(question, 1), sha256);
    }
    int r = code == SQLITE_ROW || code == SQLITE_DONE
                ? 0
                : crn_archive_fail(changes->archive->database, changes->archive->path, error);
    sqlite3_reset(question);
    bool is_named = true;
    if (r == 0 && id)
        r = ask_named(changes, id, sha256, &is_named, error);
    if (r == 0 && !is_named)
        r = put_text(changes, id, NULL, 0, error);
    *ret_is_dropped = !is_named;
    return r;
}

int crn_archive_changes_lack_text(crn_archive_changes *changes, const char *hash, bool *ret_lacks,
                                  crn_error *error)
{
    bool has_text;
    int r = ask_text(changes, changes->kept_text, hash, &has_text, error);
    *ret_lacks = !has_text;
    return r;
}

int crn_archive_changes_set_text(crn_archive_changes *changes, const char *hash, const char *text,
                                 size_t size, bool *ret_is_named, crn_error *error)
{
    char sha256[CRN_SHA256_TEXT_BYTES];
    int64_t id;
    crn_sha256_text(text, size, sha256);
    int r = crn_archive_names_id(&changes->names, CRN_ARCHIVE_SETTINGS, hash, &id, error);
    if (r == 0)
        r = ask_named(changes, id, sha256, ret_is_named, error);
    if (r < 0 || !*ret_is_named)
        return r;
    return put_text(changes, id, text, size, error);
}

/* --- both --- */

int crn_archive_changes_add(crn_archive_changes *changes, const crn_archive_entry *entry,
                            crn_archive_entry_added *ret_added, crn_error *error)
{
    static crn_change change; /* of one thread at a time */
    bool is_known, has_before = true;
    *ret_added = (crn_archive_entry_added){.is_new = false};
    int r = ask_text(changes, changes->known, entry->links->hash, &is_known, error);
    if (r < 0 || is_known)
        return r;
    r = crn_change_read(entry->line, entry->length, &change);
    if (r == -EBADMSG) {
        ret_added->is_unreadable = true;
        return 0;
    }
    if (r < 0)
        return crn_error_set(error, r, "%s: no memory", entry->source);
    if (change.continues)
        r = ask_text(changes, changes->known, change.continues_hash, &has_before, error);
    if (r == 0)
        r = insert(changes, entry, &change, error);
    if (r == 0)
        r = set_lot(changes, &change, error);
    if (r == 0)
        r = drop_other_text(changes, &change.after, &ret_added->is_text_dropped, error);
    ret_added->is_new = r == 0;
    ret_added->is_cut_off = !has_before;
    return r;
}
