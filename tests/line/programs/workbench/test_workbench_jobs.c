/* cernita-workbench: how jobs wait and end, and how it ends itself. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "tests/support/cleanup.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/http.h"
#include "tests/support/programs/apply_program.h"
#include "tests/support/programs/picture_files.h"
#include "tests/support/programs/workbench_program.h"
#include "tools/workbench/jobs.h"

/* Hours of work for the serial operator. */
#define LONG_JOB "morphology\n--operation\nopen\n--element\ndisk\n--size\n801\n--backend\nserial"

#define PATIENCE_S 60

/* --- jobs ------------------------------------------------------------------------------------- */

static uint64_t large_field(void)
{
    workbench_reply reply = workbench_post(&the_bench, 200, "/generate", "field\n11\n1\n0.5");
    uint64_t id = (uint64_t)workbench_number(reply.body, "id");
    workbench_reply_free(&reply);
    return id;
}

/* Asks until the job is in that state. */
static void wait_for_state(const char *token, const char *state)
{
    char path[64];
    int64_t end_ns = crn_now_ns() + PATIENCE_S * CRN_NS_PER_S;
    snprintf(path, sizeof path, "/jobs/%s", token);
    for (;;) {
        workbench_reply reply = workbench_ask(&the_bench, "GET", path, "-", NULL, 0);
        bool there = strcmp(workbench_text(reply.body, "state"), state) == 0;
        workbench_reply_free(&reply);
        if (there)
            return;
        if (crn_now_ns() > end_ns)
            fail_msg("%s was never %s", token, state);
        usleep(2000);
    }
}

static int begin_long_job(uint64_t id, const char *token)
{
    char path[80];
    snprintf(path, sizeof path, "/apply?in=%d&out=tif&job=%s", (int)id, token);
    return workbench_send(&the_bench, path, LONG_JOB);
}

static void expect_code(int connection, int code)
{
    char *text = http_read_all(connection);
    assert_int_equal(http_code(text), code);
    free(text);
    close(connection);
}

static void cancel(const char *token, int code)
{
    char path[64];
    snprintf(path, sizeof path, "/jobs/%s", token);
    workbench_reply reply = workbench_ask(&the_bench, "DELETE", path, "", NULL, 0);
    assert_int_equal(reply.code, code);
    workbench_reply_free(&reply);
}

static void a_job_can_be_cancelled_and_others_wait(void **state)
{
    (void)state;
    uint64_t id = large_field();
    int first = begin_long_job(id, "firstjob1");
    wait_for_state("firstjob1", "running");
    int second = begin_long_job(id, "secondjob");
    wait_for_state("secondjob", "waiting");
    workbench_expect_get(&the_bench, "/pictures", "-", 200); /* the page goes on */
    cancel("secondjob", 200);
    expect_code(second, 409);
    wait_for_state("firstjob1", "running");
    int third = workbench_send(&the_bench, "/generate", "field\n4\n99\n0.5");
    cancel("firstjob1", 200);
    expect_code(first, 409);
    expect_code(third, 200);
    cancel("firstjob1", 404);
    cancel("", 404);
}

/* Names are given when jobs begin to wait: none may be another's. */
static void jobs_that_wait_have_names_of_their_own(void **state)
{
    (void)state;
    uint64_t id = large_field();
    int busy = begin_long_job(id, "busybusyb");
    wait_for_state("busybusyb", "running");
    int one = workbench_send(&the_bench, "/apply?in=1&out=tif&job=oneoneone", "haar\n--levels\n1");
    wait_for_state("oneoneone", "waiting");
    int two = workbench_send(&the_bench, "/apply?in=1&out=tif&job=twotwotwo", "haar\n--levels\n2");
    wait_for_state("twotwotwo", "waiting");
    int three =
        workbench_send(&the_bench, "/apply?in=1&out=tif&job=threethre", "haar\n--levels\n3");
    wait_for_state("threethre", "waiting");
    cancel("twotwotwo", 200);
    expect_code(two, 409);
    cancel("busybusyb", 200);
    expect_code(busy, 409);
    char first[CRN_STORE_NAME_BYTES], path[64];
    char *text = http_read_all(one);
    snprintf(first, sizeof first, "%s", workbench_text(text, "name"));
    snprintf(path, sizeof path, "/pictures/%d/file", (int)workbench_number(text, "id"));
    free(text);
    close(one);
    text = http_read_all(three);
    assert_string_not_equal(workbench_text(text, "name"), first);
    free(text);
    close(three);
    workbench_expect_get(&the_bench, path, "-", 200);
}

