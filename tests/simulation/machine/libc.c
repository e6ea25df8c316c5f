/*
 * The C library's calls that wait, start threads or read a clock, in simulated time. The program is
 * linked with `--wrap` for each, so the shipped objects run as they are. Outside a simulation they
 * are the C library's.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "tests/simulation/machine/descriptors.h"
#include "tests/simulation/machine/schedule.h"
#include "tests/simulation/machine/wrap.h"

/* --- clocks ----------------------------------------------------------------------------------- */

CRN_SIM_WRAP(int, clock_gettime, clockid_t clock, struct timespec *now)
{
    if (!sim_is_active())
        return __real_clock_gettime(clock, now);
    int64_t now_ns = sim_read_clock_ns();
    if (clock == CLOCK_REALTIME)
        now_ns = sim_realtime_ns();
    *now = (struct timespec){.tv_sec = now_ns / CRN_NS_PER_S, .tv_nsec = now_ns % CRN_NS_PER_S};
    return 0;
}

CRN_SIM_WRAP(time_t, time, time_t *now)
{
    if (!sim_is_active())
        return __real_time(now);
    return (time_t)(sim_realtime_ns() / CRN_NS_PER_S);
}

static int64_t ns_of(const struct timespec *time)
{
    return time ? time->tv_sec * CRN_NS_PER_S + time->tv_nsec : CRN_NEVER_NS;
}

/* --- threads ---------------------------------------------------------------------------------- */

CRN_SIM_WRAP(int, pthread_create, pthread_t *thread, const pthread_attr_t *attributes,
             void *(*run)(void *), void *argument)
{
    if (!sim_is_active())
        return __real_pthread_create(thread, attributes, run, argument);
    *thread = (pthread_t)(uintptr_t)sim_start(run, argument);
    return 0;
}

CRN_SIM_WRAP(int, pthread_join, pthread_t thread, void **result)
{
    if (!sim_is_active())
        return __real_pthread_join(thread, result);
    void *returned = sim_join((sim_thread *)(uintptr_t)thread);
    if (result)
        *result = returned;
    return 0;
}

static bool unlock_comes(void *mutex)
{
    if (pthread_mutex_trylock(mutex) != 0)
        return false;
    pthread_mutex_unlock(mutex);
    return true;
}

CRN_SIM_WRAP(int, pthread_mutex_lock, pthread_mutex_t *mutex)
{
    if (!sim_is_active())
        return __real_pthread_mutex_lock(mutex);
    while (pthread_mutex_trylock(mutex) != 0)
        sim_wait(unlock_comes, mutex, INT64_MAX);
    return 0;
}

/* The list of a thread's clean-up functions: no simulated thread is cancelled. */
CRN_SIM_WRAP(void, __pthread_register_cancel, void *buffer)
{
    if (!sim_is_active())
        __real___pthread_register_cancel(buffer);
}

CRN_SIM_WRAP(void, __pthread_unregister_cancel, void *buffer)
{
    if (!sim_is_active())
        __real___pthread_unregister_cancel(buffer);
}

/* What they name and set is the only real thread. */
CRN_SIM_WRAP(int, pthread_setname_np, pthread_t thread, const char *name)
{
    return sim_is_active() ? 0 : __real_pthread_setname_np(thread, name);
}

CRN_SIM_WRAP(int, pthread_setschedparam, pthread_t thread, int policy,
             const struct sched_param *param)
{
    return sim_is_active() ? 0 : __real_pthread_setschedparam(thread, policy, param);
}

CRN_SIM_WRAP(int, setpriority, __priority_which_t which, id_t who, int value)
{
    return sim_is_active() ? 0 : __real_setpriority(which, who, value);
}

int __wrap_prctl(int option, ...);
int __wrap_prctl(int option, ...)
{
    (void)option; /* names and timer slack */
    return 0;
}

/* --- semaphores ------------------------------------------------------------------------------- */

static bool is_posted(void *semaphore)
{
    int value = 0;
    sem_getvalue(semaphore, &value);
    return value > 0;
}

static int wait_until(sem_t *semaphore, int64_t until_ns)
{
    while (sem_trywait(semaphore) < 0)
        if (!sim_wait(is_posted, semaphore, until_ns)) {
            errno = ETIMEDOUT;
            return -1;
        }
    return 0;
}

CRN_SIM_WRAP(int, sem_wait, sem_t *semaphore)
{
    return sim_is_active() ? wait_until(semaphore, INT64_MAX) : __real_sem_wait(semaphore);
}

CRN_SIM_WRAP(int, sem_clockwait, sem_t *semaphore, clockid_t clock, const struct timespec *until)
{
    return sim_is_active() ? wait_until(semaphore, ns_of(until))
                           : __real_sem_clockwait(semaphore, clock, until);
}

