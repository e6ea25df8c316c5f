/* The log of changes: its chain over random entries, altered, removed, cut and killed. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/control/changes/file.h"
#include "src/formats/changes/chain.h"
#include "stages/base/clock.h"
#include "stages/base/utf8.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"
#include "tests/support/folder.h"
#include "tests/support/line/log_capture.h"
#include "tests/support/random.h"

#define NOBODY 65534

static char path[96], text[1 << 20];
static size_t size;
static crn_error error;
static crn_random generator;
static crn_log_capture caught;

/* --- entries --- */

static void random_text(char *out, uint32_t bytes_max)
{
    static const char *const pieces[] = {"a",    "\"", "\\",           "/", "é",
                                         "\x01", "{",  ",\"hash\":\"", "🍎"};
    uint32_t wanted = crn_random_below(&generator, bytes_max), length = 0;
    while (length + 12 < wanted) {
        const char *piece = pieces[crn_random_below(&generator, sizeof pieces / sizeof *pieces)];
        length += (uint32_t)sprintf(out + length, "%s", piece);
    }
    out[length] = '\0';
}

static crn_change *random_change(void)
{
    static crn_change change;
    change = (crn_change){.time_ns = (int64_t)(crn_random_next(&generator) >> 1),
                          .user = (uint32_t)crn_random_next(&generator),
                          .process = crn_random_between(&generator, 1, 99999),
                          .refused = crn_random_once_in(&generator, 3),
                          .missing = crn_random_once_in(&generator, 5) ? 7 : 0,
                          .what = "reload",
                          .through = "control"};
    random_text(change.user_name, 20);
    random_text(change.after.recipe, 30);
    random_text(change.keys, 200);
    snprintf(change.after.settings, sizeof change.after.settings, "%016" PRIx64,
             crn_random_next(&generator));
    return &change;
}

static crn_change_file *open_log(void)
{
    crn_change_file *file;
    crn_log_capture_start(&caught);
    int r = crn_change_file_open(test_folder, true, &file, &error);
    crn_log_capture_stop(&caught);
    if (r < 0)
        fail_msg("%s", error.text);
    return file;
}

static void append(int entries)
{
    crn_change_file *file = open_log();
    for (int i = 0; i < entries; i++)
        if (crn_change_file_append(file, random_change(), &error) < 0)
            fail_msg("%s", error.text);
    crn_change_file_close(&file);
}

/* --- the file's bytes --- */

static void read_all(void)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size = fread(text, 1, sizeof text, file);
    assert_true(size < sizeof text);
    fclose(file);
}

static void write_all(void)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static crn_change_chain chain_of(const char *bytes, size_t count)
{
    crn_change_chain chain;
    FILE *file =
        count > 0 ? fmemopen((void *)(uintptr_t)bytes, count, "r") : fopen("/dev/null", "r");
    assert_non_null(file);
    assert_int_equal(crn_change_chain_read(file, NULL, NULL, &chain), 0);
    fclose(file);
    return chain;
}

static crn_change_chain chain_of_file(void)
{
    read_all();
    return chain_of(text, size);
}

static uint64_t line_at(size_t at)
{
    uint64_t line = 1;
    for (size_t i = 0; i < at; i++)
        line += text[i] == '\n';
    return line;
}

/* Where a line begins, from 1. */
static size_t begin_of(uint64_t line)
{
    size_t at = 0;
    for (uint64_t i = 1; i < line; i++)
        at += strcspn(text + at, "\n") + 1;
    return at;
}

/* --- tests --- */

