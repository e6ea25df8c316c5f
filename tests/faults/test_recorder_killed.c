/*
 * A recorder is killed (SIGKILL) at random moments: every segment can be read, each view as it was
 * recorded, and of those that it said were written none is missing. CRN_CASES is the number of
 * kills (20 by default), CRN_SEED the seed of the moments.
 */
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/recorder/recorder.h"
#include "stages/base/log.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/free_space.h"
#include "tests/support/parts/recorded.h"
#include "tests/support/random.h"

#define SEGMENT_BYTES 100000 /* some ten views */

/* Shared by both processes: views that the recorder said were written. */
static _Atomic uint64_t *written;

/* Records views until it is killed. */
static _Noreturn void record(void)
{
    crn_recorder *recorder;
    crn_recorder_settings settings = {
        .dir = recorded_folder, .segment_bytes = SEGMENT_BYTES, .queue_bytes = 1 << 20};
    if (crn_recorder_open(&settings, &recorder, NULL) < 0)
        _exit(1);
    for (uint64_t number = 0;; number++) {
        crn_recorded_view view = recorded_small(number);
        crn_recorder_offer(recorder, &view);
        crn_recorder_stats stats;
        do {
            stats = crn_recorder_get_stats(recorder);
            atomic_store(written, stats.written);
            if (stats.dropped + stats.failed > 0)
                _exit(1);
            sched_yield();
        } while (number + 1 - stats.written > 4);
    }
}

/* The views of a file, each as it was recorded. */
static uint64_t count_views(const char *path)
{
    crn_recording_reader *reader;
    crn_recorded_view got;
    crn_error error;
    uint64_t count = 0;
    if (crn_recording_open(path, &reader, &error) < 0) /* killed before its header was written */
        return 0;
    while (crn_recording_next(reader, &got, &error) > 0) {
        crn_recorded_view want = recorded_small(got.header.fruit - recorded_small(0).header.fruit);
        recorded_assert_same(&want, &got);
        count++;
    }
    crn_recording_end(&reader);
    return count;
}

static uint64_t count_all(void)
{
    char path[512];
    uint64_t count = 0;
    DIR *folder = opendir(recorded_folder);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        snprintf(path, sizeof path, "%s/%s", recorded_folder, entry->d_name);
        if (entry->d_name[0] != '.')
            count += count_views(path);
    }
    closedir(folder);
    return count;
}

static void what_was_written_is_read(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    uint32_t kills = crn_random_cases(20);
    uint64_t all = 0;
    written =
        mmap(NULL, sizeof *written, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(written != MAP_FAILED);
    for (uint32_t i = 0; i < kills; i++) {
        int status;
        uint64_t wanted = 1 + crn_random_below(&random, 60);
        atomic_store(written, 0);
        pid_t child = crn_cleanup_fork();
        if (child == 0)
            record();
        while (atomic_load(written) < wanted) {
            assert_int_equal(waitpid(child, &status, WNOHANG), 0);
            sched_yield();
        }
        for (volatile uint32_t spins = crn_random_below(&random, 2000000); spins > 0; spins--)
            continue;
        kill(child, SIGKILL);
        assert_int_equal(crn_cleanup_wait(child, &status), child);
        assert_true(WIFSIGNALED(status));
        uint64_t count = count_all();
        assert_true(count >= atomic_load(written));
        all += count;
        recorded_clear();
    }
    munmap(written, sizeof *written);
    print_message("%u kills, %u views read, each as it was recorded\n", (unsigned)kills,
                  (unsigned)all);
}

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_is_read),
    };
    return cmocka_run_group_tests(tests, recorded_setup, recorded_teardown);
}
