/* The verdict log's thread on bad disks: what they cannot take is counted and warned about, and the
 * caller never blocks. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/formats/verdict_log/format.h"
#include "src/recorder/verdict_log.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/free_space.h"
#include "tests/support/line/log_capture.h"
#include "tests/support/parts/logged.h"
#include "tests/support/small_disk.h"

/* --- a simulated disk: these functions replace libc's --- */

static atomic_bool stuck;
static sem_t reached, released; /* a write has arrived; it may continue */
static atomic_int refused;      /* errno of every write, 0: success */
static atomic_int room;         /* bytes until a write is cut and the next one refused; < 0: any */
static atomic_bool in_bits;     /* writes take 100 bytes each */

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    if (atomic_load(&stuck)) {
        sem_post(&reached);
        sem_wait(&released);
    }
    if (atomic_load(&refused)) {
        errno = atomic_load(&refused);
        return -1;
    }
    int most = atomic_load(&in_bits) ? 100 : -1;
    int left = atomic_load(&room);
    if (left == 0) {
        errno = ENOSPC;
        return -1;
    }
    struct iovec first = parts[0];
    if (left > 0 || most > 0) {
        size_t limit = (size_t)(left > 0 && (most < 0 || left < most) ? left : most);
        first.iov_len = first.iov_len < limit ? first.iov_len : limit;
        parts = &first;
        count = 1;
    }
    ssize_t wrote = syscall(SYS_pwritev, fd, parts, count, offset, 0);
    if (left > 0 && wrote > 0)
        atomic_store(&room, left - (int)wrote);
    return wrote;
}

/* --- helpers --- */

#define QUEUE_BYTES 65536

static crn_verdict_log *start_with(uint64_t queue_bytes)
{
    crn_verdict_log *log;
    crn_error error;
    crn_verdict_log_settings settings = {logged_folder, UINT64_MAX, 0, 0};
    if (crn_verdict_log_open(&settings, queue_bytes, &log, &error) < 0)
        fail_msg("%s", error.text);
    return log;
}

static void offer(crn_verdict_log *log, uint64_t number)
{
    size_t size;
    const unsigned char *bytes = logged_verdict(number, &size);
    crn_verdict_log_offer(log, logged_lane(number), bytes, size);
}

/* Offers one verdict after another, each after the previous one was handled. */
static void offer_patiently(crn_verdict_log *log, uint64_t from, uint64_t to)
{
    for (uint64_t number = from; number < to; number++) {
        crn_verdict_log_stats before = crn_verdict_log_get_stats(log), now;
        offer(log, number);
        do {
            sched_yield();
            now = crn_verdict_log_get_stats(log);
            assert_int_equal(now.dropped, before.dropped);
        } while (now.written + now.failed == before.written + before.failed);
    }
}

/* --- tests --- */

static void all_is_written_before_it_closes(void **state)
{
    (void)state;
    crn_verdict_log *log = start_with(16 << 20);
    for (uint64_t number = 0; number < 1000; number++)
        offer(log, number);
    assert_int_equal(crn_verdict_log_get_stats(log).dropped, 0);
    crn_verdict_log_close(&log);
    assert_null(log);
    crn_verdict_log_close(&log);
    logged_expect(0, 1000, 0);
}

/* The ring wraps many times. */
static void the_queue_is_used_again_and_again(void **state)
{
    (void)state;
    crn_verdict_log *log = start_with(QUEUE_BYTES);
    offer_patiently(log, 0, 1000);
    uint64_t bytes = 0;
    for (uint64_t number = 0; number < 1000; number++) {
        size_t size;
        logged_verdict(number, &size);
        bytes += CRN_VERDICT_RECORD_BYTES + size;
    }
    assert_int_equal(crn_verdict_log_get_stats(log).written, 1000);
    assert_int_equal(crn_verdict_log_get_stats(log).bytes, bytes);
    crn_verdict_log_close(&log);
    logged_expect(0, 1000, 0);
}

static void a_stuck_disk_costs_entries_and_never_time(void **state)
{
    (void)state;
    crn_verdict_log *log = start_with(QUEUE_BYTES);
    atomic_store(&stuck, true);
    offer(log, 0);
    sem_wait(&reached); /* the thread blocks on verdict 0 */
    uint64_t fit = 1;
    for (; crn_verdict_log_get_stats(log).dropped == 0; fit++) /* while the disk is stuck */
        offer(log, fit);
    fit--;
    logged_bytes_max = 20000;
    for (uint64_t i = 0; i < 100; i++) { /* must return each time */
        static const unsigned char large[QUEUE_BYTES / 2];
        crn_verdict_log_offer(log, 0, large, sizeof large);
    }
    logged_bytes_max = 3000;
    crn_verdict_log_stats stats = crn_verdict_log_get_stats(log);
    assert_int_equal(stats.dropped, 101);
    assert_int_equal(stats.written, 0);
    atomic_store(&stuck, false);
    sem_post(&released);
    crn_verdict_log_close(&log); /* queued verdicts are still written */
    assert_true(fit > 10);
    logged_expect(0, fit, 0);
}

static void a_verdict_larger_than_the_queue_is_dropped(void **state)
{
    (void)state;
    static const unsigned char large[QUEUE_BYTES];
    crn_verdict_log *log = start_with(QUEUE_BYTES);
    crn_verdict_log_offer(log, 0, large, sizeof large);
    assert_int_equal(crn_verdict_log_get_stats(log).dropped, 1);
    offer_patiently(log, 0, 2);
    crn_verdict_log_close(&log);
    logged_expect(0, 2, 0);
}

