/* Messages about folders that a program cannot write to. */
#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/base/file/folder.h"
#include "tests/support/cmocka_prelude.h"

#define ANYONE 65534 /* who owns nothing */

static char folder[64];

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/cernita-folder-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(folder);
}

static void expect(const char *dir, int code, const char *said)
{
    crn_error error = {""};
    assert_int_equal(crn_folder_check(dir, W_OK | X_OK, "record", &error), code);
    assert_string_equal(error.text, said);
}

static void one_that_can_be_written_passes(void **state)
{
    (void)state;
    expect(folder, 0, "");
}

static void a_missing_one_is_to_be_made_for_the_user(void **state)
{
    (void)state;
    char missing[96], said[512];
    struct passwd *user = getpwuid(geteuid());
    assert_non_null(user);
    snprintf(missing, sizeof missing, "%s/a/b", folder);
    snprintf(said, sizeof said,
             "%s: cannot record there: it does not exist; make it, and let the user who runs this "
             "program (now %s) own it: install -d -o %s '%s'",
             missing, user->pw_name, user->pw_name, missing);
    expect(missing, -ENOENT, said);
}

static void a_closed_one_is_to_be_given_to_the_user(void **state)
{
    (void)state;
    char user[32];
    bool root = geteuid() == 0;
    struct passwd *entry = getpwuid(root ? ANYONE : geteuid());
    snprintf(user, sizeof user, "%s", entry ? entry->pw_name : "65534");
    assert_int_equal(chmod(folder, 0500), 0);
    assert_int_equal(root ? seteuid(ANYONE) : 0, 0);
    crn_error error = {""};
    int r = crn_folder_check(folder, W_OK | X_OK, "record", &error);
    assert_int_equal(root ? seteuid(0) : 0, 0);
    assert_int_equal(r, -EACCES);
    char text[512];
    snprintf(text, sizeof text,
             "%s: cannot record there: %s may not write to it; let the user who runs this program "
             "own it: chown %s '%s'; chmod u+rwx '%s'",
             folder, user, user, folder, folder);
    assert_string_equal(error.text, text);
}

static void what_is_no_folder_is_to_be_replaced(void **state)
{
    (void)state;
    expect("/dev/null", -ENOTDIR,
           "/dev/null: cannot record there: Not a directory; name a folder that can be written");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_that_can_be_written_passes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_missing_one_is_to_be_made_for_the_user, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_closed_one_is_to_be_given_to_the_user, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_folder_is_to_be_replaced, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
