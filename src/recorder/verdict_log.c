#include "src/recorder/verdict_log.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "src/formats/verdict_log/format.h"
#include "src/service/watchdog.h"
#include "stages/base/byte_ring.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "stages/base/process/priority.h"
#include "stages/base/process/thread.h"

#define RETENTION_NS (60 * CRN_NS_PER_S)
#define REMINDER_NS  (60 * CRN_NS_PER_S)

typedef struct queued_verdict {
    size_t size;
    uint32_t lane;
    unsigned char bytes[];
} queued_verdict;

struct crn_verdict_log {
    crn_verdict_writer *writer; /* used by the thread */
    crn_byte_ring queue;
    pthread_t thread;
    bool started;
    crn_pulse *pulse;
    int64_t told_ns; /* of the thread: when it last told why the disk refuses */
    atomic_uint_fast64_t written, bytes, dropped, failed, removed;
};

static uint64_t count(atomic_uint_fast64_t *counter)
{
    return atomic_fetch_add_explicit(counter, 1, memory_order_relaxed) + 1;
}

static void write_verdict(crn_verdict_log *log, const queued_verdict *verdict)
{
    crn_error error;
    if (crn_verdict_writer_append(log->writer, verdict->lane, verdict->bytes, verdict->size,
                                  &error) == 0) {
        atomic_fetch_add_explicit(&log->bytes, CRN_VERDICT_RECORD_BYTES + verdict->size,
                                  memory_order_relaxed);
        count(&log->written);
        return;
    }
    uint64_t failed = count(&log->failed);
    if (log->told_ns != 0 && crn_now_ns() - log->told_ns < REMINDER_NS)
        return;
    log->told_ns = crn_now_ns();
    crn_log(CRN_LOG_WARNING, "log: %s; %" PRIu64 " entries not logged so far, sorting goes on",
            error.text, failed);
}

static void *write_verdicts(void *argument)
{
    crn_verdict_log *log = argument;
    prctl(PR_SET_NAME, "verdict-log", 0, 0, 0);
    crn_priority_lower_writer();
    int64_t retain_ns = crn_now_ns();
    bool ended = false;
    while (!ended) {
        if (crn_now_ns() >= retain_ns) {
            crn_verdict_writer_retain(log->writer);
            retain_ns = crn_now_ns() + RETENTION_NS;
        }
        const queued_verdict *verdict = crn_byte_ring_wait_until(&log->queue, retain_ns, &ended);
        if (verdict) {
            write_verdict(log, verdict);
            crn_byte_ring_pop(&log->queue);
            crn_pulse_done(log->pulse);
        }
        atomic_store_explicit(&log->removed, crn_verdict_writer_removed(log->writer),
                              memory_order_relaxed);
    }
    return NULL;
}

void crn_verdict_log_offer(crn_verdict_log *log, uint32_t lane, const void *verdict, size_t size)
{
    queued_verdict *queued = crn_byte_ring_reserve(&log->queue, sizeof *queued + size);
    if (queued) {
        queued->size = size;
        queued->lane = lane;
        memcpy(queued->bytes, verdict, size);
        crn_pulse_given(log->pulse);
        crn_byte_ring_push(&log->queue);
        return;
    }
    count(&log->dropped);
}

crn_verdict_log_stats crn_verdict_log_get_stats(const crn_verdict_log *log)
{
    return (crn_verdict_log_stats){
        .written = atomic_load_explicit(&log->written, memory_order_relaxed),
        .bytes = atomic_load_explicit(&log->bytes, memory_order_relaxed),
        .dropped = atomic_load_explicit(&log->dropped, memory_order_relaxed),
        .failed = atomic_load_explicit(&log->failed, memory_order_relaxed),
        .removed = atomic_load_explicit(&log->removed, memory_order_relaxed),
        .quiet_ns = crn_pulse_quiet_ns(log->pulse)};
}

static int start_thread(crn_verdict_log *log)
{
    int r = crn_thread_start(&log->thread, write_verdicts, log);
    log->started = r == 0;
    if (r == 0)
        crn_watchdog_add(log->pulse, CRN_PULSE_APART, "verdict-log");
    return r;
}

int crn_verdict_log_open(const crn_verdict_log_settings *settings, uint64_t queue_bytes,
                         crn_verdict_log **ret_log, crn_error *error)
{
    const char *dir = settings->dir;
    crn_verdict_log *log = calloc(1, sizeof *log);
    if (!log)
        return crn_error_set(error, -ENOMEM, "%s: no memory for the verdict log", dir);
    int r = crn_byte_ring_init(&log->queue, queue_bytes);
    if (r == 0 && !(log->pulse = crn_pulse_create()))
        r = -ENOMEM;
    if (r == 0)
        r = crn_verdict_writer_open(settings, &log->writer, error);
    else
        crn_error_set(error, r, "%s: no memory for a queue of %" PRIu64 " MiB of verdicts", dir,
                      queue_bytes >> 20);
    if (r == 0 && (r = start_thread(log)) < 0)
        crn_error_set(error, r, "%s: no thread for the verdict log: %s", dir, strerror(-r));
    if (r < 0) {
        crn_verdict_log_close(&log);
        return r;
    }
    *ret_log = log;
    return 0;
}

void crn_verdict_log_close(crn_verdict_log **log)
{
    crn_verdict_log *l = *log;
    if (!l)
        return;
    if (l->started) {
        crn_watchdog_remove(l->pulse);
        crn_byte_ring_end(&l->queue);
        pthread_join(l->thread, NULL);
    }
    crn_verdict_writer_close(&l->writer);
    crn_byte_ring_done(&l->queue);
    free(l->pulse);
    free(l);
    *log = NULL;
}
