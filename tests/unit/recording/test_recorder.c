/* The recorder: views offered in time are never lost, what the disk cannot take is counted, and the
 * caller never blocks. */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "stages/base/log.h"
#include "src/recorder/recorder.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/free_space.h"
#include "tests/support/line/log_capture.h"
#include "tests/support/parts/recorded.h"

/* --- a simulated disk: these functions replace libc's --- */

static atomic_bool stuck;
static sem_t reached, released; /* a write has arrived; it may continue */
static atomic_int refused;      /* errno of every write, 0: success */
static atomic_int refused_view; /* errno of writes after a file's first bytes */

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    if (atomic_load(&stuck)) {
        sem_post(&reached);
        sem_wait(&released);
    }
    if (atomic_load(&refused)) {
        errno = atomic_load(&refused);
        return -1;
    }
    struct stat about;
    if (atomic_load(&refused_view) && fstat(fd, &about) == 0 && about.st_size > 0) {
        errno = atomic_load(&refused_view);
        return -1;
    }
    return syscall(SYS_pwrite64, fd, bytes, size, offset);
}

/* --- helpers --- */

#define QUEUE_BYTES 65536
#define LARGE_VIEW  30000 /* view size of which two fit the queue */
#define SMALL_COUNT 500

#define TIFF_HEADER_BYTES 16

static int open_in(const char *dir, uint64_t segment_bytes, uint64_t queue_bytes,
                   crn_recorder **ret_recorder, crn_error *error)
{
    crn_recorder_settings settings = {
        .dir = dir, .segment_bytes = segment_bytes, .queue_bytes = queue_bytes};
    return crn_recorder_open(&settings, ret_recorder, error);
}

static crn_recorder *start(uint64_t segment_bytes)
{
    crn_recorder *recorder = NULL;
    crn_error error;
    if (open_in(recorded_folder, segment_bytes, QUEUE_BYTES, &recorder, &error))
        fail_msg("%s", error.text);
    return recorder;
}

static crn_recorded_view large_view(uint64_t number)
{
    return recorded_view(number, CRN_U8, CRN_CHW, 3, 100, LARGE_VIEW / 300, false);
}

static int is_segment(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/* Reads all segments in order, then removes them;
 * returns the number of views, all `small` or all large. */
static off_t segments_bytes; /* of the files last read */

static uint64_t read_segments(bool small, uint64_t first, int *ret_files)
{
    struct dirent **names;
    uint64_t number = first;
    segments_bytes = 0;
    *ret_files = scandir(recorded_folder, &names, is_segment, alphasort);
    for (int i = 0; i < *ret_files; i++) {
        char file[600];
        snprintf(file, sizeof file, "%s/%s", recorded_folder, names[i]->d_name);
        size_t length = strlen(file);
        assert_string_equal(file + length - 4, ".tif");
        crn_recording_reader *reader = recorded_open(file);
        crn_recorded_view got;
        crn_error error;
        while (crn_recording_next(reader, &got, &error) > 0) {
            crn_recorded_view want = small ? recorded_small(number) : large_view(number);
            recorded_assert_same(&want, &got);
            number++;
        }
        assert_string_equal(error.text, "");
        crn_recording_end(&reader);
        struct stat about;
        assert_int_equal(stat(file, &about), 0);
        segments_bytes += about.st_size;
        unlink(file);
        free(names[i]);
    }
    free(names);
    return number - first;
}

/* Offers one view after another, each after the previous one was written: none can be dropped. */
static void offer_patiently(crn_recorder *recorder, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        crn_recorded_view view = recorded_small(i);
        crn_recorder_stats before = crn_recorder_get_stats(recorder), now;
        crn_recorder_offer(recorder, &view);
        do {
            now = crn_recorder_get_stats(recorder);
            assert_int_equal(now.dropped, 0);
        } while (now.written + now.failed == before.written + before.failed);
    }
}

/* --- tests --- */

/* The ring wraps several times, and a view never ends exactly at its end. */
static void everything_offered_in_time_is_written(void **state)
{
    (void)state;
    crn_recorder *recorder = start(UINT64_MAX);
    offer_patiently(recorder, 0, SMALL_COUNT);
    crn_recorder_stats stats = crn_recorder_get_stats(recorder);
    assert_int_equal(stats.written, SMALL_COUNT);
    assert_int_equal(stats.segments, 0);
    crn_recorder_close(&recorder);
    assert_null(recorder);
    int files;
    assert_int_equal(read_segments(true, 0, &files), SMALL_COUNT);
    assert_int_equal(files, 1);
    assert_int_equal(stats.bytes + TIFF_HEADER_BYTES, segments_bytes);
}

