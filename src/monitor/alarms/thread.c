#include "src/monitor/alarms/thread.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "src/monitor/alarms/file.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "stages/base/process/thread.h"

/* As that of the conditions' thread: it can wait, a view cannot. */
#define NICE 15

struct crn_alarms {
    pthread_mutex_t lock; /* for `book` and `stop` */
    crn_alarm_book *book;
    bool stop;
    crn_alarm_file *file; /* the thread's while it runs; NULL: in memory alone */
    sem_t wake;           /* something changed, or the end */
    pthread_t thread;
    bool started;
};

static int64_t now_in_ms(void)
{
    return crn_realtime_ns() / CRN_NS_PER_MS;
}

/* --- the thread --- */

/* The next alarm that changed, copied; false: this round has no more. */
static bool take_changed(crn_alarms *alarms, uint32_t *at, crn_alarm *ret_alarm)
{
    pthread_mutex_lock(&alarms->lock);
    bool taken = crn_alarm_book_take_changed(alarms->book, at, ret_alarm);
    pthread_mutex_unlock(&alarms->lock);
    return taken;
}

/* Writes what changed. A disk that failed once may hold anything of what it was given, so that
 * nothing is written to it again. */
static void write_changed(crn_alarms *alarms)
{
    crn_alarm alarm;
    uint32_t at = 0;
    int r = 0;
    if (!alarms->file)
        return;
    while (r == 0 && take_changed(alarms, &at, &alarm))
        r = crn_alarm_file_write(alarms->file, &alarm);
    if (r == 0)
        r = crn_alarm_file_sync(alarms->file);
    if (r == 0)
        return;
    crn_log(CRN_LOG_ERROR,
            "alarms: the file in state.dir cannot be written: %s; the list is in memory alone "
            "until the next start: check the disk",
            strerror(-r));
    crn_alarm_file_close(&alarms->file);
}

static void *run(void *argument)
{
    crn_alarms *alarms = argument;
    prctl(PR_SET_NAME, "alarms", 0, 0, 0);
    setpriority(PRIO_PROCESS, 0, NICE);
    for (bool stop = false; !stop;) {
        while (sem_wait(&alarms->wake) < 0)
            continue;
        while (sem_trywait(&alarms->wake) == 0) /* one round for all of them */
            continue;
        pthread_mutex_lock(&alarms->lock);
        stop = alarms->stop;
        pthread_mutex_unlock(&alarms->lock);
        write_changed(alarms);
    }
    return NULL;
}

/* --- open and close --- */

static void open_file(crn_alarms *alarms, const char *dir)
{
    crn_error error;
    if (!dir[0])
        crn_log(CRN_LOG_INFO, "alarms: a restart forgets the list, as state.dir is empty and "
                              "systemd gave no folder (StateDirectory=)");
    else if (crn_alarm_file_open(dir, alarms->book, &alarms->file, &error) < 0)
        crn_log(CRN_LOG_WARNING, "alarms: a restart will forget the list: %s", error.text);
}

int crn_alarms_open(const char *dir, crn_alarms **ret_alarms)
{
    crn_alarms *alarms = calloc(1, sizeof *alarms);
    if (!alarms)
        return -ENOMEM;
    pthread_mutex_init(&alarms->lock, NULL);
    sem_init(&alarms->wake, 0, 0);
    int r = crn_alarm_book_create(now_in_ms(), &alarms->book);
    if (r == 0)
        open_file(alarms, dir);
    if (r == 0)
        crn_alarm_book_clear_all(alarms->book, now_in_ms());
    if (r == 0 && alarms->file) {
        sem_post(&alarms->wake); /* for what was cleared */
        r = crn_thread_start(&alarms->thread, run, alarms);
        alarms->started = r == 0;
    }
    if (r < 0)
        crn_alarms_close(&alarms);
    *ret_alarms = alarms;
    return r;
}

void crn_alarms_close(crn_alarms **alarms)
{
    crn_alarms *closed = *alarms;
    if (!closed)
        return;
    if (closed->started) {
        pthread_mutex_lock(&closed->lock);
        crn_alarm_book_clear_all(closed->book, now_in_ms());
        closed->stop = true;
        pthread_mutex_unlock(&closed->lock);
        sem_post(&closed->wake);
        pthread_join(closed->thread, NULL);
    }
    crn_alarm_file_close(&closed->file);
    crn_alarm_book_free(&closed->book);
    sem_destroy(&closed->wake);
    pthread_mutex_destroy(&closed->lock);
    free(closed);
    *alarms = NULL;
}

