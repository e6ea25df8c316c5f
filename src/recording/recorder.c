#include "src/recording/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "src/service/watchdog.h"
#include "stages/base/byte_ring.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "stages/base/process/thread.h"

#define PAGE_BYTES      512 /* estimated size of a page in a recording without its pixels */
#define QUEUE_BYTES_MIN UINT64_C(65536)
#define NAMES_TRIED_MAX 10000

struct crn_recorder {
    char *dir;
    char start[24]; /* UTC start time, for the names of segments */
    uint64_t segment_bytes, segment_number;
    crn_recording_writer *segment; /* used by the writer thread; NULL between segments */
    crn_log_gate refused, slow;
    uint64_t dropped_told;

    crn_byte_ring queue; /* views, each followed by its bytes */
    pthread_t thread;
    bool started;
    crn_pulse *pulse;

    atomic_uint_fast64_t written, bytes, dropped, failed, segments;
};

static void count(atomic_uint_fast64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* --- the writer thread ----------------------------------------------------------------------- */

static void tell_refusal(crn_recorder *recorder, const char *text)
{
    uint64_t held = 0;
    if (crn_log_gate_open(&recorder->refused, crn_now_ns(), &held))
        crn_log(CRN_LOG_WARNING,
                "recording: %s; %" PRIu64 " views not recorded so far, sorting continues", text,
                atomic_load_explicit(&recorder->failed, memory_order_relaxed));
}

static void tell_drops(crn_recorder *recorder)
{
    uint64_t held = 0, dropped = atomic_load_explicit(&recorder->dropped, memory_order_relaxed);
    if (dropped == recorder->dropped_told ||
        !crn_log_gate_open(&recorder->slow, crn_now_ns(), &held))
        return;
    crn_log(CRN_LOG_WARNING,
            "recording: %s is slower than the line: %" PRIu64
            " views not recorded so far, sorting continues",
            recorder->dir, dropped);
    recorder->dropped_told = dropped;
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

/* Takes the next free name: a recorder started in the same second may use some. Existing files are
 * left alone, including the .part of a recorder that was killed. */
static int begin_segment(crn_recorder *recorder, crn_error *error)
{
    char path[PATH_MAX];
    uint64_t number = recorder->segment_number;
    int r;
    do {
        snprintf(path, sizeof path, "%s/cernita-%s-%04" PRIu64 ".tif", recorder->dir,
                 recorder->start, ++number);
        r = crn_recording_create(path, false, &recorder->segment, error);
    } while (r == -EEXIST && number - recorder->segment_number < NAMES_TRIED_MAX);
    if (!r)
        recorder->segment_number = number;
    return r;
}

static int check_room(const crn_recorder *recorder, uint64_t need, crn_error *error)
{
    struct statvfs disk;
    if (statvfs(recorder->dir, &disk) < 0)
        return crn_error_set(error, -errno, "%s: %s", recorder->dir, strerror(errno));
    uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize;
    if (room < need + CRN_RECORDER_SPARE_BYTES)
        return crn_error_set(error, -ENOSPC,
                             "%s: only %" PRIu64 " MiB are left on the disk, and %" PRIu64
                             " MiB must stay free: make room",
                             recorder->dir, room >> 20, CRN_RECORDER_SPARE_BYTES >> 20);
    return 0;
}

static void write_view(crn_recorder *recorder, const crn_recorded_view *view)
{
    crn_error error;
    uint64_t need = view->header.payload_bytes + crn_wire_intensity_bytes(&view->header) +
                    ((uint64_t)view->header.channels + 4) * PAGE_BYTES;
    if (recorder->segment &&
        crn_recording_bytes(recorder->segment) + need > recorder->segment_bytes)
        end_segment(recorder);
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
    const crn_recorded_view *view;
    prctl(PR_SET_NAME, "recorder", 0, 0, 0);
    while ((view = crn_byte_ring_wait(&recorder->queue))) {
        write_view(recorder, view);
        tell_drops(recorder);
        crn_byte_ring_pop(&recorder->queue);
        crn_pulse_done(recorder->pulse);
    }
    end_segment(recorder);
    return NULL;
}

/* --- the line's thread ----------------------------------------------------------------------- */

void crn_recorder_offer(crn_recorder *recorder, const crn_recorded_view *view)
{
    size_t maps = (size_t)view->header.payload_bytes;
    size_t intensity = view->intensity ? crn_wire_intensity_bytes(&view->header) : 0;
    crn_recorded_view *queued =
        crn_byte_ring_reserve(&recorder->queue, sizeof *queued + maps + intensity);
    if (!queued) {
        count(&recorder->dropped);
        return;
    }
    unsigned char *pixels = (unsigned char *)(queued + 1);
    *queued = *view;
    queued->maps = memcpy(pixels, view->maps, maps);
    if (view->intensity)
        queued->intensity = memcpy(pixels + maps, view->intensity, intensity);
    crn_pulse_given(recorder->pulse);
    crn_byte_ring_push(&recorder->queue);
}

crn_recorder_stats crn_recorder_get_stats(const crn_recorder *recorder)
{
    return (crn_recorder_stats){
        .written = atomic_load_explicit(&recorder->written, memory_order_relaxed),
        .bytes = atomic_load_explicit(&recorder->bytes, memory_order_relaxed),
        .dropped = atomic_load_explicit(&recorder->dropped, memory_order_relaxed),
        .failed = atomic_load_explicit(&recorder->failed, memory_order_relaxed),
        .segments = atomic_load_explicit(&recorder->segments, memory_order_relaxed),
        .quiet_ns = crn_pulse_quiet_ns(recorder->pulse)};
}

/* --- open and close --- */

int crn_recorder_check(const char *dir, crn_error *error)
{
    struct stat about;
    int r = stat(dir, &about) < 0 ? -errno : S_ISDIR(about.st_mode) ? 0 : -ENOTDIR;
    if (!r && access(dir, W_OK | X_OK) < 0)
        r = -errno;
    return r ? crn_error_set(error, r,
                             "%s: cannot record there: %s; name a folder that can be "
                             "written",
                             dir, strerror(-r))
             : 0;
}

static int start_thread(crn_recorder *recorder)
{
    int r = crn_thread_start(&recorder->thread, write_views, recorder);
    recorder->started = r == 0;
    if (r == 0)
        crn_watchdog_add(recorder->pulse, CRN_PULSE_APART, "recorder");
    return r;
}

int crn_recorder_open(const char *dir, uint64_t segment_bytes, uint64_t queue_bytes,
                      crn_recorder **ret_recorder, crn_error *error)
{
    int r = crn_recorder_check(dir, error);
    if (r)
        return r;
    crn_recorder *recorder = calloc(1, sizeof *recorder);
    if (!recorder)
        return crn_error_set(error, -ENOMEM, "%s: no memory to record", dir);
    recorder->segment_bytes = segment_bytes;
    struct tm utc;
    time_t now = time(NULL);
    gmtime_r(&now, &utc);
    strftime(recorder->start, sizeof recorder->start, "%Y%m%dT%H%M%SZ", &utc);

    recorder->dir = strdup(dir);
    recorder->pulse = crn_pulse_create();
    crn_error shortage;
    if (recorder->dir && check_room(recorder, 0, &shortage))
        tell_refusal(recorder,
                     shortage.text); /* log it now: the first view may arrive hours later */
    queue_bytes = queue_bytes < QUEUE_BYTES_MIN ? QUEUE_BYTES_MIN : queue_bytes;
    r = crn_byte_ring_init(&recorder->queue, queue_bytes);
    if (!r)
        r = recorder->dir && recorder->pulse ? start_thread(recorder) : -ENOMEM;
    if (r) {
        crn_error_set(error, r,
                      "%s: no memory or thread for a recording queue of %" PRIu64 " MiB: %s", dir,
                      queue_bytes >> 20, strerror(-r));
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
    free(r->pulse);
    free(r->dir);
    free(r);
    *recorder = NULL;
}