static void segments_stay_below_their_size(void **state)
{
    (void)state;
    crn_recorder *recorder = start(40000);
    offer_patiently(recorder, 0, SMALL_COUNT);
    crn_recorder_close(&recorder);
    struct dirent **names;
    int count = scandir(recorded_folder, &names, is_segment, alphasort);
    assert_true(count > 10);
    for (int i = 0; i < count; i++) {
        char file[600];
        struct stat about;
        snprintf(file, sizeof file, "%s/%s", recorded_folder, names[i]->d_name);
        assert_int_equal(stat(file, &about), 0);
        assert_true(about.st_size <= 40000);
        assert_true(i == count - 1 || about.st_size > 30000);
        free(names[i]);
    }
    free(names);
    int files;
    assert_int_equal(read_segments(true, 0, &files), SMALL_COUNT);
    assert_int_equal(files, count);
}

/* A view larger than a segment gets a segment of its own. */
static void a_segment_holds_one_view_at_least(void **state)
{
    (void)state;
    crn_recorder *recorder = start(1);
    offer_patiently(recorder, 0, 3);
    crn_recorder_close(&recorder);
    int files;
    assert_int_equal(read_segments(true, 0, &files), 3);
    assert_int_equal(files, 3);
}

static void a_stuck_disk_costs_views_and_never_time(void **state)
{
    (void)state;
    crn_recorder *recorder = start(UINT64_MAX);
    atomic_store(&stuck, true);
    crn_recorded_view view = large_view(0);
    crn_recorder_offer(recorder, &view);
    sem_wait(&reached); /* the writer blocks on view 0 */
    view = large_view(1);
    crn_recorder_offer(recorder, &view);
    for (int i = 0; i < 100; i++)
        crn_recorder_offer(recorder, &view); /* must return each time */
    assert_int_equal(crn_recorder_get_stats(recorder).dropped, 100);
    assert_int_equal(crn_recorder_get_stats(recorder).written, 0);
    atomic_store(&stuck, false);
    sem_post(&released);
    crn_recorder_close(&recorder); /* queued views are still written */
    int files;
    assert_int_equal(read_segments(false, 0, &files), 2);
}

/* Views that are lent are written from where they are, and given back when they are written. */
static void views_that_are_lent_are_not_copied(void **state)
{
    (void)state;
    enum { LENT = 3 };
    static unsigned char bytes[LENT][LARGE_VIEW];
    crn_recorded_view views[LENT];
    crn_error error;
    crn_recorder *recorder = NULL;
    crn_recorder_settings settings = {
        .dir = recorded_folder, .segment_bytes = UINT64_MAX, .lent_views = LENT};
    assert_int_equal(crn_recorder_open(&settings, &recorder, &error), 0);
    assert_null(crn_recorder_returned(recorder));
    atomic_store(&stuck, true);
    for (uint64_t i = 0; i < LENT; i++) {
        views[i] = large_view(i);
        memcpy(bytes[i], views[i].maps, LARGE_VIEW);
        views[i].maps = memset(bytes[i], 0, i ? LARGE_VIEW : 0); /* filled in below */
        assert_true(crn_recorder_lend(recorder, &views[i], &views[i]));
    }
    sem_wait(&reached); /* the writer blocks on view 0 */
    assert_false(crn_recorder_lend(recorder, &views[0], &views[0]));
    assert_int_equal(crn_recorder_get_stats(recorder).dropped, 1);
    assert_null(crn_recorder_returned(recorder));
    for (uint64_t i = 1; i < LENT; i++)
        memcpy(bytes[i], large_view(i).maps, LARGE_VIEW);
    atomic_store(&stuck, false);
    sem_post(&released);
    for (int i = 0; i < LENT; i++) {
        void *owner;
        while (!(owner = crn_recorder_returned(recorder)))
            sched_yield();
        assert_ptr_equal(owner, &views[i]);
    }
    atomic_store(&refused, EIO); /* written or not, it comes back */
    assert_true(crn_recorder_lend(recorder, &views[0], &views[0]));
    while (!crn_recorder_returned(recorder))
        sched_yield();
    atomic_store(&refused, 0);
    assert_int_equal(crn_recorder_get_stats(recorder).failed, 1);
    crn_recorder_miss(recorder, 5);
    assert_int_equal(crn_recorder_get_stats(recorder).missed, 5);
    crn_recorder_close(&recorder);
    int files;
    assert_int_equal(read_segments(false, 0, &files), LENT);
}

