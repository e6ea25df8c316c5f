#include "src/control/changes/changes.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <pwd.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "src/control/changes/file.h"
#include "src/control/changes/settings_texts.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "stages/base/process/thread.h"
#include "stages/base/utf8.h"

/* As the control thread's. */
#define NICE 15

#define AGAIN_NS CRN_NS_PER_S

/* A full folder of texts is read as a whole to find that out. */
#define FULL_AGAIN_NS (60 * CRN_NS_PER_S)

#define REFUSED_NS (60 * CRN_NS_PER_S)

#define NAME_LOOKUP_BYTES 4096

typedef struct waiting_change {
    struct waiting_change *next;
    crn_change change;
    char *text; /* NULL: there is none, or it is kept */
    int64_t since_ns;
} waiting_change;

struct crn_changes {
    crn_changes_plan plan;
    pthread_mutex_t lock; /* for the next eight */
    waiting_change *first, **end;
    uint32_t waiting;
    uint64_t missing, refused_left_out; /* since the last that waits */
    crn_change_state state;             /* after the last that was added, recorded or not */
    int64_t refused_since_ns;           /* the minute that the next counts in */
    uint64_t refused;
    crn_changes_summary last;
    atomic_bool stop;
    sem_t wake; /* one more waits, or the end */
    /* The thread's: */
    crn_change_file *file;    /* NULL: not open */
    crn_change_links written; /* the last; number 0: none yet */
    bool gap_is_told;         /* that the file does not end with `written` */
    int result;               /* of the last round */
    waiting_change *late;     /* recorded, their texts not kept yet */
    uint32_t late_count;
    int texts_result;
    crn_error texts_error;
    int64_t texts_again_ns;
    pthread_t thread;
    bool started;
};

/* --- the thread --- */

/* Not where it is asked: a service of names may hang. */
static void name_user(crn_change *change)
{
    char buffer[NAME_LOOKUP_BYTES];
    struct passwd entry, *found = NULL;
    if (getpwuid_r(change->user, &entry, buffer, sizeof buffer, &found) != 0 || !found)
        return;
    snprintf(change->user_name, sizeof change->user_name, "%s", found->pw_name);
    crn_utf8_clean(change->user_name);
}

static void summarise(crn_changes *self)
{
    self->written = *crn_change_file_last(self->file);
    pthread_mutex_lock(&self->lock);
    self->last.number = self->written.number;
    memcpy(self->last.hash, self->written.hash, sizeof self->last.hash);
    pthread_mutex_unlock(&self->lock);
}

/* Opens the file, also one that was removed or moved away since. */
static int open_file(crn_changes *self, crn_error *error)
{
    if (self->file && !crn_change_file_is_named(self->file)) {
        crn_log(self->result == -EFBIG ? CRN_LOG_INFO : CRN_LOG_ERROR,
                "changes: %s/" CRN_CHANGES_FILE
                " was removed or moved away; the next entry goes to the file that has this name",
                self->plan.dir);
        crn_change_file_close(&self->file);
    }
    if (self->file)
        return 0;
    return crn_change_file_open(self->plan.dir, self->written.number == 0, &self->file, error);
}

/* Where the file does not end with what was written last, the entry says so. */
static void link_to_written(crn_changes *self, crn_change *change)
{
    const crn_change_links *written = &self->written;
    change->continues = 0;
    if (written->number == 0 || strcmp(crn_change_file_last(self->file)->hash, written->hash) == 0)
        return;
    change->continues = written->number;
    memcpy(change->continues_hash, written->hash, sizeof change->continues_hash);
    change->before = written->after;
    if (!self->gap_is_told)
        crn_log(self->result == -EFBIG ? CRN_LOG_INFO : CRN_LOG_ERROR,
                "changes: %s/" CRN_CHANGES_FILE " does not end with entry %" PRIu64
                " (%s), which was written last: it was moved, removed, replaced or altered; the "
                "next entry names both",
                self->plan.dir, written->number, written->hash);
    self->gap_is_told = true;
}

/* Keeps its text. Without it the entry is written all the same. */
static int keep_text(crn_changes *self, waiting_change *one)
{
    int r = crn_settings_text_keep(self->plan.dir, one->change.after.settings, one->text,
                                   &self->texts_error);
    if (r == 0) {
        free(one->text);
        one->text = NULL;
    }
    return r;
}

/* Writes one. The log says the hash, so that who keeps the log elsewhere can tell what is missing
 * at the end of the file. */