static void the_hash_is_sha_256(void **state)
{
    (void)state;
    char hash[CRN_SHA256_TEXT_BYTES];
    crn_sha256_text("abc", 3, hash); /* FIPS 180-4's example */
    assert_string_equal(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void random_entries_follow_each_other(void **state)
{
    (void)state;
    uint64_t count = 0;
    for (uint32_t i = crn_random_cases(30); i > 0; i--) {
        int more = crn_random_between(&generator, 1, 5);
        append(more);
        count += (uint64_t)more;
        crn_change_chain chain = chain_of_file();
        if (chain.fault_line)
            fail_msg("line %" PRIu64 ": %s", chain.fault_line, chain.fault);
        assert_int_equal(chain.last.number, count);
        assert_int_equal(chain.lines, count);
    }
}

static void an_entry_that_would_be_too_long_is_shortened(void **state)
{
    (void)state;
    crn_change_file *file = open_log();
    crn_change *change = random_change();
    memset(change->keys, '"', sizeof change->keys - 1);
    change->keys[sizeof change->keys - 1] = '\0';
    assert_int_equal(crn_change_file_append(file, change, &error), 0);
    crn_change_file_close(&file);
    assert_int_equal(chain_of_file().fault_line, 0);
}

static void expect_fault(uint64_t line, const char *what, size_t at)
{
    crn_change_chain chain = chain_of(text, size);
    if (chain.fault_line != line)
        fail_msg("%s at %zu of %zu: line %" PRIu64 " named instead of %" PRIu64 " (%s)", what, at,
                 size, chain.fault_line, line, chain.fault);
}

static void every_byte_that_is_changed_is_found_in_its_line(void **state)
{
    (void)state;
    append(4);
    read_all();
    for (size_t at = 0; at < size; at++) {
        uint64_t line = line_at(at);
        char was = text[at], others[] = {(char)(was ^ 1), (char)(was ^ 0x20), '\n', '\0', '"'};
        for (size_t i = 0; i < sizeof others; i++) {
            text[at] = others[i];
            if (others[i] != was)
                expect_fault(line, "changed", at);
        }
        text[at] = was;
    }
    assert_int_equal(chain_of(text, size).fault_line, 0);
}

static void every_byte_that_is_left_out_or_added_is_found(void **state)
{
    (void)state;
    append(3);
    read_all();
    char *whole = malloc(size);
    size_t bytes = size;
    memcpy(whole, text, bytes);
    for (size_t at = 0; at + 1 < bytes; at++) {
        uint64_t line = (memcpy(text, whole, bytes), size = bytes, line_at(at));
        memmove(text + at, whole + at + 1, bytes - at - 1);
        size = bytes - 1;
        expect_fault(line, "left out", at);
        memcpy(text, whole, bytes);
        memmove(text + at + 1, whole + at, bytes - at);
        text[at] = 'x';
        size = bytes + 1;
        expect_fault(line, "added", at);
    }
    free(whole);
}

static void lines_that_are_removed_or_moved_are_found(void **state)
{
    (void)state;
    append(5);
    read_all();
    size_t second = begin_of(2), third = begin_of(3), fourth = begin_of(4), bytes = size;
    char whole[1 << 16];
    memcpy(whole, text, bytes);
    memmove(text + second, text + third, bytes - third); /* the second is away */
    size = bytes - (third - second);
    expect_fault(2, "removed", second);
    memcpy(text + second, whole + third, fourth - third); /* second and third change places */
    memcpy(text + second + fourth - third, whole + second, third - second);
    memcpy(text + fourth, whole + fourth, bytes - fourth);
    size = bytes;
    expect_fault(2, "moved", second);
    memmove(text, whole + second, bytes - second); /* the first is away */
    size = bytes - second;
    expect_fault(1, "removed", 0);
    memcpy(text, whole, fourth); /* the last are away: only who knows their hashes sees it */
    size = fourth;
    expect_fault(0, "removed at the end", fourth);
    assert_int_equal(chain_of(text, size).last.number, 3);
}

/* By who knows how to hash: the next entry tells, as long as it is not written again as well. */
static void an_entry_that_was_written_again_is_found_by_the_next(void **state)
{
    (void)state;
    append(3);
    read_all();
    char line[CRN_CHANGE_LINE_BYTES], hash[CRN_SHA256_TEXT_BYTES], whole[1 << 16];
    size_t second = begin_of(2), third = begin_of(3), bytes = size;
    crn_change_links links;
    memcpy(whole, text, bytes);
    assert_int_equal(crn_change_links_read(text, second - 1, &links), 0);
    for (uint64_t number = 2; number <= 3; number++) {
        int length = crn_change_pack(random_change(), number, links.hash, line, hash);
        assert_true(length > 0);
        memcpy(text + second, line, (size_t)length);
        memcpy(text + second + length, whole + third, bytes - third);
        size = second + (size_t)length + bytes - third;
        expect_fault(number == 2 ? 3 : 2, "written again", second); /* or its number is wrong */
    }
}

/* Of a file that ends at any byte of its last two entries: what is cut is told apart from what was
 * altered, and the next start begins a new line. */
static void a_loss_of_power_is_no_alteration(void **state)
{
    (void)state;
    append(3);
    read_all();
    size_t bytes = size;
    char whole[1 << 16];
    memcpy(whole, text, bytes);
    for (size_t at = begin_of(2); at < bytes; at += 1 + crn_random_below(&generator, 20)) {
        memcpy(text, whole, bytes);
        size = at;
        bool between = text[at - 1] == '\n', whole_line = text[at] == '\n';
        crn_change_chain chain = chain_of(text, size);
        assert_int_equal(chain.fault_line, 0);
        assert_int_equal(chain.ends_in_cut, !between && !whole_line);
        write_all();
        append(2);
        chain = chain_of_file();
        if (chain.fault_line)
            fail_msg("cut at %zu: line %" PRIu64 ": %s", at, chain.fault_line, chain.fault);
        assert_int_equal(chain.cuts, !between && !whole_line);
        /* What a later entry vouches for cannot be changed any more either. */
        if (chain.cuts > 0) {
            size_t changed = at - 1;
            text[changed] ^= 1;
            expect_fault(line_at(changed), "changed", changed);
        }
    }
}

static void an_altered_line_stays_one_after_a_start(void **state)
{
    (void)state;
    for (uint64_t line = 1; line <= 3; line++) {
        unlink(path);
        append(3);
        read_all();
        text[begin_of(line) + 10] ^= 1;
        write_all();
        append(2);
        assert_non_null(strstr(caught.text, "is not the entry that was written there"));
        assert_int_equal(chain_of_file().fault_line, line);
    }
}

/* --- killed --- */

static void append_until_killed(void)
{
    crn_change_file *file;
    if (crn_change_file_open(test_folder, true, &file, &error) < 0)
        _exit(1);
    for (;;)
        if (crn_change_file_append(file, random_change(), &error) < 0)
            _exit(1);
}

static void a_process_that_is_killed_leaves_a_chain(void **state)
{
    (void)state;
    uint64_t before = 0, written = 0;
    for (uint32_t i = crn_random_cases(20); i > 0; i--) {
        pid_t child = crn_cleanup_fork();
        if (child == 0)
            append_until_killed();
        struct stat about = {0};
        uint32_t bytes = crn_random_below(&generator, 20000);
        off_t begin = stat(path, &about) == 0 ? about.st_size : 0;
        while ((stat(path, &about) < 0 || about.st_size < begin + bytes) &&
               waitpid(child, NULL, WNOHANG) == 0)
            sched_yield();
        kill(child, SIGKILL);
        assert_int_equal(crn_cleanup_wait(child, NULL), child);
        crn_change_chain chain = chain_of_file();
        if (chain.fault_line)
            fail_msg("line %" PRIu64 ": %s", chain.fault_line, chain.fault);
        assert_true(chain.last.number >= before);
        written += chain.last.number - before;
        before = chain.last.number;
        if (size > sizeof text / 2) {
            unlink(path);
            before = 0;
        }
    }
    assert_true(written > 0);
}

/* --- what is there in the place of the file --- */

static void expect_refused(const char *said)
{
    crn_change_file *file = NULL;
    assert_true(crn_change_file_open(test_folder, true, &file, &error) < 0);
    assert_null(file);
    if (!strstr(error.text, said) || !strstr(error.text, path))
        fail_msg("%s", error.text);
}

static void what_is_not_the_line_s_file_is_refused(void **state)
{
    (void)state;
    char other[128];
    snprintf(other, sizeof other, "%s/other", test_folder);
    assert_int_equal(symlink(other, path), 0);
    expect_refused("is a symbolic link; remove it");
    assert_int_equal(access(other, F_OK), -1);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_refused("is a pipe, not a regular file; remove it");
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    expect_refused("Is a directory");
    rmdir(path);
    crn_change_file *file = open_log();
    expect_refused("another line writes it");
    crn_change_file_close(&file);
}

static void a_file_of_another_user_is_told_with_the_cure(void **state)
{
    (void)state;
    bool root = getuid() == 0;
    append(1);
    assert_int_equal(chmod(path, root ? 0600 : 0000), 0);
    assert_int_equal(chmod(test_folder, 0777), 0);
    if (root)
        assert_int_equal(seteuid(NOBODY), 0);
    crn_change_file *file = NULL;
    int r = crn_change_file_open(test_folder, true, &file, &error);
    if (root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(r, -EACCES);
    assert_non_null(strstr(error.text, "(chown)"));
}

static void any_file_is_read(void **state)
{
    (void)state;
    append(3);
    read_all();
    size_t bytes = size;
    char whole[1 << 16], *spoilt = malloc(bytes + CRN_SPOILT_MORE);
    memcpy(whole, text, bytes);
    for (uint32_t i = crn_random_cases(300); i > 0; i--) {
        memcpy(spoilt, whole, bytes);
        chain_of(spoilt, crn_random_spoil(&generator, (unsigned char *)spoilt, bytes));
    }
    free(spoilt);
    size = sizeof text - 1;
    memset(text, 'x', size); /* a line that is too long */
    assert_int_equal(chain_of(text, size).fault_line, 1);
}

static int set_up(void **state)
{
    int r = test_folder_make(state);
    snprintf(path, sizeof path, "%s/" CRN_CHANGES_FILE, test_folder);
    return r;
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hash_is_sha_256),
        cmocka_unit_test(random_entries_follow_each_other),
        cmocka_unit_test(an_entry_that_would_be_too_long_is_shortened),
        cmocka_unit_test(every_byte_that_is_changed_is_found_in_its_line),
        cmocka_unit_test(every_byte_that_is_left_out_or_added_is_found),
        cmocka_unit_test(lines_that_are_removed_or_moved_are_found),
        cmocka_unit_test(an_entry_that_was_written_again_is_found_by_the_next),
        cmocka_unit_test(a_loss_of_power_is_no_alteration),
        cmocka_unit_test(an_altered_line_stays_one_after_a_start),
        cmocka_unit_test(a_process_that_is_killed_leaves_a_chain),
        cmocka_unit_test(what_is_not_the_line_s_file_is_refused),
        cmocka_unit_test(a_file_of_another_user_is_told_with_the_cure),
        cmocka_unit_test(any_file_is_read),
    };
    CRN_SET_FIXTURE(tests, set_up, test_folder_remove);
    generator = (crn_random){crn_random_seed()};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
