#include "tools/archive/idle_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "stages/base/process/thread.h"

/* No lock: a thread that gets no processor must hold nothing that another one waits for. */
enum { NOTHING, OFFERED, TAKEN, DONE, STOP };

struct crn_idle_thread {
    _Atomic int state; /* of the work below: who takes it from OFFERED does it */
    int (*work)(void *context);
    void *context;
    int result;
    int64_t waited_ns; /* for a processor, within the last work that this thread did */
    int64_t rest_until_ns;
    sem_t offered; /* may be posted for work that the caller took back */
    sem_t done;    /* once for each work that this thread took */
    pthread_t thread;
};

static bool take(crn_idle_thread *idle, int next)
{
    int offered = OFFERED;
    return atomic_compare_exchange_strong(&idle->state, &offered, next);
}

/* How long the calling thread has waited for a processor so far, by its schedstat; 0: not known. */
static int64_t read_waited(int schedstat)
{
    char text[96] = "";
    int64_t waited_ns = 0;
    if (schedstat >= 0 && pread(schedstat, text, sizeof text - 1, 0) > 0)
        sscanf(text, "%*d %" SCNd64, &waited_ns);
    return waited_ns;
}

static void *run(void *argument)
{
    crn_idle_thread *idle = argument;
    struct sched_param none = {0};
    int schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    prctl(PR_SET_NAME, "idle", 0, 0, 0);
    sched_setscheduler(0, SCHED_IDLE, &none); /* where that is forbidden it is a thread as others */
    for (;;) {
        while (sem_wait(&idle->offered) < 0)
            continue;
        if (atomic_load(&idle->state) == STOP)
            break;
        if (!take(idle, TAKEN))
            continue;
        int64_t before_ns = read_waited(schedstat);
        idle->result = idle->work(idle->context);
        idle->waited_ns = read_waited(schedstat) - before_ns;
        atomic_store(&idle->state, DONE);
        sem_post(&idle->done);
    }
    if (schedstat >= 0)
        close(schedstat);
    return NULL;
}

int crn_idle_thread_start(crn_idle_thread **ret_thread)
{
    crn_idle_thread *idle = calloc(1, sizeof *idle);
    if (!idle)
        return -ENOMEM;
    sem_init(&idle->offered, 0, 0);
    sem_init(&idle->done, 0, 0);
    int r = crn_thread_start(&idle->thread, run, idle);
    if (r < 0) {
        free(idle);
        return r;
    }
    *ret_thread = idle;
    return 0;
}

void crn_idle_thread_stop(crn_idle_thread **thread)
{
    crn_idle_thread *idle = *thread;
    if (!idle)
        return;
    atomic_store(&idle->state, STOP);
    sem_post(&idle->offered);
    pthread_join(idle->thread, NULL);
    sem_destroy(&idle->offered);
    sem_destroy(&idle->done);
    free(idle);
    *thread = NULL;
}

int crn_idle_thread_run(crn_idle_thread *idle, int (*work)(void *context), void *context,
                        const crn_idle_patience *patience)
{
    if (crn_now_ns() < idle->rest_until_ns)
        return work(context);
    idle->work = work;
    idle->context = context;
    atomic_store(&idle->state, OFFERED);
    sem_post(&idle->offered);
    if (crn_sem_wait_until(&idle->done, crn_now_ns() + patience->begin_ns) < 0) {
        if (take(idle, NOTHING))
            return work(context);
        while (sem_wait(&idle->done) < 0)
            continue;
    }
    atomic_exchange(&idle->state, NOTHING); /* all that the work wrote is seen from here on */
    if (idle->waited_ns > patience->within_ns)
        idle->rest_until_ns = crn_now_ns() + patience->rest_ns;
    return idle->result;
}
