/* Retention of recordings: the oldest segments go, and nothing else ever does. */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/recorder/recorder.h"
#include "src/formats/recording/segments.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/log_capture.h"
#include "tests/unit/recording/segments_bench.h"

#define MIB      (UINT64_C(1) << 20)
#define PATIENCE (60 * CRN_NS_PER_S)

/* --- a simulated disk: these functions replace libc's --- */

static const char *unremovable;       /* name that cannot be removed */
static const char *becomes_folder;    /* name that is replaced before it is removed */
static char _Atomic short_until_gone; /* the disk is full while the oldest segment exists */

int unlinkat(int folder, const char *name, int flags)
{
    if (unremovable && strcmp(name, unremovable) == 0) {
        errno = EACCES;
        return -1;
    }
    if (becomes_folder && strcmp(name, becomes_folder) == 0) {
        syscall(SYS_unlinkat, folder, name, 0);
        mkdirat(folder, name, 0700);
    }
    return (int)syscall(SYS_unlinkat, folder, name, flags);
}

int statvfs(const char *file, struct statvfs *ret_disk)
{
    char path[160];
    (void)file;
    path_of(CRN_OLDEST, path);
    bool full = atomic_load(&short_until_gone) && access(path, F_OK) == 0;
    memset(ret_disk, 0, sizeof *ret_disk);
    ret_disk->f_frsize = 1;
    ret_disk->f_bavail = full ? 0 : UINT64_MAX >> 1;
    return 0;
}

static int clean(void **state)
{
    (void)state;
    unremovable = becomes_folder = NULL;
    atomic_store(&short_until_gone, 0);
    remove_all();
    return 0;
}

/* --- names --- */

