#include "src/monitor/conditions/thread.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "src/monitor/conditions/log.h"
#include "stages/base/clock.h"
#include "stages/base/process/thread.h"

/* As that of the HTTP thread: it can wait, a view cannot. */
#define NICE 15

/* Without new numbers it looks so often at their age. */
#define AGAIN_NS (1 * CRN_NS_PER_S)

/* Far below what counts as a jump of the clock. */
#define APART_NS (50 * CRN_NS_PER_MS)

struct crn_conditions {
    crn_snapshots *snapshots;
    crn_condition_watch *watch;
    crn_resources_reader *reader; /* NULL: nothing is known */
    crn_drift *drift;             /* NULL: nothing is compared */
    crn_condition_told *tell;     /* NULL: the log is told alone */
    void *context;
    crn_condition_log log;
    pthread_mutex_t lock; /* for `list` */
    crn_condition_list list;
    sem_t wake; /* new numbers, or the end */
    atomic_bool stop;
    pthread_t thread;
    bool started;
};

static void tell_event(void *context, const crn_condition_held *held, crn_condition_event event)
{
    crn_conditions *conditions = context;
    crn_condition_log_add(&conditions->log, held, event);
    if (conditions->tell)
        conditions->tell(conditions->context, held, event);
}

/* Both clocks at one time: a thread that is held up between the two would see a jump. */
static int64_t read_clocks(int64_t *ret_realtime_ns)
{
    int64_t before_ns, after_ns = crn_now_ns();
    do {
        before_ns = after_ns;
        *ret_realtime_ns = crn_realtime_ns();
        after_ns = crn_now_ns();
    } while (after_ns - before_ns > APART_NS);
    return after_ns;
}

static void look(crn_conditions *conditions)
{
    int64_t realtime_ns, now_ns = read_clocks(&realtime_ns);
    const crn_snapshot *snapshot = crn_snapshots_latest(conditions->snapshots);
    crn_resources resources = {.window_s = 0};
    if (conditions->reader)
        crn_resources_read(conditions->reader, &resources);
    const crn_drift_findings *drift = conditions->drift ? crn_drift_look(conditions->drift) : NULL;
    crn_condition_watch_look(conditions->watch, snapshot, &resources, drift, now_ns, realtime_ns);
    crn_condition_log_write(&conditions->log);
    pthread_mutex_lock(&conditions->lock);
    conditions->list = *crn_condition_watch_list(conditions->watch);
    pthread_mutex_unlock(&conditions->lock);
}

static void *run(void *argument)
{
    crn_conditions *conditions = argument;
    prctl(PR_SET_NAME, "conditions", 0, 0, 0);
    setpriority(PRIO_PROCESS, 0, NICE);
    for (;;) {
        (void)crn_sem_wait_until(&conditions->wake, crn_now_ns() + AGAIN_NS);
        while (sem_trywait(&conditions->wake) == 0) /* one look for all of them */
            continue;
        if (atomic_load(&conditions->stop))
            break;
        look(conditions);
    }
    return NULL;
}

int crn_conditions_open(const crn_config *config, crn_resources_reader *reader, crn_drift *drift,
                        crn_condition_told *tell, void *context, crn_conditions **ret_conditions)
{
    crn_conditions *conditions = calloc(1, sizeof *conditions);
    if (!conditions)
        return -ENOMEM;
    conditions->reader = reader;
    conditions->drift = drift;
    conditions->tell = tell;
    conditions->context = context;
    pthread_mutex_init(&conditions->lock, NULL);
    sem_init(&conditions->wake, 0, 0);
    int r = crn_snapshots_create((int32_t)config->limits.lanes, &conditions->snapshots);
    if (r == 0)
        r = crn_condition_watch_create(config, crn_now_ns(), tell_event, conditions,
                                       &conditions->watch);
    if (r == 0)
        r = crn_thread_start(&conditions->thread, run, conditions);
    conditions->started = r == 0;
    if (r < 0)
        crn_conditions_close(&conditions);
    *ret_conditions = conditions;
    return r;
}

void crn_conditions_close(crn_conditions **conditions)
{
    crn_conditions *closed = *conditions;
    if (!closed)
        return;
    if (closed->started) {
        atomic_store(&closed->stop, true);
        sem_post(&closed->wake);
        pthread_join(closed->thread, NULL);
    }
    crn_condition_watch_free(&closed->watch);
    crn_snapshots_free(&closed->snapshots);
    sem_destroy(&closed->wake);
    pthread_mutex_destroy(&closed->lock);
    free(closed);
    *conditions = NULL;
}

crn_snapshots *crn_conditions_snapshots(crn_conditions *conditions)
{
    return conditions->snapshots;
}

void crn_conditions_look(crn_conditions *conditions)
{
    sem_post(&conditions->wake);
}

void crn_conditions_get(crn_conditions *conditions, crn_condition_list *ret_list)
{
    pthread_mutex_lock(&conditions->lock);
    *ret_list = conditions->list;
    pthread_mutex_unlock(&conditions->lock);
}
