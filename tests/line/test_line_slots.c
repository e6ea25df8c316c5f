/* What becomes of slots between the line and its recorder. */
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/line/internal.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/recorded.h"

#define SLOTS      3
#define VIEW_BYTES 4096

/* --- a disk that writes when it is told to: this replaces libc's function --- */

static atomic_bool stuck;
static sem_t reached, released; /* a write has arrived; it may continue */

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    if (atomic_load(&stuck)) {
        sem_post(&reached);
        sem_wait(&released);
    }
    return syscall(SYS_pwrite64, fd, bytes, size, offset);
}

/* Until the first write after so many views: the disk has done with them. */
static void let_write(const crn_line *line, uint64_t views)
{
    for (;;) {
        sem_wait(&reached);
        if (crn_recorder_get_stats(line->recorder).written == views)
            return;
        sem_post(&released);
    }
}

/* --- a line of only slots and a recorder of two of them --- */

static void make(crn_line *line, crn_config *config)
{
    crn_error error;
    crn_recorder_settings settings = {
        .dir = recorded_folder, .segment_bytes = UINT64_MAX, .lent_views = 2};
    snprintf(config->record.dir, sizeof config->record.dir, "%s", recorded_folder);
    config->record.only = CRN_RECORD_ALL;
    config->limits.slots = SLOTS;
    line->config = config;
    assert_int_equal(crn_pool_create(SLOTS, 2, VIEW_BYTES, &line->pool), 0);
    assert_int_equal(crn_recorder_open(&settings, &line->recorder, &error), 0);
}

static void end_view(crn_line *line, uint64_t number)
{
    crn_view *view = crn_line_acquire(line, (crn_ticket){0});
    crn_recorded_view small = recorded_small(number);
    assert_non_null(view);
    crn_line_begin_view(line, view);
    view->header = small.header;
    memcpy(view->maps, small.maps, small.header.payload_bytes);
    view->intensity = memcpy(view->maps + small.header.payload_bytes, small.intensity,
                             crn_wire_intensity_bytes(&small.header));
    crn_line_end_view(line, view);
}

/* Although the line was not woken in between, and so did not take them back. */
static void slots_that_are_written_are_lent_again(void **state)
{
    (void)state;
    crn_config config = {0};
    crn_line line = {0};
    make(&line, &config);
    atomic_store(&stuck, true);
    end_view(&line, 0);
    end_view(&line, 1);
    let_write(&line, 1);
    end_view(&line, 2);
    end_view(&line, 3); /* but no more than there are */
    assert_int_equal(crn_recorder_get_stats(line.recorder).dropped, 1);
    atomic_store(&stuck, false);
    sem_post(&released);
    crn_recorder_finish(line.recorder);
    assert_int_equal(crn_recorder_get_stats(line.recorder).written, 3);
    crn_line_reclaim(&line);
    assert_int_equal(crn_pool_free_slots(line.pool), SLOTS);
    crn_recorder_close(&line.recorder);
    crn_pool_free(&line.pool);
    recorded_clear();
}

int main(void)
{
    sem_init(&reached, 0, 0);
    sem_init(&released, 0, 0);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_that_are_written_are_lent_again),
    };
    return cmocka_run_group_tests(tests, recorded_setup, recorded_teardown);
}
