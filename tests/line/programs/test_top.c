/* cernita-top: a daemon's state as text, and the screen in tmux (check_top.py). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/line_fixture.h"
#include "tests/support/peers/free_port.h"
#include "tests/support/peers/http.h"
#include "tests/support/programs/shell.h"

static void once_prints_the_state(void **state)
{
    (void)state;
    static line_fixture line;
    char command[256], text[8192];
    line_start_on(&line, line_with_pages, NULL);
    float *maps = line_discs(40, 60, 2);
    for (uint64_t fruit = 0; fruit < 3; fruit++) {
        seen_verdict verdict;
        line_send(&line, line_header(&line, fruit, 0, 1, 40, 60), maps, NULL);
        assert_true(line_receive(&line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    }
    free(maps);
    int stream = http_connect(crn_line_http(line.line));
    assert_true(http_send(stream, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    assert_true(http_read_until(stream, "\"complete\":3,", text, sizeof text));
    close(stream);
    snprintf(command, sizeof command, "LC_ALL=C " CRN_BIN "/cernita-top --once %s",
             crn_line_http(line.line));
    assert_int_equal(crn_test_shell(command, text, sizeof text), 0);
    assert_non_null(strstr(text, "complete          3 "));
    /* The headline; on a busy machine a condition holds. */
    assert_non_null(strchr(text, '\n'));
    assert_non_null(strchr("+!X.", strchr(text, '\n')[1]));
    assert_non_null(strstr(text, "\n+   0 good "));
    assert_non_null(strstr(text, "none since the start"));
    line_stop(&line);
}

static void without_a_daemon_it_says_so(void **state)
{
    (void)state;
    char text[512];
    assert_int_equal(
        crn_test_shell(CRN_BIN "/cernita-top --once 127.0.0.1:9 2>&1", text, sizeof text), 1);
    assert_non_null(strstr(text, "cernita-top: 127.0.0.1:9: "));
    assert_non_null(strstr(text, "expected the address of monitor.http"));
    assert_int_equal(
        crn_test_shell(CRN_BIN "/cernita-top 127.0.0.1:9 2>&1 </dev/null", text, sizeof text), 1);
    assert_non_null(strstr(text, "cernita-top: this is not a terminal; --once prints"));
}

static void it_lives_in_a_terminal(void **state)
{
    (void)state;
    char folder[] = "/tmp/cernita-top-XXXXXX", path[64], command[512], text[16384];
    if (system("command -v tmux >/dev/null") != 0)
        skip();
    assert_non_null(mkdtemp(folder));
    int port = crn_test_free_ports(false, 1);
    snprintf(path, sizeof path, "%s/line.yaml", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "ingest: {bind: ['ipc://%s/views']}\nclasses: [{name: rot, level: 0.5}]\n"
            "chain: [contours]\nrun: {backend: openmp, workers: 1, threads: 1}\n"
            "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: 'ipc://%s/viewers'}}\n"
            "monitor: {http: '127.0.0.1:%d'}\n",
            folder, folder, folder, port);
    assert_int_equal(fclose(file), 0);
    snprintf(command, sizeof command,
             "/usr/bin/python3 " CRN_TEST_DATA "/line/programs/check_top.py " CRN_BIN
             " %s 127.0.0.1:%d 2>&1",
             path, port);
    if (crn_test_shell(command, text, sizeof text) != 0)
        fail_msg("%s", text);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(once_prints_the_state),
        cmocka_unit_test(without_a_daemon_it_says_so),
        cmocka_unit_test(it_lives_in_a_terminal),
    };
    if (access(CRN_BIN "/cernita-top", X_OK) != 0) {
        print_message("[  SKIPPED ] cernita_top: it is not built (no libcurl or no ncurses)\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
