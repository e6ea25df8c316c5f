/* A line's state folder in an archive: each change once, as it was written, whatever happens to the
 * log; the texts of settings; growers and varieties of lots. */
#include "tools/archive/state/state.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/control/changes/file.h"
#include "src/control/changes/settings_texts.h"
#include "src/formats/changes/chain.h"
#include "src/formats/changes/read.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/parts/archived.h"
#include "tests/support/parts/logged.h"
#include "tests/support/programs/shell.h"

#define NOBODY  65534
#define FIRST   "00000000000000a1"
#define SECOND  "00000000000000a2"
#define LOT     "4711"
#define TIME_NS (INT64_C(1764230400) * CRN_NS_PER_S)

static char log_path[160], moved_path[160];
static crn_archive archive;
static crn_state_import *state;
static crn_error error;
static char notice[1024];
static int notices;
static int64_t written; /* entries, which are a second apart */

static void keep_notice(const char *line)
{
    snprintf(notice, sizeof notice, "%s", line);
    notices++;
}

static void open_import_of(const char *dir)
{
    notices = 0;
    assert_int_equal(crn_archive_open(&archive, archived_path, &error), 0);
    assert_int_equal(crn_state_import_open(&archive,
                                           &(crn_state_settings){.dir = dir, .tell = keep_notice},
                                           &state, &error),
                     0);
}

static void open_import(void)
{
    open_import_of(logged_folder);
}

static void close_import(void)
{
    crn_state_import_close(&state);
    crn_archive_close(&archive);
}

static void step(void)
{
    if (crn_state_import_step(state, &error) < 0)
        fail_msg("%s", error.text);
}

static void import(void)
{
    open_import();
    step();
    close_import();
}

static int set_up(void **context)
{
    int r = archived_setup(context);
    snprintf(log_path, sizeof log_path, "%s/" CRN_CHANGES_FILE, logged_folder);
    snprintf(moved_path, sizeof moved_path, "%s/changes-2025.jsonl", logged_folder);
    written = 0;
    return r;
}

static void append(crn_change *change)
{
    crn_change_file *file;
    change->time_ns = TIME_NS + written++ * CRN_NS_PER_S;
    assert_int_equal(crn_change_file_open(logged_folder, true, &file, &error), 0);
    if (crn_change_file_append(file, change, &error) < 0)
        fail_msg("%s", error.text);
    crn_change_file_close(&file);
}

/* A reload to these settings, whose text is kept; the text's hash is the entry's. */
static void reload(const char *settings, const char *text)
{
    crn_change change = {.what = "reload", .through = "control", .user = 1000, .process = 77};
    strcpy(change.user_name, "meier");
    strcpy(change.after.settings, settings);
    strcpy(change.after.recipe, "gala");
    strcpy(change.keys, "stages.contours.levels.rot: 0.5 -> 0.4\n");
    crn_sha256_text(text, strlen(text), change.after.text);
    assert_int_equal(crn_settings_text_keep(logged_folder, settings, text, &error), 0);
    append(&change);
}

static void set_lot(const char *keys, bool refused)
{
    crn_change change = {.what = "lot", .through = "control", .refused = refused};
    strcpy(change.after.settings, FIRST);
    strcpy(change.after.lot, LOT);
    snprintf(change.keys, sizeof change.keys, "%s", keys);
    append(&change);
}

static void expect(const char *sql, double expected)
{
    double found = archived_ask(sql);
    if (found != expected)
        fail_msg("%s: %g, expected %g", sql, found, expected);
}

#define COUNT(what) "SELECT COUNT(*) FROM " what

