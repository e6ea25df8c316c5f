#include "tests/support/programs/workbench_program.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/cleanup.h"
#include "tests/support/peers/http.h"
#include "tests/support/programs/picture_files.h"
#include "tests/support/programs/apply_program.h"

#define ARGUMENTS_MAX 12

/* --- the program ------------------------------------------------------------------------------ */

static void run_program(int out, const char *const arguments[])
{
    const char *argv[ARGUMENTS_MAX + 4] = {"cernita-workbench", "--listen", "127.0.0.1:0"};
    for (int i = 0; arguments && arguments[i] && i < ARGUMENTS_MAX; i++)
        argv[3 + i] = arguments[i];
    dup2(out, STDOUT_FILENO);
    execv(CRN_BIN "/cernita-workbench", (char *const *)(uintptr_t)argv);
    _exit(127);
}

void workbench_start(workbench *bench, const char *const arguments[])
{
    int out[2];
    char line[512] = "", address[256] = "";
    *bench = (workbench){0};
    assert_int_equal(pipe(out), 0);
    bench->pid = crn_cleanup_fork();
    if (bench->pid == 0)
        run_program(out[1], arguments);
    close(out[1]);
    FILE *lines = fdopen(out[0], "r");
    assert_non_null(lines);
    if (!fgets(line, sizeof line, lines) ||
        sscanf(line, "cernita-workbench: open http://%255s in a browser", address) != 1)
        fail_msg("cernita-workbench did not start: '%s'", line);
    fclose(lines);
    char *token = strstr(address, "/?token=");
    if (token)
        snprintf(bench->token, sizeof bench->token, "%.63s", token + strlen("/?token="));
    address[strcspn(address, "/")] = '\0';
    snprintf(bench->address, sizeof bench->address, "%.63s", address);
}

void workbench_stop(workbench *bench)
{
    int status = 0;
    assert_int_equal(kill(bench->pid, SIGTERM), 0);
    assert_int_equal(crn_cleanup_wait(bench->pid, &status), bench->pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- requests --------------------------------------------------------------------------------- */

static void send_bytes(int connection, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t sent = send(connection, at, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return; /* the answer says why */
        at += sent;
        size -= (size_t)sent;
    }
}

static int begin_request(const workbench *bench, const char *method, const char *path,
                         const char *headers, const void *body, size_t size)
{
    char head[2048];
    bool bare = headers[0] == '-';
    int connection = http_connect(bench->address);
    snprintf(head, sizeof head,
             "%s %s HTTP/1.1\r\n%s%s%sContent-Length: %zu\r\nConnection: close\r\n\r\n", method,
             path, strstr(headers, "Host:") ? "" : "Host: localhost\r\n",
             bare ? "" : "X-Cernita-Workbench: 1\r\n", headers + bare, size);
    assert_true(http_send(connection, head));
    send_bytes(connection, body, size);
    return connection;
}

workbench_reply workbench_ask(const workbench *bench, const char *method, const char *path,
                              const char *headers, const void *body, size_t size)
{
    workbench_reply reply;
    int connection = begin_request(bench, method, path, headers, body, size);
    reply.head = http_read_bytes(connection, &reply.size);
    close(connection);
    reply.code = http_code(reply.head);
    char *end = strstr(reply.head, "\r\n\r\n");
    assert_non_null(end);
    reply.body = end + 4;
    reply.size -= (size_t)(reply.body - reply.head);
    return reply;
}

void workbench_reply_free(workbench_reply *reply)
{
    free(reply->head);
    *reply = (workbench_reply){0};
}

workbench_reply workbench_post(const workbench *bench, int code, const char *path, const char *text)
{
    workbench_reply reply = workbench_ask(bench, "POST", path, "", text, strlen(text));
    if (reply.code != code)
        fail_msg("%s: %d instead of %d: %s", path, reply.code, code, reply.body);
    return reply;
}

void workbench_expect_refusal(const workbench *bench, int code, const char *path, const char *text,
                              const char *wanted)
{
    workbench_reply reply = workbench_post(bench, code, path, text);
    const char *sentence = workbench_text(reply.body, "error");
    if (!strstr(sentence, wanted))
        fail_msg("%s: '%s' instead of '%s'", path, sentence, wanted);
    assert_null(strchr(sentence, '\n'));
    workbench_reply_free(&reply);
}

uint64_t workbench_open(const workbench *bench, const char *path, const char *name)
{
    unsigned char *bytes;
    char address[200];
    size_t size = picture_load_bytes(path, &bytes);
    snprintf(address, sizeof address, "/pictures?name=%s", name);
    workbench_reply reply = workbench_ask(bench, "POST", address, "", bytes, size);
    if (reply.code != 200)
        fail_msg("%s: %d: %s", name, reply.code, reply.body);
    uint64_t id = (uint64_t)workbench_number(reply.body, "id");
    workbench_reply_free(&reply);
    free(bytes);
    return id;
}

int workbench_send(const workbench *bench, const char *path, const char *text)
{
    return begin_request(bench, "POST", path, "", text, strlen(text));
}

void workbench_expect_get(const workbench *bench, const char *path, const char *headers, int code)
{
    workbench_reply reply = workbench_ask(bench, "GET", path, headers, NULL, 0);
    if (reply.code != code)
        fail_msg("%s with '%s': %d instead of %d: %.200s", path, headers, reply.code, code,
                 reply.body);
    workbench_reply_free(&reply);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static const char *find_value(const char *json, const char *key)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", key);
    const char *at = strstr(json, quoted);
    if (!at)
        fail_msg("%s is not in %.500s", quoted, json);
    return at + strlen(quoted);
}

double workbench_number(const char *json, const char *key)
{
    return strtod(find_value(json, key), NULL);
}

const char *workbench_text(const char *json, const char *key)
{
    static char text[4096];
    size_t used = 0;
    const char *at = find_value(json, key);
    assert_int_equal(*at, '"');
    for (at++; *at && *at != '"' && used + 1 < sizeof text; at++) {
        char c = *at;
        if (c == '\\') {
            at++;
            c = *at == 'n' ? '\n' : *at;
        }
        text[used++] = c;
    }
    text[used] = '\0';
    return text;
}

workbench the_bench;

int workbench_setup(void **state)
{
    if (apply_setup(state))
        return -1;
    workbench_start(&the_bench, NULL);
    return 0;
}

int workbench_teardown(void **state)
{
    workbench_stop(&the_bench);
    return apply_teardown(state);
}
