/* What cernita-why says of an endpoint that is not a daemon, and that it leaves files alone then.
 */
#include "tools/why/daemon/download.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cmocka_prelude.h"
#include "tools/why/daemon/state.h"

#define ANSWER(status, headers, body) "HTTP/1.1 " status " -\r\n" headers "\r\n" body
#define EMPTY                         "Content-Length: 0\r\n"

/* Listens on a free port. */
static int listen_at(char *ret_endpoint, size_t size)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, length), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &length), 0);
    snprintf(ret_endpoint, size, "127.0.0.1:%d", ntohs(at.sin_port));
    return listener;
}

/* Answers one request with these bytes, in a process of its own. */
static pid_t answer_once(int listener, const char *bytes)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child)
        return child;
    char request[4096];
    int connection = accept(listener, NULL, NULL);
    if (recv(connection, request, sizeof request, 0) > 0)
        send(connection, bytes, strlen(bytes), MSG_NOSIGNAL);
    close(connection);
    _exit(0);
}

#define STATE "the state"

/* Asks an endpoint that answers so, for its verdicts, for STATE, or, with a path, for its trace. */
static void expect_refusal(const char *answer, const char *path, int code, const char *said)
{
    crn_daemon_state state;
    char endpoint[32], expected[256];
    crn_error error = {""};
    crn_download download = {""};
    int listener = listen_at(endpoint, sizeof endpoint);
    pid_t child = answer_once(listener, answer);
    int r = !path                      ? crn_download_verdicts(endpoint, &download, &error)
            : strcmp(path, STATE) == 0 ? crn_state_fetch(endpoint, &state, &error)
                                       : crn_download_trace(endpoint, path, &error);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(listener);
    assert_string_equal(download.dir, "");
    if (r == -ENOTSUP) /* without libcurl */
        return;
    assert_int_equal(r, code);
    snprintf(expected, sizeof expected, "%s: %s", endpoint, said);
    if (strncmp(error.text, expected, strlen(expected)) != 0)
        assert_string_equal(error.text, expected);
}

static void what_is_no_daemon_is_named(void **state)
{
    (void)state;
    expect_refusal(ANSWER("200", "Content-Type: text/html\r\nContent-Length: 2\r\n", "hi"), NULL,
                   -EPROTO, "sends something else, so it is not the monitor.http");
    expect_refusal(ANSWER("200", EMPTY, ""), NULL, -EPROTO, "sends something else, so it is not");
    expect_refusal(ANSWER("404", EMPTY, ""), NULL, -ENOENT, "answers with status 404, so it is");
    expect_refusal(ANSWER("421", EMPTY, ""), NULL, -EPROTO,
                   "the daemon does not answer to this host name: use its address");
    expect_refusal(ANSWER("503", EMPTY, ""), NULL, -EBUSY, "others are reading this page");
}

/* Not even by an answer that begins well. */
static void a_trace_that_fails_replaces_nothing(void **state)
{
    (void)state;
    char path[] = "/tmp/cernita-test-XXXXXX", text[16] = "";
    int descriptor = mkstemp(path);
    assert_int_equal(write(descriptor, "precious", 8), 8);
    expect_refusal(ANSWER("200", "Content-Type: application/json\r\nContent-Length: 9\r\n", "{"),
                   path, -EIO, "the answer ends early (");
    assert_int_equal(pread(descriptor, text, sizeof text, 0), 8);
    assert_string_equal(text, "precious");
    assert_int_equal(unlink(path), 0); /* it is still there */
    close(descriptor);
}

static void a_state_that_is_none_is_named(void **state)
{
    (void)state;
    static const char *const pages[] = {"",
                                        "[]",
                                        "{}",
                                        "{\"state\":1,\"conditions\":[]}",
                                        "{\"state\":\"running\",\"conditions\":{}}",
                                        "{\"state\":\"running\",\"conditions\":[null]}",
                                        "{\"state\":\"running\",\"conditions\":["};
    static char many[40000], answer[400000];
    for (size_t i = 0; i <= sizeof pages / sizeof *pages; i++) {
        memset(many, '[', sizeof many - 1); /* the last one: deep */
        const char *page = i < sizeof pages / sizeof *pages ? pages[i] : many;
        snprintf(answer, sizeof answer,
                 ANSWER("200", "Content-Type: application/json\r\nConnection: close\r\n", "%s"),
                 page);
        expect_refusal(answer, STATE, -EPROTO, "its /healthz is not that of a running cernitad");
    }
    int head = snprintf(answer, sizeof answer,
                        ANSWER("200", "Content-Type: application/json\r\n", "{\"state\":\""));
    memset(answer + head, 'a', sizeof answer - (size_t)head - 1); /* too long */
    expect_refusal(answer, STATE, -EPROTO, "sends something else, or more than memory holds");
}

