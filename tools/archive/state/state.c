#include "tools/archive/state/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/formats/changes/chain.h"
#include "src/formats/changes/settings_text.h"
#include "stages/base/clock.h"
#include "stages/base/file/folder.h"
#include "stages/base/file/regular_file.h"
#include "tools/archive/state/alarms.h"
#include "tools/archive/rows/changes.h"
#include "tools/archive/state/seen.h"

#define TEXT_BYTES_MAX (16 << 20) /* of a transaction */

struct crn_state_import {
    crn_archive_changes rows;
    crn_archive *archive;
    char *dir;
    char log_path[PATH_MAX + 32], texts_path[PATH_MAX + 32];
    crn_intake_teller *tell;
    FILE *log; /* open as long as it may be moved away; NULL: there was none yet */
    crn_seen log_seen, texts_seen;
    crn_alarm_import *alarms;
    crn_state_stats stats, coming; /* committed; of this transaction */
    int fault;                     /* why the first that cannot be read cannot; 0: all can */
    crn_error fault_line, told;    /* that one, and the last that was told */
    crn_error told_chain;          /* where the log was altered */
    uint64_t told_altered;         /* texts that no entry names */
};

int crn_state_import_open(crn_archive *archive, const crn_state_settings *settings,
                          crn_state_import **ret_state, crn_error *error)
{
    int r = crn_folder_check(settings->dir, R_OK | X_OK, "read changes", error);
    if (r < 0)
        return r;
    crn_state_import *state = calloc(1, sizeof *state);
    char *dir = realpath(settings->dir, NULL);
    if (!state || !dir) {
        free(state);
        free(dir);
        return crn_error_set(error, -ENOMEM, "%s: no memory", settings->dir);
    }
    state->archive = archive;
    state->dir = dir;
    state->tell = settings->tell;
    snprintf(state->log_path, sizeof state->log_path, "%s/" CRN_CHANGES_FILE, dir);
    snprintf(state->texts_path, sizeof state->texts_path, "%s/" CRN_SETTINGS_FOLDER, dir);
    r = crn_archive_changes_init(&state->rows, archive, error);
    if (r == 0)
        r = crn_alarm_import_open(archive, dir, settings->tell, &state->alarms, error);
    if (r < 0) {
        crn_state_import_close(&state);
        return r;
    }
    *ret_state = state;
    return 0;
}

void crn_state_import_close(crn_state_import **state)
{
    if (!*state)
        return;
    if ((*state)->log)
        fclose((*state)->log);
    crn_alarm_import_close(&(*state)->alarms);
    free((*state)->dir);
    free(*state);
    *state = NULL;
}

crn_state_stats crn_state_import_get_stats(const crn_state_import *state)
{
    crn_state_stats stats = state->stats;
    stats.alarms = crn_alarm_import_get_added(state->alarms);
    return stats;
}

int crn_state_import_get_fault(const crn_state_import *state)
{
    return state->fault < 0 ? state->fault : crn_alarm_import_get_fault(state->alarms);
}

/* --- transactions --- */

static int begin(crn_state_import *state, crn_error *error)
{
    state->coming = (crn_state_stats){0};
    return crn_archive_begin(state->archive, error);
}

static int end(crn_state_import *state, int r, crn_error *error)
{
    if (r < 0) {
        crn_archive_undo(state->archive);
        return r;
    }
    r = crn_archive_commit(state->archive, error);
    if (r == 0) {
        state->stats.changes += state->coming.changes;
        state->stats.texts += state->coming.texts;
    }
    return r;
}

/* What cannot be read now; the rest is archived. */
static void note_fault(crn_state_import *state, int r, const crn_error *fault)
{
    if (state->fault == 0) {
        state->fault = r;
        state->fault_line = *fault;
    }
}

/* --- the log of changes --- */

typedef struct state_reading {
    crn_state_import *state;
    int r; /* of the archive; what follows an error is passed over */
    crn_error *error;
} state_reading;

static void take_entry(void *context, const crn_change_links *links, const char *line,
                       size_t length)
{
    state_reading *reading = context;
    crn_state_import *state = reading->state;
    crn_archive_entry entry = {state->dir, links, line, length};
    crn_archive_entry_added added;
    crn_error note;
    if (reading->r < 0)
        return;
    reading->r = crn_archive_changes_add(&state->rows, &entry, &added, reading->error);
    if (reading->r < 0)
        return;
    state->coming.changes += added.is_new;
    if (added.is_unreadable) {
        crn_error_set(&note, -EBADMSG,
                      "%s: entry %" PRIu64 " has no time, or one in a form that this version does "
                      "not know, and is not archived: use the cernita-archive of the daemon that "
                      "wrote it",
                      state->log_path, links->number);
        note_fault(state, -EBADMSG, &note);
    }
    if (added.is_text_dropped) {
        crn_error_set(&note, 0,
                      "%s: entry %" PRIu64 " names another text of its settings than the archive "
                      "had, which is removed from it: it was altered",
                      state->log_path, links->number);
        state->tell(note.text);
    }
    if (!added.is_cut_off)
        return;
    crn_error_set(
        &note, 0,
        "%s: the archive lacks the entry before entry %" PRIu64 " (the view change_gaps "
        "lists it): if the log was moved away, archive that one, too, as " CRN_CHANGES_FILE
        " of a folder for --state",
        state->log_path, links->number);
    state->tell(note.text);
}

static void tell_chain(crn_state_import *state, const crn_change_chain *chain)
{
    crn_error fault = {""};
    if (chain->fault_line)
        crn_error_set(&fault, 0, "%s:%" PRIu64 ": %s; the entries that are whole are archived",
                      state->log_path, chain->fault_line, chain->fault);
    if (fault.text[0] && strcmp(fault.text, state->told_chain.text) != 0)
        state->tell(fault.text);
    state->told_chain = fault;
}

