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

#define NAME_LOOKUP_BYTES 4096

typedef struct waiting_change {
    struct waiting_change *next;
    crn_change change;
    char *text;
} waiting_change;

struct crn_changes {
    crn_changes_plan plan;
    pthread_mutex_t lock; /* for the next five */
    waiting_change *first, **end;
    uint32_t waiting;
    uint64_t missing; /* since the last that waits */
    crn_changes_summary last;
    atomic_bool stop;
    sem_t wake;            /* one more waits, or the end */
    crn_change_file *file; /* the thread's; NULL: not open */
    bool failed;           /* the last try; the thread's */
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
    const crn_change_links *last = crn_change_file_last(self->file);
    pthread_mutex_lock(&self->lock);
    self->last.number = last->number;
    memcpy(self->last.hash, last->hash, sizeof self->last.hash);
    pthread_mutex_unlock(&self->lock);
}

/* Writes one. The log says the hash, so that who keeps the log elsewhere can tell what is missing
 * at the end of the file. */
static int write_one(crn_changes *self, waiting_change *one, crn_error *error)
{
    crn_change *change = &one->change;
    int r = self->file
                ? 0
                : crn_change_file_open(self->plan.dir, self->last.number == 0, &self->file, error);
    if (r == 0 && one->text)
        r = crn_settings_text_keep(self->plan.dir, change->after.settings, one->text, error);
    if (r == 0)
        r = crn_change_file_append(self->file, change, error);
    if (r < 0) {
        crn_change_file_close(&self->file);
        return r;
    }
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

static void remove_first(crn_changes *self)
{
    pthread_mutex_lock(&self->lock);
    waiting_change *gone = self->first;
    self->first = gone->next;
    if (!self->first)
        self->end = &self->first;
    self->waiting--;
    pthread_mutex_unlock(&self->lock);
    free(gone->text);
    free(gone);
}

static void tell(crn_changes *self, int result, const crn_error *error)
{
    if (result < 0 && !self->failed)
        crn_log(CRN_LOG_WARNING, "changes: not recorded until the disk takes them: %s",
                error->text);
    if (result == 0 && self->failed)
        crn_log(CRN_LOG_INFO, "changes: are recorded again");
    self->failed = result < 0;
    if (self->plan.note)
        self->plan.note(self->plan.context, result);
}

/* Writes what waits, as far as the disk takes it. */
static void write_waiting(crn_changes *self)
{
    crn_error error;
    waiting_change *one;
    while ((one = first_of(self)) != NULL) {
        if (!one->change.user_name[0])
            name_user(&one->change);
        int r = write_one(self, one, &error);
        tell(self, r, &error);
        if (r < 0)
            return;
        remove_first(self);
    }
}

static void *run(void *argument)
{
    crn_changes *self = argument;
    prctl(PR_SET_NAME, "changes", 0, 0, 0);
    setpriority(PRIO_PROCESS, 0, NICE);
    for (bool stop = false; !stop;) {
        if (self->failed)
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
    while (self->first)
        remove_first(self);
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

/* False: too many wait. */
static bool append(crn_changes *self, waiting_change *one)
{
    pthread_mutex_lock(&self->lock);
    bool fits = one && self->waiting < CRN_CHANGES_WAITING;
    if (fits) {
        one->change.missing = self->missing;
        self->missing = 0;
        *self->end = one;
        self->end = &one->next;
        self->waiting++;
    } else {
        self->missing++;
    }
    pthread_mutex_unlock(&self->lock);
    return fits;
}

void crn_changes_add(crn_changes *changes, const crn_change *change, char *text)
{
    waiting_change *one = changes ? calloc(1, sizeof *one) : NULL;
    if (one) {
        one->change = *change;
        one->change.time_ns = crn_realtime_ns();
        one->text = text;
        if (text)
            crn_sha256_text(text, strlen(text), one->change.after.text);
    }
    if (!changes || !append(changes, one)) {
        free(text);
        free(one);
    } else {
        sem_post(&changes->wake);
    }
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