/* --- what others do with the list --- */

void crn_alarms_tell(void *alarms, const crn_condition_held *held, crn_condition_event event)
{
    crn_alarms *told = alarms;
    if (event == CRN_CONDITION_HOLDS)
        return;
    pthread_mutex_lock(&told->lock);
    if (event == CRN_CONDITION_RAISED)
        crn_alarm_book_raise(told->book, held->row, &held->values, now_in_ms());
    else
        crn_alarm_book_clear(told->book, held->row, held->values.lane, now_in_ms());
    pthread_mutex_unlock(&told->lock);
    sem_post(&told->wake);
}

crn_alarm_summary crn_alarms_summary(crn_alarms *alarms)
{
    pthread_mutex_lock(&alarms->lock);
    crn_alarm_summary summary = crn_alarm_book_summary(alarms->book, now_in_ms());
    pthread_mutex_unlock(&alarms->lock);
    return summary;
}

bool crn_alarms_get(crn_alarms *alarms, uint64_t number, crn_alarm *ret_alarm)
{
    pthread_mutex_lock(&alarms->lock);
    const crn_alarm *found = crn_alarm_book_find(alarms->book, number);
    bool told = found && crn_alarm_is_told(found, now_in_ms());
    if (told)
        *ret_alarm = *found;
    pthread_mutex_unlock(&alarms->lock);
    return told;
}

crn_alarm_range crn_alarms_kept(crn_alarms *alarms)
{
    pthread_mutex_lock(&alarms->lock);
    crn_alarm_range kept = {.oldest = crn_alarm_book_oldest(alarms->book),
                            .newest = crn_alarm_book_newest(alarms->book)};
    pthread_mutex_unlock(&alarms->lock);
    return kept;
}

/* The alarm's sentence, for the log. */
static void log_change(crn_alarms *alarms, uint64_t number, const char *change, const char *by)
{
    crn_alarm alarm;
    char what[CRN_CONDITION_TEXT_BYTES];
    if (crn_alarms_get(alarms, number, &alarm))
        crn_log(CRN_LOG_INFO, "alarm %" PRIu64 " %s by %s: %s [%s]", number, change, by,
                crn_condition_text(alarm.row->words[CRN_ENGLISH].what, &alarm.values, what),
                alarm.row->id);
}

int crn_alarms_acknowledge(crn_alarms *alarms, uint64_t number, const char *by)
{
    pthread_mutex_lock(&alarms->lock);
    int count = crn_alarm_book_acknowledge(alarms->book, number, by, now_in_ms());
    pthread_mutex_unlock(&alarms->lock);
    sem_post(&alarms->wake);
    if (count > 0)
        log_change(alarms, number, "acknowledged", by);
    return count;
}

int crn_alarms_acknowledge_to(crn_alarms *alarms, uint64_t number, const char *by)
{
    pthread_mutex_lock(&alarms->lock);
    uint64_t newest = crn_alarm_book_newest(alarms->book);
    if (number > newest)
        number = newest;
    int count = crn_alarm_book_acknowledge_to(alarms->book, number, by, now_in_ms());
    pthread_mutex_unlock(&alarms->lock);
    sem_post(&alarms->wake);
    if (count > 0)
        crn_log(CRN_LOG_INFO, "%d alarms acknowledged by %s, up to number %" PRIu64, count, by,
                number);
    return count;
}

int crn_alarms_shelve(crn_alarms *alarms, uint64_t number, int64_t minutes, const char *by)
{
    char change[64] = "no longer shelved";
    pthread_mutex_lock(&alarms->lock);
    int count = crn_alarm_book_shelve(alarms->book, number, minutes, now_in_ms());
    pthread_mutex_unlock(&alarms->lock);
    sem_post(&alarms->wake);
    if (minutes > 0)
        snprintf(change, sizeof change, "shelved for %" PRId64 " min", minutes);
    if (count > 0)
        log_change(alarms, number, change, by);
    return count;
}
