#include "src/recorder/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "src/service/watchdog.h"
#include "stages/base/byte_ring.h"
#include "stages/base/clock.h"
#include "stages/base/file/disk_room.h"
#include "stages/base/file/folder.h"
#include "stages/base/log.h"
#include "stages/base/process/priority.h"
#include "stages/base/process/thread.h"
#include "stages/base/ring.h"

#define PAGE_BYTES      512 /* estimated size of a page in a recording without its pixels */
#define QUEUE_BYTES_MIN UINT64_C(65536)
#define NAMES_TRIED_MAX 10000
#define RETENTION_NS    (60 * CRN_NS_PER_S)
#define REMINDER_NS     (60 * CRN_NS_PER_S)

/* In the queue, followed by the view's bytes unless it is lent. */
typedef struct queued_view {
    crn_recorded_view view;
    void *owner; /* of a view that is lent; else NULL */
} queued_view;

struct crn_recorder {
    char *dir;
    char start[CRN_SEGMENT_START_BYTES]; /* UTC start time, for the names of segments */
    const crn_classes *classes;          /* NULL: not known */
    uint64_t segment_bytes, segment_number;
    crn_segment_limits limits;
    int64_t retention_ns, retained_ns; /* interval; CLOCK_MONOTONIC of the last one */
    crn_recording_writer *segment;     /* used by the writer thread; NULL between segments */
    crn_log_gate unremoved;
    int64_t told_ns; /* of the writer thread: when it last told why the disk refuses */

    crn_byte_ring queue;
    crn_ring returned;         /* owners of views that are no longer lent */
    uint32_t lent, lent_views; /* now, at most; of the thread that offers */
    pthread_t thread;
    bool started;
    crn_pulse *pulse;

    atomic_uint_fast64_t written, bytes, dropped, failed, missed, segments, removed;
};