static int write_one(crn_changes *self, waiting_change *one, crn_error *error)
{
    crn_change *change = &one->change;
    int r = open_file(self, error);
    if (r == 0 && one->text)
        self->texts_result = keep_text(self, one);
    if (r == 0) {
        link_to_written(self, change);
        r = crn_change_file_append(self->file, change, error);
    }
    if (r < 0) {
        if (r != -EFBIG) /* a full one is not read again each second */
            crn_change_file_close(&self->file);
        return r;
    }
    self->gap_is_told = false;
    summarise(self);
    crn_log(CRN_LOG_INFO, "changes: entry %" PRIu64 " (%s%s) has the hash %s", self->last.number,
            change->what, change->refused ? " refused" : "", self->last.hash);
    return 0;
}

static waiting_change *first_of(crn_changes *self)
{
    pthread_mutex_lock(&self->lock);
    waiting_change *first = self->first;
    pthread_mutex_unlock(&self->lock);
    return first;
}

/* With the lock: since when the first one waits. */
static void tell_waiting(crn_changes *self)
{
    if (self->plan.waits)
        self->plan.waits(self->plan.context, self->first ? self->first->since_ns : 0);
}

static void free_one(waiting_change *one)
{
    free(one->text);
    free(one);
}

static waiting_change *take_first(crn_changes *self)
{
    pthread_mutex_lock(&self->lock);
    waiting_change *taken = self->first;
    self->first = taken->next;
    if (!self->first)
        self->end = &self->first;
    self->waiting--;
    tell_waiting(self);
    pthread_mutex_unlock(&self->lock);
    return taken;
}

/* Of an entry that is written: its text may be left to keep. */
static void end_first(crn_changes *self)
{
    waiting_change *one = take_first(self);
    if (!one->text || self->late_count == CRN_CHANGES_WAITING) {
        if (one->text)
            crn_log(CRN_LOG_ERROR, "changes: the text of the settings %s is lost: %d wait already",
                    one->change.after.settings, CRN_CHANGES_WAITING);
        free_one(one);
        return;
    }
    one->next = self->late;
    self->late = one;
    self->late_count++;
}

static void keep_late_texts(crn_changes *self)
{
    if (!self->late || (self->texts_result == -EFBIG && crn_now_ns() < self->texts_again_ns))
        return;
    int result = 0;
    for (waiting_change **at = &self->late; *at;) {
        waiting_change *one = *at;
        int r = keep_text(self, one);
        if (r < 0) {
            result = r;
            at = &one->next;
            continue;
        }
        *at = one->next;
        self->late_count--;
        free_one(one);
    }
    self->texts_result = result;
    self->texts_again_ns = crn_now_ns() + FULL_AGAIN_NS;
}

static void tell(crn_changes *self, int result, const crn_error *error, bool is_text)
{
    if (result < 0 && result != self->result)
        crn_log(CRN_LOG_WARNING, "changes: %s until the disk takes them: %s",
                is_text ? "settings' texts are not kept" : "not recorded", error->text);
    if (result == 0 && self->result < 0)
        crn_log(CRN_LOG_INFO, "changes: are recorded again");
    self->result = result;
    if (self->plan.note)
        self->plan.note(self->plan.context, result);
}

/* Writes what waits, as far as the disk takes it. */
static void write_waiting(crn_changes *self)
{
    crn_error error;
    waiting_change *one = first_of(self);
    int r = 0;
    keep_late_texts(self);
    if (!one)
        tell(self, self->late ? self->texts_result : 0, &self->texts_error, true);
    for (; r == 0 && one; one = first_of(self)) {
        if (!one->change.user_name[0])
            name_user(&one->change);
        r = write_one(self, one, &error);
        if (r == 0)
            end_first(self);
        bool is_text = r == 0 && self->late;
        tell(self, is_text ? self->texts_result : r, is_text ? &self->texts_error : &error,
             is_text);
    }
}

static void *run(void *argument)
{
    crn_changes *self = argument;
    prctl(PR_SET_NAME, "changes", 0, 0, 0);
    setpriority(PRIO_PROCESS, 0, NICE);
    for (bool stop = false; !stop;) {
        if (self->result < 0)
            crn_sem_wait_until(&self->wake, crn_now_ns() + AGAIN_NS);
        else
            while (sem_wait(&self->wake) < 0)
                continue;
        while (sem_trywait(&self->wake) == 0) /* one round for all of them */
            continue;
        stop = atomic_load(&self->stop);
        write_waiting(self);
    }
    return NULL;
}

/* --- open and close --- */

int crn_changes_open(const crn_changes_plan *plan, crn_changes **ret_changes)
{
    *ret_changes = NULL;
    if (!plan->dir[0]) {
        crn_log(CRN_LOG_INFO, "changes: none are recorded, as state.dir is empty and systemd gave "
                              "no folder (StateDirectory=)");
        return 0;
    }
    crn_changes *self = calloc(1, sizeof *self);
    if (!self)
        return -ENOMEM;
    self->plan = *plan;
    self->end = &self->first;
    pthread_mutex_init(&self->lock, NULL);
    sem_init(&self->wake, 0, 0);
    int r = crn_thread_start(&self->thread, run, self);
    self->started = r == 0;
    if (r < 0)
        crn_changes_close(&self);
    *ret_changes = self;
    return r;
}

