/* CPUs and priorities of the line's threads. */
#include <pthread.h>
#include <sys/prctl.h>

#include "src/realtime/realtime.h"
#include "src/realtime/stack.h"
#include "stages/base/process/cpus.h"
#include "stages/base/process/priority.h"

static const char *cpus_text(const crn_config *config, crn_thread_role role)
{
    switch (role) {
    case CRN_THREAD_LINE:
        return config->realtime.line_cpus;
    case CRN_THREAD_IO:
        return config->realtime.io_cpus;
    case CRN_THREAD_WORKER:
        return config->realtime.worker_cpus;
    default:
        return config->realtime.device_cpus;
    }
}

const char *crn_realtime_key(crn_thread_role role)
{
    static const char *const keys[] = {"realtime.line_cpus", "realtime.io_cpus",
                                       "realtime.worker_cpus", "realtime.device_cpus"};
    return keys[role];
}

cpu_set_t crn_realtime_cpus(const crn_config *config, crn_thread_role role, int32_t number)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    (void)crn_cpus_parse(cpus_text(config, role), &cpus); /* the config was checked */
    int64_t threads = config->run.threads > 1 ? config->run.threads : 1;
    if (role == CRN_THREAD_WORKER && number >= 0 &&
        CPU_COUNT(&cpus) >= threads * config->run.workers)
        return crn_cpus_slice(&cpus, (int)(number * threads), (int)threads);
    return cpus;
}

int crn_realtime_priority(const crn_config *config, crn_thread_role role)
{
    int line = (int)config->realtime.line_priority;
    int worker = (int)config->realtime.worker_priority;
    switch (role) {
    case CRN_THREAD_LINE:
        return line;
    case CRN_THREAD_IO:
        return worker ? line - 1 : 0;
    case CRN_THREAD_WORKER:
        return worker;
    default:
        return line > 1 ? line - 1 : 0;
    }
}

/* False if there is a priority and it was refused. */
static bool set_priority(const crn_config *config, crn_thread_role role)
{
    struct sched_param param = {.sched_priority = crn_realtime_priority(config, role)};
    return param.sched_priority == 0 ||
           pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) == 0;
}

static void set_cpus(const crn_config *config, crn_thread_role role, int32_t number)
{
    cpu_set_t cpus = crn_realtime_cpus(config, role, number);
    if (CPU_COUNT(&cpus) > 0)
        (void)pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
}

void crn_realtime_enter(const crn_config *config, crn_thread_role role, int32_t number)
{
    set_cpus(config, role, number);
    if (role == CRN_THREAD_LINE)
        crn_priority_raise(); /* where the section's priority is refused, a lower one may not be */
    if (crn_realtime_priority(config, role) > 0)
        prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    bool in_real_time = crn_realtime_priority(config, role) > 0 && set_priority(config, role);
    if (role == CRN_THREAD_WORKER && !in_real_time)
        crn_priority_lower();
    if (!in_real_time)
        crn_priority_wake_at_once();
    if (config->realtime.lock_memory)
        crn_stack_touch();
}

crn_realtime_saved crn_realtime_begin_io(const crn_config *config)
{
    crn_realtime_saved saved;
    pthread_getschedparam(pthread_self(), &saved.policy, &saved.param);
    if (pthread_getaffinity_np(pthread_self(), sizeof saved.cpus, &saved.cpus) != 0)
        CPU_ZERO(&saved.cpus);
    set_cpus(config, CRN_THREAD_IO, 0);
    (void)set_priority(config, CRN_THREAD_IO);
    return saved;
}

void crn_realtime_end_io(const crn_realtime_saved *saved)
{
    pthread_setschedparam(pthread_self(), saved->policy, &saved->param);
    if (CPU_COUNT(&saved->cpus) > 0)
        pthread_setaffinity_np(pthread_self(), sizeof saved->cpus, &saved->cpus);
}
