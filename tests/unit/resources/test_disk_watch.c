/* A disk that hangs holds its own thread and nobody else, and how long is told. */
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/statvfs.h>

#include "src/monitor/resources/disks.h"
#include "src/monitor/resources/fill.h"
#include "stages/base/clock.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"

#define GIB (INT64_C(1) << 30)
#define KIB (INT64_C(1) << 10)

/* --- the disk ----------------------------------------------------------------------------------
 */

/* Of the folder "/hanging" as of any other, but that it answers only when `answer` is posted. */
static sem_t asked, answer;
static atomic_bool refuses;

/* In the place of libc's, in this program. */
int statvfs(const char *path, struct statvfs *ret_disk)
{
    if (strcmp(path, "/hanging") == 0) {
        sem_post(&asked);
        while (sem_wait(&answer) != 0)
            continue;
    }
    if (atomic_load(&refuses)) {
        errno = EIO;
        return -1;
    }
    *ret_disk = (struct statvfs){.f_frsize = 4096, .f_bavail = 25, .f_bfree = 30, .f_blocks = 100};
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    sem_init(&asked, 0, 0);
    sem_init(&answer, 0, 0);
    atomic_store(&refuses, false);
    return 0;
}

static void stop(void *watch)
{
    crn_resource_disk_watch *own = watch;
    sem_post(&answer);
    crn_resource_disk_watch_stop(&own);
}

static int64_t spare_bytes;

static crn_resource_disk_watch *watch_folder(const char *path)
{
    crn_resource_disk_watch *watch;
    crn_resource_folder folder = {.path = path, .spare_bytes = spare_bytes};
    assert_int_equal(crn_resource_disk_watch_start(&folder, &watch), 0);
    crn_cleanup_add(stop, watch);
    return watch;
}

static crn_resource_disk read_now(crn_resource_disk_watch *watch)
{
    crn_resource_disk disk;
    crn_resource_disk_watch_read(watch, crn_now_ns(), &disk);
    return disk;
}

/* --- tests -------------------------------------------------------------------------------------
 */

/* Nothing more is written to it, so that its free space falls no more. */
static void a_full_disk_is_full_now(void **state)
{
    (void)state;
    spare_bytes = 25 * 4096;
    crn_resource_disk_watch *watch = watch_folder("/full");
    spare_bytes = 0;
    crn_resource_disk_watch_await(watch, CRN_NEVER_NS);
    assert_true(read_now(watch).hours_left == 0);
    assert_true(read_now(watch).fall_bytes_s == CRN_RESOURCE_UNKNOWN);
}

static void a_disk_that_answers(void **state)
{
    (void)state;
    crn_resource_disk_watch *watch = watch_folder("/sound");
    crn_resource_disk_watch_await(watch, CRN_NEVER_NS);
    crn_resource_disk disk = read_now(watch);
    assert_true(disk.on);
    assert_int_equal(disk.free_bytes, 25 * 4096); /* to this user */
    assert_int_equal(disk.size_bytes, 100 * 4096);
    assert_true(disk.hours_left == CRN_RESOURCE_UNKNOWN);
}

static void a_disk_that_hangs_is_told(void **state)
{
    (void)state;
    crn_resource_disk_watch *watch = watch_folder("/hanging");
    assert_int_equal(sem_wait(&asked), 0);
    crn_clock_move(30 * CRN_NS_PER_S);
    crn_resource_disk disk = read_now(watch);
    assert_true(disk.on);
    assert_int_equal(disk.size_bytes, 0);
    assert_true(disk.silent_s >= 30);
    sem_post(&answer);
    crn_resource_disk_watch_await(watch, CRN_NEVER_NS);
    assert_int_equal(read_now(watch).size_bytes, 100 * 4096);
}

/* Its last figures stay. */
static void a_disk_that_hangs_later(void **state)
{
    (void)state;
    crn_resource_disk_watch *watch = watch_folder("/hanging");
    sem_post(&answer);
    crn_resource_disk_watch_await(watch, CRN_NEVER_NS);
    assert_int_equal(sem_wait(&asked), 0);
    assert_int_equal(sem_wait(&asked), 0); /* the next question */
    crn_clock_move(30 * CRN_NS_PER_S);
    crn_resource_disk disk = read_now(watch);
    assert_true(disk.silent_s >= 30);
    assert_int_equal(disk.free_bytes, 25 * 4096);
}

static void a_disk_that_refuses_has_no_figures(void **state)
{
    (void)state;
    atomic_store(&refuses, true);
    crn_resource_disk_watch *watch = watch_folder("/gone");
    crn_resource_disk_watch_await(watch, CRN_NEVER_NS);
    crn_resource_disk disk = read_now(watch);
    assert_int_equal(disk.size_bytes, 0);
    assert_true(disk.on && disk.silent_s < 30);
}

