/* The lot that a start goes on with, and none where that is not certain; the file itself is tested
 * with the recipe's. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/control/kept/kept_lot.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"
#include "tests/support/folder.h"
#include "tests/support/line/log_capture.h"

#define NOBODY 65534
#define LINE   "/etc/cernita/apples.yaml"

static const crn_lot whole = {
    .id = "2026-11 Hof 7", .grower = "Käthe", .variety = "Gala", .since_s = 1795824000};
static char path[96];
static crn_error error;

static void keep(const crn_lot *lot)
{
    if (crn_kept_lot_write(test_folder, LINE, lot, &error) < 0)
        fail_msg("%s", error.text);
}

/* What a start goes on with, from `folder`; `said` is in its log, NULL: nothing is. */
static crn_lot resume_from(const char *folder, const char *line_file, const char *said)
{
    static crn_config config;
    crn_log_capture capture;
    crn_lot lot = whole;
    config.file = line_file;
    snprintf(config.state.dir, sizeof config.state.dir, "%s", folder);
    crn_log_capture_start(&capture);
    crn_kept_lot_resume(&config, &lot);
    const char *log = crn_log_capture_stop(&capture);
    if (said ? !strstr(log, said) : log[0])
        fail_msg("the log has '%s'", log);
    return lot;
}

static crn_lot resume(const char *line_file, const char *said)
{
    return resume_from(test_folder, line_file, said);
}

static void expect_none(const char *line_file, const char *said)
{
    crn_lot lot = resume(line_file, said);
    assert_true(lot.is_lost == !!said);
    assert_string_equal(lot.id, "");
    assert_string_equal(lot.grower, "");
    assert_string_equal(lot.variety, "");
}

static void a_start_goes_on_with_what_was_kept(void **state)
{
    (void)state;
    expect_none(LINE, NULL);
    keep(&whole);
    crn_lot lot = resume(LINE, "lot: '2026-11 Hof 7' goes on, as before the start");
    assert_string_equal(lot.id, whole.id);
    assert_string_equal(lot.grower, whole.grower);
    assert_string_equal(lot.variety, whole.variety);
    assert_int_equal(lot.since_s, whole.since_s);
    assert_false(lot.is_lost);
    keep(&(crn_lot){.id = ""});
    expect_none(LINE, NULL);
}

static void what_is_not_certain_is_no_lot(void **state)
{
    (void)state;
    static const char said[] = "fruits have no lot until it is chosen again (cernitactl lot ID";
    keep(&whole);
    expect_none("/etc/cernita/plums.yaml", said);
    assert_int_equal(truncate(path, 60), 0);
    expect_none(LINE, said);
    assert_int_equal(truncate(path, 0), 0);
    expect_none(LINE, said);
}

static void without_a_folder_none_is_missed(void **state)
{
    (void)state;
    char missing[96];
    snprintf(missing, sizeof missing, "%s/missing", test_folder);
    crn_lot lot = resume_from("", LINE, NULL);
    assert_false(lot.is_lost || lot.id[0]);
    lot = resume_from(missing, LINE, NULL);
    assert_false(lot.is_lost || lot.id[0]);
}

/* As a user who is not root: root may write everywhere. */
static void a_folder_that_cannot_be_written_to_may_hold_an_old_lot(void **state)
{
    (void)state;
    keep(&whole);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(chmod(test_folder, 0555), 0);
    bool root = getuid() == 0;
    if (root)
        assert_int_equal(seteuid(NOBODY), 0);
    crn_lot lot = resume(LINE, "so the lot kept there may be an old one");
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(test_folder, 0755), 0);
    assert_true(lot.is_lost && !lot.id[0]);
}

static int set_up(void **state)
{
    int r = test_folder_make(state);
    snprintf(path, sizeof path, "%s/lot", test_folder);
    return r;
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(a_start_goes_on_with_what_was_kept),
        cmocka_unit_test(what_is_not_certain_is_no_lot),
        cmocka_unit_test(without_a_folder_none_is_missed),
        cmocka_unit_test(a_folder_that_cannot_be_written_to_may_hold_an_old_lot),
    };
    CRN_SET_FIXTURE(tests, set_up, test_folder_remove)
    return cmocka_run_group_tests(tests, NULL, NULL);
}
