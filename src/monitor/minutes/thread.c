#include "src/monitor/minutes/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "src/monitor/minutes/file.h"
#include "src/monitor/minutes/split.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "stages/base/process/thread.h"

#define NICE 15

struct crn_minutes {
    crn_minute_counter *counter;
    sem_t wake; /* posted for each minute that is over, and for `stopped` */
    atomic_bool stopped;
    pthread_t thread;
    bool started;
    pthread_mutex_t lock; /* of the table, its version, and the totals */
    crn_minutes_table *table;
    uint64_t version; /* changes of the table */
    crn_minutes_totals totals;
    crn_minutes_file *file; /* the thread's */
    bool failing;           /* the disk refused what was written last */
    bool is_missing_class;  /* pages lack one, and the log says so */
    bool is_missing_name;   /* records lack one, the same */
    /* Both clocks' difference when the table was filled: another one after the clock was set. */
    int64_t realtime_offset_ns;
    bool is_clock_set; /* since then, if only for a record's time */
};

/* --- the thread --- */

/* Notes whether the clock was set, by the time that it shows now. */
static void note_clock(crn_minutes *minutes, int64_t realtime_ns)
{
    int64_t set_ns = realtime_ns - crn_now_ns() - minutes->realtime_offset_ns;
    minutes->is_clock_set |= llabs(set_ns) >= CRN_MINUTE_NS;
}

/* `table`: the one that pages see, with the lock held, or another one. */
static void add(crn_minutes *minutes, crn_minutes_table *table, const crn_minute_record *record)
{
    int64_t realtime_ns = crn_realtime_ns();
    bool has_all = crn_minutes_table_add(table, record, crn_minutes_file_names(minutes->file),
                                         realtime_ns / CRN_MINUTE_NS);
    note_clock(minutes, realtime_ns);
    if (!has_all && !minutes->is_missing_class)
        crn_log(CRN_LOG_WARNING,
                "minutes: pages lack some classes, as there are more than %d in an hour, or %d in "
                "62 days; the file in state.dir has them",
                CRN_CLASSES_MAX, CRN_MINUTES_COLUMNS);
    minutes->is_missing_class |= !has_all;
}

static void show(crn_minutes *minutes, const crn_minute_record *record)
{
    pthread_mutex_lock(&minutes->lock);
    add(minutes, minutes->table, record);
    minutes->version++;
    pthread_mutex_unlock(&minutes->lock);
}

static void add_totals(crn_minutes *minutes, const crn_minute_sums *sums)
{
    pthread_mutex_lock(&minutes->lock);
    for (int32_t i = 0; i < sums->class_count; i++)
        if (crn_minute_split_has(sums, &sums->classes[i]))
            crn_minutes_totals_add(&minutes->totals, sums->classes[i].name, sums->looked_for,
                                   sums->classes[i].fruits);
    pthread_mutex_unlock(&minutes->lock);
}

/* Logs that the disk begins to fail, or does it no longer. */
static void note(crn_minutes *minutes, int r)
{
    bool fails = r < 0;
    if (fails && !minutes->failing)
        crn_log(CRN_LOG_ERROR,
                "minutes: the file in state.dir cannot be written: %s; the history will lack what "
                "is counted until it can be: check the disk",
                strerror(-r));
    else if (!fails && minutes->failing)
        crn_log(CRN_LOG_INFO, "minutes: the file in state.dir can be written again");
    minutes->failing = fails;
}

static uint32_t name(crn_minutes *minutes, crn_minutes_name_kind kind, const char *text)
{
    uint32_t number = crn_minutes_file_name(minutes->file, kind, text);
    bool is_full = number == 0 && text[0] && !crn_minutes_file_has_room(minutes->file, kind);
    if (is_full && !minutes->is_missing_name)
        crn_log(CRN_LOG_WARNING,
                "minutes: the file in state.dir has no room for new names, such as '%s': what is "
                "counted from now on does not say so; move the file away and start again for a "
                "new one",
                text);
    minutes->is_missing_name |= is_full;
    return number;
}

