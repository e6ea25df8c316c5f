/* cernita-workbench: who may ask, what hostile files do, how jobs end. */
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
#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/http.h"
#include "tests/support/programs/apply_program.h"
#include "tests/support/programs/picture_files.h"
#include "tests/support/programs/workbench_program.h"
#include "tools/workbench/jobs.h"

/* Hours of work for the serial operator. */
#define LONG_JOB "morphology\n--operation\nopen\n--element\ndisk\n--size\n801\n--backend\nserial"

#define PATIENCE_S 60

static workbench bench;

static int set_up(void **state)
{
    if (apply_setup(state))
        return -1;
    workbench_start(&bench, NULL);
    return 0;
}

static int tear_down(void **state)
{
    workbench_stop(&bench);
    return apply_teardown(state);
}

static void expect_get(const char *path, const char *headers, int code)
{
    workbench_reply reply = workbench_ask(&bench, "GET", path, headers, NULL, 0);
    if (reply.code != code)
        fail_msg("%s with '%s': %d instead of %d: %.200s", path, headers, reply.code, code,
                 reply.body);
    workbench_reply_free(&reply);
}

/* --- who may ask ------------------------------------------------------------------------------ */

static void only_its_own_page_may_ask(void **state)
{
    (void)state;
    expect_get("/", "-", 200);
    expect_get("/page/workbench.js", "-", 200);
    expect_get("/page/../store.c", "-", 404);
    expect_get("/nix", "-", 404);
    expect_get("/apply", "-", 405);
    expect_get("/pictures/18446744073709551617/file", "-", 404);
    expect_get("/pictures/1/nix", "-", 404);
    expect_get("/", "-Host: evil.example\r\n", 421);
    expect_get("/pictures/1/planes", "-Sec-Fetch-Site: cross-site\r\n", 403);
    expect_get("/", "-Sec-Fetch-Site: cross-site\r\n", 200);
    expect_get("/pictures/1/planes", "-Sec-Fetch-Site: same-origin\r\n", 200);
    const char text[] = "field\n4\n1\n0.5";
    static const struct {
        const char *headers;
        int code;
    } cases[] = {
        {"-", 403},
        {"-Origin: http://localhost\r\n", 403},
        {"Origin: http://evil.example\r\n", 403},
        {"Origin: null\r\n", 403},
        {"Origin: http://localhost\r\n", 200},
        {"", 200},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        workbench_reply reply =
            workbench_ask(&bench, "POST", "/generate", cases[i].headers, text, strlen(text));
        if (reply.code != cases[i].code)
            fail_msg("'%s': %d", cases[i].headers, reply.code);
        workbench_reply_free(&reply);
    }
    workbench_reply page = workbench_ask(&bench, "GET", "/", "-", NULL, 0);
    assert_non_null(strstr(page.head, "Content-Security-Policy: default-src 'none'"));
    workbench_reply_free(&page);
}

static void other_machines_need_a_token(void **state)
{
    workbench guarded;
    assert_int_equal(apply_setup(state), 0);
    assert_int_equal(apply_run_program(CRN_BIN "/cernita-workbench", "--listen 0.0.0.0:0"), 2);
    assert_non_null(strstr(apply_output, "give --token-file"));
    apply_write_text("short", "abc\n");
    assert_int_equal(apply_run_program(CRN_BIN "/cernita-workbench", "--token-file short"), 2);
    assert_int_equal(apply_run_program(CRN_BIN "/cernita-workbench", "--listen 8080"), 2);
    apply_write_text("token", "abcdefghijklmnop1234\n");
    workbench_start(&guarded, (const char *const[]){"--token-file", "token", NULL});
    assert_string_equal(guarded.token, "abcdefghijklmnop1234");
    static const struct {
        const char *path, *headers;
        int code;
    } cases[] = {
        {"/", "-", 403},
        {"/catalogue", "-", 403},
        {"/pictures/1/file", "-Cookie: cernita_workbench=abcdefghijklmnop1235\r\n", 403},
        {"/?token=abcdefghijklmnop123", "-", 403},
        {"/?token=abcdefghijklmnop1234", "-", 303},
        {"/", "-Cookie: cernita_workbench=abcdefghijklmnop1234\r\n", 200},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        workbench_reply reply =
            workbench_ask(&guarded, "GET", cases[i].path, cases[i].headers, NULL, 0);
        assert_int_equal(reply.code, cases[i].code);
        if (reply.code == 303)
            assert_non_null(strstr(reply.head, "HttpOnly; SameSite=Strict"));
        workbench_reply_free(&reply);
    }
    workbench_stop(&guarded);
    assert_int_equal(apply_teardown(state), 0);
}

