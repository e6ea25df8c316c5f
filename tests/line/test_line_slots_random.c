/*
 * Lines of few slots, with fruits of every kind, a disk that is slow and refuses writes, and
 * readers of kept maps and photographs: every slot comes back, every view that was to be recorded
 * is in a recording or counted, and what stands in a recording is what was sent.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/line/internal.h"
#include "src/formats/recording/segments.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/line_fixture.h"
#include "tests/support/parts/recorded.h"
#include "tests/support/random.h"

#define HEIGHT 40
#define WIDTH  50
#define VIEWS  3 /* of a fruit at most */
#define FRUITS 150
#define BLOCKS (HEIGHT * WIDTH * 2)

static line_fixture line;
static float maps[BLOCKS];
static unsigned char photograph[HEIGHT * WIDTH];
static crn_random dice;
static uint64_t verdicts, bad_views; /* received: all; views of those that are to be recorded */
static crn_record_only only;

/* --- a disk with faults: this replaces libc's function --- */

static _Atomic uint32_t writes;
static _Atomic uint32_t refused_every; /* 0: none */

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    uint32_t number = atomic_fetch_add(&writes, 1), every = atomic_load(&refused_every);
    if (every && number % every == every - 1) {
        errno = ENOSPC;
        return -1;
    }
    if (every && number % every == every / 2 && size > 8192)
        size = 4096 * (1 + number % 2); /* a part */
    return syscall(SYS_pwrite64, fd, bytes, size, offset);
}

/* --- one line --- */

static void start(void)
{
    static const char *const names[] = {
        [CRN_RECORD_ALL] = "all", [CRN_RECORD_PARTIAL] = "partial", [CRN_RECORD_LATE] = "late"};
    char yaml[1024];
    only = (crn_record_only)crn_random_below(&dice, 3);
    snprintf(yaml, sizeof yaml,
             "classes: [{name: ground}, {name: rot, level: 0.5}]\n"
             "chain: [contours]\n"
             "run: {backend: serial, workers: %d, threads: 1}\n"
             "latency: {budget_ms: %d, assemble_ms: %d, guard_ms: 1}\n"
             "limits: {slots: %d, views: %d, view_mib: %d, open_fruits: %d}\n"
             "record: {dir: '%s', only: %s, segment_mib: 16}\n"
             "monitor: {http: '127.0.0.1:0', keep_slots: %d}\n"
             "log: {level: error}\n",
             crn_random_between(&dice, 1, 2), crn_random_between(&dice, 2, 20),
             crn_random_between(&dice, 2, 20), crn_random_between(&dice, 2, 8), VIEWS,
             crn_random_once_in(&dice, 2) ? 200 : 16, crn_random_between(&dice, 2, 8),
             recorded_folder, names[only], crn_random_between(&dice, 0, 5));
    verdicts = bad_views = 0;
    atomic_store(&refused_every,
                 crn_random_once_in(&dice, 2) ? (uint32_t)crn_random_between(&dice, 5, 50) : 0);
    line_configure(&line, yaml);
    line_run(&line, NULL);
}

static float mark_of(uint64_t fruit, uint16_t view)
{
    return (float)(fruit * VIEWS + view + 1) / 2 / (VIEWS * (FRUITS + 1));
}

static void send_view(uint64_t fruit, uint16_t view, uint16_t views)
{
    crn_view_header header = line_header(&line, fruit, view, views, HEIGHT, WIDTH);
    if (crn_random_once_in(&dice, 10))
        header.deadline_ns =
            (uint64_t)crn_realtime_ns() + (uint64_t)(crn_random_below(&dice, 3) * CRN_NS_PER_MS);
    for (size_t i = 0; i < BLOCKS; i++)
        maps[i] = mark_of(fruit, view);
    if (crn_random_once_in(&dice, 4))
        maps[1] = 2; /* no probability */
    bool more = crn_random_once_in(&dice, 2);
    memset(photograph, (int)(fruit * VIEWS + view) & 255, sizeof photograph);
    line_send(&line, header, maps, more ? photograph : NULL);
}

static void take_verdicts(int wait_ms)
{
    seen_verdict verdict;
    while (line_receive(&line, wait_ms, &verdict)) {
        bool late = strcmp(verdict.verdict, "late") == 0;
        bool partial = strcmp(verdict.verdict, "partial") == 0;
        verdicts++;
        if (late || (partial && only == CRN_RECORD_PARTIAL))
            bad_views += verdict.views_received;
        wait_ms = 0;
    }
}

/* In the place of the HTTP thread, which nobody asks anything. */
static void look(uint64_t fruit)
{
    static crn_kept_copy copy;
    crn_view_header header = line_header(&line, fruit, 0, 1, HEIGHT, WIDTH);
    crn_kept_fruit name = {header.lane, header.epoch, fruit};
    uint32_t first = 0;
    if (!line.line->kept_maps)
        return;
    while (crn_kept_maps_copy(line.line->kept_maps, &name, first, &copy) > 0) {
        float value;
        memcpy(&value, copy.bytes, sizeof value);
        assert_int_equal(copy.header.fruit, fruit);
        assert_true(value == mark_of(fruit, copy.header.view));
        first = copy.header.view + 1;
    }
    const crn_photo_set *photos = crn_live_photos_take(line.line->photos);
    for (uint32_t i = 0; photos && i < photos->count; i++)
        assert_int_equal(photos->photos[i].pixels[0],
                         (photos->fruit * VIEWS + photos->photos[i].view) & 255);
    crn_live_photos_want(line.line->photos, CRN_LIVE_PHOTOS_ANY);
}

