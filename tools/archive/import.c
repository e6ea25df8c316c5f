#include "tools/archive/import.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/formats/verdict/decode.h"
#include "src/formats/verdict_log/archived.h"
#include "src/formats/verdict_log/writer.h"
#include "stages/base/file/disk_room.h"
#include "stages/base/file/folder.h"
#include "tools/archive/rows.h"
#include "tools/archive/schema.h"

/* Limits of a transaction. */
#define VERDICTS_MAX 10000
#define BYTES_MAX    (UINT64_C(64) << 20)

#define SPARE_BYTES (2 * CRN_VERDICT_LOG_SPARE_BYTES)

struct crn_import {
    crn_archive *archive;
    crn_archive_rows rows;
    crn_import_stats stats;
    char *source; /* the log's folder, resolved */
    char *folder; /* of the archive */
    crn_import_settings settings;
    crn_verdict_reader *log;       /* NULL: opened with the next step */
    crn_verdict_position position; /* as archived */
    uint64_t told_number;          /* of the segment that the log's writer was told; 0: none */
    crn_error notice;              /* the last one told */
    bool has_notice;               /* `notice` is kept back: the end may be completed */
};

int crn_import_open(crn_archive *archive, const crn_import_settings *settings,
                    crn_import **ret_import, crn_error *error)
{
    const char *dir = settings->dir;
    int r = crn_folder_check(dir, R_OK | X_OK, "read verdicts", error);
    if (r < 0)
        return r;
    crn_import *import = calloc(1, sizeof *import);
    if (!import || !(import->source = realpath(dir, NULL)) ||
        !(import->folder = strdup(archive->path))) {
        crn_import_close(&import);
        return crn_error_set(error, -ENOMEM, "%s: no memory", dir);
    }
    dirname(import->folder);
    import->archive = archive;
    import->settings = *settings;
    r = crn_archive_rows_init(&import->rows, archive, error);
    if (r == 0)
        r = crn_archive_get_position(archive, import->source, &import->position, error);
    if (r < 0)
        crn_import_close(&import);
    *ret_import = import;
    return r;
}

void crn_import_close(crn_import **import)
{
    if (!*import)
        return;
    crn_verdict_reader_close(&(*import)->log);
    free((*import)->source);
    free((*import)->folder);
    free(*import);
    *import = NULL;
}

const crn_import_stats *crn_import_get_stats(const crn_import *import)
{
    return &import->stats;
}

/* --- what cannot be read --- */

static void tell_notice(crn_import *import)
{
    import->has_notice = false;
    import->stats.unreadable++;
    import->settings.tell(import->settings.context, import->notice.text);
}

/* Tells each once, also where it is met again, as the log is listed again. */
static void take_notice(crn_import *import, const crn_error *notice)
{
    if (strcmp(notice->text, import->notice.text) == 0)
        return;
    if (import->has_notice)
        tell_notice(import);
    import->notice = *notice;
    import->has_notice = true;
    if (!import->settings.follow || !crn_verdict_reader_is_in_last(import->log))
        tell_notice(import);
}

/* At the log's end: what is kept back may be completed. */
static void drop_notice(crn_import *import)
{
    if (import->has_notice)
        import->notice.text[0] = '\0';
    import->has_notice = false;
}

/* --- verdicts --- */

static int decode(const crn_logged_verdict *logged, crn_decoded **ret_verdict, crn_error *error)
{
    crn_messagepack_json packed;
    int r = crn_messagepack_json_init(&packed, logged->bytes, logged->size, error);
    if (r < 0)
        return r;
    r = crn_decode(&packed, ret_verdict, error);
    crn_messagepack_json_done(&packed);
    return r;
}

