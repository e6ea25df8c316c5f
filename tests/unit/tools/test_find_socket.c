/* Which daemon cernitactl asks: by name, the only one, and what it says where there is none or a
 * choice. */
#include "src/client/find_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"

#define NOBODY 65534

static char folder[64];
static crn_socket_address found;
static crn_error error;

/* The daemon of a line: a socket FOLDER/LINE/control that listens. */
static int open_line(const char *line)
{
    crn_socket_address address;
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, line);
    assert_int_equal(mkdir(path, 0755), 0);
    strcat(path, "/control");
    assert_true(crn_socket_address_set(&address, path));
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 8), 0);
    return listener;
}

static void expect_found(const char *line, const char *name)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s/control", folder, name);
    error.text[0] = '\0';
    if (crn_socket_find(folder, line, &found, &error) < 0)
        fail_msg("%s", error.text);
    assert_string_equal(found.sun_path, path);
}

static void expect_none(const char *line, int fault, const char *said)
{
    assert_int_equal(crn_socket_find(folder, line, &found, &error), fault);
    if (!strstr(error.text, said))
        fail_msg("%s", error.text);
}

static void the_only_one_is_found(void **state)
{
    (void)state;
    expect_none(NULL, -ENOENT, "no daemon answers below ");
    int apples = open_line("apples");
    expect_found(NULL, "apples");
    int gone = open_line("gone"); /* its file is left by a daemon that was killed */
    close(gone);
    expect_found(NULL, "apples");
    close(apples);
    expect_none(NULL, -ENOENT, "/NAME/control; otherwise its file must name a socket");
}

static void of_several_one_is_chosen_by_name(void **state)
{
    (void)state;
    int pears = open_line("pears"), apples = open_line("apples");
    expect_none(NULL, -ENOTUNIQ, "several lines run: apples, pears; choose one by --line NAME");
    expect_found("pears", "pears");
    int descriptor = crn_socket_connect(&found, &error);
    assert_true(descriptor >= 0);
    close(descriptor);
    close(pears);
    close(apples);
}

/* A daemon whose file names a socket elsewhere has a link in its unit's folder. */
static void a_daemon_with_a_link_is_one(void **state)
{
    (void)state;
    char path[128], link[128];
    int apples = open_line("apples");
    snprintf(path, sizeof path, "%s/apples/control", folder);
    snprintf(link, sizeof link, "%s/control", folder);
    assert_int_equal(symlink(path, link), 0);
    error.text[0] = '\0';
    int r = crn_socket_find(folder, NULL, &found, &error);
    close(apples);
    assert_string_equal(error.text, "");
    assert_int_equal(r, 0);
}

static void what_is_no_name_is_refused(void **state)
{
    (void)state;
    char name[200] = "";
    memset(name, 'x', sizeof name - 1);
    expect_none("", -EINVAL, "the NAME of cernitad@NAME expected");
    expect_none("../apples", -EINVAL, "--socket takes a path");
    expect_none("apples/control", -EINVAL, "--socket takes a path");
    expect_none(name, -ENAMETOOLONG, "too long");
}

/* In the daemon's folder, as the unit makes it, only its group may look. */
static void who_may_not_ask_is_told_so(void **state)
{
    (void)state;
    char path[128];
    int apples = open_line("apples");
    snprintf(path, sizeof path, "%s/apples", folder);
    assert_int_equal(chmod(path, 0), 0);
    bool root = geteuid() == 0;
    int r = root ? seteuid(NOBODY) : 0;
    int fault = r == 0 ? crn_socket_find(folder, NULL, &found, &error) : 0;
    if (root)
        assert_int_equal(seteuid(0), 0);
    chmod(path, 0755);
    close(apples);
    assert_int_equal(r, 0);
    assert_int_equal(fault, -EACCES);
    assert_non_null(strstr(error.text, "apples/control: this user may not ask it: join"));
}

static void a_socket_without_a_daemon_says_what_to_look_at(void **state)
{
    (void)state;
    expect_found("plums", "plums");
    assert_int_equal(crn_socket_connect(&found, &error), -ENOENT);
    assert_non_null(strstr(error.text, "no daemon answers there: No such file or directory; is the "
                                       "daemon running"));
    close(open_line("plums"));
    assert_int_equal(crn_socket_connect(&found, &error), -ECONNREFUSED);
    assert_non_null(strstr(error.text, "is gone"));
}

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/cernita-find-XXXXXX");
    return mkdtemp(folder) && chmod(folder, 0755) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_only_one_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(of_several_one_is_chosen_by_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_daemon_with_a_link_is_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_name_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(who_may_not_ask_is_told_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_socket_without_a_daemon_says_what_to_look_at, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