static void a_refusing_disk_is_counted_and_tried_again(void **state)
{
    (void)state;
    crn_log_capture capture;
    crn_verdict_log *log = start_with(QUEUE_BYTES);
    offer_patiently(log, 0, 3);
    crn_log_set_level(CRN_LOG_WARNING);
    crn_log_capture_start(&capture);
    atomic_store(&refused, EIO);
    offer_patiently(log, 100, 107);
    atomic_store(&refused, 0);
    const char *told = crn_log_capture_stop(&capture);
    crn_log_set_level(CRN_LOG_ERROR);
    assert_non_null(strstr(told, "cernita-0000000001.verdicts: cannot be written: Input/output "
                                 "error; 1 entries not logged so far, sorting goes on\n"));
    assert_null(strstr(strchr(told, '\n') + 1, "publish.log"));
    assert_int_equal(crn_verdict_log_get_stats(log).failed, 7);
    offer_patiently(log, 3, 6);
    assert_int_equal(crn_verdict_log_get_stats(log).written, 6);
    crn_verdict_log_close(&log);
    logged_expect(0, 6, 0);
    assert_int_equal(logged_files(), 2); /* the failed attempts leave no file */
}

/* A disk that fills up in the midst of a verdict: what was written of it is taken back. */
static void half_a_verdict_is_taken_back(void **state)
{
    (void)state;
    crn_verdict_log *log = start_with(QUEUE_BYTES);
    offer_patiently(log, 0, 2);
    for (int bytes = 0; bytes < 60; bytes += 7) {
        atomic_store(&room, bytes);
        offer_patiently(log, 100, 102);
        atomic_store(&room, -1);
    }
    assert_int_equal(crn_verdict_log_get_stats(log).failed, 18);
    offer_patiently(log, 2, 4);
    crn_verdict_log_close(&log);
    logged_expect(0, 4, 0);
    assert_int_equal(logged_files(), 1);
}

static void room_for_others_is_left_on_the_disk(void **state)
{
    (void)state;
    crn_verdict_log *log = start_with(QUEUE_BYTES);
    offer_patiently(log, 0, 2);
    atomic_store(&free_bytes, CRN_VERDICT_LOG_SPARE_BYTES);
    offer_patiently(log, 100, 103);
    assert_int_equal(crn_verdict_log_get_stats(log).failed, 3);
    atomic_store(&free_bytes, CRN_VERDICT_LOG_SPARE_BYTES + 100000);
    offer_patiently(log, 2, 5);
    atomic_store(&free_bytes, CRN_PLENTY_BYTES);
    crn_verdict_log_close(&log);
    logged_expect(0, 5, 0);
    assert_int_equal(logged_files(), 1);
}

/* A disk that is full from the start: neither verdicts nor empty files. */
static void a_full_disk_collects_no_files(void **state)
{
    (void)state;
    crn_verdict_log *log = start_with(QUEUE_BYTES);
    atomic_store(&room, 5);
    offer_patiently(log, 0, 3);
    assert_int_equal(logged_files(), 0);
    atomic_store(&room, 20);
    offer_patiently(log, 0, 3);
    assert_int_equal(logged_files(), 1);
    crn_verdict_log_close(&log);
    assert_int_equal(logged_files(), 0);
    atomic_store(&room, -1);
}

static void short_writes_are_continued(void **state)
{
    (void)state;
    crn_verdict_log *log = start_with(QUEUE_BYTES);
    atomic_store(&in_bits, true);
    offer_patiently(log, 0, 20);
    atomic_store(&in_bits, false);
    crn_verdict_log_close(&log);
    logged_expect(0, 20, 0);
}

/* Writes until a file system of 256 KiB is full; then room is made. Exit status: 0 good, 77 no such
 * file system can be mounted here. */
static int fill_small_disk(void)
{
    if (!crn_small_disk_mount(logged_folder, "256k"))
        return 77;
    char filler[128];
    snprintf(filler, sizeof filler, "%s/filler", logged_folder);
    int fd = open(filler, O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || posix_fallocate(fd, 0, 100000) != 0)
        return 1;
    close(fd);
    crn_verdict_log *log = start_with(QUEUE_BYTES);
    uint64_t next = 0, written;
    while (crn_verdict_log_get_stats(log).failed < 50)
        offer_patiently(log, next, next + 1), next++;
    written = crn_verdict_log_get_stats(log).written;
    const logged_log *found = logged_read();
    if (written < 20 || found->count != written || found->notices)
        return 2;
    unlink(filler);
    offer_patiently(log, next, next + 10);
    crn_verdict_log_close(&log);
    found = logged_read();
    bool whole = found->count == written + 10 && !found->notices &&
                 found->numbers[found->count - 1] == next + 9;
    return whole ? 0 : 3;
}

static void a_full_file_system_stops_nothing(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(fill_small_disk());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, logged_setup, logged_teardown)

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
    sem_init(&reached, 0, 0);
    sem_init(&released, 0, 0);
    atomic_store(&room, -1);
    const struct CMUnitTest tests[] = {
        TEST(all_is_written_before_it_closes),
        TEST(the_queue_is_used_again_and_again),
        TEST(a_stuck_disk_costs_entries_and_never_time),
        TEST(a_verdict_larger_than_the_queue_is_dropped),
        TEST(a_refusing_disk_is_counted_and_tried_again),
        TEST(half_a_verdict_is_taken_back),
        TEST(room_for_others_is_left_on_the_disk),
        TEST(a_full_disk_collects_no_files),
        TEST(short_writes_are_continued),
        TEST(a_full_file_system_stops_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
