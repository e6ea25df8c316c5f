/* Else longjmp refuses to go to another stack. */
#undef _FORTIFY_SOURCE

#include "tests/simulation/machine/schedule.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/support/sanitized.h"

#ifdef CRN_SANITIZED
#include <sanitizer/common_interface_defs.h>
#endif

#define THREADS_MAX 64
#define STACK_BYTES ((size_t)1 << 20)

/* What reading the clock costs. */
#define READ_NS 40

/* No run has as many switches: its threads wake each other for ever. */
#define SWITCHES_MAX 5000000

struct sim_thread {
    ucontext_t begin; /* where it starts; from then on `place`, which costs no system call */
    jmp_buf place;
    void *(*run)(void *);
    void *argument, *result;
    bool used, has_begun, ended, is_detached;
    bool (*is_ready)(void *); /* NULL: only the time counts */
    void *awaited;
    int64_t until_ns;
    bool timed_out;
    int saved_errno;
    void *sanitizer; /* the address sanitizer's, of its stack */
};

static struct {
    bool active;
    jmp_buf scheduler;
    sim_thread threads[THREADS_MAX];
    int count; /* of threads, those included that have ended */
    sim_thread *running;
    int64_t now_ns, realtime_offset_ns, stalled_ns;
    crn_random random;
    sim_disturbance disturbance;
    uint64_t trace, switches;
    void (*scenario)(void *);
    bool has_failed;
    char failure[256];
    void *sanitizer; /* of the scheduler's stack, as what follows */
    const void *stack;
    size_t stack_bytes;
} sim;

/* They stay for the next runs. */
static unsigned char *stacks;

bool sim_is_active(void)
{
    return sim.active && sim.running;
}

crn_random *sim_random(void)
{
    return &sim.random;
}

void sim_disturb(sim_disturbance disturbance)
{
    sim.disturbance = disturbance;
}

int64_t sim_now_ns(void)
{
    return sim.now_ns;
}

int64_t sim_realtime_ns(void)
{
    return sim.now_ns + sim.realtime_offset_ns;
}

void sim_set_realtime(int64_t by_ns)
{
    sim.realtime_offset_ns += by_ns;
}

int64_t sim_stalled_ns(void)
{
    return sim.stalled_ns;
}

void sim_trace(uint64_t value)
{
    sim.trace = (sim.trace ^ value) * UINT64_C(0x100000001b3);
    sim.trace ^= sim.trace >> 29;
}

uint64_t sim_traced(void)
{
    return sim.trace;
}

/* --- the address sanitizer has to know on which stack we are -----------------------------------
 */

static void leave_stack(void **saved, const void *next, size_t bytes)
{
#ifdef CRN_SANITIZED
    __sanitizer_start_switch_fiber(saved, next, bytes);
#else
    (void)saved;
    (void)next;
    (void)bytes;
#endif
}

static void enter_stack(void *saved, const void **before, size_t *before_bytes)
{
#ifdef CRN_SANITIZED
    __sanitizer_finish_switch_fiber(saved, before, before_bytes);
#else
    (void)saved;
    (void)before;
    (void)before_bytes;
#endif
}

/* --- threads ---------------------------------------------------------------------------------- */

static void switch_to_scheduler(void)
{
    sim_thread *self = sim.running;
    self->saved_errno = errno;
    leave_stack(&self->sanitizer, sim.stack, sim.stack_bytes);
    if (_setjmp(self->place) == 0)
        _longjmp(sim.scheduler, 1);
    self = sim.running;
    enter_stack(self->sanitizer, NULL, NULL);
    errno = self->saved_errno;
}

bool sim_wait(bool (*is_ready)(void *), void *argument, int64_t until_ns)
{
    sim_thread *self = sim.running;
    self->is_ready = is_ready;
    self->awaited = argument;
    self->until_ns = until_ns;
    switch_to_scheduler();
    return !sim.running->timed_out;
}

void sim_sleep_until(int64_t until_ns)
{
    sim_wait(NULL, NULL, until_ns);
}

void sim_preempt(void)
{
    const sim_disturbance *how = &sim.disturbance;
    if (!how->preempt_once_in || !crn_random_once_in(&sim.random, how->preempt_once_in))
        return;
    int64_t until_ns = sim.now_ns;
    if (how->stall_once_in && crn_random_once_in(&sim.random, how->stall_once_in)) {
        until_ns += how->stall_ns;
        sim.stalled_ns += how->stall_ns;
    }
    sim_sleep_until(until_ns);
}

int64_t sim_read_clock_ns(void)
{
    sim_preempt();
    sim.now_ns += READ_NS;
    return sim.now_ns;
}

