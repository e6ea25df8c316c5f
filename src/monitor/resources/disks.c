#include "src/monitor/resources/disks.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "src/monitor/resources/fill.h"
#include "stages/base/clock.h"
#include "stages/base/process/thread.h"

#define NICE 15

#define STEP_NS CRN_NS_PER_S

/* A disk that takes less is only busy. */
#define SILENT_NS CRN_NS_PER_S

#define END_NS CRN_NS_PER_S

/* A disk that lasts longer at the present rate does not fill. */
#define HOURS_MAX (24 * 30)

struct crn_resource_disk_watch {
    char *path;
    int64_t spare_bytes;
    pthread_t thread;
    sem_t wake, ended, answered; /* `answered`: once */
    atomic_bool stop;
    atomic_int holders;   /* the thread, and who reads it: the last one frees it */
    pthread_mutex_t lock; /* of the following */
    int64_t asked_ns;     /* since then it owes an answer; 0: it does not */
    crn_resource_disk disk;
    crn_fill fill; /* the thread's */
};

static void let_go(crn_resource_disk_watch *self)
{
    if (atomic_fetch_sub(&self->holders, 1) > 1)
        return;
    sem_destroy(&self->wake);
    sem_destroy(&self->ended);
    sem_destroy(&self->answered);
    pthread_mutex_destroy(&self->lock);
    free(self->path);
    free(self);
}

static void note_question(crn_resource_disk_watch *self)
{
    pthread_mutex_lock(&self->lock);
    self->asked_ns = crn_now_ns();
    pthread_mutex_unlock(&self->lock);
}

static double hours_left(const crn_resource_disk_watch *self, int64_t free_bytes, double rate)
{
    double left = (double)(free_bytes - self->spare_bytes);
    if (left <= 0)
        return 0; /* whoever filled it writes no more */
    double hours = rate > 0 ? left / rate / 3600 : CRN_RESOURCE_UNKNOWN;
    return hours < HOURS_MAX ? hours : CRN_RESOURCE_UNKNOWN;
}

static void note_answer(crn_resource_disk_watch *self, const struct statvfs *answer)
{
    crn_resource_disk disk = {
        .on = true, .fall_bytes_s = CRN_RESOURCE_UNKNOWN, .hours_left = CRN_RESOURCE_UNKNOWN};
    if (answer) {
        disk.free_bytes = (int64_t)(answer->f_bavail * answer->f_frsize);
        disk.size_bytes = (int64_t)(answer->f_blocks * answer->f_frsize);
        crn_fill_add(&self->fill, crn_now_ns(), disk.free_bytes);
        double rate = crn_fill_rate(&self->fill);
        disk.hours_left = hours_left(self, disk.free_bytes, rate);
        if (crn_resource_known(disk.hours_left) && rate > 0)
            disk.fall_bytes_s = rate;
    }
    pthread_mutex_lock(&self->lock);
    self->asked_ns = 0;
    self->disk = disk;
    pthread_mutex_unlock(&self->lock);
}

static void *run_watch(void *argument)
{
    crn_resource_disk_watch *self = argument;
    prctl(PR_SET_NAME, "disk", 0, 0, 0);
    setpriority(PRIO_PROCESS, 0, NICE);
    while (!atomic_load(&self->stop)) {
        struct statvfs answer;
        note_question(self);
        note_answer(self, statvfs(self->path, &answer) == 0 ? &answer : NULL);
        sem_post(&self->answered);
        (void)crn_sem_wait_until(&self->wake, crn_now_ns() + STEP_NS);
    }
    sem_post(&self->ended);
    let_go(self);
    return NULL;
}

int crn_resource_disk_watch_start(const crn_resource_folder *folder,
                                  crn_resource_disk_watch **ret_watch)
{
    crn_resource_disk_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return -ENOMEM;
    watch->path = strdup(folder->path);
    watch->spare_bytes = folder->spare_bytes;
    watch->disk = (crn_resource_disk){
        .on = true, .fall_bytes_s = CRN_RESOURCE_UNKNOWN, .hours_left = CRN_RESOURCE_UNKNOWN};
    atomic_init(&watch->holders, 2);
    sem_init(&watch->wake, 0, 0);
    sem_init(&watch->ended, 0, 0);
    sem_init(&watch->answered, 0, 0);
    pthread_mutex_init(&watch->lock, NULL);
    int r = watch->path ? crn_thread_start(&watch->thread, run_watch, watch) : -ENOMEM;
    if (r < 0) {
        atomic_store(&watch->holders, 1);
        let_go(watch);
        return r;
    }
    *ret_watch = watch;
    return 0;
}

void crn_resource_disk_watch_await(crn_resource_disk_watch *watch, int64_t until_ns)
{
    if (watch)
        (void)crn_sem_wait_until(&watch->answered, until_ns);
}

void crn_resource_disk_watch_read(crn_resource_disk_watch *watch, int64_t now_ns,
                                  crn_resource_disk *ret_disk)
{
    if (!watch) {
        *ret_disk = (crn_resource_disk){.fall_bytes_s = CRN_RESOURCE_UNKNOWN,
                                        .hours_left = CRN_RESOURCE_UNKNOWN};
        return;
    }
    pthread_mutex_lock(&watch->lock);
    int64_t silent_ns = watch->asked_ns > 0 ? now_ns - watch->asked_ns : 0;
    *ret_disk = watch->disk;
    pthread_mutex_unlock(&watch->lock);
    ret_disk->silent_s = silent_ns >= SILENT_NS ? (double)silent_ns / (double)CRN_NS_PER_S : 0;
}

void crn_resource_disk_watch_stop(crn_resource_disk_watch **watch)
{
    crn_resource_disk_watch *stopping = *watch;
    if (!stopping)
        return;
    *watch = NULL;
    atomic_store(&stopping->stop, true);
    sem_post(&stopping->wake);
    if (crn_sem_wait_until(&stopping->ended, crn_now_ns() + END_NS) == 0)
        pthread_join(stopping->thread, NULL);
    else
        pthread_detach(stopping->thread);
    let_go(stopping);
}
