/*
 * A process that logs verdicts is killed (SIGKILL) at random moments: every verdict that was
 * written is read, in order, and nothing else; the next process continues in a new segment.
 * CRN_CASES is the number of processes (20 by default), CRN_SEED the seed.
 */
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/recorder/verdict_log.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/logged.h"
#include "tests/support/random.h"

#define RUN_FIRST(run) ((run)*UINT64_C(1000000)) /* number of a process's first verdict */

/* Shared by both processes. */
typedef struct progress {
    _Atomic uint64_t offered, written;
} progress;

/* Logs verdicts until it is killed. */
static _Noreturn void log_verdicts(uint64_t first, progress *shared)
{
    crn_verdict_log *log;
    crn_verdict_log_settings settings = {logged_folder, 8 << 20, 0, 0};
    if (crn_verdict_log_open(&settings, 1 << 20, &log, NULL) < 0)
        _exit(1);
    for (uint64_t number = first;; number++) {
        size_t size;
        const unsigned char *bytes = logged_verdict(number, &size);
        do { /* none is dropped */
            crn_verdict_log_stats stats = crn_verdict_log_get_stats(log);
            atomic_store(&shared->written, stats.written);
            if (stats.failed || stats.dropped)
                _exit(1);
            if (number - first - stats.written < 4)
                break;
            sched_yield();
        } while (true);
        crn_verdict_log_offer(log, logged_lane(number), bytes, size);
        atomic_store(&shared->offered, number - first + 1);
    }
}

/* Lets a process log at least one verdict and kills it after some more. */
static void run_and_kill(uint64_t first, uint32_t verdicts, uint32_t spins, progress *shared)
{
    atomic_store(&shared->offered, 0);
    atomic_store(&shared->written, 0);
    pid_t child = crn_cleanup_fork();
    if (child == 0)
        log_verdicts(first, shared);
    int status;
    while (atomic_load(&shared->written) < verdicts) {
        assert_int_equal(waitpid(child, &status, WNOHANG), 0);
        sched_yield();
    }
    for (volatile uint32_t i = 0; i < spins; i++)
        continue;
    kill(child, SIGKILL);
    assert_int_equal(crn_cleanup_wait(child, &status), child);
    assert_true(WIFSIGNALED(status));
}

static void every_whole_verdict_is_read(void **state)
{
    (void)state;
    crn_random random = {crn_random_seed()};
    uint32_t runs = crn_random_cases(20);
    size_t torn = 0, before = 0;
    progress *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    logged_bytes_max = 100000;
    for (uint32_t run = 0; run < runs; run++) {
        run_and_kill(RUN_FIRST(run), 1 + crn_random_below(&random, 50),
                     crn_random_below(&random, 2000000), shared);
        const logged_log *log = logged_read();
        size_t count = log->count - before;
        assert_true(count >= atomic_load(&shared->written));
        assert_true(count <= atomic_load(&shared->offered) + 1);
        for (size_t i = 0; i < count; i++)
            assert_int_equal(log->numbers[before + i], RUN_FIRST(run) + i);
        assert_true(log->notices <= torn + 1); /* at most one torn record a process */
        torn = log->notices;
        before = log->count;
    }
    print_message("%zu of %" PRIu32 " processes left a torn record\n", torn, runs);
    munmap(shared, sizeof *shared);
}

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_whole_verdict_is_read, logged_setup, logged_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
