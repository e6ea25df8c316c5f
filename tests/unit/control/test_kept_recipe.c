/* The recipe in force in its file: whole, torn, hostile, and on disks that fail. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "src/control/kept/kept_recipe.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"
#include "tests/support/folder.h"

#define NOBODY 65534
#define LINE   "/etc/cernita/apples.yaml"

static char path[96], recipe[CRN_RECIPE_NAME_BYTES];
static crn_error error;

/* --- a disk that does not write what it was given --- */

static bool disk_fails;

/* Instead of that of the C library. */
int fsync(int descriptor)
{
    if (!disk_fails)
        return (int)syscall(SYS_fsync, descriptor);
    errno = EIO;
    return -1;
}

static void keep(const char *name)
{
    if (crn_kept_recipe_write(test_folder, LINE, name, &error) < 0)
        fail_msg("%s", error.text);
}

static int read_kept(void)
{
    error.text[0] = '\0';
    return crn_kept_recipe_read(test_folder, LINE, recipe, &error);
}

static void put(const char *bytes, size_t size)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* Refused, with one line that names the file. */
static void expect_refused(void)
{
    assert_true(read_kept() < 0);
    assert_non_null(strstr(error.text, path));
    assert_null(strchr(error.text, '\n'));
}

static void what_was_kept_is_read(void **state)
{
    (void)state;
    static const char *const names[] = {"apricot", "", "Käse 2", "a",
                                        "0123456789012345678901234567890123456789abcdefg"};
    assert_int_equal(read_kept(), -ENOENT);
    assert_string_equal(error.text, "");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        keep(names[i]);
        assert_int_equal(read_kept(), 0);
        assert_string_equal(recipe, names[i]);
    }
}

static void a_torn_file_is_refused(void **state)
{
    (void)state;
    char whole[4096];
    keep("apricot");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t size = fread(whole, 1, sizeof whole, file);
    fclose(file);
    for (size_t length = 0; length < size; length++) {
        put(whole, length);
        expect_refused();
    }
    for (size_t i = 0; i < size; i++) { /* a zeroed byte, as of a block that was never written */
        char byte = whole[i];
        whole[i] = '\0';
        put(whole, size);
        expect_refused();
        whole[i] = byte;
    }
    put(whole, size);
    assert_int_equal(read_kept(), 0);
}

static void hostile_files_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "cernita recipe 1\nline " LINE "\nrecipe a\nend\nmore",
        "cernita recipe 1\nline " LINE "\nrecipe a\nb\nend\n",
        "cernita recipe 1\nline " LINE "\n\nrecipe a\nend\n",
        "cernita recipe 2\nline " LINE "\nrecipe a\nend\n",
        "cernita recipe 1\nline " LINE "\nrecipe 0123456789012345678901234567890123456789abcdefgh\n"
        "end\n",
        "cernita recipe 1\nline /etc/passwd\nrecipe a\nend\n",
    };
    static char long_one[100000];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put(texts[i], strlen(texts[i]));
        expect_refused();
    }
    memset(long_one, 'x', sizeof long_one);
    put(long_one, sizeof long_one);
    expect_refused();
    static const char escape[] = "cernita recipe 1\nline " LINE "\nrecipe \x1b[31m\xff\nend\n";
    put(escape, strlen(escape)); /* harmless: no recipe has such a name */
    assert_int_equal(read_kept(), 0);
    assert_string_equal(recipe, "?[31m?");
}

static void what_is_not_a_file_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_refused(); /* and nobody waits for a writer */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    expect_refused();
    assert_int_equal(crn_kept_recipe_write(test_folder, LINE, "apricot", &error), -ELOOP);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    expect_refused();
    assert_true(crn_kept_recipe_write(test_folder, LINE, "apricot", &error) < 0);
}

static void a_missing_folder_is_told(void **state)
{
    (void)state;
    char missing[128];
    snprintf(missing, sizeof missing, "%s/missing", test_folder);
    assert_int_equal(crn_kept_recipe_write(missing, LINE, "a", &error), -ENOENT);
    assert_non_null(strstr(error.text, missing));
    assert_int_equal(crn_kept_recipe_read(missing, LINE, recipe, &error), -ENOTDIR);
    assert_non_null(strstr(error.text, "there is no such folder"));
}