/* --- files ------------------------------------------------------------------------------------ */

static void expect_refused(const char *name, const void *bytes, size_t size, const char *wanted)
{
    char path[128];
    snprintf(path, sizeof path, "/pictures?name=%s", name);
    workbench_reply reply = workbench_ask(&bench, "POST", path, "", bytes, size);
    if (reply.code != 422)
        fail_msg("%s: %d: %s", name, reply.code, reply.body);
    const char *sentence = workbench_text(reply.body, "error");
    if (!strstr(sentence, wanted) || strchr(sentence, '\n'))
        fail_msg("%s: '%s' instead of '%s'", name, sentence, wanted);
    workbench_reply_free(&reply);
}

static int count_pictures(void)
{
    workbench_reply reply = workbench_ask(&bench, "GET", "/pictures", "-", NULL, 0);
    int count = 0;
    for (const char *at = reply.body; (at = strstr(at, "\"id\":")); at++)
        count++;
    workbench_reply_free(&reply);
    return count;
}

static void hostile_files_get_a_sentence(void **state)
{
    (void)state;
    int before = count_pictures();
    static const char text[] = "just some words";
    expect_refused("words.png", text, sizeof text, "words.png: is neither");
    expect_refused("contours.json", "[]", 2, "contours.json: is neither");
    expect_refused("nothing.tif", "", 0, "nothing.tif: ");
    expect_refused("..%2f..%2fetc%2fpasswd", text, sizeof text, "passwd: is neither");

    unsigned char *bytes;
    crn_picture picture = apply_picture("whole.png", CRN_U8, 1, 3, false, 200, 300);
    crn_picture_free(&picture);
    size_t size = picture_load_bytes("whole.png", &bytes);
    expect_refused("cut.png", bytes, size / 2, "cut.png: ");
    free(bytes);
    picture = apply_picture("whole.tif", CRN_U16, 2, 1, false, 50, 60);
    crn_picture_free(&picture);
    size = picture_load_bytes("whole.tif", &bytes);
    expect_refused("cut.tif", bytes, size - 3000, "cut.tif: ");
    free(bytes);

    /* 4 GiB of values in 128 bytes. */
    static const char bomb[] = "\x93NUMPY\1\0\x76\0{'descr': '<f4', 'fortran_order': False, "
                               "'shape': (32768, 32768), }"
                               "                                             \n";
    expect_refused("bomb.npy", bomb, sizeof bomb - 1, "bomb.npy: ");
    assert_int_equal(count_pictures(), before);
}

/* A classic TIFF whose only directory names itself as the next one. */
static void a_looping_tiff_is_refused_or_read_once(void **state)
{
    (void)state;
    unsigned char *bytes;
    char path[64] = "/pictures?name=loop.tif";
    crn_picture picture = apply_picture("loop.tif", CRN_U8, 1, 1, false, 8, 8);
    crn_picture_free(&picture);
    size_t size = picture_load_bytes("loop.tif", &bytes);
    uint32_t directory;
    uint16_t entries;
    memcpy(&directory, bytes + 4, sizeof directory);
    memcpy(&entries, bytes + directory, sizeof entries);
    memcpy(bytes + directory + 2 + 12 * entries, &directory, sizeof directory);
    workbench_reply reply = workbench_ask(&bench, "POST", path, "", bytes, size);
    assert_true(reply.code == 422 || workbench_number(reply.body, "pages") == 1);
    workbench_reply_free(&reply);
    free(bytes);
}