static int add_verdict(crn_import *import, const crn_logged_verdict *logged, crn_error *error)
{
    crn_decoded *verdict = NULL;
    crn_archive_added added;
    crn_error fault;
    int r = decode(logged, &verdict, &fault);
    if (r == -EBADMSG) {
        crn_error_set(&import->notice, r, "%s: a verdict cannot be read and is passed over: %s",
                      import->source, fault.text);
        tell_notice(import);
        return 0;
    }
    if (r < 0)
        return crn_error_set(error, r, "%s: %s", import->source, fault.text);
    r = crn_archive_rows_add(&import->rows, verdict, &added, error);
    crn_decoded_free(&verdict);
    if (r < 0)
        return r;
    import->stats.added += added.is_new;
    import->stats.known += !added.is_new;
    import->stats.missing += added.missing;
    return 0;
}

/* Reads up to the limits of a transaction. 1, 0 at the log's end, or a negative errno with *error.
 */
static int add_verdicts(crn_import *import, crn_error *error)
{
    uint64_t bytes = 0;
    for (int i = 0; i < VERDICTS_MAX && bytes < BYTES_MAX; i++) {
        crn_logged_verdict logged;
        crn_error notice;
        int r = crn_verdict_reader_next(import->log, &logged, &notice);
        if (r == 0)
            return 0;
        if (r < 0) {
            take_notice(import, &notice);
            continue;
        }
        if (import->has_notice) /* what was kept back lies before a whole verdict: it is damage */
            tell_notice(import);
        r = add_verdict(import, &logged, error);
        if (r < 0)
            return r;
        bytes += logged.size;
    }
    import->stats.bytes += bytes;
    return 1;
}

static int open_log(crn_import *import, crn_error *error)
{
    if (import->log)
        return 0;
    int r = crn_verdict_reader_open(import->source, &import->log, error);
    if (r == 0)
        crn_verdict_reader_resume(import->log, &import->position);
    return r;
}

static bool is_moved(const crn_verdict_position *from, const crn_verdict_position *to)
{
    return to->number != from->number || to->offset != from->offset ||
           to->created_ns != from->created_ns;
}

/* Leaves room for the log, which may be on the same disk. */
static int check_room(crn_import *import, crn_error *error)
{
    crn_error fault;
    int r = crn_disk_check_room(import->folder, BYTES_MAX, SPARE_BYTES, &fault);
    return r < 0 ? crn_error_set(error, r,
                                 "%s, and start again: what is not archived is still in "
                                 "the log",
                                 fault.text)
                 : 0;
}

/* The log keeps what is not archived; without the right to write there it does not. */
static void tell_log(crn_import *import)
{
    crn_error error;
    if (!import->settings.follow || import->position.number == import->told_number)
        return;
    int r = crn_verdict_log_set_archived(import->source, import->position.number, &error);
    if (r < 0 && import->told_number == 0)
        import->settings.tell(import->settings.context, error.text);
    import->told_number = import->position.number;
}

static int add_transaction(crn_import *import, crn_error *error)
{
    int r = check_room(import, error);
    if (r == 0)
        r = crn_archive_begin(import->archive, error);
    if (r < 0)
        return r;
    int more = add_verdicts(import, error);
    crn_verdict_position position = crn_verdict_reader_position(import->log);
    r = more < 0 ? more : 0;
    if (r == 0 && is_moved(&import->position, &position))
        r = crn_archive_set_position(import->archive, import->source, &position, error);
    if (r == 0)
        r = crn_archive_commit(import->archive, error);
    else
        crn_archive_undo(import->archive);
    if (r < 0)
        return r;
    import->position = position;
    tell_log(import);
    return more;
}

int crn_import_step(crn_import *import, crn_error *error)
{
    int r = open_log(import, error);
    if (r == -ENOENT && import->settings.follow)
        return 0; /* the daemon has not logged yet */
    if (r == 0)
        r = add_transaction(import, error);
    if (r <= 0) /* listed again with the next step, which goes on at the position */
        crn_verdict_reader_close(&import->log);
    if (r == 0)
        drop_notice(import);
    return r;
}