static void an_entry_is_read_as_it_was_packed(void **context)
{
    (void)context;
    char line[CRN_CHANGE_LINE_BYTES], again[CRN_CHANGE_LINE_BYTES], hash[CRN_SHA256_TEXT_BYTES];
    static crn_change change, read;
    change = (crn_change){.time_ns = TIME_NS + 123 * CRN_NS_PER_MS,
                          .what = "reload",
                          .through = "control",
                          .user = 4294967294,
                          .process = 77,
                          .user_name = "m\"üller\\",
                          .refused = true,
                          .missing = 7,
                          .refused_left_out = 3,
                          .continues = 12};
    strcpy(change.before.settings, FIRST);
    strcpy(change.after.settings, SECOND);
    strcpy(change.after.lot, LOT);
    strcpy(change.keys, "a: 1 -> 2\nb: \"x\" -> 3\n");
    crn_sha256_text("x", 1, change.after.text);
    crn_sha256_text("y", 1, change.cut);
    crn_sha256_text("z", 1, change.continues_hash);
    int length = crn_change_pack(&change, 5, NULL, line, hash);
    assert_true(length > 0);
    assert_int_equal(crn_change_read(line, (size_t)length - 1, &read), 0);
    assert_int_equal(crn_change_pack(&read, 5, NULL, again, hash), length);
    assert_memory_equal(line, again, (size_t)length);
    assert_string_equal(read.keys, "a: 1 -> 2\nb: \"x\" -> 3");
    assert_int_equal(crn_change_read("{}", 2, &read), -EBADMSG);
}

static void changes_and_texts_are_archived_once(void **context)
{
    (void)context;
    reload(FIRST, "levels: {rot: 0.5}\n");
    reload(SECOND, "levels: {rot: 0.4}\n");
    for (int i = 0; i < 3; i++)
        import();
    expect(COUNT("changes"), 2);
    expect(COUNT("change_gaps"), 0);
    expect(COUNT("changes c JOIN settings s USING (settings_id) JOIN names ON name_id = recipe_id"
                 " WHERE s.hash = '" FIRST "' AND name = 'gala' AND what = 'reload' AND refused = 0"
                 " AND through = 'control' AND user = 1000 AND user_name = 'meier'"
                 " AND process = 77 AND missing = 0 AND number = 1 AND previous_hash IS NULL"
                 " AND time_ns = 1764230400000000000"),
           1);
    expect(COUNT("changes c JOIN settings s ON s.settings_id = before_settings_id"
                 " WHERE s.hash = '" FIRST "' AND number = 2"),
           1);
    expect(COUNT("settings WHERE hash = '" SECOND "' AND text = 'levels: {rot: 0.4}\n'"), 1);
    /* What was archived is the log, byte for byte. */
    char command[1024], output[256];
    snprintf(command, sizeof command,
             "sqlite3 -readonly %s 'SELECT entry FROM changes ORDER BY change_id' | cmp - %s 2>&1",
             archived_path, log_path);
    if (crn_test_shell("command -v sqlite3", output, sizeof output) == 0 &&
        crn_test_shell(command, output, sizeof output) != 0)
        fail_msg("%s", output);
}

static void a_lot_has_the_grower_that_was_said_last(void **context)
{
    (void)context;
    set_lot("grower: A\nvariety: Gala\n", false);
    set_lot("grower: B\n", false);
    set_lot("", false);
    set_lot("asked: lot 4711 --grower C\ngrower: C\n", true);
    import();
    expect(COUNT("changes"), 4);
    expect(COUNT("lots WHERE lot = '" LOT "' AND grower = 'B' AND variety = 'Gala'"), 1);
}

static void it_goes_on_as_the_log_is_written_and_moved(void **context)
{
    (void)context;
    open_import();
    step();
    assert_int_equal(notices, 1); /* there is none yet */
    reload(FIRST, "a: 1\n");
    step();
    expect(COUNT("changes"), 1);
    expect(COUNT("settings WHERE text IS NOT NULL"), 1);
    reload(SECOND, "a: 2\n"); /* and the log is moved before the next look at it */
    assert_int_equal(rename(log_path, moved_path), 0);
    step();
    expect(COUNT("changes"), 2);
    set_lot("grower: A\n", false);
    step();
    expect(COUNT("changes"), 3);
    expect(COUNT("lots WHERE grower = 'A'"), 1);
    assert_int_equal(notices, 1);
    close_import();
}

static void what_is_written_until_the_move_is_not_lost(void **context)
{
    (void)context;
    reload(FIRST, "a: 1\n");
    open_import();
    step();
    reload(SECOND, "a: 2\n");
    assert_int_equal(rename(log_path, moved_path), 0);
    set_lot("", false); /* the new log is there already */
    step();
    expect(COUNT("changes"), 3);
    close_import();
}

