/* How late a sleeping thread wakes, measured: as cyclictest does. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "src/realtime/realtime.h"
#include "src/self_check/internal.h"
#include "stages/base/clock.h"

#define INTERVAL_NS      CRN_NS_PER_MS
#define DEFAULT_GUARD_MS 2
#define DEFAULT_PRIORITY 10

#define COST                                                                                       \
    "the line's thread wakes as late for views and deadlines; past latency.guard_ms verdicts "     \
    "leave after their deadline"
#define CURE_REAL_TIME "LimitRTPRIO=99 in the unit, and realtime.line_priority"
#define CURE_BUSY      "isolcpus= on the kernel's command line, and realtime.line_cpus"

typedef struct wake_up_request {
    const crn_self_check *check;
    int policy, priority;
    int fault; /* errno of the scheduling */
    int64_t *late_ns;
} wake_up_request;

static void sleep_often(const wake_up_request *request)
{
    int64_t next_ns = crn_now_ns();
    for (int32_t i = 0; i < request->check->wake_ups; i++) {
        next_ns += INTERVAL_NS;
        struct timespec until = {next_ns / CRN_NS_PER_S, next_ns % CRN_NS_PER_S};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
            continue;
        int64_t now_ns = crn_now_ns();
        request->late_ns[i] = now_ns - next_ns;
        if (now_ns > next_ns + INTERVAL_NS)
            next_ns = now_ns; /* one late wake-up is one, not several */
    }
}

/* In a thread of its own, so that nothing is left of the scheduling. */
static void *measure(void *argument)
{
    wake_up_request *request = argument;
    struct sched_param param = {.sched_priority = request->priority};
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* as the line's thread */
    if (request->check->config) {
        cpu_set_t cpus = crn_realtime_cpus(request->check->config, CRN_THREAD_LINE, 0);
        if (CPU_COUNT(&cpus) > 0)
            (void)pthread_setaffinity_np(pthread_self(), sizeof cpus, &cpus);
    }
    request->fault = pthread_setschedparam(pthread_self(), request->policy, &param);
    if (request->fault == 0)
        sleep_often(request);
    return NULL;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void report(crn_self_check *check, const char *name, bool decides, const char *cure,
                   int64_t *late_ns)
{
    int32_t count = check->wake_ups;
    int64_t guard_ms = check->config ? check->config->latency.guard_ms : DEFAULT_GUARD_MS;
    qsort(late_ns, (size_t)count, sizeof *late_ns, compare);
    int64_t p99_ns = late_ns[(int64_t)(count - 1) * 99 / 100], max_ns = late_ns[count - 1];
    crn_finding_level level = p99_ns > guard_ms * CRN_NS_PER_MS && decides ? CRN_FINDING_BAD
                              : max_ns > guard_ms * CRN_NS_PER_MS          ? CRN_FINDING_NOTE
                                                                           : CRN_FINDING_OK;
    crn_self_check_add(
        check, name, level, COST, cure, "p50 %.1f us, p99 %.1f us, max %.1f us of %d, 1 ms apart",
        (double)late_ns[count / 2] / 1e3, (double)p99_ns / 1e3, (double)max_ns / 1e3, count);
}

/* 0 or a positive errno. */
static int run(wake_up_request *request)
{
    pthread_t thread;
    int r = pthread_create(&thread, NULL, measure, request);
    if (r == 0)
        pthread_join(thread, NULL);
    return r ? r : request->fault;
}

void crn_self_check_wake_up(crn_self_check *check)
{
    int64_t asked = check->config ? check->config->realtime.line_priority : 0;
    int64_t *late_ns = calloc((size_t)check->wake_ups, sizeof *late_ns);
    wake_up_request normal = {.check = check, .policy = SCHED_OTHER, .late_ns = late_ns};
    wake_up_request fifo = {
        .check = check, .policy = SCHED_FIFO, .priority = asked ? (int)asked : DEFAULT_PRIORITY};
    fifo.late_ns = calloc((size_t)check->wake_ups, sizeof *fifo.late_ns);
    if (late_ns && fifo.late_ns) {
        int r = run(&normal), refused = run(&fifo);
        /* The line uses real time where it may: then that decides. */
        if (r == 0)
            report(check, "wake-up, normal", refused != 0, CURE_REAL_TIME, late_ns);
        if (refused)
            crn_self_check_add(check, "wake-up, real time",
                               asked ? CRN_FINDING_BAD : CRN_FINDING_NOTE, COST, CURE_REAL_TIME,
                               "not measured: SCHED_FIFO is refused: %s", strerror(refused));
        else
            report(check, "wake-up, real time", true, CURE_BUSY, fifo.late_ns);
    }
    free(late_ns);
    free(fifo.late_ns);
}
