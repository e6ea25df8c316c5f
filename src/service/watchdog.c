#include "src/service/watchdog.h"

#include <pthread.h>
#include <stdio.h>

#include "stages/base/clock.h"

/* The lock is for the list, which changes when threads start and end. */
static struct {
    pthread_mutex_t lock;
    crn_pulse *first;
    int64_t looked_ns; /* 0: never */
} watchdog = {.lock = PTHREAD_MUTEX_INITIALIZER};

void crn_watchdog_add(crn_pulse *pulse, crn_pulse_kind kind, const char *name)
{
    pthread_mutex_lock(&watchdog.lock);
    pulse->kind = kind;
    snprintf(pulse->name, sizeof pulse->name, "%s", name);
    pulse->next = watchdog.first;
    watchdog.first = pulse;
    pthread_mutex_unlock(&watchdog.lock);
}

void crn_watchdog_remove(crn_pulse *pulse)
{
    pthread_mutex_lock(&watchdog.lock);
    for (crn_pulse **link = &watchdog.first; *link; link = &(*link)->next) {
        if (*link == pulse) {
            *link = pulse->next;
            break;
        }
    }
    pthread_mutex_unlock(&watchdog.lock);
}

/* True if the thread moved since the last look, or need not. */
static bool is_well(crn_pulse *pulse, int64_t now_ns)
{
    uint64_t done = atomic_load_explicit(&pulse->done, memory_order_relaxed);
    bool moved = done != pulse->seen;
    pulse->seen = done;
    bool idle = pulse->kind != CRN_PULSE_ROUNDS &&
                atomic_load_explicit(&pulse->given, memory_order_relaxed) == done;
    int64_t until_ns = atomic_load_explicit(&pulse->until_ns, memory_order_relaxed);
    return moved || idle || (now_ns < until_ns && until_ns != CRN_NEVER_NS) ||
           atomic_load_explicit(&pulse->retired, memory_order_relaxed);
}

void crn_watchdog_look(int64_t now_ns, int64_t step_ns)
{
    pthread_mutex_lock(&watchdog.lock);
    int64_t passed_ns = watchdog.looked_ns ? now_ns - watchdog.looked_ns : 0;
    if (passed_ns > step_ns)
        passed_ns = step_ns;
    watchdog.looked_ns = now_ns;
    for (crn_pulse *pulse = watchdog.first; pulse; pulse = pulse->next) {
        int64_t quiet_ns = crn_pulse_quiet_ns(pulse) + passed_ns;
        atomic_store_explicit(&pulse->quiet_ns, is_well(pulse, now_ns) ? 0 : quiet_ns,
                              memory_order_relaxed);
    }
    pthread_mutex_unlock(&watchdog.lock);
}

bool crn_watchdog_stuck(int64_t limit_ns, char ret_name[CRN_PULSE_NAME_BYTES])
{
    bool stuck = false;
    pthread_mutex_lock(&watchdog.lock);
    for (const crn_pulse *pulse = watchdog.first; pulse && !stuck; pulse = pulse->next) {
        stuck = pulse->kind != CRN_PULSE_APART && crn_pulse_quiet_ns(pulse) >= limit_ns;
        if (stuck)
            snprintf(ret_name, CRN_PULSE_NAME_BYTES, "%s", pulse->name);
    }
    pthread_mutex_unlock(&watchdog.lock);
    return stuck;
}