static void a_name_is_made_unique_and_harmless(void **state)
{
    static const char *const names[][2] = {
        {"a.png", "a.png"},
        {"a.png", "a-2.png"},
        {"..%2f.b.png", "_b.png"},
        {"-rf.png", "_rf.png"},
        {"%0Ac.png", "_c.png"},
        {"%ff%fed.png", "__d.png"},
        {"%c3%a8.png", "\xc3\xa8.png"},
        {"", "picture"},
    };
    (void)state;
    crn_picture picture = apply_picture("a.png", CRN_U8, 1, 1, false, 4, 4);
    crn_picture_free(&picture);
    unsigned char *bytes;
    size_t size = picture_load_bytes("a.png", &bytes);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        snprintf(path, sizeof path, "/pictures?name=%s", names[i][0]);
        workbench_reply reply = workbench_ask(&bench, "POST", path, "", bytes, size);
        assert_int_equal(reply.code, 200);
        assert_string_equal(workbench_text(reply.body, "name"), names[i][1]);
        workbench_reply_free(&reply);
    }
    free(bytes);
}

/* An upload that is announced as too large, or whose client leaves, leaves nothing behind. */
static void half_an_upload_leaves_nothing(void **state)
{
    (void)state;
    static const char head[] = "POST /pictures?name=large.tif HTTP/1.1\r\nHost: localhost\r\n"
                               "X-Cernita-Workbench: 1\r\nContent-Length: ";
    int connection = http_connect(bench.address);
    assert_true(http_send(connection, head));
    assert_true(http_send(connection, "1000000\r\n\r\nabcd"));
    close(connection);
    connection = http_connect(bench.address);
    assert_true(http_send(connection, head));
    assert_true(http_send(connection, "999999999999\r\n\r\nabcd"));
    close(connection);
    assert_int_equal(count_pictures(), 3);
}

/* --- jobs ------------------------------------------------------------------------------------- */

static uint64_t large_field(void)
{
    workbench_reply reply = workbench_post(&bench, 200, "/generate", "field\n11\n1\n0.5");
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
        workbench_reply reply = workbench_ask(&bench, "GET", path, "-", NULL, 0);
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
    return workbench_send(&bench, path, LONG_JOB);
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
    workbench_reply reply = workbench_ask(&bench, "DELETE", path, "", NULL, 0);
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
    expect_get("/pictures", "-", 200); /* the page goes on */
    cancel("secondjob", 200);
    expect_code(second, 409);
    wait_for_state("firstjob1", "running");
    int third = workbench_send(&bench, "/generate", "field\n4\n99\n0.5");
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
    int one = workbench_send(&bench, "/apply?in=1&out=tif&job=oneoneone", "haar\n--levels\n1");
    wait_for_state("oneoneone", "waiting");
    int two = workbench_send(&bench, "/apply?in=1&out=tif&job=twotwotwo", "haar\n--levels\n2");
    wait_for_state("twotwotwo", "waiting");
    int three = workbench_send(&bench, "/apply?in=1&out=tif&job=threethre", "haar\n--levels\n3");
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
    expect_get(path, "-", 200);
}