static void a_view_larger_than_the_queue_is_dropped(void **state)
{
    (void)state;
    crn_recorder *recorder = start(UINT64_MAX);
    crn_recorded_view view = recorded_view(0, CRN_U8, CRN_CHW, 1, 1, QUEUE_BYTES, false);
    crn_recorder_offer(recorder, &view);
    assert_int_equal(crn_recorder_get_stats(recorder).dropped, 1);
    crn_recorder_close(&recorder);
    int files;
    assert_int_equal(read_segments(true, 0, &files), 0);
    assert_int_equal(files, 0);
}

static void a_refusing_disk_is_counted_and_tried_again(void **state)
{
    (void)state;
    crn_recorder *recorder = start(UINT64_MAX);
    offer_patiently(recorder, 0, 3);
    atomic_store(&refused, ENOSPC);
    offer_patiently(recorder, 3, 10);
    assert_int_equal(crn_recorder_get_stats(recorder).failed, 7);
    atomic_store(&refused, 0);
    atomic_store(&refused_view, EIO);
    offer_patiently(recorder, 10, 12);
    assert_int_equal(crn_recorder_get_stats(recorder).failed, 9);
    atomic_store(&refused_view, 0);
    offer_patiently(recorder, 3, 6);
    assert_int_equal(crn_recorder_get_stats(recorder).written, 6);
    crn_recorder_close(&recorder);
    int files;
    assert_int_equal(read_segments(true, 0, &files), 6);
    assert_int_equal(files, 2); /* the failed attempts leave no file */
}

static void room_for_others_is_left_on_the_disk(void **state)
{
    (void)state;
    crn_recorder *recorder = start(UINT64_MAX);
    atomic_store(&free_bytes, CRN_RECORDER_SPARE_BYTES);
    offer_patiently(recorder, 0, 2);
    assert_int_equal(crn_recorder_get_stats(recorder).failed, 2);
    atomic_store(&free_bytes, CRN_RECORDER_SPARE_BYTES + 100000);
    offer_patiently(recorder, 0, 1);
    assert_int_equal(crn_recorder_get_stats(recorder).written, 1);
    atomic_store(&free_bytes, CRN_PLENTY_BYTES);
    crn_recorder_close(&recorder);
    int files;
    assert_int_equal(read_segments(true, 0, &files), 1);
}

static void a_full_disk_is_told_before_the_first_view(void **state)
{
    (void)state;
    crn_log_capture caught;
    crn_log_set_level(CRN_LOG_WARNING);
    atomic_store(&free_bytes, CRN_RECORDER_SPARE_BYTES - 1);
    crn_log_capture_start(&caught);
    crn_recorder *recorder = start(UINT64_MAX);
    crn_recorder_close(&recorder); /* its thread has run */
    const char *told = crn_log_capture_stop(&caught);
    crn_log_set_level(CRN_LOG_ERROR);
    atomic_store(&free_bytes, CRN_PLENTY_BYTES);
    assert_non_null(
        strstr(told, ": only 255 MiB are left on the disk, and 256 MiB must stay free: "));
    assert_non_null(strstr(told, "; 0 views not recorded so far, sorting continues\n"));
}

/* Two recorders started in the same second share a folder without conflicts. */
static void names_are_never_taken_twice(void **state)
{
    (void)state;
    crn_recorder *one = start(UINT64_MAX), *other = start(UINT64_MAX);
    offer_patiently(one, 0, 2);
    offer_patiently(other, 2, 4);
    crn_recorder_close(&other);
    crn_recorder_close(&one);
    int files;
    assert_int_equal(read_segments(true, 0, &files), 4);
    assert_int_equal(files, 2);
}

