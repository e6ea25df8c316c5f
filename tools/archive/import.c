#include "tools/archive/import.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/formats/verdict_log/archived.h"
#include "src/formats/verdict_log/format.h"
#include "stages/base/file/folder.h"

struct crn_import {
    crn_intake intake;
    bool follow;
    int lock;                      /* of the log's file `archived`; -1: none */
    crn_verdict_reader *log;       /* NULL: opened with the next step */
    bool is_resumed;               /* the position is known */
    crn_verdict_position position; /* as archived */
    uint64_t told_number;          /* of the segment that the log's writer was told; 0: none */
    crn_verdict_position told;     /* the begin of what was told last to be unreadable */
    bool has_notice;               /* one is kept back: the end may be completed */
    crn_error notice;              /* that one, and where it begins */
    crn_verdict_position notice_at;
    int fault; /* why the log cannot be read, or the destination reached, this time; 0: it can */
    crn_error told_fault; /* the last one told; empty: the log could be read since */
};

/* Asks where the last run ended; once, unless the destination could not be reached since. */
static int resume(crn_import *import, crn_error *error)
{
    crn_destination *destination = import->intake.destination;
    if (import->is_resumed)
        return 0;
    int r = destination->functions->get_position(destination, import->intake.source,
                                                 &import->position, error);
    import->is_resumed = r == 0;
    return r;
}

int crn_import_open(crn_destination *destination, const crn_import_settings *settings,
                    crn_import **ret_import, crn_error *error)
{
    int r = crn_folder_check(settings->dir, R_OK | X_OK, "read verdicts", error);
    if (r < 0)
        return r;
    crn_import *import = calloc(1, sizeof *import);
    char *dir = realpath(settings->dir, NULL);
    if (!import || !dir)
        r = crn_error_set(error, -ENOMEM, "%s: no memory", settings->dir);
    else
        r = crn_intake_init(&import->intake, destination, settings->kind, dir, settings->tell,
                            error);
    free(dir);
    if (import)
        import->lock = -1;
    if (r == 0 && settings->follow)
        r = crn_verdict_log_lock_archived(import->intake.source, &import->lock, error);
    if (r == 0)
        r = resume(import, error);
    if (r < 0 && r != -ENOTCONN) { /* the first step tells that, and tries again */
        crn_import_close(&import);
        return r;
    }
    import->follow = settings->follow;
    *ret_import = import;
    return 0;
}

void crn_import_close(crn_import **import)
{
    if (!*import)
        return;
    crn_verdict_reader_close(&(*import)->log);
    if ((*import)->lock >= 0)
        crn_verdict_log_unlock_archived((*import)->intake.source, (*import)->lock);
    crn_intake_done(&(*import)->intake);
    free(*import);
    *import = NULL;
}

const crn_intake_stats *crn_import_get_stats(const crn_import *import)
{
    return &import->intake.stats[import->intake.kind];
}

/* --- what cannot be read --- */

static void tell_notice(crn_import *import)
{
    import->has_notice = false;
    import->told = import->notice_at;
    crn_intake_pass_over(&import->intake, import->notice.text);
}

static bool is_told(const crn_import *import, const crn_verdict_position *at)
{
    const crn_verdict_position *told = &import->told;
    return at->number < told->number || (at->number == told->number && at->offset <= told->offset);
}

/* Tells each once, also where it is met again, as the log is listed again. */
static void take_notice(crn_import *import, const crn_error *notice)
{
    crn_verdict_position at = crn_verdict_reader_began(import->log);
    if (is_told(import, &at))
        return;
    if (import->has_notice)
        tell_notice(import);
    import->notice = *notice;
    import->notice_at = at;
    import->has_notice = true;
    if (!import->follow || !crn_verdict_reader_is_in_last(import->log))
        tell_notice(import);
}

/* What cannot be read now may be read later, so that the position stays before it. */
static int take_fault(crn_import *import, const crn_error *error)
{
    if (!import->follow)
        return import->fault;
    if (strcmp(import->told_fault.text, error->text) != 0)
        import->intake.tell(error->text);
    import->told_fault = *error;
    return 0;
}

/* --- verdicts --- */

