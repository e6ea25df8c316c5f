/* The thread that writes the log of changes and the settings' texts: disks that take nothing, and
 * what is kept meanwhile. */
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/control/changes/changes.h"
#include "src/control/changes/file.h"
#include "src/control/changes/settings_texts.h"
#include "src/formats/changes/chain.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"
#include "tests/support/folder.h"
#include "tests/support/line/log_capture.h"

#define HASH "0123456789abcdef"

static char state_folder[80], path[128], settings[128];
static crn_changes *changes;
static crn_log_capture caught;
static crn_error error;

/* --- a disk that hangs when it is told to: this replaces libc's function --- */

static atomic_bool hangs;
static sem_t reached, released;

int fdatasync(int fd)
{
    if (atomic_load(&hangs)) {
        sem_post(&reached);
        sem_wait(&released);
    }
    return (int)syscall(SYS_fdatasync, fd);
}

static _Atomic int64_t waits_since_ns;

static void note_wait(void *context, int64_t since_ns)
{
    (void)context;
    atomic_store(&waits_since_ns, since_ns);
}

/* What the thread told last; a post for each. */
static sem_t told;
static atomic_int result;

static void note(void *context, int r)
{
    (void)context;
    atomic_store(&result, r);
    sem_post(&told);
}

static void open_changes(void)
{
    const crn_changes_plan plan = {.dir = state_folder, .note = note, .waits = note_wait};
    crn_log_capture_start(&caught);
    assert_int_equal(crn_changes_open(&plan, &changes), 0);
}

static const char *close_changes(void)
{
    crn_changes_close(&changes);
    return crn_log_capture_stop(&caught);
}

static void add(const char *what, const char *text)
{
    crn_change change = {.user = getuid(), .process = getpid(), .through = "control"};
    snprintf(change.what, sizeof change.what, "%s", what);
    strcpy(change.after.settings, HASH);
    crn_changes_add(changes, &change, text ? strdup(text) : NULL);
}

static void await(int wanted)
{
    do
        assert_int_equal(sem_wait(&told), 0);
    while (atomic_load(&result) != wanted);
}

typedef struct seen_entries {
    int count;
    char last[CRN_CHANGE_LINE_BYTES];
} seen_entries;

static void take_entry(void *context, const crn_change_links *links, const char *line,
                       size_t length)
{
    seen_entries *seen = context;
    (void)links;
    seen->count++;
    snprintf(seen->last, sizeof seen->last, "%.*s", (int)length, line);
}

static void expect_entries(int count, seen_entries *ret_seen)
{
    crn_change_chain chain;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    *ret_seen = (seen_entries){0};
    assert_int_equal(crn_change_chain_read(file, take_entry, ret_seen, &chain), 0);
    fclose(file);
    assert_int_equal(chain.fault_line, 0);
    assert_int_equal(ret_seen->count, count);
}