/* The start and the end wait for it, but not for ever. */
static void no_caller_waits_for_a_disk_for_ever(void **state)
{
    (void)state;
    crn_resources_settings settings = {
        .folders = {
            [CRN_RESOURCE_RECORD] = {.path = "/hanging"}, [CRN_RESOURCE_LOG] = {.path = "/sound"}}};
    crn_resources_reader *reader;
    crn_resources resources;
    assert_int_equal(crn_resources_create(&settings, &reader), 0);
    crn_clock_move(30 * CRN_NS_PER_S);
    do /* on a busy machine a sound disk's first answer may come later, too */
        crn_resources_read(reader, &resources);
    while (resources.disks[CRN_RESOURCE_LOG].size_bytes == 0);
    assert_true(resources.disks[CRN_RESOURCE_RECORD].silent_s >= 30);
    assert_int_equal(resources.disks[CRN_RESOURCE_LOG].size_bytes, 100 * 4096);
    assert_false(resources.disks[CRN_RESOURCE_STATE].on);
    crn_resources_free(&reader);
    assert_null(reader);
    sem_post(&answer); /* the thread that was left behind ends */
}

/* --- how fast it fills --------------------------------------------------------------------------
 */

static crn_fill filled(int points, int64_t (*free_at)(int point))
{
    crn_fill fill = {0};
    for (int i = 0; i < points; i++) {
        crn_fill_add(&fill, 1 + i * CRN_FILL_STEP_NS, free_at(i));
        crn_fill_add(&fill, 2 + i * CRN_FILL_STEP_NS, 0); /* too early to count */
    }
    return fill;
}

static int64_t falls(int point)
{
    return 500 * GIB - point * 2 * GIB;
}

/* A recorder that removes its oldest segment, of 4 GiB, every 100 s. */
static int64_t goes_up_and_down(int point)
{
    return 50 * GIB - point % 5 * GIB;
}

static int64_t rises(int point)
{
    return 50 * GIB + point * GIB;
}

/* One large file, between two points; beside it a log that grows. */
static int64_t large_file_after;

static int64_t takes_one_large_file(int point)
{
    return 50 * GIB - (point > large_file_after ? 10 * GIB : 0) - point * KIB;
}

static void a_disk_that_fills(void **state)
{
    (void)state;
    crn_fill fill = filled(5, falls);
    assert_true(crn_fill_rate(&fill) < 0); /* not known yet */
    fill = filled(6, falls);
    assert_true(crn_fill_rate(&fill) == (double)GIB / 10);
    fill = filled(200, falls);
    assert_true(crn_fill_rate(&fill) == (double)GIB / 10);
}

static void space_that_is_freed_is_seen_at_once(void **state)
{
    (void)state;
    crn_fill fill = filled(30, falls);
    crn_fill_add(&fill, 3 + 29 * CRN_FILL_STEP_NS, 500 * GIB); /* less than a step later */
    assert_true(crn_fill_rate(&fill) < 0);
}

static void a_disk_that_does_not_fill(void **state)
{
    (void)state;
    for (int points = 10; points < 100; points++) {
        crn_fill fill = filled(points, goes_up_and_down);
        assert_true(crn_fill_rate(&fill) < 0);
        fill = filled(points, rises);
        assert_true(crn_fill_rate(&fill) < 0);
    }
}

static void one_large_file_does_not_fill_a_disk(void **state)
{
    (void)state;
    for (large_file_after = 0; large_file_after < 60; large_file_after++)
        for (int points = CRN_FILL_MIN; points < 100; points++) {
            crn_fill fill = filled(points, takes_one_large_file);
            assert_true(crn_fill_rate(&fill) <= (double)KIB);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_disk_that_answers, set_up),
        cmocka_unit_test_setup(a_full_disk_is_full_now, set_up),
        cmocka_unit_test_setup(a_disk_that_hangs_is_told, set_up),
        cmocka_unit_test_setup(a_disk_that_hangs_later, set_up),
        cmocka_unit_test_setup(a_disk_that_refuses_has_no_figures, set_up),
        cmocka_unit_test_setup(no_caller_waits_for_a_disk_for_ever, set_up),
        cmocka_unit_test(a_disk_that_fills),
        cmocka_unit_test(space_that_is_freed_is_seen_at_once),
        cmocka_unit_test(a_disk_that_does_not_fill),
        cmocka_unit_test(one_large_file_does_not_fill_a_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