/* What is longer than the destination takes is a fault, before which the position stays. */
static int set_too_long(crn_import *import, size_t size, crn_error *error)
{
    crn_verdict_position at = crn_verdict_reader_began(import->log);
    char path[PATH_MAX];
    crn_verdict_log_path(path, sizeof path, import->intake.source, at.number);
    import->fault = -EMSGSIZE;
    return crn_error_set(error, 0,
                         "%s: the entry at byte %" PRIu64 " has %zu bytes, and the NATS server "
                         "takes %zu: raise its max_payload; what follows waits in the log",
                         path, at.offset, size, import->intake.destination->entry_bytes_max);
}

/* Reads up to the limits of a transaction. 1; 0 at the log's end, or, with *error, before an
 * import->fault; or a negative errno with *error. */
static int add_verdicts(crn_import *import, crn_error *error)
{
    while (!crn_intake_is_full(&import->intake)) {
        crn_logged_verdict logged;
        int r = crn_verdict_reader_next(import->log, &logged, error);
        if (r == -EBADMSG) {
            take_notice(import, error);
            continue;
        }
        if (r <= 0) {
            import->fault = r;
            return 0;
        }
        if (import->has_notice) /* what was kept back lies before a whole verdict: it is damage */
            tell_notice(import);
        if (logged.size > import->intake.destination->entry_bytes_max)
            return set_too_long(import, logged.size, error);
        crn_verdict_position at = crn_verdict_reader_began(import->log);
        r = crn_intake_add(&import->intake, logged.bytes, logged.size, &at, error);
        if (r < 0)
            return r;
    }
    return 1;
}

static int open_log(crn_import *import, crn_error *error)
{
    if (import->log)
        return 0;
    import->fault = crn_verdict_reader_open(import->intake.source, &import->log, error);
    if (import->fault < 0)
        return import->fault;
    crn_verdict_reader_resume(import->log, &import->position);
    if (import->position.number != 0 && crn_verdict_reader_position(import->log).number == 0)
        import->position = import->told = (crn_verdict_position){0}; /* it was begun again */
    return 0;
}

static bool is_moved(const crn_verdict_position *from, const crn_verdict_position *to)
{
    return to->number != from->number || to->offset != from->offset ||
           to->created_ns != from->created_ns;
}

/* The log keeps what is not archived; without the right to write there it does not. */
static void tell_log(crn_import *import)
{
    crn_error error;
    uint64_t number = import->position.number ? import->position.number : 1;
    if (!import->follow || number == import->told_number)
        return;
    int r = crn_verdict_log_set_archived(import->intake.source, number, &error);
    if (r < 0 && import->told_number == 0)
        import->intake.tell(error.text);
    import->told_number = number;
}

static int add_transaction(crn_import *import, crn_error *error)
{
    crn_destination *destination = import->intake.destination;
    int r = crn_intake_begin(&import->intake, error);
    if (r < 0)
        return r;
    int more = add_verdicts(import, error);
    crn_verdict_position position = import->fault == -EMSGSIZE
                                        ? crn_verdict_reader_began(import->log)
                                        : crn_verdict_reader_position(import->log);
    if (more >= 0 && is_moved(&import->position, &position))
        r = destination->functions->set_position(destination, import->intake.source, &position,
                                                 error);
    r = crn_intake_end(&import->intake, r < 0 ? r : more, error);
    if (r < 0)
        return r;
    import->position = position;
    tell_log(import);
    return r;
}

int crn_import_step(crn_import *import, crn_error *error)
{
    import->fault = 0;
    int r = resume(import, error);
    if (r == 0)
        r = open_log(import, error);
    if (r == -ENOENT && (import->follow || import->intake.kind == CRN_INTAKE_OUTCOMES))
        return 0; /* the daemon, or the sorter, has not logged yet */
    if (r == 0)
        r = add_transaction(import, error);
    if (r == -ENOTCONN) {
        import->is_resumed = false;
        import->fault = r;
    }
    if (r <= 0) /* listed again with the next step, which goes on at the position */
        crn_verdict_reader_close(&import->log);
    if (r == 0)
        import->has_notice = false; /* the log's end: what is kept back may be completed */
    if (import->fault < 0)
        return take_fault(import, error);
    if (r == 0)
        import->told_fault.text[0] = '\0';
    return r;
}