void crn_changes_close(crn_changes **changes)
{
    crn_changes *self = *changes;
    if (!self)
        return;
    atomic_store(&self->stop, true);
    sem_post(&self->wake);
    if (self->started)
        pthread_join(self->thread, NULL);
    if (self->waiting > 0)
        crn_log(CRN_LOG_ERROR, "changes: %" PRIu32 " were not recorded, as the disk takes nothing",
                self->waiting);
    if (self->late)
        crn_log(CRN_LOG_ERROR, "changes: the texts of %" PRIu32 " settings were not kept: %s",
                self->late_count, self->texts_error.text);
    while (self->first)
        free_one(take_first(self));
    for (waiting_change *one; (one = self->late) != NULL;) {
        self->late = one->next;
        free_one(one);
    }
    crn_change_file_close(&self->file);
    pthread_mutex_destroy(&self->lock);
    sem_destroy(&self->wake);
    free(self);
    *changes = NULL;
}

/* --- adding --- */

void crn_change_begin(crn_change *change, const char *what, const crn_changed_by *by)
{
    *change = (crn_change){.user = by->user, .process = by->process};
    snprintf(change->what, sizeof change->what, "%s", what);
    snprintf(change->through, sizeof change->through, "%s", by->through);
}

void crn_change_set_lot(crn_change *change, const char *id)
{
    snprintf(change->after.lot, sizeof change->after.lot, "%s", id);
    change->after.has_lot = true;
}

void crn_change_set_keys(crn_change *change, const char *lines)
{
    static const char more[] = "...\n";
    size_t length = strlen(lines);
    if (length >= sizeof change->keys) {
        length = sizeof change->keys - sizeof more;
        while (length > 0 && lines[length - 1] != '\n')
            length--;
    }
    snprintf(change->keys, sizeof change->keys, "%.*s%s", (int)length, lines,
             lines[length] ? more : "");
}

/* What the entry leaves out is as after the one that was added before, recorded or not. With the
 * lock. */
static void complete(crn_changes *self, crn_change_state *after)
{
    const crn_change_state given = *after, *before = &self->state;
    if (!given.settings[0])
        *after = *before;
    if (!given.text[0] && strcmp(after->settings, before->settings) == 0)
        memcpy(after->text, before->text, sizeof after->text);
    memcpy(after->lot, given.has_lot ? given.lot : before->lot, sizeof after->lot);
    self->state = *after;
}

/* Refused requests may come without end; they are not to fill the log. With the lock. */
static bool is_refused_too_often(crn_changes *self, int64_t now_ns)
{
    if (now_ns - self->refused_since_ns >= REFUSED_NS) {
        self->refused_since_ns = now_ns;
        self->refused = 0;
    }
    return ++self->refused > CRN_CHANGES_REFUSED_A_MINUTE;
}

/* With the lock. False: it is only counted. */
static bool append(crn_changes *self, waiting_change *one)
{
    crn_change *change = &one->change;
    complete(self, &change->after);
    if (change->refused && is_refused_too_often(self, one->since_ns)) {
        self->refused_left_out++;
        return false;
    }
    if (self->waiting == CRN_CHANGES_WAITING) {
        self->missing++;
        if (one->text)
            self->state.text[0] = '\0'; /* it is not kept either */
        return false;
    }
    change->missing = self->missing;
    change->refused_left_out = self->refused_left_out;
    self->missing = self->refused_left_out = 0;
    *self->end = one;
    self->end = &one->next;
    self->waiting++;
    tell_waiting(self);
    return true;
}

void crn_changes_add(crn_changes *changes, const crn_change *change, char *text)
{
    waiting_change *one = changes ? calloc(1, sizeof *one) : NULL;
    if (!one) {
        free(text);
        return;
    }
    one->change = *change;
    one->change.time_ns = crn_realtime_ns();
    one->since_ns = crn_now_ns();
    one->text = text;
    if (text)
        crn_sha256_text(text, strlen(text), one->change.after.text);
    pthread_mutex_lock(&changes->lock);
    bool waits = append(changes, one);
    pthread_mutex_unlock(&changes->lock);
    if (waits)
        sem_post(&changes->wake);
    else
        free_one(one);
}

crn_changes_summary crn_changes_summarise(crn_changes *changes)
{
    crn_changes_summary last = {0};
    if (!changes)
        return last;
    pthread_mutex_lock(&changes->lock);
    last = changes->last;
    pthread_mutex_unlock(&changes->lock);
    return last;
}