/* Names in use, by any file, and files of a killed recorder are skipped. */
static void names_that_are_taken_are_left_alone(void **state)
{
    (void)state;
    char start_text[24], paths[4][160];
    struct tm utc;
    crn_recorder *recorder;
    /* The recorder names its files by the second of its start: retried until that is known. */
    for (;;) {
        time_t now = time(NULL);
        recorder = start(UINT64_MAX);
        gmtime_r(&now, &utc);
        if (time(NULL) == now)
            break;
        crn_recorder_close(&recorder);
    }
    strftime(start_text, sizeof start_text, "%Y%m%dT%H%M%SZ", &utc);
    for (int i = 0; i < 4; i++)
        snprintf(paths[i], sizeof paths[i], "%s/cernita-%s-000%d.tif%s", recorded_folder,
                 start_text, i + 1, i < 2 ? "" : ".part");
    assert_int_equal(mkfifo(paths[0], 0600), 0);
    assert_int_equal(symlink("/nonexistent/victim", paths[1]), 0);
    assert_int_equal(symlink("/nonexistent/victim", paths[2]), 0);
    recorded_save(paths[3], "left by a killed recorder", 25);
    offer_patiently(recorder, 0, 2);
    assert_int_equal(crn_recorder_get_stats(recorder).written, 2);
    crn_recorder_close(&recorder);
    unsigned char bytes[64];
    assert_int_equal(recorded_load(paths[3], bytes, sizeof bytes), 25);
    for (int i = 0; i < 4; i++)
        assert_int_equal(unlink(paths[i]), 0);
    int files;
    assert_int_equal(read_segments(true, 0, &files), 2);
    assert_int_equal(files, 1);
}

static int is_part(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');
    return end && strcmp(end, ".part") == 0;
}

/* Somebody removes, or puts another file in the place of, the one being written. */
static void a_segment_that_was_removed_costs_its_own_views_only(void **state)
{
    (void)state;
    crn_recorder *recorder = start(UINT64_MAX);
    char path[600];
    for (uint64_t i = 0; i < 2; i++) {
        struct dirent **names = NULL;
        offer_patiently(recorder, 3 * i, 3 * i + 3);
        assert_int_equal(scandir(recorded_folder, &names, is_part, alphasort), 1);
        snprintf(path, sizeof path, "%s/%s", recorded_folder, names[0]->d_name);
        free(names[0]);
        free(names);
        assert_int_equal(unlink(path), 0);
    }
    recorded_save(path, "another's", 9);
    offer_patiently(recorder, 6, 9);
    crn_recorder_close(&recorder);
    unsigned char bytes[16];
    assert_int_equal(recorded_load(path, bytes, sizeof bytes), 9);
    assert_int_equal(unlink(path), 0);
    int files;
    assert_int_equal(read_segments(true, 6, &files), 3);
    assert_int_equal(files, 1);
}

static void a_folder_that_cannot_be_used_is_told(void **state)
{
    (void)state;
    crn_recorder *recorder = NULL;
    crn_error error;
    assert_int_equal(open_in("/nonexistent", 1, QUEUE_BYTES, &recorder, &error), -ENOENT);
    assert_non_null(strstr(error.text, "/nonexistent"));
    assert_int_equal(open_in("/dev/null", 1, QUEUE_BYTES, &recorder, &error), -ENOTDIR);
    assert_int_equal(open_in(recorded_folder, 1, UINT64_MAX / 2, &recorder, &error), -ENOMEM);
    assert_null(recorder);
    crn_recorder_close(&recorder);
}

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
    sem_init(&reached, 0, 0);
    sem_init(&released, 0, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_offered_in_time_is_written),
        cmocka_unit_test(segments_stay_below_their_size),
        cmocka_unit_test(a_segment_holds_one_view_at_least),
        cmocka_unit_test(a_stuck_disk_costs_views_and_never_time),
        cmocka_unit_test(views_that_are_lent_are_not_copied),
        cmocka_unit_test(a_view_larger_than_the_queue_is_dropped),
        cmocka_unit_test(a_refusing_disk_is_counted_and_tried_again),
        cmocka_unit_test(room_for_others_is_left_on_the_disk),
        cmocka_unit_test(a_full_disk_is_told_before_the_first_view),
        cmocka_unit_test(names_are_never_taken_twice),
        cmocka_unit_test(names_that_are_taken_are_left_alone),
        cmocka_unit_test(a_segment_that_was_removed_costs_its_own_views_only),
        cmocka_unit_test(a_folder_that_cannot_be_used_is_told),
    };
    return cmocka_run_group_tests(tests, recorded_setup, recorded_teardown);
}
