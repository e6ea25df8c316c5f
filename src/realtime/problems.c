/* Finds the settings of `realtime` that this machine lacks or this process has no right to. */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/realtime/realtime.h"
#include "stages/base/log.h"
#include "stages/base/process/cpus.h"

typedef struct problem_list {
    crn_realtime_problem *item;
    int count;
} problem_list;

__attribute__((format(printf, 4, 5))) static void add(problem_list *list, const char *key,
                                                      bool fatal, const char *format, ...)
{
    crn_realtime_problem *problem = &list->item[list->count++];
    va_list arguments;
    problem->key = key;
    problem->fatal = fatal;
    va_start(arguments, format);
    vsnprintf(problem->text, sizeof problem->text, format, arguments);
    va_end(arguments);
}

static int highest(const cpu_set_t *cpus)
{
    int cpu = CPU_SETSIZE - 1;
    while (cpu >= 0 && !CPU_ISSET(cpu, cpus))
        cpu--;
    return cpu;
}

/* The kernel narrows a set to the CPUs that are online and in the process's cpuset. */
static void try_cpus(problem_list *list, crn_thread_role role, const cpu_set_t *wanted)
{
    cpu_set_t before, got, missing;
    char text[CRN_CPUS_TEXT], all[CRN_CPUS_TEXT];
    int there = (int)sysconf(_SC_NPROCESSORS_CONF), last = highest(wanted);
    const char *key = crn_realtime_key(role);
    if (last < 0)
        return;
    if (last >= there) {
        add(list, key, true, "there is no CPU %d; this machine has %d, numbered from 0", last,
            there);
        return;
    }
    pthread_getaffinity_np(pthread_self(), sizeof before, &before);
    CPU_ZERO(&got);
    int r = pthread_setaffinity_np(pthread_self(), sizeof *wanted, wanted);
    if (r == 0)
        pthread_getaffinity_np(pthread_self(), sizeof got, &got);
    pthread_setaffinity_np(pthread_self(), sizeof before, &before);
    if (CPU_EQUAL(&got, wanted))
        return;
    CPU_XOR(&missing, wanted, &got);
    add(list, key, false,
        "CPUs %s cannot be used (offline, or outside of this process's cpuset: AllowedCPUs= of a "
        "unit, --cpuset-cpus of a container); these threads run on %s%s",
        crn_cpus_text(&missing, text), r == 0 ? "CPUs " : "any",
        r == 0 ? crn_cpus_text(&got, all) : "");
}

static void try_priority(problem_list *list, const crn_config *config)
{
    struct sched_param before, wanted = {.sched_priority = (int)config->realtime.line_priority};
    struct rlimit limit = {0};
    int policy;
    if (wanted.sched_priority == 0)
        return;
    pthread_getschedparam(pthread_self(), &policy, &before);
    int r = pthread_setschedparam(pthread_self(), SCHED_FIFO, &wanted);
    pthread_setschedparam(pthread_self(), policy, &before);
    if (r == 0)
        return;
    (void)getrlimit(RLIMIT_RTPRIO, &limit);
    add(list, "realtime.line_priority", false,
        "SCHED_FIFO at %d is refused: %s; this process may have priorities up to %llu: raise "
        "LimitRTPRIO= of the unit (ulimit -r); a container needs CAP_SYS_NICE, a control group "
        "cpu.rt_runtime_us",
        wanted.sched_priority, strerror(r), (unsigned long long)limit.rlim_cur);
}

int crn_realtime_try(const crn_config *config,
                     crn_realtime_problem ret_problems[CRN_REALTIME_PROBLEMS_MAX])
{
    problem_list list = {.item = ret_problems};
    for (int role = 0; role < CRN_THREAD_ROLES; role++) {
        cpu_set_t cpus = crn_realtime_cpus(config, (crn_thread_role)role, -1);
        try_cpus(&list, (crn_thread_role)role, &cpus);
    }
    try_priority(&list, config);
    return list.count;
}

void crn_realtime_warn(const crn_config *config)
{
    crn_realtime_problem problems[CRN_REALTIME_PROBLEMS_MAX];
    int count = crn_realtime_try(config, problems);
    for (int i = 0; i < count; i++)
        if (!problems[i].fatal)
            crn_log(CRN_LOG_WARNING, "%s: %s", problems[i].key, problems[i].text);
}