/* Reads the whole open log: entries that the archive has cost little, and there are few. */
static int read_log(crn_state_import *state, crn_error *error)
{
    crn_change_chain chain;
    state_reading reading = {.state = state, .error = error};
    rewind(state->log);
    int r = begin(state, error);
    if (r < 0)
        return r;
    int fault = crn_change_chain_read(state->log, take_entry, &reading, &chain);
    r = end(state, reading.r, error);
    if (r < 0)
        return r;
    tell_chain(state, &chain);
    crn_error line;
    if (fault < 0) {
        crn_error_set(&line, fault, "%s: cannot be read: %s", state->log_path, strerror(-fault));
        note_fault(state, fault, &line);
    }
    return 0;
}

/* Opens the log anew where its name leads to another file. 0: there is one; or a negative errno. */
static int open_log(crn_state_import *state, crn_error *error)
{
    int fd = crn_regular_open(state->log_path, error);
    if (fd < 0)
        return fd;
    FILE *log = fdopen(fd, "r");
    if (!log) {
        close(fd);
        return crn_error_set(error, -ENOMEM, "%s: no memory", state->log_path);
    }
    if (state->log)
        fclose(state->log);
    state->log = log;
    return 0;
}

/* The log, and, where it was moved away, what was written to it until then. */
static int take_log(crn_state_import *state, crn_error *error)
{
    crn_error fault;
    int r = state->log && !crn_file_is_named(AT_FDCWD, fileno(state->log), state->log_path)
                ? read_log(state, error)
                : 0;
    if (r < 0)
        return r;
    r = open_log(state, &fault);
    if (r == -ENOENT && state->log)
        return 0; /* the next entry begins another */
    if (r == -ENOENT)
        crn_error_set(&fault, r, "%s: is not there: name the line's state.dir", state->log_path);
    if (r < 0)
        note_fault(state, r, &fault);
    return r < 0 ? 0 : read_log(state, error);
}

/* --- the texts of settings --- */

/* Archives the text of a file of that folder, if it is one. */
static int take_text(crn_state_import *state, const char *name, uint64_t *altered,
                     uint64_t *ret_bytes, crn_error *error)
{
    char hash[CRN_SETTINGS_HASH_DIGITS + 1], *text;
    crn_error fault;
    bool lacks, is_named;
    size_t size;
    *ret_bytes = 0;
    snprintf(hash, sizeof hash, "%.*s", CRN_SETTINGS_HASH_DIGITS, name);
    if (!crn_settings_hash_is_valid(hash) || strcmp(name + CRN_SETTINGS_HASH_DIGITS, ".yaml") != 0)
        return 0;
    int r = crn_archive_changes_lack_text(&state->rows, hash, &lacks, error);
    if (r < 0 || !lacks)
        return r;
    r = crn_settings_text_read(state->dir, hash, &text, &size, &fault);
    if (r < 0) {
        note_fault(state, r, &fault);
        return 0;
    }
    r = crn_archive_changes_set_text(&state->rows, hash, text, size, &is_named, error);
    free(text);
    if (r < 0)
        return r;
    *ret_bytes = size;
    state->coming.texts += is_named;
    *altered += !is_named;
    if (is_named || *altered <= state->told_altered)
        return 0;
    crn_error_set(&fault, 0,
                  "%s/%s: is not the text that the log of changes names: it was altered, and is "
                  "not archived",
                  state->texts_path, name);
    state->tell(fault.text);
    state->told_altered = *altered;
    return 0;
}

static int take_folder(crn_state_import *state, DIR *folder, crn_error *error)
{
    struct dirent *entry;
    uint64_t bytes = 0, altered = 0;
    int r = begin(state, error);
    if (r < 0)
        return r;
    while (r == 0 && (entry = readdir(folder)) != NULL) {
        uint64_t more;
        r = take_text(state, entry->d_name, &altered, &more, error);
        bytes += more;
        if (r < 0 || bytes < TEXT_BYTES_MAX)
            continue;
        bytes = 0;
        r = end(state, 0, error);
        if (r == 0)
            r = begin(state, error);
    }
    state->told_altered = altered;
    return end(state, r, error);
}

static int take_texts(crn_state_import *state, crn_error *error)
{
    DIR *folder = opendir(state->texts_path);
    crn_error fault;
    int code = errno;
    if (!folder && code == ENOENT)
        return 0; /* no settings were kept yet */
    if (!folder) {
        crn_error_set(&fault, -code, "%s: %s: run this as the user of the daemon",
                      state->texts_path, strerror(code));
        note_fault(state, -code, &fault);
        return 0;
    }
    int r = take_folder(state, folder, error);
    closedir(folder);
    return r;
}

/* --- all --- */

/* Once: it is tried again, as it may be mended while this program follows. */
static void tell_fault(crn_state_import *state)
{
    if (state->fault < 0 && strcmp(state->told.text, state->fault_line.text) != 0)
        state->tell(state->fault_line.text);
    state->told = state->fault_line;
}

static int take_changes(crn_state_import *state, crn_error *error)
{
    bool log_changed = crn_seen_has_changed(&state->log_seen, state->log_path);
    bool texts_changed = crn_seen_has_changed(&state->texts_seen, state->texts_path);
    if (!log_changed && !texts_changed)
        return 0;
    state->fault = 0;
    state->fault_line.text[0] = '\0';
    int r = take_log(state, error);
    if (r == 0)
        r = take_texts(state, error);
    if (r == 0)
        tell_fault(state);
    return r;
}

int crn_state_import_step(crn_state_import *state, crn_error *error)
{
    int r = take_changes(state, error);
    return r == 0 ? crn_alarm_import_step(state->alarms, error) : r;
}