static void a_state_is_taken_from_a_line_that_hangs_too(void **state)
{
    (void)state;
    char endpoint[32];
    crn_error error = {""};
    crn_daemon_state got;
    int listener = listen_at(endpoint, sizeof endpoint);
    pid_t child = answer_once(
        listener, ANSWER("503", "Content-Type: application/json\r\nConnection: close\r\n",
                         "{\"headline\":{\"level\":\"critical\",\"misjudged\":true},"
                         "\"conditions\":[{\"id\":\"lane_silent\",\"severity\":\"critical\","
                         "\"lane\":2,\"what\":\"Lane 2: no pictures\",\"action\":\"Look.\"},"
                         "{\"id\":\"frozen\",\"what\":\"t\\u001b[2J\\u009b2Jwo\"}],"
                         "\"more\":{},\"state\":\"degraded\"}"));
    int r = crn_state_fetch(endpoint, &got, &error);
    waitpid(child, NULL, 0);
    close(listener);
    if (r == -ENOTSUP) /* without libcurl */
        return;
    assert_int_equal(r, 0);
    assert_string_equal(got.state, "degraded");
    assert_true(got.level == CRN_LEVEL_CRITICAL && got.misjudged);
    assert_int_equal(got.condition_count, 2);
    assert_int_equal(got.conditions[0].lane, 2);
    assert_int_equal(got.conditions[0].severity, CRN_LEVEL_CRITICAL);
    assert_string_equal(got.conditions[0].what, "Lane 2: no pictures");
    assert_int_equal(got.conditions[1].lane, -1);
    assert_int_equal(got.conditions[1].severity, CRN_LEVEL_NONE);
    /* nothing that a terminal obeys */
    assert_string_equal(got.conditions[1].what, "t?[2J??2Jwo");
}

/* As where a disk is full: the old file stays as it was. */
static void a_trace_that_cannot_be_written_replaces_nothing(void **state)
{
    (void)state;
    char endpoint[32], folder[] = "/tmp/cernita-test-XXXXXX", path[64], text[16] = "";
    static char answer[100000];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/t.json", folder);
    FILE *old = fopen(path, "w");
    fputs("precious", old);
    fclose(old);
    memset(answer, 'a', sizeof answer - 1);
    static const char head[] =
        ANSWER("200", "Content-Type: application/json\r\nConnection: close\r\n", "");
    memcpy(answer, head, sizeof head - 1);
    int listener = listen_at(endpoint, sizeof endpoint);
    pid_t child = answer_once(listener, answer);
    crn_error error;
    struct rlimit limit, small;
    getrlimit(RLIMIT_FSIZE, &limit);
    small = (struct rlimit){.rlim_cur = 4096, .rlim_max = limit.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    int r = crn_download_trace(endpoint, path, &error);
    setrlimit(RLIMIT_FSIZE, &limit);
    waitpid(child, NULL, 0);
    close(listener);
    assert_true(r < 0);
    old = fopen(path, "r");
    assert_int_equal(fread(text, 1, sizeof text - 1, old), 8);
    fclose(old);
    assert_string_equal(text, "precious");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0); /* nothing else is left there */
}

static void an_endpoint_is_told_from_a_folder(void **state)
{
    (void)state;
    static const char *const endpoints[] = {"127.0.0.1:9464", ":9464",          "line3:9464/",
                                            "[::1]:9464",     "http://line3/x", "HTTP://line3"};
    static const char *const folders[] = {
        "/var/log:1", "logs/a:3", "line3", "line3:", "line3:12a", ":", "a:1//", ""};
    for (size_t i = 0; i < sizeof endpoints / sizeof *endpoints; i++)
        assert_true(crn_download_is_endpoint(endpoints[i]));
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        assert_false(crn_download_is_endpoint(folders[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_endpoint_is_told_from_a_folder),
        cmocka_unit_test(what_is_no_daemon_is_named),
        cmocka_unit_test(a_state_that_is_none_is_named),
        cmocka_unit_test(a_state_is_taken_from_a_line_that_hangs_too),
        cmocka_unit_test(a_trace_that_fails_replaces_nothing),
        cmocka_unit_test(a_trace_that_cannot_be_written_replaces_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