static void count(atomic_uint_fast64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* --- the writer thread ----------------------------------------------------------------------- */

static void tell_refusal(crn_recorder *recorder, const char *text)
{
    if (recorder->told_ns != 0 && crn_now_ns() - recorder->told_ns < REMINDER_NS)
        return;
    recorder->told_ns = crn_now_ns();
    crn_log(CRN_LOG_WARNING,
            "recording: %s; %" PRIu64 " views not recorded so far, sorting continues", text,
            atomic_load_explicit(&recorder->failed, memory_order_relaxed));
}

static void end_segment(crn_recorder *recorder)
{
    crn_error error;
    if (!recorder->segment)
        return;
    if (!crn_recording_views(recorder->segment))
        crn_recording_discard(&recorder->segment);
    else if (crn_recording_close(&recorder->segment, &error))
        tell_refusal(recorder, error.text);
    else
        count(&recorder->segments);
}

/* Makes segments of what killed recorders left, so that they count and can be replayed. */
static void adopt(const crn_recorder *recorder)
{
    uint64_t adopted = 0, bytes = 0;
    crn_segments_adopt(recorder->dir, &adopted, &bytes);
    if (adopted)
        crn_log(CRN_LOG_INFO,
                "recording: %s: finished %" PRIu64 " segments, %" PRIu64
                " MiB, of recorders that were killed",
                recorder->dir, adopted, bytes >> 20);
}

/* Removes what is too old or too much, so that `coming_bytes` fit. */
static void retain(crn_recorder *recorder, uint64_t coming_bytes)
{
    const crn_segment_limits *limits = &recorder->limits;
    crn_segments_removed removed;
    crn_error error;
    recorder->retained_ns = crn_now_ns();
    adopt(recorder);
    if (!limits->keep_bytes && !limits->keep_ns)
        return;
    int r = crn_segments_remove(recorder->dir, limits, coming_bytes, &removed, &error);
    atomic_fetch_add_explicit(&recorder->removed, removed.removed, memory_order_relaxed);
    if (removed.removed)
        crn_log(CRN_LOG_INFO,
                "recording: %s: removed the oldest %" PRIu64 " segments, %" PRIu64
                " MiB (record.keep_gib, record.keep_days); %" PRIu64 " segments, %" PRIu64
                " MiB are left",
                recorder->dir, removed.removed, removed.removed_bytes >> 20, removed.left,
                removed.left_bytes >> 20);
    if (r && crn_log_gate_open(&recorder->unremoved, recorder->retained_ns))
        crn_log(CRN_LOG_WARNING, "recording: %s", error.text);
}

/* Takes the next free name: a recorder started in the same second may use some. Existing files are
 * left alone, including those that another one is writing. */
static int begin_segment(crn_recorder *recorder, crn_error *error)
{
    char path[PATH_MAX];
    uint64_t number = recorder->segment_number;
    int r;
    do {
        crn_segment_path(path, sizeof path, recorder->dir, recorder->start, ++number);
        r = crn_recording_create(path, false, &recorder->segment, error);
    } while (r == -EEXIST && number - recorder->segment_number < NAMES_TRIED_MAX);
    if (r)
        return r;
    recorder->segment_number = number;
    crn_recording_bypass_cache(recorder->segment);
    crn_recording_name_classes(recorder->segment, recorder->classes);
    return 0;
}

/* What the finished segments must leave of limits.keep_bytes. */
static uint64_t coming_bytes(const crn_recorder *recorder)
{
    return recorder->segment ? recorder->segment_bytes : 0;
}

static int check_room(crn_recorder *recorder, uint64_t need, crn_error *error)
{
    int r = crn_disk_check_room(recorder->dir, need, CRN_RECORDER_SPARE_BYTES, error);
    if (r != -ENOSPC)
        return r;
    retain(recorder, coming_bytes(recorder));
    return crn_disk_check_room(recorder->dir, need, CRN_RECORDER_SPARE_BYTES, error);
}

static void write_view(crn_recorder *recorder, const crn_recorded_view *view)
{
    crn_error error;
    uint64_t need = view->header.payload_bytes + crn_wire_intensity_bytes(&view->header) +
                    ((uint64_t)view->header.channels + 4) * PAGE_BYTES;
    if (recorder->segment &&
        (crn_recording_bytes(recorder->segment) + need > recorder->segment_bytes ||
         !crn_recording_is_there(recorder->segment)))
        end_segment(recorder);
    if (!recorder->segment)
        retain(recorder, recorder->segment_bytes);
    int r = check_room(recorder, need, &error);
    if (!r && !recorder->segment)
        r = begin_segment(recorder, &error);
    uint64_t before = r ? 0 : crn_recording_bytes(recorder->segment);
    if (!r)
        r = crn_recording_write(recorder->segment, view, &error);
    if (!r) {
        atomic_fetch_add_explicit(&recorder->bytes, crn_recording_bytes(recorder->segment) - before,
                                  memory_order_relaxed);
        count(&recorder->written);
        return;
    }
    count(&recorder->failed);
    tell_refusal(recorder, error.text);
    if (r != -EINVAL)
        end_segment(recorder); /* the next view starts a new file: this one may be lost */
}

static void *write_views(void *context)
{
    crn_recorder *recorder = context;
    crn_error shortage;
    bool ended = false;
    prctl(PR_SET_NAME, "recorder", 0, 0, 0);
    crn_priority_lower_writer();
    retain(recorder, 0);
    if (check_room(recorder, 0, &shortage))
        tell_refusal(recorder, shortage.text); /* now: the first view may arrive hours later */
    while (!ended) {
        const queued_view *queued = crn_byte_ring_wait_until(
            &recorder->queue, recorder->retained_ns + recorder->retention_ns, &ended);
        if (queued) {
            write_view(recorder, &queued->view);
            if (queued->owner)
                crn_ring_push(&recorder->returned, queued->owner); /* has room for all lent views */
            crn_byte_ring_pop(&recorder->queue);
            crn_pulse_done(recorder->pulse);
        }
        if (crn_now_ns() - recorder->retained_ns >= recorder->retention_ns)
            retain(recorder, coming_bytes(recorder));
    }
    end_segment(recorder);
    retain(recorder, 0);
    return NULL;
}

/* --- the line's thread ----------------------------------------------------------------------- */

void crn_recorder_offer(crn_recorder *recorder, const crn_recorded_view *view)
{
    size_t maps = (size_t)view->header.payload_bytes;
    size_t intensity = view->intensity ? crn_wire_intensity_bytes(&view->header) : 0;
    queued_view *queued =
        crn_byte_ring_reserve(&recorder->queue, sizeof *queued + maps + intensity);
    if (!queued) {
        count(&recorder->dropped);
        return;
    }
    unsigned char *pixels = (unsigned char *)(queued + 1);
    *queued = (queued_view){.view = *view};
    queued->view.maps = memcpy(pixels, view->maps, maps);
    if (view->intensity)
        queued->view.intensity = memcpy(pixels + maps, view->intensity, intensity);
    crn_pulse_given(recorder->pulse);
    crn_byte_ring_push(&recorder->queue);
}

bool crn_recorder_lend(crn_recorder *recorder, const crn_recorded_view *view, void *owner)
{
    queued_view *queued = NULL;
    if (recorder->lent < recorder->lent_views)
        queued = crn_byte_ring_reserve(&recorder->queue, sizeof *queued);
    if (!queued) {
        count(&recorder->dropped);
        return false;
    }
    *queued = (queued_view){*view, owner};
    recorder->lent++;
    crn_pulse_given(recorder->pulse);
    crn_byte_ring_push(&recorder->queue);
    return true;
}

void crn_recorder_drop(crn_recorder *recorder)
{
    count(&recorder->dropped);
}

void *crn_recorder_returned(crn_recorder *recorder)
{
    if (!recorder->lent)
        return NULL;
    void *owner = crn_ring_pop(&recorder->returned);
    recorder->lent -= owner != NULL;
    return owner;
}

void crn_recorder_miss(crn_recorder *recorder, uint64_t views)
{
    atomic_fetch_add_explicit(&recorder->missed, views, memory_order_relaxed);
}

crn_recorder_stats crn_recorder_get_stats(const crn_recorder *recorder)
{
    return (crn_recorder_stats){
        .written = atomic_load_explicit(&recorder->written, memory_order_relaxed),
        .bytes = atomic_load_explicit(&recorder->bytes, memory_order_relaxed),
        .dropped = atomic_load_explicit(&recorder->dropped, memory_order_relaxed),
        .failed = atomic_load_explicit(&recorder->failed, memory_order_relaxed),
        .missed = atomic_load_explicit(&recorder->missed, memory_order_relaxed),
        .segments = atomic_load_explicit(&recorder->segments, memory_order_relaxed),
        .removed = atomic_load_explicit(&recorder->removed, memory_order_relaxed),
        .quiet_ns = crn_pulse_quiet_ns(recorder->pulse)};
}

/* --- open and close --- */

int crn_recorder_check(const char *dir, crn_error *error)
{
    return crn_folder_check(dir, W_OK | X_OK, "record", error);
}

static int start_thread(crn_recorder *recorder)
{
    int r = crn_thread_start(&recorder->thread, write_views, recorder);
    recorder->started = r == 0;
    if (r == 0)
        crn_watchdog_add(recorder->pulse, CRN_PULSE_APART, "recorder");
    return r;
}

static void name_start(crn_recorder *recorder)
{
    struct tm utc;
    time_t now = time(NULL);
    gmtime_r(&now, &utc);
    strftime(recorder->start, sizeof recorder->start, "%Y%m%dT%H%M%SZ", &utc);
}

/* Copies that wait, or as many entries as views can be lent. */
static uint64_t queue_size(const crn_recorder_settings *settings)
{
    uint64_t entries = settings->lent_views * (sizeof(queued_view) + 2 * CRN_BYTE_RING_ALIGN);
    uint64_t bytes = settings->queue_bytes > entries ? settings->queue_bytes : entries;
    return bytes < QUEUE_BYTES_MIN ? QUEUE_BYTES_MIN : bytes;
}

int crn_recorder_open(const crn_recorder_settings *settings, crn_recorder **ret_recorder,
                      crn_error *error)
{
    int r = crn_recorder_check(settings->dir, error);
    if (r)
        return r;
    crn_recorder *recorder = aligned_alloc(_Alignof(crn_recorder), sizeof *recorder);
    if (!recorder)
        return crn_error_set(error, -ENOMEM, "%s: no memory to record", settings->dir);
    memset(recorder, 0, sizeof *recorder);
    recorder->segment_bytes = settings->segment_bytes;
    recorder->limits = settings->limits;
    recorder->retention_ns = settings->retention_ns ? settings->retention_ns : RETENTION_NS;
    recorder->lent_views = settings->lent_views;
    recorder->classes = settings->classes;
    recorder->dir = strdup(settings->dir);
    recorder->pulse = crn_pulse_create();
    name_start(recorder);
    uint64_t bytes = queue_size(settings);
    r = crn_byte_ring_init(&recorder->queue, bytes);
    if (!r)
        r = crn_ring_init(&recorder->returned, settings->lent_views + 1);
    if (!r)
        r = recorder->dir && recorder->pulse ? start_thread(recorder) : -ENOMEM;
    if (r) {
        crn_error_set(error, r,
                      "%s: no memory or thread for a recording queue of %" PRIu64 " MiB: %s",
                      settings->dir, bytes >> 20, strerror(-r));
        crn_recorder_close(&recorder);
        return r;
    }
    *ret_recorder = recorder;
    return 0;
}

void crn_recorder_finish(crn_recorder *recorder)
{
    if (!recorder->started)
        return;
    crn_watchdog_remove(recorder->pulse);
    crn_byte_ring_end(&recorder->queue);
    pthread_join(recorder->thread, NULL);
    recorder->started = false;
}

void crn_recorder_close(crn_recorder **recorder)
{
    crn_recorder *r = *recorder;
    if (!r)
        return;
    crn_recorder_finish(r);
    crn_byte_ring_done(&r->queue);
    crn_ring_done(&r->returned);
    free(r->pulse);
    free(r->dir);
    free(r);
    *recorder = NULL;
}