static void a_full_disk_leaves_no_old_recipe(void **state)
{
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old, tight;
    keep("apricot");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    for (rlim_t room = 0; room < 60; room += 20) {
        tight = (struct rlimit){room, old.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
        int r = crn_kept_recipe_write(test_folder, LINE, "peach", &error);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        assert_int_equal(r, -EFBIG);
        assert_non_null(strstr(error.text, path));
        expect_refused();
        keep("apricot");
        assert_int_equal(read_kept(), 0);
    }
}

/* As a user who is not root: root may write everywhere. */
static void close_folder(bool closes)
{
    bool root = getuid() == 0;
    if (!closes && root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(test_folder, closes ? 0555 : 0755), 0);
    if (closes && root)
        assert_int_equal(seteuid(NOBODY), 0);
}

static void a_folder_without_rights_is_told(void **state)
{
    (void)state;
    keep("apricot");
    assert_int_equal(chmod(path, 0644), 0);
    close_folder(true);
    int r = crn_kept_recipe_write(test_folder, LINE, "peach", &error);
    int after = read_kept();
    close_folder(false);
    assert_int_equal(r, -EACCES);
    /* Its own user can empty the file, another cannot. */
    assert_int_equal(after, getuid() == 0 ? 0 : -EINVAL);
}

/* --- the start --- */

#define WITHOUT_RECIPES                                                                            \
    "classes: [{name: rot, level: 0.5}]\n"                                                         \
    "chain: [contours]\n"                                                                          \
    "run: {workers: 1, threads: 1}\n"

static const char *yaml = WITHOUT_RECIPES "recipes: {apricot: {classes: {rot: 0.25}}}\n";

/* Starts with the folder; true: the settings are those of the recipe. */
static bool resume(const char *dir, bool closed, char ret_lost[CRN_RECIPE_NAME_BYTES])
{
    crn_config file, config, resumed;
    uint64_t hash;
    assert_int_equal(crn_config_parse(LINE, yaml, strlen(yaml), stderr, &file), 0);
    file.file = LINE;
    assert_int_equal(crn_config_hash(&file, &file.hash, &error), 0);
    hash = file.hash;
    config = file;
    crn_config_resolve(&config, 2);
    snprintf(config.state.dir, sizeof config.state.dir, "%s", dir);
    if (closed)
        close_folder(true);
    int r = crn_kept_recipe_resume(&config, &file, &resumed, &error);
    if (closed)
        close_folder(false);
    assert_int_equal(r, 0);
    bool used = resumed.classes.level[0] == 0.25;
    assert_string_equal(resumed.recipe, used ? "apricot" : "");
    assert_true((resumed.hash == hash) == !used);
    memcpy(ret_lost, resumed.lost_recipe, CRN_RECIPE_NAME_BYTES);
    crn_config_done(&resumed);
    crn_config_done(&file);
    return used;
}

/* "None kept" would be the file's own settings, and nobody would know. */
static void a_disk_that_fails_does_not_forget_that_there_was_one(void **state)
{
    (void)state;
    char lost[CRN_RECIPE_NAME_BYTES];
    keep("apricot");
    disk_fails = true;
    int r = crn_kept_recipe_write(test_folder, LINE, "peach", &error);
    disk_fails = false;
    assert_int_equal(r, -EIO);
    expect_refused();
    assert_false(resume(test_folder, false, lost));
    assert_string_equal(lost, "?");
}

static void a_start_goes_on_with_what_was_kept(void **state)
{
    (void)state;
    char lost[CRN_RECIPE_NAME_BYTES];
    assert_false(resume("", false, lost));
    assert_string_equal(lost, "");
    assert_false(resume(test_folder, false, lost));
    assert_string_equal(lost, "");
    assert_int_equal(read_kept(), 0); /* made, so that it can be emptied when the disk is full */
    keep("apricot");
    assert_true(resume(test_folder, false, lost));
    assert_string_equal(lost, "");
    assert_int_equal(chmod(path, 0644), 0);
    assert_true(resume(test_folder, true, lost)); /* it may be an old one */
    assert_string_equal(lost, "apricot");
    keep("peach");
    assert_false(resume(test_folder, false, lost));
    assert_string_equal(lost, "peach");
    put("", 0);
    assert_false(resume(test_folder, false, lost));
    assert_string_equal(lost, "?");
    assert_false(resume("/nowhere/state", false, lost));
    assert_string_equal(lost, "?");
}

/* There is nothing to choose again, unless something is known of what was chosen. */
static void a_line_without_recipes_loses_none_with_its_folder(void **state)
{
    (void)state;
    char lost[CRN_RECIPE_NAME_BYTES];
    const char *with_recipes = yaml;
    yaml = WITHOUT_RECIPES;
    assert_false(resume("/nowhere/state", false, lost));
    assert_string_equal(lost, "");
    put("", 0);
    assert_false(resume(test_folder, false, lost));
    assert_string_equal(lost, "?");
    keep("apricot");
    assert_false(resume(test_folder, false, lost));
    assert_string_equal(lost, "apricot");
    yaml = with_recipes;
}

static int set_up(void **state)
{
    int r = test_folder_make(state);
    snprintf(path, sizeof path, "%s/recipe", test_folder);
    return r;
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_kept_is_read),
        cmocka_unit_test(a_torn_file_is_refused),
        cmocka_unit_test(hostile_files_are_refused),
        cmocka_unit_test(what_is_not_a_file_is_refused),
        cmocka_unit_test(a_missing_folder_is_told),
        cmocka_unit_test(a_full_disk_leaves_no_old_recipe),
        cmocka_unit_test(a_folder_without_rights_is_told),
        cmocka_unit_test(a_disk_that_fails_does_not_forget_that_there_was_one),
        cmocka_unit_test(a_line_without_recipes_loses_none_with_its_folder),
        cmocka_unit_test(a_start_goes_on_with_what_was_kept),
    };
    CRN_SET_FIXTURE(tests, set_up, test_folder_remove)
    return cmocka_run_group_tests(tests, NULL, NULL);
}