static void begin_thread(void)
{
    sim_thread *self = sim.running;
    enter_stack(NULL, &sim.stack, &sim.stack_bytes);
    self->result = self->run(self->argument);
    self->ended = true;
    self->used = !self->is_detached;
    leave_stack(NULL, sim.stack, sim.stack_bytes);
    _longjmp(sim.scheduler, 1);
}

static sim_thread *take_thread(void)
{
    int number = 0;
    while (number < sim.count && sim.threads[number].used)
        number++;
    if (number == THREADS_MAX)
        abort();
    sim.count += number == sim.count;
    memset(&sim.threads[number], 0, sizeof sim.threads[number]);
    return &sim.threads[number];
}

sim_thread *sim_start(void *(*run)(void *), void *argument)
{
    sim_thread *thread = take_thread();
    thread->used = true;
    thread->run = run;
    thread->argument = argument;
    getcontext(&thread->begin);
    sigemptyset(&thread->begin.uc_sigmask); /* who starts a thread blocks signals */
    thread->begin.uc_stack.ss_sp = stacks + (size_t)(thread - sim.threads) * STACK_BYTES;
    thread->begin.uc_stack.ss_size = STACK_BYTES;
    thread->begin.uc_link = NULL;
    makecontext(&thread->begin, begin_thread, 0);
    return thread;
}

void sim_start_detached(void *(*run)(void *), void *argument)
{
    sim_start(run, argument)->is_detached = true;
}

int sim_threads_running(void)
{
    int running = 0;
    for (int i = 0; i < sim.count; i++)
        running += sim.threads[i].used;
    return running;
}

static bool has_ended(void *thread)
{
    return ((sim_thread *)thread)->ended;
}

void *sim_join(sim_thread *thread)
{
    sim_wait(has_ended, thread, INT64_MAX);
    thread->used = false;
    return thread->result;
}

/* --- scheduler -------------------------------------------------------------------------------- */

static bool can_run(const sim_thread *thread)
{
    return thread->used && !thread->ended &&
           (thread->until_ns <= sim.now_ns ||
            (thread->is_ready && thread->is_ready(thread->awaited)));
}

/* The next thread to run, after time has passed if none can now; NULL: none ever will. */
static sim_thread *choose(void)
{
    for (;;) {
        sim_thread *ready[THREADS_MAX];
        uint32_t count = 0;
        int64_t first_ns = INT64_MAX;
        for (int i = 0; i < sim.count; i++) {
            sim_thread *thread = &sim.threads[i];
            if (can_run(thread))
                ready[count++] = thread;
            else if (thread->used && !thread->ended && thread->until_ns < first_ns)
                first_ns = thread->until_ns;
        }
        if (count > 0)
            return ready[count > 1 ? crn_random_below(&sim.random, count) : 0];
        if (first_ns == INT64_MAX)
            return NULL;
        sim.now_ns = first_ns;
    }
}

static void *run_scenario(void *argument)
{
    sim.scenario(argument);
    return NULL;
}

void sim_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sim.failure, sizeof sim.failure, format, arguments);
    va_end(arguments);
    sim.has_failed = true;
    leave_stack(NULL, sim.stack, sim.stack_bytes);
    _longjmp(sim.scheduler, 1);
}

static void switch_to(sim_thread *next)
{
    next->timed_out = !next->is_ready || !next->is_ready(next->awaited);
    sim_trace((uint64_t)(next - sim.threads) ^ (uint64_t)sim.now_ns);
    sim.running = next;
    leave_stack(&sim.sanitizer, next->begin.uc_stack.ss_sp, STACK_BYTES);
    if (_setjmp(sim.scheduler) == 0) {
        bool has_begun = next->has_begun;
        next->has_begun = true;
        if (has_begun)
            _longjmp(next->place, 1);
        setcontext(&next->begin);
    }
    enter_stack(sim.sanitizer, NULL, NULL);
    sim.running = NULL;
}

const char *sim_run(uint64_t seed, void (*scenario)(void *), void *argument)
{
    if (!stacks)
        stacks = mmap(NULL, THREADS_MAX * STACK_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    memset(&sim, 0, sizeof sim);
    sim.random.state = seed;
    sim.now_ns = CRN_SIM_START_NS;
    sim.realtime_offset_ns = CRN_SIM_REALTIME_START_NS - CRN_SIM_START_NS;
    sim.active = true;
    sim.scenario = scenario;
    sim_thread *first = sim_start(run_scenario, argument);
    while (!first->ended && !sim.has_failed) {
        sim_thread *next = choose();
        if (next && sim.switches++ < SWITCHES_MAX) {
            switch_to(next);
            continue;
        }
        sim.has_failed = true;
        snprintf(sim.failure, sizeof sim.failure, "%s",
                 next ? "threads wake each other for ever" : "all threads wait for ever");
    }
    sim.active = false;
    return sim.has_failed ? sim.failure : NULL;
}
