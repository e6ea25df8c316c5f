#include "src/service/service.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "src/service/notify.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "stages/base/process/thread.h"

/* The watchdog is fed so often within its interval, and the pulses are looked at so often. */
#define FEEDS 3
#define LOOKS 20

#define LOOK_MAX_NS (500 * CRN_NS_PER_MS)
#define LOOK_MIN_NS (10 * CRN_NS_PER_MS)

/* The line's thread wakes once a second: a shorter interval cannot tell whether it hangs. */
#define LIMIT_MIN_NS (3 * CRN_NS_PER_S)

#define STATUS_NS   (1 * CRN_NS_PER_S)
#define STOP_WAIT_S 2

/* What is to be told, in this order. */
enum note {
    NOTE_RELOADING = 1,
    NOTE_READY = 2,
    NOTE_STOPPING = 4,
    NOTE_LAST = 8,
    NOTE_END = 16,
};

static struct {
    pthread_t thread;
    bool started;
    sem_t noted, ended;
    atomic_uint notes;
    atomic_bool stopping;
    _Atomic int64_t reloading_ns;
    pthread_mutex_t lock; /* for the two that follow */
    crn_service_status *status;
    void *context;
    char last[CRN_SERVICE_STATUS_BYTES]; /* goes with NOTE_LAST */
    /* Used by the thread: */
    bool told; /* a stuck thread was named: until it moves the watchdog is fed no more */
    char text[CRN_SERVICE_STATUS_BYTES];
    int64_t fed_ns, status_ns;
} service = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- the thread ------------------------------------------------------------------------------- */

static void send_status(const char *text)
{
    char message[sizeof "STATUS=" + CRN_SERVICE_STATUS_BYTES];
    snprintf(message, sizeof message, "STATUS=%s", text);
    message[strcspn(message, "\n")] = '\0';
    crn_notify_send(message);
}

static void update_status(int64_t now_ns)
{
    char text[CRN_SERVICE_STATUS_BYTES];
    if (service.told || now_ns - service.status_ns < STATUS_NS)
        return;
    pthread_mutex_lock(&service.lock);
    bool known = service.status != NULL;
    if (known)
        service.status(service.context, text);
    pthread_mutex_unlock(&service.lock);
    if (!known || strcmp(text, service.text) == 0)
        return;
    memcpy(service.text, text, sizeof text);
    service.status_ns = now_ns;
    send_status(service.text);
}

static void feed(int64_t now_ns, int64_t watchdog_ns)
{
    if (service.told || now_ns - service.fed_ns < watchdog_ns / FEEDS)
        return;
    service.fed_ns = now_ns;
    crn_notify_send("WATCHDOG=1");
}

/* Names a stuck thread and asks for the restart. */
static void check(int64_t watchdog_ns)
{
    char name[CRN_PULSE_NAME_BYTES];
    int64_t limit_ns = watchdog_ns > LIMIT_MIN_NS ? watchdog_ns : LIMIT_MIN_NS;
    if (atomic_load(&service.stopping))
        return;
    bool stuck = crn_watchdog_stuck(limit_ns, name);
    if (service.told && !stuck) {
        service.told = false;
        crn_log(CRN_LOG_WARNING,
                "watchdog: every thread moves again, and nobody restarted the daemon: is the "
                "manager's watchdog off? `systemctl service-watchdogs yes`");
    }
    if (service.told || !stuck)
        return;
    service.told = true;
    snprintf(service.text, sizeof service.text,
             "thread '%s' has not moved for %" PRId64 " s: the daemon is restarted", name,
             limit_ns / CRN_NS_PER_S);
    send_status(service.text);
    crn_log(CRN_LOG_ERROR, "watchdog: %s", service.text);
    crn_notify_send("WATCHDOG=trigger");
}

static void send_notes(unsigned notes)
{
    char message[80];
    if (notes & NOTE_RELOADING) {
        /* MONOTONIC_USEC is asked for by systemd 253 and later (Type=notify-reload). */
        snprintf(message, sizeof message, "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
                 atomic_load(&service.reloading_ns) / CRN_NS_PER_US);
        crn_notify_send(message);
    }
    if (notes & NOTE_READY)
        crn_notify_send("READY=1");
    if (notes & NOTE_STOPPING)
        crn_notify_send("STOPPING=1");
    if (notes & NOTE_LAST)
        send_status(service.last);
}

/* One round; `step_ns` is how long the thread sleeps between two. */
static void serve(int64_t step_ns, int64_t watchdog_ns, bool wanted)
{
    int64_t now_ns = crn_now_ns();
    crn_watchdog_look(now_ns, 2 * step_ns);
    if (wanted)
        update_status(now_ns);
    if (!watchdog_ns)
        return;
    check(watchdog_ns);
    feed(now_ns, watchdog_ns);
}

static int64_t step_of(int64_t watchdog_ns)
{
    int64_t step_ns = watchdog_ns / LOOKS;
    return watchdog_ns == 0 || step_ns > LOOK_MAX_NS ? LOOK_MAX_NS
           : step_ns < LOOK_MIN_NS                   ? LOOK_MIN_NS
                                                     : step_ns;
}

static void *run_service(void *argument)
{
    prctl(PR_SET_NAME, "service", 0, 0, 0);
    int64_t watchdog_ns = crn_notify_watchdog_ns(), step_ns = step_of(watchdog_ns);
    bool wanted = crn_notify_is_wanted();
    unsigned notes = 0;
    if (wanted && service.text[0])
        send_status(service.text);
    while (!(notes & NOTE_END)) {
        (void)crn_sem_wait_until(&service.noted, crn_now_ns() + step_ns);
        notes = atomic_exchange(&service.notes, 0);
        send_notes(notes);
        serve(step_ns, watchdog_ns, wanted);
    }
    sem_post(&service.ended);
    return argument;
}

/* --- its owner -------------------------------------------------------------------------------- */

int crn_service_start(const char *status)
{
    snprintf(service.text, sizeof service.text, "%s", status);
    service.status = NULL;
    service.told = false;
    service.fed_ns = service.status_ns = 0;
    atomic_store(&service.notes, 0);
    atomic_store(&service.stopping, false);
    sem_init(&service.noted, 0, 0);
    sem_init(&service.ended, 0, 0);
    int r = crn_thread_start(&service.thread, run_service, NULL);
    service.started = r == 0;
    return r;
}

void crn_service_ask(crn_service_status *status, void *context)
{
    pthread_mutex_lock(&service.lock);
    service.status = status;
    service.context = context;
    pthread_mutex_unlock(&service.lock);
}

static void note(unsigned what)
{
    atomic_fetch_or(&service.notes, what);
    if (service.started)
        sem_post(&service.noted);
}

void crn_service_stop(const char *status)
{
    if (!service.started)
        return;
    crn_service_ask(NULL, NULL);
    snprintf(service.last, sizeof service.last, "%s", status);
    note(status[0] ? NOTE_LAST | NOTE_END : NOTE_END);
    int r = crn_sem_wait_until(&service.ended, crn_now_ns() + STOP_WAIT_S * CRN_NS_PER_S);
    service.started = false;
    if (r < 0)
        pthread_detach(service.thread);
    else
        pthread_join(service.thread, NULL);
}

void crn_service_ready(void)
{
    note(NOTE_READY);
}

void crn_service_reloading(void)
{
    atomic_store(&service.reloading_ns, crn_now_ns());
    note(NOTE_RELOADING);
}

void crn_service_stopping(void)
{
    atomic_store(&service.stopping, true);
    note(NOTE_STOPPING);
}
