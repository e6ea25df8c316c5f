/* Files of the state folder that are of another version, of another size or damaged. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/monitor/state_file.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/fixture.h"
#include "tests/support/folder.h"
#include "tests/support/line/log_capture.h"

enum { BYTES = 4096, ASIDE = 9 };

static crn_log_capture caught;
static crn_error error;

/* The file of a version; its log is in `caught`. */
static int open_version(unsigned char version)
{
    const unsigned char head[] = {'C', 'R', 'N', version};
    const crn_state_file kind = {"kept", BYTES, head, sizeof head};
    crn_log_capture_start(&caught);
    int r = crn_state_file_open(test_folder, &kind, &error);
    crn_log_capture_stop(&caught);
    if (r >= 0)
        close(r);
    return r;
}

/* Of the file with that number, 1 being NAME.damaged; -1: there is none. */
static int version_of(int number)
{
    char path[128], suffix[16] = "";
    unsigned char head[4];
    if (number > 1)
        snprintf(suffix, sizeof suffix, ".%d", number);
    snprintf(path, sizeof path, "%s/kept%s%s", test_folder, number > 0 ? ".damaged" : "", suffix);
    int descriptor = open(path, O_RDONLY | O_NOFOLLOW);
    if (descriptor < 0)
        return -1;
    assert_int_equal(read(descriptor, head, sizeof head), sizeof head);
    close(descriptor);
    return head[3];
}

static void each_is_set_aside_under_a_name_of_its_own(void **state)
{
    (void)state;
    for (unsigned char version = 1; version <= ASIDE + 1; version++) {
        assert_true(open_version(version) >= 0);
        assert_int_equal(version_of(0), version);
        for (int number = 1; number < version; number++)
            assert_int_equal(version_of(number), number);
    }
    assert_int_equal(open_version(99), -EEXIST);
    assert_non_null(strstr(error.text, "move these away"));
    assert_int_equal(version_of(0), ASIDE + 1);
    assert_int_equal(version_of(1), 1);
    assert_int_equal(version_of(ASIDE), ASIDE);
    assert_true(open_version(ASIDE + 1) >= 0);
}

/* A link with the name, whatever it points to, is a file like others. */
static void a_link_is_not_replaced(void **state)
{
    (void)state;
    char link[128], target[128];
    struct stat about;
    snprintf(link, sizeof link, "%s/kept.damaged", test_folder);
    assert_int_equal(symlink("nowhere", link), 0);
    assert_true(open_version(1) >= 0 && open_version(2) >= 0);
    assert_int_equal(readlink(link, target, sizeof target), strlen("nowhere"));
    assert_int_equal(version_of(2), 1);
    snprintf(target, sizeof target, "%s/kept.damaged.2", test_folder);
    assert_non_null(strstr(caught.text, target));
    assert_int_equal(lstat(target, &about), 0);
    assert_int_equal(about.st_size, BYTES);
}

int main(void)
{
    struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_set_aside_under_a_name_of_its_own),
        cmocka_unit_test(a_link_is_not_replaced),
    };
    CRN_SET_FIXTURE(tests, test_folder_make, test_folder_remove);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