/* What a page asks while it waits for a job must not wait, too. */
static void checks_and_values_do_not_wait_for_a_job(void **state)
{
    (void)state;
    uint64_t id = large_field();
    int busy = begin_long_job(id, "busybusyb");
    wait_for_state("busybusyb", "running");
    workbench_expect_refusal(&the_bench, 422, "/apply?in=1&out=tif&check=1", "haar\n--levels\n30",
                             "maximum");
    workbench_expect_get(&the_bench, "/pictures/1/planes", "-", 200);
    workbench_reply reply = workbench_post(&the_bench, 200, "/generate", "fruit\n12\n1");
    workbench_reply_free(&reply);
    wait_for_state("busybusyb", "running");
    cancel("busybusyb", 200);
    expect_code(busy, 409);
}

static void too_many_jobs_are_refused(void **state)
{
    (void)state;
    int waiting[CRN_JOBS_MAX];
    char token[16];
    uint64_t id = large_field();
    for (int i = 0; i < CRN_JOBS_MAX; i++) {
        snprintf(token, sizeof token, "waits%04d", i);
        waiting[i] = begin_long_job(id, token);
        wait_for_state(token, i ? "waiting" : "running");
    }
    workbench_expect_refusal(&the_bench, 503, "/apply?in=1&out=tif", "haar\n--levels\n1",
                             "too many jobs");
    for (int i = CRN_JOBS_MAX - 1; i >= 0; i--) {
        snprintf(token, sizeof token, "waits%04d", i);
        cancel(token, 200);
        expect_code(waiting[i], 409);
    }
}