CRN_SIM_WRAP(int, sem_post, sem_t *semaphore)
{
    int r = __real_sem_post(semaphore);
    if (sim_is_active())
        sim_preempt();
    return r;
}

/* --- descriptors ------------------------------------------------------------------------------ */

static struct {
    bool open;
    uint64_t count;              /* of an eventfd */
    const bool *socket_readable; /* a socket's; NULL: an eventfd */
} table[CRN_SIM_DESCRIPTORS_MAX];

static int take_descriptor(const bool *socket_readable)
{
    for (int i = 0; i < CRN_SIM_DESCRIPTORS_MAX; i++)
        if (!table[i].open) {
            table[i].open = true;
            table[i].count = 0;
            table[i].socket_readable = socket_readable;
            return CRN_SIM_DESCRIPTOR_FIRST + i;
        }
    abort();
}

int sim_descriptor_of(const bool *readable)
{
    return take_descriptor(readable);
}

void sim_descriptor_close(int descriptor)
{
    table[descriptor - CRN_SIM_DESCRIPTOR_FIRST].open = false;
}

int sim_descriptors_open(void)
{
    int open = 0;
    for (int i = 0; i < CRN_SIM_DESCRIPTORS_MAX; i++)
        open += table[i].open;
    return open;
}

void sim_descriptors_forget(void)
{
    for (int i = 0; i < CRN_SIM_DESCRIPTORS_MAX; i++)
        table[i].open = false;
}

static bool is_simulated(int descriptor)
{
    return descriptor >= CRN_SIM_DESCRIPTOR_FIRST &&
           descriptor < CRN_SIM_DESCRIPTOR_FIRST + CRN_SIM_DESCRIPTORS_MAX;
}

static bool is_readable(int descriptor)
{
    int i = descriptor - CRN_SIM_DESCRIPTOR_FIRST;
    if (!table[i].open)
        abort(); /* polled after its end */
    return table[i].socket_readable ? *table[i].socket_readable : table[i].count > 0;
}

CRN_SIM_WRAP(int, eventfd, unsigned count, int flags)
{
    return sim_is_active() ? take_descriptor(NULL) : __real_eventfd(count, flags);
}

CRN_SIM_WRAP(ssize_t, read, int descriptor, void *bytes, size_t size)
{
    if (!is_simulated(descriptor))
        return __real_read(descriptor, bytes, size);
    uint64_t *count = &table[descriptor - CRN_SIM_DESCRIPTOR_FIRST].count;
    if (*count == 0) {
        errno = EAGAIN;
        return -1;
    }
    *(uint64_t *)bytes = *count;
    *count = 0;
    return sizeof *count;
}

CRN_SIM_WRAP(ssize_t, write, int descriptor, const void *bytes, size_t size)
{
    if (!is_simulated(descriptor))
        return __real_write(descriptor, bytes, size);
    table[descriptor - CRN_SIM_DESCRIPTOR_FIRST].count += *(const uint64_t *)bytes;
    sim_preempt();
    return sizeof(uint64_t);
}

CRN_SIM_WRAP(int, close, int descriptor)
{
    if (!is_simulated(descriptor))
        return __real_close(descriptor);
    sim_descriptor_close(descriptor);
    return 0;
}

typedef struct polled {
    struct pollfd *items;
    nfds_t count;
} polled;

static bool any_readable(void *argument)
{
    const polled *all = argument;
    for (nfds_t i = 0; i < all->count; i++)
        if (all->items[i].fd >= 0 && is_readable(all->items[i].fd))
            return true;
    return false;
}

static int poll_until(struct pollfd *items, nfds_t count, int64_t until_ns)
{
    polled all = {items, count};
    int ready = 0;
    sim_wait(any_readable, &all, until_ns);
    for (nfds_t i = 0; i < count; i++) {
        items[i].revents = items[i].fd >= 0 && is_readable(items[i].fd) ? POLLIN : 0;
        ready += items[i].revents != 0;
    }
    return ready;
}

CRN_SIM_WRAP(int, ppoll, struct pollfd *items, nfds_t count, const struct timespec *timeout,
             const sigset_t *signals)
{
    if (!sim_is_active())
        return __real_ppoll(items, count, timeout, signals);
    int64_t until_ns;
    if (!timeout || __builtin_add_overflow(sim_now_ns(), ns_of(timeout), &until_ns))
        until_ns = INT64_MAX;
    return poll_until(items, count, until_ns);
}

CRN_SIM_WRAP(int, poll, struct pollfd *items, nfds_t count, int timeout_ms)
{
    if (!sim_is_active() || !is_simulated(items[0].fd)) /* the log's output */
        return __real_poll(items, count, timeout_ms);
    return poll_until(items, count,
                      timeout_ms < 0 ? INT64_MAX : sim_now_ns() + timeout_ms * CRN_NS_PER_MS);
}