static void send_all(void)
{
    for (uint64_t fruit = 1; fruit <= FRUITS; fruit++) {
        uint16_t views = (uint16_t)crn_random_between(&dice, 1, VIEWS);
        for (uint16_t view = 0; view < views; view++)
            if (!crn_random_once_in(&dice, 8))
                send_view(fruit, view, crn_random_once_in(&dice, 20) ? 0 : views);
        look(fruit - crn_random_below(&dice, 4));
        take_verdicts((int)crn_random_below(&dice, 3) * (int)crn_random_below(&dice, 4));
    }
}

/* --- after its end --- */

/* Ends the views that still ran when the line did; all slots but those of kept maps are free. */
static void expect_slots_back(void)
{
    crn_line *own = line.line;
    for (uint32_t slot = 0; slot < CRN_GENERATIONS; slot++)
        while (own->settings.running[slot] > 0) {
            crn_output *output = crn_engine_collect(own->engine);
            if (!output) {
                sched_yield();
                continue;
            }
            crn_view *view = output->view;
            crn_engine_release(own->engine, output);
            own->settings.running[crn_config_slot(view->config)]--;
            crn_line_end_view(own, view);
        }
    crn_recorder_finish(own->recorder);
    crn_line_reclaim(own);
    assert_int_equal(crn_pool_free_slots(own->pool), line.config.limits.slots);
}

static uint64_t read_file(const char *path, bool seen[FRUITS + 1][VIEWS])
{
    crn_recording_reader *reader = recorded_open(path);
    crn_recorded_view got;
    crn_error error;
    uint64_t views = 0;
    while (crn_recording_next(reader, &got, &error) > 0) {
        const crn_view_header *header = &got.header;
        assert_true(header->fruit <= FRUITS && header->view < VIEWS);
        assert_false(seen[header->fruit][header->view]);
        seen[header->fruit][header->view] = true;
        for (size_t i = 0; i < BLOCKS; i++) {
            float value;
            memcpy(&value, got.maps + i * sizeof value, sizeof value);
            assert_true(value == mark_of(header->fruit, header->view) || (i == 1 && value == 2));
        }
        for (size_t i = 0; got.intensity && i < sizeof photograph; i++)
            assert_int_equal(got.intensity[i], (header->fruit * VIEWS + header->view) & 255);
        views++;
    }
    assert_string_equal(error.text, "");
    crn_recording_end(&reader);
    return views;
}

static uint64_t read_all(void)
{
    static bool seen[FRUITS + 1][VIEWS];
    uint64_t views = 0;
    char path[PATH_MAX];
    DIR *folder = opendir(recorded_folder);
    memset(seen, 0, sizeof seen);
    for (struct dirent *entry; (entry = readdir(folder));)
        if (crn_segment_is_name(entry->d_name)) {
            snprintf(path, sizeof path, "%s/%s", recorded_folder, entry->d_name);
            views += read_file(path, seen);
        }
    closedir(folder);
    return views;
}

/* Those that found the grader's queue full wait in the backlog, which the line's thread, now at its
 * end, has sent before. */
static void take_last_verdicts(uint64_t all)
{
    int64_t until_ns = crn_now_ns() + CRN_FIXTURE_PATIENCE_MS * CRN_NS_PER_MS;
    while (verdicts < all && crn_now_ns() < until_ns) {
        crn_publish_set_quiet(line.line->publish, false); /* nobody polls any more */
        crn_publish_service(line.line->publish, "stopping", crn_now_ns());
        take_verdicts(1);
    }
    assert_int_equal(verdicts, all);
}

static void run_one(void)
{
    start();
    send_all();
    line_end(&line);
    expect_slots_back();
    const crn_fruit_stats *fruits = crn_fruits_get_stats(line.line->fruits);
    take_last_verdicts(fruits->complete + fruits->partial + fruits->late);
    crn_recorder_stats recorder = crn_recorder_get_stats(line.line->recorder);
    uint64_t told = recorder.written + recorder.dropped + recorder.failed + recorder.missed;
    assert_int_equal(read_all(), recorder.written);
    if (only == CRN_RECORD_ALL) {
        assert_int_equal(recorder.missed, 0);
        assert_true(told <= fruits->wanted && told >= fruits->wanted - fruits->no_slot);
    } else {
        assert_int_equal(told, bad_views);
    }
    recorded_clear();
    if (getenv("CRN_VERBOSE"))
        printf("only %d: wanted %lu no_slot %lu complete %lu partial %lu late %lu; written %lu "
               "dropped %lu failed %lu missed %lu\n",
               only, fruits->wanted, fruits->no_slot, fruits->complete, fruits->partial,
               fruits->late, recorder.written, recorder.dropped, recorder.failed, recorder.missed);
    line_close(&line);
}

static void slots_come_back_and_views_are_counted(void **state)
{
    (void)state;
    dice.state = crn_random_seed();
    for (uint32_t i = crn_random_cases(8); i-- > 0;)
        run_one();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(slots_come_back_and_views_are_counted)};
    return cmocka_run_group_tests(tests, recorded_setup, recorded_teardown);
}
