/* A daemon is killed (SIGKILL) while an alarm is active: the next one has the list, with what was
 * done to it, and the alarm as cleared by the start. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/formats/alarms/record.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/folder.h"
#include "tests/support/line/kept_line.h"

/* What only a failure reaches. */
#define PATIENCE_NS (60 * CRN_NS_PER_S)

static daemon_process line;

static const char refused[] = "  warning  New settings were refused";

/* Waits for that alarm of the file, with a number after `after` and in that state; returns its
 * number. On a busy machine there may be others. */
static int await(int after, const char *state)
{
    char output[8192], wanted[128];
    snprintf(wanted, sizeof wanted, "%s%s", state, refused);
    for (int64_t until_ns = crn_now_ns() + PATIENCE_NS; crn_now_ns() < until_ns; usleep(50000)) {
        if (kept_line_control("alarms", output, sizeof output) != 0)
            continue;
        for (char *row = output; row; row = strchr(row + 1, '\n')) {
            int number = 0;
            char *end = strchrnul(row + 1, '\n');
            char *found = memmem(row, (size_t)(end - row), wanted, strlen(wanted));
            if (found && sscanf(row, "%*s %d", &number) == 1 && number > after)
                return number;
        }
    }
    fail_msg("'%s' expected, not: %s", wanted, output);
    return 0;
}

/* Waits until the alarm's record has all that was done to it. */
static void await_written(int number)
{
    unsigned char record[CRN_ALARM_RECORD_BYTES];
    char path[128];
    snprintf(path, sizeof path, "%s/state/alarms", test_folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    int64_t until_ns = crn_now_ns() + PATIENCE_NS;
    for (bool written = false; !written;) {
        crn_alarm_record alarm;
        off_t offset = crn_alarm_record_offset((uint64_t)number, 0);
        assert_int_equal(pread(fd, record, sizeof record, offset), sizeof record);
        crn_alarm_record_unpack(record, &alarm);
        written =
            crn_alarm_record_written(record) && alarm.acknowledged_ms && alarm.shelved_until_ms;
        assert_true(crn_now_ns() < until_ns);
    }
    close(fd);
}

static void a_killed_daemon_leaves_its_list(void **state)
{
    (void)state;
    char output[8192], folder[96], text[128];
    snprintf(folder, sizeof folder, "%s/state", test_folder);
    assert_int_equal(mkdir(folder, 0755), 0);
    kept_line_write("0.5", "");
    kept_line_start(&line);
    kept_line_write("6", ""); /* the reload is refused, which is an alarm */
    assert_int_equal(kept_line_control("reload", output, sizeof output), 1);
    int number = await(0, "active, unacknowledged");
    snprintf(text, sizeof text, "alarms --acknowledge %d", number);
    assert_int_equal(kept_line_control(text, output, sizeof output), 0);
    snprintf(text, sizeof text, "alarms --shelve %d --minutes 480", number);
    assert_int_equal(kept_line_control(text, output, sizeof output), 0);
    await_written(number);
    kept_line_end(&line, SIGKILL);
    kept_line_write("0.5", "");
    kept_line_start(&line);
    snprintf(text, sizeof text, "cleared, acknowledged by user %u, shelved", (unsigned)getuid());
    assert_int_equal(await(0, text), number);
    /* It comes again: a later number, and still shelved. */
    kept_line_write("6", "");
    assert_int_equal(kept_line_control("reload", output, sizeof output), 1);
    int again = await(number, "active, unacknowledged, shelved");
    kept_line_end(&line, SIGTERM);
    kept_line_write("0.5", "");
    kept_line_start(&line);
    assert_int_equal(await(number, "cleared, unacknowledged, shelved"), again);
    kept_line_end(&line, SIGTERM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_killed_daemon_leaves_its_list)};
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
