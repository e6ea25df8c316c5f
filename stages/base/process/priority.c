#include "stages/base/process/priority.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Above the default SCHED_RR priorities of a machine's processes, below its interrupt threads. */
#define REAL_TIME_PRIORITY 10

/* Without real-time scheduling: enough for a waking line thread not to wait for a worker's
 * time slice. */
#define WORKER_NICE 10

/* Also where the line's thread runs in real time, and its workers keep their priority. */
#define WRITER_NICE 10

#define IO_NICE (-20)

/* The shortest that Linux accepts, and 0: its default, 1.4 ms on two cores,
 * 3 ms on many. */
#define SHORT_SLICE_NS   100000
#define DEFAULT_SLICE_NS 0

bool crn_priority_is_real_time(void)
{
    static atomic_int known; /* 0: not determined, 1: no, 2: yes */
    int answer = atomic_load(&known);
    if (answer == 0) {
        int policy;
        struct sched_param before, wanted = {.sched_priority = REAL_TIME_PRIORITY};
        pthread_getschedparam(pthread_self(), &policy, &before);
        answer = pthread_setschedparam(pthread_self(), SCHED_RR, &wanted) == 0 ? 2 : 1;
        if (answer == 2)
            pthread_setschedparam(pthread_self(), policy, &before);
        atomic_store(&known, answer);
    }
    return answer == 2;
}

void crn_priority_raise(void)
{
    struct sched_param real_time = {.sched_priority = REAL_TIME_PRIORITY};
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    if (crn_priority_is_real_time())
        pthread_setschedparam(pthread_self(), SCHED_RR, &real_time);
}

/* What sched_setattr(2) takes. glibc has neither this nor the function before 2.41, and the
 * kernel's header cannot be included beside glibc's. */
typedef struct sched_attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
} sched_attributes;

static void set_slice(uint64_t slice_ns)
{
    sched_attributes own = {.size = sizeof own};
    if (syscall(SYS_sched_getattr, 0, &own, sizeof own, 0) < 0 ||
        (own.policy != SCHED_OTHER && own.policy != SCHED_BATCH))
        return;
    own.runtime_ns = slice_ns;
    (void)syscall(SYS_sched_setattr, 0, &own, 0);
}

void crn_priority_wake_at_once(void)
{
    set_slice(SHORT_SLICE_NS);
}

crn_priority_saved crn_priority_begin_io(void)
{
    crn_priority_saved saved = {.nice = getpriority(PRIO_PROCESS, 0)};
    struct sched_param before, none = {0};
    pthread_getschedparam(pthread_self(), &saved.policy, &before);
    saved.changed = saved.policy == SCHED_OTHER && setpriority(PRIO_PROCESS, 0, IO_NICE) == 0;
    if (saved.changed)
        pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
    set_slice(SHORT_SLICE_NS); /* last: a new policy brings the default slice */
    return saved;
}

void crn_priority_end_io(const crn_priority_saved *saved)
{
    struct sched_param none = {0};
    if (saved->changed) {
        pthread_setschedparam(pthread_self(), saved->policy, &none);
        setpriority(PRIO_PROCESS, 0, saved->nice);
    }
    set_slice(DEFAULT_SLICE_NS);
}

void crn_priority_lower(void)
{
    /* If the line's thread runs in real time, workers keep their priority: a view that waits for
     * its worker may be lost, one that waits in a socket is not. */
    if (!crn_priority_is_real_time())
        setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + WORKER_NICE);
}

void crn_priority_lower_writer(void)
{
    setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + WRITER_NICE);
}