static void an_older_log_that_is_archived_later_fills_the_gap(void **context)
{
    (void)context;
    char folder[160], old_path[192];
    set_lot("grower: old\nvariety: Gala\n", false);
    assert_int_equal(rename(log_path, moved_path), 0);
    crn_change change = {.what = "lot", .through = "control", .continues = 1};
    FILE *file = fopen(moved_path, "r");
    crn_change_chain chain;
    assert_int_equal(crn_change_chain_read(file, NULL, NULL, &chain), 0);
    fclose(file);
    strcpy(change.continues_hash, chain.last.hash);
    strcpy(change.after.lot, LOT);
    strcpy(change.keys, "grower: new\n");
    append(&change);
    open_import();
    step();
    assert_int_equal(notices, 1);
    assert_non_null(strstr(notice, "lacks the entry before entry 1"));
    close_import();
    expect(COUNT("change_gaps"), 1);
    snprintf(folder, sizeof folder, "%s/old", logged_folder);
    snprintf(old_path, sizeof old_path, "%s/" CRN_CHANGES_FILE, folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(rename(moved_path, old_path), 0);
    open_import_of(folder);
    step();
    close_import();
    expect(COUNT("change_gaps"), 0);
    expect(COUNT("lots WHERE grower = 'new' AND variety = 'Gala'"), 1);
}

static void change_byte(const char *path, long at)
{
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    fseek(file, at, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, at, SEEK_SET);
    fputc(byte ^ 1, file);
    fclose(file);
}

static void what_was_altered_is_told_and_not_archived(void **context)
{
    (void)context;
    char path[192];
    reload(FIRST, "a: 1\n");
    reload(SECOND, "a: 2\n");
    set_lot("", false);
    change_byte(log_path, 40);
    snprintf(path, sizeof path, "%s/" CRN_SETTINGS_FOLDER "/" SECOND ".yaml", logged_folder);
    change_byte(path, 3);
    open_import();
    step();
    assert_int_equal(notices, 2); /* the log's line, the text */
    assert_non_null(strstr(notice, "it was altered"));
    step();
    assert_int_equal(notices, 2);
    close_import();
    expect(COUNT("changes"), 2);
    expect(COUNT("change_gaps"), 1);
    expect(COUNT("settings WHERE text IS NOT NULL"), 1); /* of FIRST, which no entry names now */
}

static void what_cannot_be_read_is_one_line(void **context)
{
    (void)context;
    if (geteuid() != 0)
        skip();
    reload(FIRST, "a: 1\n");
    assert_int_equal(chmod(log_path, 0600), 0);
    assert_int_equal(chmod(logged_folder, 0777), 0);
    assert_int_equal(seteuid(NOBODY), 0);
    open_import();
    step();
    int fault = crn_state_import_get_fault(state);
    close_import();
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(fault, -EACCES);
    assert_int_equal(notices, 1);
    assert_non_null(strstr(notice, log_path));
    assert_int_equal(unlink(log_path), 0);
    assert_int_equal(symlink("/dev/zero", log_path), 0);
    open_import();
    step();
    assert_true(crn_state_import_get_fault(state) < 0);
    assert_non_null(strstr(notice, log_path));
    expect(COUNT("settings WHERE text IS NOT NULL"), 1); /* the rest is archived */
    assert_int_equal(unlink(log_path), 0);
    step();
    assert_int_equal(crn_state_import_get_fault(state), -ENOENT);
    assert_non_null(strstr(notice, "name the line's state.dir"));
    reload(FIRST, "a: 1\n");
    step();
    assert_int_equal(crn_state_import_get_fault(state), 0);
    assert_int_equal(notices, 2);
    close_import();
}

/* The state folder may be of another user, the log of its own disk. */
static void verdicts_are_archived_without_the_log_of_changes(void **context)
{
    (void)context;
    char command[512], output[1024];
    archived_line line = {.random = {crn_random_seed()}};
    archived_write(&line, CRN_FORMAT_MSGPACK, UINT64_MAX, 30);
    snprintf(command, sizeof command,
             CRN_BIN "/cernita-archive --from %s --state %s --to %s 2>&1; echo status $?",
             logged_folder, logged_folder, archived_path);
    crn_test_shell(command, output, sizeof output);
    if (!strstr(output, "30 verdicts archived") || !strstr(output, "name the line's state.dir") ||
        !strstr(output, "status 1"))
        fail_msg("%s", output);
    reload(FIRST, "a: 1\n");
    crn_test_shell(command, output, sizeof output);
    if (!strstr(output, "1 changes, 1 texts") || !strstr(output, "status 0"))
        fail_msg("%s", output);
    archived_expect_sums(&line.sums);
}

static void a_link_is_not_archived_as_a_text(void **context)
{
    (void)context;
    char path[192];
    reload(FIRST, "a: 1\n");
    snprintf(path, sizeof path, "%s/" CRN_SETTINGS_FOLDER "/" SECOND ".yaml", logged_folder);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    open_import();
    step();
    assert_int_equal(crn_state_import_get_fault(state), -ELOOP);
    assert_non_null(strstr(notice, "is a symbolic link: remove it"));
    close_import();
    expect(COUNT("settings WHERE text IS NOT NULL"), 1);
}

/* A whole entry that no version up to this one writes. */
static void an_entry_that_cannot_be_read_is_passed_over(void **context)
{
    (void)context;
    char line[512], hash[CRN_SHA256_TEXT_BYTES];
    int length = snprintf(line, sizeof line,
                          "{\"number\":1,\"time\":\"today\",\"what\":\"lot\",\"after\":{"
                          "\"settings\":\"\",\"recipe\":\"\",\"lot\":\"\"},\"previous\":\"%s\"",
                          crn_change_no_previous);
    FILE *file = fopen(log_path, "w");
    assert_non_null(file);
    crn_sha256_text(line, (size_t)length, hash);
    fprintf(file, "%s,\"hash\":\"%s\"}\n", line, hash);
    assert_int_equal(fclose(file), 0);
    reload(FIRST, "a: 1\n");
    open_import();
    step();
    assert_int_equal(crn_state_import_get_fault(state), -EBADMSG);
    assert_int_equal(notices, 1);
    assert_non_null(strstr(notice, "entry 1 has no time"));
    close_import();
    expect(COUNT("changes"), 1);
    expect(COUNT("change_gaps"), 1);
}

static void a_text_that_was_archived_before_its_entries_is_compared_with_them(void **context)
{
    (void)context;
    char path[192];
    reload(FIRST, "a: 1\n");
    reload(SECOND, "a: 2\n");
    snprintf(path, sizeof path, "%s/" CRN_SETTINGS_FOLDER "/" SECOND ".yaml", logged_folder);
    change_byte(path, 3);
    assert_int_equal(rename(log_path, moved_path), 0);
    open_import();
    step();
    expect(COUNT("settings WHERE text IS NOT NULL"), 2); /* nothing says what they were */
    assert_int_equal(rename(moved_path, log_path), 0);
    step();
    assert_non_null(strstr(notice, "is not the text that the log of changes names"));
    assert_int_equal(notices, 3); /* no log, a text that is removed, that one in the folder */
    close_import();
    expect(COUNT("settings WHERE text IS NOT NULL AND hash = '" FIRST "'"), 1);
    expect(COUNT("settings WHERE text IS NOT NULL"), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, logged_teardown)

int main(void)
{
    crn_log_set_level(CRN_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        TEST(an_entry_is_read_as_it_was_packed),
        TEST(changes_and_texts_are_archived_once),
        TEST(a_lot_has_the_grower_that_was_said_last),
        TEST(it_goes_on_as_the_log_is_written_and_moved),
        TEST(what_is_written_until_the_move_is_not_lost),
        TEST(an_older_log_that_is_archived_later_fills_the_gap),
        TEST(what_was_altered_is_told_and_not_archived),
        TEST(what_cannot_be_read_is_one_line),
        TEST(verdicts_are_archived_without_the_log_of_changes),
        TEST(a_link_is_not_archived_as_a_text),
        TEST(an_entry_that_cannot_be_read_is_passed_over),
        TEST(a_text_that_was_archived_before_its_entries_is_compared_with_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
