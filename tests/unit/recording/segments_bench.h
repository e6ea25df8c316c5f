/* Segments of the tests in recorded_folder, by name. */
#ifndef CRN_TESTS_UNIT_RECORDING_SEGMENTS_BENCH_H
#define CRN_TESTS_UNIT_RECORDING_SEGMENTS_BENCH_H

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/recorder/recorder.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/recorded.h"

#define CRN_DAY_NS (86400 * CRN_NS_PER_S)
#define CRN_OLDEST "cernita-20261101T000000Z-0001.tif"

static inline void path_of(const char *name, char path[160])
{
    snprintf(path, 160, "%s/%s", recorded_folder, name);
}

/* Makes a file of that size, last written so many days ago. */
static inline void put(const char *name, uint64_t bytes, int64_t days)
{
    char path[160];
    path_of(name, path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
    int64_t at_ns = crn_realtime_ns() - days * CRN_DAY_NS;
    struct timespec times[2] = {{.tv_sec = at_ns / CRN_NS_PER_S}, {.tv_sec = at_ns / CRN_NS_PER_S}};
    assert_int_equal(futimens(fd, times), 0);
    close(fd);
}

static inline bool is_there(const char *name)
{
    char path[160];
    struct stat about;
    path_of(name, path);
    return lstat(path, &about) == 0;
}

static inline void remove_all(void)
{
    DIR *folder = opendir(recorded_folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        syscall(SYS_unlinkat, dirfd(folder), entry->d_name, 0);
        if (entry->d_name[0] != '.')
            syscall(SYS_unlinkat, dirfd(folder), entry->d_name, AT_REMOVEDIR);
    }
    closedir(folder);
}

static inline crn_segments_removed removed_by(uint64_t keep_bytes, int64_t keep_ns, uint64_t coming)
{
    crn_segment_limits limits = {keep_bytes, keep_ns};
    crn_segments_removed removed;
    crn_error error = {""};
    if (crn_segments_remove(recorded_folder, &limits, coming, &removed, &error))
        fail_msg("%s", error.text);
    return removed;
}

static inline crn_recorder *start(crn_segment_limits limits, uint64_t segment_bytes,
                                  int64_t every_ns)
{
    crn_recorder *recorder = NULL;
    crn_error error;
    crn_recorder_settings settings = {.dir = recorded_folder,
                                      .segment_bytes = segment_bytes,
                                      .limits = limits,
                                      .retention_ns = every_ns};
    if (crn_recorder_open(&settings, &recorder, &error))
        fail_msg("%s", error.text);
    return recorder;
}

#endif