static void a_client_that_leaves_takes_its_job_along(void **state)
{
    (void)state;
    uint64_t id = large_field();
    int first = begin_long_job(id, "leavesnow");
    wait_for_state("leavesnow", "running");
    int second = begin_long_job(id, "leavestoo");
    wait_for_state("leavestoo", "waiting");
    close(second);
    wait_for_state("leavestoo", "unknown");
    close(first);
    wait_for_state("leavesnow", "unknown");
    workbench_reply reply = workbench_post(&the_bench, 200, "/generate", "field\n4\n98\n0.5");
    workbench_reply_free(&reply);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Whether the folder of a process is there. */
static bool has_folder(pid_t pid)
{
    char name[64];
    bool found = false;
    DIR *folder = opendir("/dev/shm");
    snprintf(name, sizeof name, "cernita-workbench-%d-", (int)pid);
    for (const struct dirent *entry; folder && (entry = readdir(folder));)
        found = found || strncmp(entry->d_name, name, strlen(name)) == 0;
    if (folder)
        closedir(folder);
    return found;
}

static void ends_with_a_job_running_and_leaves_nothing(void **state)
{
    workbench killed;
    assert_int_equal(apply_setup(state), 0);
    workbench_start(&killed, NULL);
    assert_true(has_folder(killed.pid));
    kill(killed.pid, SIGKILL);
    crn_cleanup_wait(killed.pid, NULL);

    workbench_start(&the_bench, NULL); /* removes what the killed one left */
    assert_false(has_folder(killed.pid));
    assert_true(has_folder(the_bench.pid));
    uint64_t id = large_field();
    int job = begin_long_job(id, "runsatend");
    wait_for_state("runsatend", "running");
    workbench_stop(&the_bench);
    expect_code(job, 503);
    assert_false(has_folder(the_bench.pid));
    assert_int_equal(apply_teardown(state), 0);
}

/* Whatever clients are asking just then. */
static void ends_under_load(void **state)
{
    enum { CLIENTS = 12, REQUESTS = 30 };
    int clients[CLIENTS];
    char request[256];
    assert_int_equal(apply_setup(state), 0);
    workbench_start(&the_bench, NULL);
    for (int i = 0; i < CLIENTS; i++) {
        static const char body[] = "convolve\n--kernel\nblur\n--size\n31\n--backend\nserial";
        clients[i] = http_connect(the_bench.address);
        snprintf(request, sizeof request,
                 "POST /apply?in=1&out=tif HTTP/1.1\r\nHost: localhost\r\n"
                 "X-Cernita-Workbench: 1\r\nContent-Length: %zu\r\n\r\n%s",
                 strlen(body), body);
        for (int k = 0; k < REQUESTS; k++)
            assert_true(http_send(clients[i], request));
    }
    workbench_reply reply = workbench_ask(&the_bench, "GET", "/pictures", "-", NULL, 0);
    workbench_reply_free(&reply);
    workbench_stop(&the_bench);
    assert_false(has_folder(the_bench.pid));
    for (int i = 0; i < CLIENTS; i++)
        close(clients[i]);
    assert_int_equal(apply_teardown(state), 0);
}

/* Its file may become anything while it is open. */
static void a_given_file_that_changes_stops_nothing(void **state)
{
    assert_int_equal(apply_setup(state), 0);
    crn_picture picture = apply_picture("mine.png", CRN_U8, 1, 1, false, 12, 10);
    crn_picture_free(&picture);
    workbench_start(&the_bench, (const char *const[]){"mine.png", NULL});
    workbench_expect_get(&the_bench, "/pictures/4/file", "-", 200);
    assert_int_equal(unlink("mine.png"), 0);
    workbench_expect_get(&the_bench, "/pictures/4/file", "-", 404);
    assert_int_equal(mkfifo("mine.png", 0600), 0);
    workbench_expect_get(&the_bench, "/pictures/4/file", "-", 404);
    workbench_expect_get(&the_bench, "/pictures/4/planes", "-", 422);
    assert_int_equal(unlink("mine.png"), 0);
    assert_int_equal(mkdir("mine.png", 0700), 0);
    workbench_expect_get(&the_bench, "/pictures/4/file", "-", 404);
    workbench_stop(&the_bench);
    assert_int_equal(apply_teardown(state), 0);
}

static void files_of_the_command_line_are_open(void **state)
{
    assert_int_equal(apply_setup(state), 0);
    crn_picture picture = apply_picture("mine.png", CRN_U8, 1, 1, false, 12, 10);
    crn_picture_free(&picture);
    workbench_start(&the_bench, (const char *const[]){"mine.png", NULL});
    workbench_reply reply = workbench_ask(&the_bench, "GET", "/pictures", "-", NULL, 0);
    assert_non_null(strstr(reply.body, "\"name\":\"mine.png\""));
    workbench_reply_free(&reply);
    workbench_stop(&the_bench);
    picture = apply_read("mine.png"); /* untouched */
    crn_picture_free(&picture);
    assert_int_equal(
        apply_run_program(CRN_BIN "/cernita-workbench", "--listen 127.0.0.1:0 nix.png"), 1);
    assert_non_null(strstr(apply_output, "cernita-workbench: nix.png: No such file"));
    assert_int_equal(apply_teardown(state), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_can_be_cancelled_and_others_wait, workbench_setup,
                                        workbench_teardown),
        cmocka_unit_test_setup_teardown(a_client_that_leaves_takes_its_job_along, workbench_setup,
                                        workbench_teardown),
        cmocka_unit_test_setup_teardown(jobs_that_wait_have_names_of_their_own, workbench_setup,
                                        workbench_teardown),
        cmocka_unit_test_setup_teardown(checks_and_values_do_not_wait_for_a_job, workbench_setup,
                                        workbench_teardown),
        cmocka_unit_test_setup_teardown(too_many_jobs_are_refused, workbench_setup,
                                        workbench_teardown),
        cmocka_unit_test(ends_under_load),
        cmocka_unit_test(a_given_file_that_changes_stops_nothing),
        cmocka_unit_test(ends_with_a_job_running_and_leaves_nothing),
        cmocka_unit_test(files_of_the_command_line_are_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