static void only_segments_have_their_names(void **state)
{
    (void)state;
    static const char *const good[] = {CRN_OLDEST, "cernita-20261123T010203Z-9999.tif",
                                       "cernita-20261123T010203Z-10000.tif"};
    static const char *const bad[] = {
        "",
        "cernita-",
        "cernita-20261123T010203Z-0001.tif.part",
        "cernita-20261123T010203Z-0001.tiff",
        "cernita-20261123T010203Z-0001.TIF",
        "cernita-20261123T010203Z-0001.tif~",
        "cernita-20261123T010203Z-0001 (1).tif",
        "cernita-20261123T010203Z-001.tif",
        "cernita-20261123T010203Z-00001.tif",
        "cernita-20261123T010203Z-.tif",
        "cernita-20261123T010203Z--001.tif",
        "cernita-20261123T010203Z-1e10.tif",
        "cernita-20261123T010203Z-100000000000000000000.tif",
        "cernita-20261123T010203-0001.tif",
        "cernita-2026-11-23T010203Z-0001.tif",
        "cernita-20261123t010203Z-0001.tif",
        "cernita-20261123T01020Z-0001.tif",
        "copy-of-cernita-20261123T010203Z-0001.tif",
        ".cernita-20261123T010203Z-0001.tif",
        "Cernita-20261123T010203Z-0001.tif",
        "cernita-0000000001.verdicts",
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(crn_segment_is_name(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (crn_segment_is_name(bad[i]))
            fail_msg("%s", bad[i]);
    char path[64];
    crn_segment_path(path, sizeof path, "d", "20261123T010203Z", 12);
    assert_string_equal(path, "d/cernita-20261123T010203Z-0012.tif");
    assert_true(crn_segment_is_name(path + 2));
}

/* --- what goes --- */

static void the_oldest_go_until_the_others_fit(void **state)
{
    (void)state;
    put("cernita-20261101T000000Z-0002.tif", 100, 3); /* of the same age: by number */
    put("cernita-20261101T000000Z-0010.tif", 100, 3);
    put("cernita-20260101T000000Z-0001.tif", 100, 1); /* an old name, written last */
    put("cernita-20261102T000000Z-0001.tif", 100, 2);
    crn_segments_removed removed = removed_by(400, 0, 0);
    assert_int_equal(removed.removed, 0);
    assert_int_equal(removed.left_bytes, 400);
    removed = removed_by(400, 0, 1);
    assert_int_equal(removed.removed, 1);
    assert_int_equal(removed.removed_bytes, 100);
    assert_false(is_there("cernita-20261101T000000Z-0002.tif"));
    removed = removed_by(250, 0, 150);
    assert_int_equal(removed.removed, 2);
    assert_int_equal(removed.left, 1);
    assert_true(is_there("cernita-20260101T000000Z-0001.tif"));
    removed = removed_by(50, 0, 0);
    assert_int_equal(removed.left, 0);
    assert_int_equal(removed_by(1, 1, 100).left, 0);
}

static void those_that_are_too_old_go(void **state)
{
    (void)state;
    put("cernita-20261101T000000Z-0001.tif", 1, 31);
    put("cernita-20261101T000000Z-0002.tif", 1, 29);
    put("cernita-20261101T000000Z-0003.tif", 1, -5); /* a clock that went back */
    assert_int_equal(removed_by(0, 30 * CRN_DAY_NS, 0).removed, 1);
    assert_false(is_there("cernita-20261101T000000Z-0001.tif"));
    assert_int_equal(removed_by(0, 0, UINT64_MAX).removed, 0); /* no limits */
    assert_int_equal(removed_by(0, 28 * CRN_DAY_NS, 0).removed, 1);
    assert_true(is_there("cernita-20261101T000000Z-0003.tif"));
}

/* Otherwise each new one would go as the oldest, and those of the wrong time stay. */
static void those_of_a_clock_that_was_ahead_go_first(void **state)
{
    (void)state;
    put("cernita-20300101T000000Z-0001.tif", 100, -1000);
    put("cernita-20300102T000000Z-0001.tif", 100, -1001);
    put("cernita-20261101T000000Z-0001.tif", 100, 1);
    put("cernita-20261102T000000Z-0001.tif", 100, 0);
    assert_int_equal(removed_by(300, 0, 0).removed, 1);
    assert_false(is_there("cernita-20300101T000000Z-0001.tif"));
    assert_int_equal(removed_by(200, 0, 0).removed, 1);
    assert_false(is_there("cernita-20300102T000000Z-0001.tif"));
    assert_int_equal(removed_by(100, 0, 0).removed, 1);
    assert_true(is_there("cernita-20261102T000000Z-0001.tif"));
}

/* --- what never goes --- */

static void what_is_no_segment_is_never_removed(void **state)
{
    (void)state;
    static const char *const alike[] = {
        "cernita-20261101T000000Z-001.tif.part", "cernita-20261101T000000Z-001.tif",
        "cernita-20261101T000000Z-0001.tiff",    "Cernita-20261101T000000Z-0001.tif",
        "cernita-20261101T000000Z-0001.tif.bak", "my cernita-20261101T000000Z-0001.tif",
        "cernita-0000000001.verdicts",           "fruits.tif",
    };
    enum { ALIKE = sizeof alike / sizeof *alike };
    static const char folder[] = "cernita-20261101T000000Z-0005.tif";
    static const char link[] = "cernita-20261101T000000Z-0006.tif";
    static const char dangling[] = "cernita-20261101T000000Z-0007.tif";
    static const char pipe[] = "cernita-20261101T000000Z-0008.tif";
    static const char to_folder[] = "cernita-20261101T000000Z-0009.tif";
    char path[160];
    for (int i = 0; i < ALIKE; i++)
        put(alike[i], 1000, 1000);
    path_of(folder, path);
    assert_int_equal(mkdir(path, 0700), 0);
    path_of(link, path);
    assert_int_equal(symlink("fruits.tif", path), 0);
    path_of(dangling, path);
    assert_int_equal(symlink("/nonexistent/victim", path), 0);
    path_of(pipe, path);
    assert_int_equal(mkfifo(path, 0600), 0);
    path_of(to_folder, path);
    assert_int_equal(symlink(folder, path), 0);
    put(CRN_OLDEST, 1000, 1000); /* the only segment */
    crn_segments_removed removed = removed_by(1, 1, UINT64_MAX / 2);
    assert_int_equal(removed.removed, 1);
    assert_int_equal(removed.left, 0);
    assert_false(is_there(CRN_OLDEST));
    for (int i = 0; i < ALIKE; i++)
        assert_true(is_there(alike[i]));
    assert_true(is_there(folder) && is_there(link) && is_there(dangling) && is_there(pipe) &&
                is_there(to_folder));
}

/* A segment that becomes a folder after it was looked at. */
static void a_folder_in_the_place_of_a_segment_stays(void **state)
{
    (void)state;
    crn_segment_limits limits = {1, 0};
    crn_segments_removed removed;
    crn_error error;
    put(CRN_OLDEST, 100, 2);
    put("cernita-20261101T000000Z-0002.tif", 100, 1);
    becomes_folder = CRN_OLDEST;
    assert_int_equal(crn_segments_remove(recorded_folder, &limits, 0, &removed, &error), -EISDIR);
    assert_true(is_there(CRN_OLDEST));
    assert_int_equal(removed.removed, 1);
    assert_int_equal(removed.left_bytes, 100);
}

static void one_that_cannot_be_removed_is_named(void **state)
{
    (void)state;
    crn_segment_limits limits = {0, CRN_DAY_NS};
    crn_segments_removed removed;
    crn_error error;
    put(CRN_OLDEST, 100, 3);
    put("cernita-20261101T000000Z-0002.tif", 100, 2);
    unremovable = CRN_OLDEST;
    assert_int_equal(crn_segments_remove(recorded_folder, &limits, 0, &removed, &error), -EACCES);
    assert_non_null(strstr(error.text, CRN_OLDEST ": cannot be removed: Permission denied"));
    assert_int_equal(removed.removed, 1);
    assert_int_equal(removed.left, 1);
    assert_int_equal(crn_segments_remove("/nonexistent", &limits, 0, &removed, &error), -ENOENT);
    assert_non_null(strstr(error.text, "/nonexistent: cannot list this folder: "));
    assert_int_equal(removed.removed, 0);
}

/* --- the recorder --- */

/* Offers views and waits until each is written. */
static void record(crn_recorder *recorder, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        crn_recorded_view view = recorded_small(i);
        crn_recorder_stats before = crn_recorder_get_stats(recorder), now = before;
        crn_recorder_offer(recorder, &view);
        while (now.written == before.written) {
            sched_yield();
            now = crn_recorder_get_stats(recorder);
            assert_int_equal(now.failed + now.dropped, 0);
        }
    }
}

static uint64_t bytes_there(void)
{
    uint64_t bytes = 0;
    DIR *folder = opendir(recorded_folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        struct stat about;
        if (crn_segment_is_name(entry->d_name) && !fstatat(dirfd(folder), entry->d_name, &about, 0))
            bytes += (uint64_t)about.st_size;
    }
    closedir(folder);
    return bytes;
}

static void a_recorder_stays_within_its_size(void **state)
{
    (void)state;
    put(CRN_OLDEST, 50000, 1);
    crn_recorder *recorder = start((crn_segment_limits){.keep_bytes = 100000}, 20000, 0);
    for (int i = 0; i < 40; i++) {
        record(recorder, 10);
        assert_true(bytes_there() <= 80000);
    }
    crn_recorder_close(&recorder);
    assert_in_range(bytes_there(), 60000, 100000);
    assert_false(is_there(CRN_OLDEST));
}

/* A crowd that is too old when the daemon starts; nothing is recorded. */
static void a_recorder_removes_at_its_start_and_tells(void **state)
{
    (void)state;
    crn_log_capture capture;
    put(CRN_OLDEST, 3 * MIB, 9);
    put("cernita-20261101T000000Z-0002.tif", 2 * MIB, 8);
    put("cernita-20261101T000000Z-0003.tif", MIB, 1);
    crn_log_set_level(CRN_LOG_INFO);
    crn_log_capture_start(&capture);
    crn_recorder *recorder = start((crn_segment_limits){.keep_ns = 7 * CRN_DAY_NS}, MIB, 0);
    crn_recorder_finish(recorder);
    const char *told = crn_log_capture_stop(&capture);
    crn_log_set_level(CRN_LOG_ERROR);
    assert_int_equal(crn_recorder_get_stats(recorder).removed, 2);
    crn_recorder_close(&recorder);
    assert_non_null(strstr(told, ": removed the oldest 2 segments, 5 MiB (record.keep_gib, "
                                 "record.keep_days); 1 segments, 1 MiB are left\n"));
    assert_true(is_there("cernita-20261101T000000Z-0003.tif"));
}

/* One grows too old while the recorder has nothing to do. */
static void a_recorder_looks_again(void **state)
{
    (void)state;
    put(CRN_OLDEST, 100, 6);
    crn_recorder *recorder =
        start((crn_segment_limits){.keep_ns = 7 * CRN_DAY_NS}, MIB, CRN_NS_PER_MS);
    record(recorder, 1);
    assert_true(is_there(CRN_OLDEST));
    put(CRN_OLDEST, 100, 8);
    for (int64_t end_ns = crn_now_ns() + PATIENCE; is_there(CRN_OLDEST) && crn_now_ns() < end_ns;)
        sched_yield();
    assert_false(is_there(CRN_OLDEST));
    record(recorder, 1); /* its own segment was never touched */
    crn_recorder_close(&recorder);
    assert_true(bytes_there() > 0);
}

/* Before a view is given up for want of room, retention makes some. */
static void a_full_disk_is_cleared_first(void **state)
{
    (void)state;
    crn_recorder *recorder = start((crn_segment_limits){.keep_ns = 7 * CRN_DAY_NS}, MIB, 0);
    record(recorder, 1);
    put(CRN_OLDEST, 100, 8);
    atomic_store(&short_until_gone, 1);
    record(recorder, 1);
    assert_int_equal(crn_recorder_get_stats(recorder).failed, 0);
    crn_recorder_close(&recorder);
    assert_false(is_there(CRN_OLDEST));
}

#define TEST(name) cmocka_unit_test_teardown(name, clean)

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        TEST(only_segments_have_their_names),
        TEST(the_oldest_go_until_the_others_fit),
        TEST(those_that_are_too_old_go),
        TEST(those_of_a_clock_that_was_ahead_go_first),
        TEST(what_is_no_segment_is_never_removed),
        TEST(a_folder_in_the_place_of_a_segment_stays),
        TEST(one_that_cannot_be_removed_is_named),
        TEST(a_recorder_stays_within_its_size),
        TEST(a_recorder_removes_at_its_start_and_tells),
        TEST(a_recorder_looks_again),
        TEST(a_full_disk_is_cleared_first),
    };
    return cmocka_run_group_tests(tests, recorded_setup, recorded_teardown);
}
