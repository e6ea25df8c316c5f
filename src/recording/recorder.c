/*
 * The queue is a byte ring with one producer and one consumer: the line's thread appends an entry
 * header and a copy of the view and advances `filled`; the writer thread reads it in place and
 * advances `freed`. A view never wraps around: the rest at the ring's end is skipped.
 */
#include "src/recording/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "stages/base/log.h"

#define ALIGN_BYTES     64  /* alignment of an entry; divides the ring's size */
#define PAGE_BYTES      512 /* estimated size of a page in a recording without its pixels */
#define QUEUE_BYTES_MIN UINT64_C(65536)
#define NAMES_TRIED_MAX 10000

/* Header of a view in the ring. */
typedef struct entry {
    uint64_t bytes; /* size of the whole entry; 0: continue at the ring's start */
    crn_recorded_view view;
} entry;

struct crn_recorder {
    char *dir;
    char start[24]; /* UTC start time, for the names of segments */
    uint64_t segment_bytes, segment_number;
    crn_recording_writer *segment; /* used by the writer thread; NULL between segments */
    crn_log_gate refused, slow;
    uint64_t dropped_told;

    unsigned char *ring;
    uint64_t ring_bytes, guard_bytes;
    atomic_uint_fast64_t filled, freed; /* bytes since the start; filled - freed are in use */
    sem_t entries;                      /* posted once per entry, and once at the end */
    pthread_t thread;
    bool started;

    atomic_uint_fast64_t written, dropped, failed, segments;
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
    if (!r)
        r = crn_recording_write(recorder->segment, view, &error);
    if (!r) {
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
    for (;;) {
        while (sem_wait(&recorder->entries) < 0)
            continue;
        uint64_t freed = atomic_load_explicit(&recorder->freed, memory_order_relaxed);
        if (freed == atomic_load_explicit(&recorder->filled, memory_order_acquire))
            break; /* a post without an entry means stop */
        entry *at = (entry *)(recorder->ring + freed % recorder->ring_bytes);
        if (!at->bytes) {
            freed += recorder->ring_bytes - freed % recorder->ring_bytes;
            at = (entry *)recorder->ring;
        }
        write_view(recorder, &at->view);
        tell_drops(recorder);
        atomic_store_explicit(&recorder->freed, freed + at->bytes, memory_order_release);
    }
    end_segment(recorder);
    return NULL;
}

/* --- the line's thread ----------------------------------------------------------------------- */

void crn_recorder_offer(crn_recorder *recorder, const crn_recorded_view *view)
{
    size_t maps = (size_t)view->header.payload_bytes;
    size_t intensity = view->intensity ? crn_wire_intensity_bytes(&view->header) : 0;
    uint64_t bytes = sizeof(entry) + maps + intensity + ALIGN_BYTES - 1;
    bytes -= bytes % ALIGN_BYTES;
    uint64_t filled = atomic_load_explicit(&recorder->filled, memory_order_relaxed);
    uint64_t used = filled - atomic_load_explicit(&recorder->freed, memory_order_acquire);
    uint64_t to_end = recorder->ring_bytes - filled % recorder->ring_bytes;
    uint64_t skipped = bytes > to_end ? to_end : 0;
    if (bytes > recorder->ring_bytes || used + skipped + bytes > recorder->ring_bytes) {
        count(&recorder->dropped);
        return;
    }
    if (skipped) {
        ((entry *)(recorder->ring + filled % recorder->ring_bytes))->bytes = 0;
        filled += skipped;
    }
    entry *at = (entry *)(recorder->ring + filled % recorder->ring_bytes);
    unsigned char *pixels = (unsigned char *)(at + 1);
    at->bytes = bytes;
    at->view = *view;
    at->view.maps = memcpy(pixels, view->maps, maps);
    if (view->intensity)
        at->view.intensity = memcpy(pixels + maps, view->intensity, intensity);
    atomic_store_explicit(&recorder->filled, filled + bytes, memory_order_release);
    sem_post(&recorder->entries);
}

crn_recorder_stats crn_recorder_get_stats(const crn_recorder *recorder)
{
    return (crn_recorder_stats){
        .written = atomic_load_explicit(&recorder->written, memory_order_relaxed),
        .dropped = atomic_load_explicit(&recorder->dropped, memory_order_relaxed),
        .failed = atomic_load_explicit(&recorder->failed, memory_order_relaxed),
        .segments = atomic_load_explicit(&recorder->segments, memory_order_relaxed)};
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
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the main thread */
    int r = -pthread_create(&recorder->thread, NULL, write_views, recorder);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    recorder->started = r == 0;
    return r;
}

/* Allocates whole pages, populated at once, followed by a guard page.
 * recorder->ring stays NULL if out of memory. */
static void make_ring(crn_recorder *recorder, uint64_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    bytes = bytes < QUEUE_BYTES_MIN ? QUEUE_BYTES_MIN : bytes;
    recorder->ring_bytes = bytes - bytes % page;
    recorder->guard_bytes = page;
    void *ring = mmap(NULL, recorder->ring_bytes + page, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (ring == MAP_FAILED)
        return;
    recorder->ring = ring;
    mprotect(recorder->ring + recorder->ring_bytes, page, PROT_NONE);
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
    sem_init(&recorder->entries, 0, 0);
    recorder->segment_bytes = segment_bytes;
    struct tm utc;
    time_t now = time(NULL);
    gmtime_r(&now, &utc);
    strftime(recorder->start, sizeof recorder->start, "%Y%m%dT%H%M%SZ", &utc);

    recorder->dir = strdup(dir);
    crn_error shortage;
    if (recorder->dir && check_room(recorder, 0, &shortage))
        tell_refusal(recorder,
                     shortage.text); /* log it now: the first view may arrive hours later */
    make_ring(recorder, queue_bytes);
    r = recorder->dir && recorder->ring ? start_thread(recorder) : -ENOMEM;
    if (r) {
        crn_error_set(error, r,
                      "%s: no memory or thread for a recording queue of %" PRIu64 " MiB: %s", dir,
                      recorder->ring_bytes >> 20, strerror(-r));
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
    sem_post(&recorder->entries);
    pthread_join(recorder->thread, NULL);
    recorder->started = false;
}

void crn_recorder_close(crn_recorder **recorder)
{
    crn_recorder *r = *recorder;
    if (!r)
        return;
    crn_recorder_finish(r);
    if (r->ring)
        munmap(r->ring, r->ring_bytes + r->guard_bytes);
    sem_destroy(&r->entries);
    free(r->dir);
    free(r);
    *recorder = NULL;
}