/* What a page asks while it waits for a job must not wait, too. */
static void checks_and_values_do_not_wait_for_a_job(void **state)
{
    (void)state;
    uint64_t id = large_field();
    int busy = begin_long_job(id, "busybusyb");
    wait_for_state("busybusyb", "running");
    workbench_expect_refusal(&bench, 422, "/apply?in=1&out=tif&check=1", "haar\n--levels\n30",
                             "maximum");
    expect_get("/pictures/1/planes", "-", 200);
    workbench_reply reply = workbench_post(&bench, 200, "/generate", "fruit\n12\n1");
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
    workbench_expect_refusal(&bench, 503, "/apply?in=1&out=tif", "haar\n--levels\n1",
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
    workbench_reply reply = workbench_post(&bench, 200, "/generate", "field\n4\n98\n0.5");
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
    waitpid(killed.pid, NULL, 0);

    workbench_start(&bench, NULL); /* removes what the killed one left */
    assert_false(has_folder(killed.pid));
    assert_true(has_folder(bench.pid));
    uint64_t id = large_field();
    int job = begin_long_job(id, "runsatend");
    wait_for_state("runsatend", "running");
    workbench_stop(&bench);
    expect_code(job, 503);
    assert_false(has_folder(bench.pid));
    assert_int_equal(apply_teardown(state), 0);
}

/* Whatever clients are asking just then. */
static void ends_under_load(void **state)
{
    enum { CLIENTS = 12, REQUESTS = 30 };
    int clients[CLIENTS];
    char request[256];
    assert_int_equal(apply_setup(state), 0);
    workbench_start(&bench, NULL);
    for (int i = 0; i < CLIENTS; i++) {
        static const char body[] = "convolve\n--kernel\nblur\n--size\n31\n--backend\nserial";
        clients[i] = http_connect(bench.address);
        snprintf(request, sizeof request,
                 "POST /apply?in=1&out=tif HTTP/1.1\r\nHost: localhost\r\n"
                 "X-Cernita-Workbench: 1\r\nContent-Length: %zu\r\n\r\n%s",
                 strlen(body), body);
        for (int k = 0; k < REQUESTS; k++)
            assert_true(http_send(clients[i], request));
    }
    workbench_reply reply = workbench_ask(&bench, "GET", "/pictures", "-", NULL, 0);
    workbench_reply_free(&reply);
    workbench_stop(&bench);
    assert_false(has_folder(bench.pid));
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
    workbench_start(&bench, (const char *const[]){"mine.png", NULL});
    expect_get("/pictures/4/file", "-", 200);
    assert_int_equal(unlink("mine.png"), 0);
    expect_get("/pictures/4/file", "-", 404);
    assert_int_equal(mkfifo("mine.png", 0600), 0);
    expect_get("/pictures/4/file", "-", 404);
    expect_get("/pictures/4/planes", "-", 422);
    assert_int_equal(unlink("mine.png"), 0);
    assert_int_equal(mkdir("mine.png", 0700), 0);
    expect_get("/pictures/4/file", "-", 404);
    workbench_stop(&bench);
    assert_int_equal(apply_teardown(state), 0);
}

static void files_of_the_command_line_are_open(void **state)
{
    assert_int_equal(apply_setup(state), 0);
    crn_picture picture = apply_picture("mine.png", CRN_U8, 1, 1, false, 12, 10);
    crn_picture_free(&picture);
    workbench_start(&bench, (const char *const[]){"mine.png", NULL});
    workbench_reply reply = workbench_ask(&bench, "GET", "/pictures", "-", NULL, 0);
    assert_non_null(strstr(reply.body, "\"name\":\"mine.png\""));
    workbench_reply_free(&reply);
    workbench_stop(&bench);
    apply_picture("mine.png", CRN_U8, 1, 1, false, 12, 10); /* untouched: it can be replaced */
    assert_int_equal(
        apply_run_program(CRN_BIN "/cernita-workbench", "--listen 127.0.0.1:0 nix.png"), 1);
    assert_non_null(strstr(apply_output, "cernita-workbench: nix.png: No such file"));
    assert_int_equal(apply_teardown(state), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_its_own_page_may_ask, set_up, tear_down),
        cmocka_unit_test(other_machines_need_a_token),
        cmocka_unit_test_setup_teardown(hostile_files_get_a_sentence, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_looping_tiff_is_refused_or_read_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_name_is_made_unique_and_harmless, set_up, tear_down),
        cmocka_unit_test_setup_teardown(half_an_upload_leaves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_job_can_be_cancelled_and_others_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_client_that_leaves_takes_its_job_along, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(jobs_that_wait_have_names_of_their_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(checks_and_values_do_not_wait_for_a_job, set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_many_jobs_are_refused, set_up, tear_down),
        cmocka_unit_test(ends_under_load),
        cmocka_unit_test(a_given_file_that_changes_stops_nothing),
        cmocka_unit_test(ends_with_a_job_running_and_leaves_nothing),
        cmocka_unit_test(files_of_the_command_line_are_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