static void expect_file(const char *name, const char *text)
{
    char found[64] = "";
    FILE *file = fopen(name, "r");
    assert_non_null(file);
    found[fread(found, 1, sizeof found - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(found, text);
}

static void what_is_added_is_written_with_who_and_its_hash_is_logged(void **state)
{
    (void)state;
    seen_entries seen;
    open_changes();
    assert_int_equal(crn_changes_summarise(changes).number, 0);
    add("start", "a: 1\n");
    await(0);
    crn_changes_summary last = crn_changes_summarise(changes);
    assert_int_equal(last.number, 1);
    add("reload", NULL);
    const char *said = close_changes(); /* writes what waits */
    assert_non_null(strstr(said, last.hash));
    expect_entries(2, &seen);
    assert_non_null(strstr(seen.last, last.hash));
    char by[64];
    snprintf(by, sizeof by, "\"user\":%u,", (unsigned)getuid());
    assert_non_null(strstr(seen.last, by));
    assert_non_null(strstr(seen.last, "\"what\":\"reload\""));
    expect_file(settings, "a: 1\n");
}

/* Also at the end, and with the entries of before a start in front. */
static void a_disk_that_takes_nothing_is_told_once_and_tried_again(void **state)
{
    (void)state;
    seen_entries seen;
    assert_int_equal(rmdir(state_folder), 0);
    open_changes();
    add("start", "a: 1\n");
    await(-ENOENT);
    await(-ENOENT);
    for (int i = 1; i < CRN_CHANGES_WAITING + 5; i++)
        add("reload", NULL);
    assert_int_equal(mkdir(state_folder, 0755), 0);
    await(0);
    while (crn_changes_summarise(changes).number < CRN_CHANGES_WAITING)
        await(0);
    add("recipe", NULL);
    const char *said = close_changes();
    assert_non_null(strstr(said, "not recorded until the disk takes them"));
    assert_null(strstr(strstr(said, "not recorded until") + 1, "not recorded until"));
    assert_non_null(strstr(said, "are recorded again"));
    expect_entries(CRN_CHANGES_WAITING + 1, &seen);
    assert_non_null(strstr(seen.last, "\"missing\":5"));
}

static void what_is_not_written_at_the_end_is_told(void **state)
{
    (void)state;
    assert_int_equal(rmdir(state_folder), 0);
    open_changes();
    add("start", "a: 1\n");
    await(-ENOENT);
    add("stop", NULL);
    assert_non_null(strstr(close_changes(), "2 were not recorded"));
}

static void without_a_folder_nothing_is_recorded_and_that_is_told(void **state)
{
    (void)state;
    const crn_changes_plan plan = {.dir = ""};
    crn_log_capture_start(&caught);
    assert_int_equal(crn_changes_open(&plan, &changes), 0);
    assert_null(changes);
    add("start", "a: 1\n");
    assert_int_equal(crn_changes_summarise(changes).number, 0);
    assert_non_null(strstr(close_changes(), "state.dir is empty"));
}

static void a_file_that_was_altered_is_told_at_the_start_and_goes_on(void **state)
{
    (void)state;
    open_changes();
    add("start", NULL);
    add("stop", NULL);
    close_changes();
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_int_equal(fseek(file, 12, SEEK_SET), 0);
    fputc('9', file);
    fclose(file);
    open_changes();
    add("start", NULL);
    const char *said = close_changes();
    assert_non_null(strstr(said, "changes.jsonl:1: is not the entry that was written there"));
    assert_non_null(strstr(said, "entry 3 (start) has the hash"));
}

/* --- logs that are moved, removed or full --- */

static void a_log_that_was_removed_begins_again_and_the_entry_says_so(void **state)
{
    (void)state;
    seen_entries seen;
    char follows[128];
    open_changes();
    add("start", NULL);
    await(0);
    crn_changes_summary last = crn_changes_summarise(changes);
    assert_int_equal(unlink(path), 0);
    add("lot", NULL);
    const char *said = close_changes();
    assert_non_null(strstr(said, "was removed or moved away"));
    assert_non_null(strstr(said, "does not end with entry 1"));
    expect_entries(1, &seen);
    snprintf(follows, sizeof follows, "\"continues\":1,\"continues_sha256\":\"%s\"", last.hash);
    assert_non_null(strstr(seen.last, follows));
    assert_non_null(strstr(seen.last, "\"before\":{\"settings\":\"" HASH "\""));
}

static void a_log_that_comes_back_as_it_was_goes_on(void **state)
{
    (void)state;
    seen_entries seen;
    char aside[160];
    snprintf(aside, sizeof aside, "%s/aside", test_folder);
    open_changes();
    add("start", NULL);
    await(0);
    assert_int_equal(rename(state_folder, aside), 0);
    add("lot", NULL);
    await(-ENOENT);
    assert_int_equal(rename(aside, state_folder), 0);
    await(0);
    assert_null(strstr(close_changes(), "does not end with entry"));
    expect_entries(2, &seen);
    assert_null(strstr(seen.last, "continues"));
}

static void texts_without_a_log_are_told_at_the_start(void **state)
{
    (void)state;
    assert_int_equal(crn_settings_text_keep(state_folder, HASH, "a: 1\n", &error), 0);
    open_changes();
    add("start", "a: 1\n");
    assert_non_null(strstr(close_changes(), "was not there, although"));
    open_changes();
    add("start", "a: 1\n");
    assert_null(strstr(close_changes(), "was not there, although"));
}

/* False: the changes' thread has it open. */
static bool may_lock(void)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    bool locked = flock(file, LOCK_EX | LOCK_NB) == 0;
    close(file);
    return locked;
}

static void a_full_log_stays_open_until_it_is_moved_away(void **state)
{
    (void)state;
    seen_entries seen;
    char aside[160];
    snprintf(aside, sizeof aside, "%s.1", path);
    open_changes();
    add("start", NULL);
    await(0);
    assert_int_equal(truncate(path, CRN_CHANGES_BYTES_MAX), 0);
    add("lot", NULL);
    await(-EFBIG);
    assert_false(may_lock()); /* so it is not read again each second */
    await(-EFBIG);
    assert_false(may_lock());
    assert_int_equal(rename(path, aside), 0);
    await(0);
    const char *said = close_changes();
    assert_non_null(strstr(said, "is full (64 MiB); move it away to where it is kept"));
    expect_entries(1, &seen);
    assert_non_null(strstr(seen.last, "\"continues\":1"));
}

/* Who asks for the conditions can tell, although no try returns. */
static void since_when_an_entry_waits_is_told(void **state)
{
    (void)state;
    open_changes();
    atomic_store(&hangs, true);
    int64_t before_ns = crn_now_ns();
    add("start", NULL);
    assert_int_equal(sem_wait(&reached), 0);
    int64_t since_ns = atomic_load(&waits_since_ns);
    assert_true(since_ns >= before_ns && since_ns <= crn_now_ns());
    add("lot", NULL);
    assert_true(atomic_load(&waits_since_ns) == since_ns);
    atomic_store(&hangs, false);
    sem_post(&released);
    close_changes();
    assert_true(atomic_load(&waits_since_ns) == 0);
}

/* --- what is left out --- */

static void refused_requests_do_not_fill_the_log(void **state)
{
    (void)state;
    seen_entries seen;
    char left_out[64];
    open_changes();
    add("start", NULL);
    for (int i = 0; i < CRN_CHANGES_REFUSED_A_MINUTE + 5; i++) {
        crn_change change = {.what = "lot", .through = "control", .refused = true};
        crn_changes_add(changes, &change, NULL);
    }
    add("stop", NULL);
    close_changes();
    expect_entries(CRN_CHANGES_REFUSED_A_MINUTE + 2, &seen);
    snprintf(left_out, sizeof left_out, "\"refused_left_out\":%d,", 5);
    assert_non_null(strstr(seen.last, left_out));
    assert_null(strstr(seen.last, "missing"));
}

static void add_lot(const char *id)
{
    crn_change change = {.what = "lot", .through = "control"};
    crn_change_set_lot(&change, id);
    crn_changes_add(changes, &change, NULL);
}

/* The state of an entry is the line's, also after one that could not be recorded. */
static void nothing_is_inherited_over_a_gap(void **state)
{
    (void)state;
    seen_entries seen;
    assert_int_equal(rmdir(state_folder), 0);
    open_changes();
    add("start", NULL);
    await(-ENOENT);
    for (int i = 1; i < CRN_CHANGES_WAITING; i++)
        add_lot("A-17");
    add_lot("B-1"); /* is left out */
    assert_int_equal(mkdir(state_folder, 0755), 0);
    while (crn_changes_summarise(changes).number < CRN_CHANGES_WAITING)
        await(0);
    add("recipe", NULL);
    close_changes();
    expect_entries(CRN_CHANGES_WAITING + 1, &seen);
    assert_non_null(strstr(seen.last, "\"missing\":1"));
    assert_non_null(
        strstr(seen.last, "\"after\":{\"settings\":\"" HASH "\",\"recipe\":\"\",\"lot\":\"B-1\""));
}

/* --- texts --- */

static int keep(const char *text)
{
    return crn_settings_text_keep(state_folder, HASH, text, &error);
}

static void a_text_is_kept_once(void **state)
{
    (void)state;
    struct stat first, second;
    assert_int_equal(keep("a: 1\n"), 0);
    assert_int_equal(stat(settings, &first), 0);
    assert_int_equal(first.st_mode & 07777, 0640);
    assert_int_equal(keep("a: 1\n"), 0);
    assert_int_equal(stat(settings, &second), 0);
    assert_int_equal(first.st_ino, second.st_ino);
    assert_int_equal(truncate(settings, 2), 0); /* one that is torn is written again */
    assert_int_equal(keep("a: 1\n"), 0);
    expect_file(settings, "a: 1\n");
    FILE *file = fopen(settings, "w"); /* and one with other bytes */
    assert_non_null(file);
    fputs("b: 2\n", file);
    fclose(file);
    assert_int_equal(keep("a: 1\n"), 0);
    expect_file(settings, "a: 1\n");
}

static void links_are_not_followed(void **state)
{
    (void)state;
    char folder[96], elsewhere[96];
    snprintf(folder, sizeof folder, "%s/settings", state_folder);
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", test_folder);
    assert_int_equal(mkdir(elsewhere, 0755), 0);
    assert_int_equal(symlink(elsewhere, folder), 0);
    assert_true(keep("a: 1\n") < 0);
    assert_non_null(strstr(error.text, "is not a folder; remove it"));
    assert_int_equal(rmdir(elsewhere), 0); /* it is empty */
    unlink(folder);
    assert_int_equal(mkdir(folder, 0755), 0);
    assert_int_equal(symlink("/etc/passwd", settings), 0);
    assert_true(keep("a: 1\n") < 0);
    assert_non_null(strstr(error.text, "is a symbolic link"));
}

static void a_full_folder_takes_no_more(void **state)
{
    (void)state;
    char folder[96], other[128];
    assert_int_equal(keep("a: 1\n"), 0);
    snprintf(folder, sizeof folder, "%s/settings", state_folder);
    snprintf(other, sizeof other, "%s/sparse", folder);
    FILE *file = fopen(other, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(truncate(other, CRN_SETTINGS_BYTES_MAX - 4096), 0);
    assert_int_equal(keep("a: 1\n"), 0); /* it is there */
    assert_int_equal(crn_settings_text_keep(state_folder, "ffffffffffffffff", "b: 1\n", &error),
                     -EFBIG);
    assert_non_null(strstr(error.text, "move old files"));
}

/* Such as one that is full. */
static void a_folder_that_takes_no_text_keeps_no_entry_waiting(void **state)
{
    (void)state;
    seen_entries seen;
    char folder[96];
    snprintf(folder, sizeof folder, "%s/settings", state_folder);
    FILE *file = fopen(folder, "w");
    assert_non_null(file);
    fclose(file);
    open_changes();
    add("start", "a: 1\n");
    await(-ENOTDIR);
    expect_entries(1, &seen);
    add("recipe", NULL);
    while (crn_changes_summarise(changes).number < 2)
        await(-ENOTDIR);
    assert_int_equal(unlink(folder), 0);
    await(0);
    close_changes();
    expect_file(settings, "a: 1\n");
    expect_entries(2, &seen);
    assert_non_null(strstr(seen.last, "text_sha256"));
}

static int set_up(void **state)
{
    int r = test_folder_make(state);
    snprintf(state_folder, sizeof state_folder, "%s/state", test_folder);
    snprintf(path, sizeof path, "%s/" CRN_CHANGES_FILE, state_folder);
    snprintf(settings, sizeof settings, "%s/" CRN_SETTINGS_FOLDER "/" HASH ".yaml", state_folder);
    sem_init(&told, 0, 0);
    sem_init(&reached, 0, 0);
    sem_init(&released, 0, 0);
    return r < 0 ? r : mkdir(state_folder, 0755);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_is_written_with_who_and_its_hash_is_logged),
        cmocka_unit_test(a_disk_that_takes_nothing_is_told_once_and_tried_again),
        cmocka_unit_test(what_is_not_written_at_the_end_is_told),
        cmocka_unit_test(without_a_folder_nothing_is_recorded_and_that_is_told),
        cmocka_unit_test(a_file_that_was_altered_is_told_at_the_start_and_goes_on),
        cmocka_unit_test(a_log_that_was_removed_begins_again_and_the_entry_says_so),
        cmocka_unit_test(a_log_that_comes_back_as_it_was_goes_on),
        cmocka_unit_test(texts_without_a_log_are_told_at_the_start),
        cmocka_unit_test(a_full_log_stays_open_until_it_is_moved_away),
        cmocka_unit_test(since_when_an_entry_waits_is_told),
        cmocka_unit_test(refused_requests_do_not_fill_the_log),
        cmocka_unit_test(nothing_is_inherited_over_a_gap),
        cmocka_unit_test(a_text_is_kept_once),
        cmocka_unit_test(links_are_not_followed),
        cmocka_unit_test(a_full_folder_takes_no_more),
        cmocka_unit_test(a_folder_that_takes_no_text_keeps_no_entry_waiting),
    };
    CRN_SET_FIXTURE(tests, set_up, test_folder_remove);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
