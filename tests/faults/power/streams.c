/* Recordings and the verdict log, which are never synced, and the archive with what it says to the
 * log. */
#include <stdio.h>
#include <string.h>

#include "src/formats/recording/recording.h"
#include "src/formats/recording/segments.h"
#include "src/formats/verdict_log/archived.h"
#include "tests/faults/power/writers.h"
#include "tests/support/parts/archived.h"
#include "tests/support/parts/logged.h"
#include "tests/support/parts/recorded.h"

char power_log_folder[64];

/* --- recordings --- */

#define FILES 2
#define VIEWS 6 /* of each */

static void record(const char *folder)
{
    crn_error error;
    uint64_t number = 0;
    for (int file = 1; file <= FILES; file++) {
        char path[160];
        crn_recording_writer *writer;
        snprintf(path, sizeof path, "%s/cernita-20261105T000000Z-%04d.tif", folder, file);
        assert_int_equal(crn_recording_create(path, false, &writer, &error), 0);
        crn_recording_bypass_cache(writer); /* as the recorder does */
        for (int i = 0; i < VIEWS; i++) {
            crn_recorded_view view = recorded_small(number++);
            assert_int_equal(crn_recording_write(writer, &view, &error), 0);
            disk_acknowledge(number);
        }
        assert_int_equal(crn_recording_close(&writer, &error), 0);
    }
}

/* The views of a file, each as it was written, from the file's first on. Returns their number. */
static uint64_t read_views(const char *path, uint64_t first)
{
    crn_error error;
    crn_recording_reader *reader;
    crn_recorded_view got;
    uint64_t count = 0;
    if (crn_recording_open(path, &reader, &error) < 0)
        return 0;
    while (crn_recording_next(reader, &got, &error) > 0) {
        crn_recorded_view want = recorded_small(first + count++);
        recorded_assert_same(&want, &got);
    }
    crn_recording_end(&reader);
    return count;
}

static void check_recordings(const power_moment *moment)
{
    uint64_t adopted, bytes, views = 0;
    crn_segments_adopt(moment->folder, &adopted, &bytes); /* as the next recorder does */
    for (int file = 0; file < FILES; file++) {
        char path[160];
        snprintf(path, sizeof path, "%s/cernita-20261105T000000Z-%04d.tif", moment->folder,
                 file + 1);
        views += read_views(path, (uint64_t)file * VIEWS);
    }
    if (moment->keeps_all)
        assert_true(views >= moment->acknowledged);
}

const power_writer power_recording = {"recordings", NULL, record, check_recordings};

/* --- the verdict log --- */

#define SEGMENT_BYTES 20000
#define VERDICTS      60

static void log_verdicts(const char *folder)
{
    strcpy(logged_folder, folder);
    crn_verdict_writer *writer = logged_writer(SEGMENT_BYTES, 0);
    for (uint64_t number = 0; number < VERDICTS; number++) {
        logged_append(writer, number, number + 1);
        disk_acknowledge(number + 1);
    }
    crn_verdict_writer_close(&writer);
}

#define AFTER 1000000 /* the first verdict of the next daemon */

static void check_log(const power_moment *moment)
{
    strcpy(logged_folder, moment->folder);
    const logged_log *log = logged_read(); /* each is what was written */
    size_t count = log->count;
    for (size_t i = 1; i < count; i++)
        assert_true(log->numbers[i - 1] < log->numbers[i]);
    if (moment->keeps_all)
        assert_true(count >= moment->acknowledged);
    crn_verdict_writer *writer = logged_writer(SEGMENT_BYTES, 0);
    logged_append(writer, AFTER, AFTER + 3);
    crn_verdict_writer_close(&writer);
    log = logged_read();
    assert_int_equal(log->count, count + 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(log->numbers[count + i], AFTER + i);
}

const power_writer power_verdict_log = {"verdict log", NULL, log_verdicts, check_log};

/* --- how far the log is archived --- */

static void say_archived(const char *folder)
{
    crn_error error;
    for (uint64_t number = 1; number <= 12; number++) {
        assert_int_equal(crn_verdict_log_set_archived(folder, number, &error), 0);
        disk_acknowledge(number);
    }
}

static void check_archived(const power_moment *moment)
{
    crn_error error;
    uint64_t below;
    if (crn_verdict_log_get_archived(moment->folder, &below, &error) < 0)
        fail_msg("%s", error.text);
    if (below == UINT64_MAX) /* no archive said anything yet */
        assert_int_equal(moment->acknowledged, 0);
    else
        assert_in_range(below, moment->acknowledged, moment->acknowledged + 1);
}

const power_writer power_archived = {"archived, of the log", NULL, say_archived, check_archived};

/* --- the archive --- */

#define ROUNDS 4

static archived_line made;

static void archive(const char *folder)
{
    crn_intake_stats stats;
    crn_error error;
    strcpy(logged_folder, power_log_folder);
    snprintf(archived_path, 128, "%s/line.sqlite", folder);
    made = (archived_line){.random = {7}};
    for (int round = 0; round < ROUNDS; round++) {
        archived_write(&made, CRN_FORMAT_MSGPACK, UINT64_MAX, 60);
        if (archived_import(false, &stats, &error) < 0)
            fail_msg("%s", error.text);
        disk_acknowledge(made.sums.fruits);
    }
}

/* What was committed is there; the next run adds the rest of the log, and doubles nothing. */
static void check_archive(const power_moment *moment)
{
    crn_intake_stats stats;
    crn_error error;
    snprintf(archived_path, 128, "%s/line.sqlite", moment->folder);
    if (moment->acknowledged > 0)
        assert_true(archived_ask("SELECT COUNT(*) FROM fruits") >= (double)moment->acknowledged);
    if (archived_import(false, &stats, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(stats.known, 0);
    archived_expect_sums(&made.sums);
}

/* Its index of the write-ahead log is memory, made again at the start. */
const power_writer power_archive = {"archive", "-shm", archive, check_archive};