/* Returns 0 or a negative errno: the file lacks it, or a part of it. */
static int keep(crn_minutes *minutes, const crn_minute_sums *sums)
{
    crn_minute_record record;
    crn_minute_split split = {.sums = sums};
    int r = 0;
    split.recipe = name(minutes, CRN_MINUTES_RECIPE, sums->recipe);
    split.lot = name(minutes, CRN_MINUTES_LOT, sums->lot);
    for (int32_t i = 0; i < sums->class_count; i++)
        if (crn_minute_split_has(sums, &sums->classes[i]))
            split.classes[i] = name(minutes, CRN_MINUTES_CLASS, sums->classes[i].name);
    while (crn_minute_split_next(&split, &record)) {
        show(minutes, &record);
        if (r == 0)
            r = crn_minutes_file_write(minutes->file, &record);
    }
    return r;
}

static void keep_all(crn_minutes *minutes)
{
    crn_minute_sums *sums;
    int r = 0;
    bool any = false, is_mixed = false;
    while ((sums = crn_minute_counter_take(minutes->counter))) {
        int kept = keep(minutes, sums);
        add_totals(minutes, sums);
        r = r < 0 ? r : kept;
        any = true;
        is_mixed |= sums->is_mixed;
        crn_minute_counter_give_back(minutes->counter, sums);
    }
    if (is_mixed)
        crn_log(CRN_LOG_WARNING,
                "minutes: the disk of state.dir hung for so long that fruits of several lots or "
                "recipes were counted together; the history names neither for these: check the "
                "disk");
    if (any)
        note(minutes, r < 0 ? r : crn_minutes_file_sync(minutes->file));
}

/* In memory alone. 0 or -ENOMEM. */
static int do_without_file(crn_minutes *minutes, const crn_error *why)
{
    crn_error error;
    crn_log(CRN_LOG_WARNING, "minutes: a restart will forget the history: %s", why->text);
    crn_minutes_file_close(&minutes->file);
    return crn_minutes_file_open(NULL, 0, &minutes->file, &error);
}

/* In place of what pages see. 0 or -ENOMEM. */
static int show_file(crn_minutes *minutes)
{
    crn_minutes_table *filled, *before;
    crn_minute_record record;
    int r = crn_minutes_table_create(&filled);
    if (r < 0)
        return r;
    minutes->realtime_offset_ns = crn_realtime_ns() - crn_now_ns();
    minutes->is_clock_set = false;
    while ((r = crn_minutes_file_next(minutes->file, &record)) > 0)
        add(minutes, filled, &record);
    if (r < 0)
        crn_log(CRN_LOG_WARNING, "minutes: a part of the history cannot be read: %s", strerror(-r));
    pthread_mutex_lock(&minutes->lock);
    before = minutes->table;
    minutes->table = filled;
    minutes->version++;
    pthread_mutex_unlock(&minutes->lock);
    crn_minutes_table_free(&before);
    return 0;
}

/* Which rows there are depends on what was the present when they came: after the clock was set they
 * come from the file again, if that has them all. */
static void follow_clock(crn_minutes *minutes)
{
    note_clock(minutes, crn_realtime_ns());
    if (!minutes->failing && minutes->is_clock_set && crn_minutes_file_rewind(minutes->file))
        show_file(minutes);
}

/* Shows what the file has. 0 or -ENOMEM. */
static int load(crn_minutes *minutes)
{
    crn_error error;
    int r = crn_minutes_file_load(minutes->file, &error);
    if (r < 0) {
        r = do_without_file(minutes, &error);
        return r < 0 ? r : crn_minutes_file_load(minutes->file, &error);
    }
    return show_file(minutes);
}

static void *run(void *argument)
{
    crn_minutes *minutes = argument;
    prctl(PR_SET_NAME, "minutes", 0, 0, 0);
    setpriority(PRIO_PROCESS, 0, NICE);
    if (load(minutes) < 0) {
        crn_minutes_file_close(&minutes->file);
        crn_log(CRN_LOG_WARNING, "minutes: no memory; there will be no history");
        return NULL;
    }
    for (bool stop = false; !stop;) {
        while (sem_wait(&minutes->wake) < 0)
            continue;
        stop = atomic_load(&minutes->stopped);
        keep_all(minutes);
        follow_clock(minutes);
    }
    return NULL;
}

/* --- what others call --- */

/* 0 or -ENOMEM. */
static int open_file(crn_minutes *minutes, const char *dir, uint32_t records)
{
    crn_error error;
    if (!dir[0])
        crn_log(CRN_LOG_INFO, "minutes: a restart forgets the history, as state.dir is empty and "
                              "systemd gave no folder (StateDirectory=)");
    int r = crn_minutes_file_open(dir[0] ? dir : NULL, records, &minutes->file, &error);
    return r < 0 ? do_without_file(minutes, &error) : r;
}

int crn_minutes_start(const char *dir, uint32_t records, int32_t lanes, crn_minutes **ret_minutes)
{
    crn_minutes *minutes = calloc(1, sizeof *minutes);
    if (!minutes)
        return -ENOMEM;
    pthread_mutex_init(&minutes->lock, NULL);
    sem_init(&minutes->wake, 0, 0);
    int r = crn_minutes_table_create(&minutes->table);
    if (r == 0)
        r = open_file(minutes, dir, records);
    if (r == 0)
        r = crn_minute_counter_create(lanes, &minutes->wake, &minutes->counter);
    if (r == 0) {
        r = crn_thread_start(&minutes->thread, run, minutes);
        minutes->started = r == 0;
    }
    if (r < 0)
        crn_minutes_stop(&minutes);
    *ret_minutes = minutes;
    return r;
}

void crn_minutes_stop(crn_minutes **minutes)
{
    crn_minutes *stopped = *minutes;
    if (!stopped)
        return;
    if (stopped->started) {
        atomic_store(&stopped->stopped, true);
        sem_post(&stopped->wake);
        pthread_join(stopped->thread, NULL);
        crn_minute_counter_look(stopped->counter, 0, true); /* now it has room for all */
        if (stopped->file)
            keep_all(stopped);
    }
    crn_minutes_file_close(&stopped->file);
    crn_minutes_table_free(&stopped->table);
    crn_minute_counter_free(&stopped->counter);
    sem_destroy(&stopped->wake);
    pthread_mutex_destroy(&stopped->lock);
    free(stopped);
    *minutes = NULL;
}

crn_minute_counter *crn_minutes_counter(crn_minutes *minutes)
{
    return minutes->counter;
}

uint64_t crn_minutes_put(crn_minutes *minutes, const crn_minutes_query *query, crn_encoder *encoder)
{
    pthread_mutex_lock(&minutes->lock);
    crn_minutes_table_put(minutes->table, query, encoder);
    uint64_t version = minutes->version;
    pthread_mutex_unlock(&minutes->lock);
    return version;
}

void crn_minutes_hour_get(crn_minutes *minutes, crn_minutes_hour *ret_hour)
{
    pthread_mutex_lock(&minutes->lock);
    crn_minutes_table_hour(minutes->table, crn_realtime_ns() / CRN_MINUTE_NS, ret_hour);
    pthread_mutex_unlock(&minutes->lock);
}

void crn_minutes_totals_get(crn_minutes *minutes, crn_minutes_totals *ret_totals)
{
    pthread_mutex_lock(&minutes->lock);
    *ret_totals = minutes->totals;
    pthread_mutex_unlock(&minutes->lock);
}

uint64_t crn_minutes_version(crn_minutes *minutes)
{
    pthread_mutex_lock(&minutes->lock);
    uint64_t version = minutes->version;
    pthread_mutex_unlock(&minutes->lock);
    return version;
}
