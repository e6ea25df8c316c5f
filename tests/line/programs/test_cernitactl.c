/* cernitactl against a running daemon: what it prints, and its exit status. */
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/daemon.h"
#include "tests/support/programs/shell.h"

/* What only a failure reaches. */
#define PATIENCE_NS (60 * CRN_NS_PER_S)

static char folder[64];
static daemon_process line;

static void write_line(const char *level, const char *more)
{
    char yaml[2048], path[128];
    snprintf(yaml, sizeof yaml,
             "ingest: {bind: ['ipc://%s/in']}\n"
             "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: 'ipc://%s/viewers'}}\n"
             "classes: [{name: rot, level: %s}]\n"
             "chain: [contours: {}]\n"
             "run: {backend: openmp, workers: 1, threads: 1}\n"
             "monitor: {http: '127.0.0.1:0'}\n"
             "control: {path: '%s/control'}\n"
             "%s",
             folder, folder, folder, level, folder, more);
    daemon_write_config(folder, "line.yaml", yaml, path);
}

/* Runs it with these arguments; returns its exit status and both its outputs. */
__attribute__((format(printf, 2, 3))) static int ctl(char output[8192], const char *format, ...)
{
    char command[1024];
    int used =
        snprintf(command, sizeof command, CRN_BIN "/cernitactl --socket %s/control ", folder);
    va_list list;
    va_start(list, format);
    used += vsnprintf(command + used, sizeof command - (size_t)used, format, list);
    va_end(list);
    snprintf(command + used, sizeof command - (size_t)used, " 2>&1");
    return crn_test_shell(command, output, 8192);
}

static void expect(int status, const char *said, const char *arguments)
{
    char output[8192];
    int got = ctl(output, "%s", arguments);
    if (got != status || !strstr(output, said))
        fail_msg("%s: status %d, %s", arguments, got, output);
}

static void it_shows_the_status(void **state)
{
    (void)state;
    expect(0, "file      ", "status");
    expect(0, "/line.yaml\nstate     ready\n", "status");
    expect(0, "\npage      http://127.0.0.1:", "status");
    expect(0, "\"page\":\"127.0.0.1:", "status --json");
    expect(0, "recipe    none (the file's own settings)\n", "status");
    expect(0, "\"recipe\":\"\",\"settings\":\"", "status --json");
}

static void it_begins_and_ends_a_lot(void **state)
{
    (void)state;
    char output[8192], longer[600];
    expect(0, "lot       none\n", "lot");
    expect(0, "lot       Hof 7\ngrower    K. Meier\nvariety   Gala\n",
           "lot 'Hof 7' --variety Gala --grower 'K. Meier'");
    expect(0, "\"lot\":\"Hof 7\",\"grower\":\"K. Meier\",\"variety\":\"Gala\"", "status --json");
    expect(1, "bytes that do not print: leave them out", "lot \"$(printf 'a\\nb')\"");
    expect(1, "lot: the id begins with a dash or a space", "lot ' ' --variety ''");
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(ctl(output, "lot %s", longer), 2);
    assert_string_equal(output, "cernitactl: the operands are longer than a request may be, 256 "
                                "bytes: shorten them\n");
    expect(0, "lot       Hof 7\n", "lot");
    expect(0, "lot       none\n", "lot --end");
}

static void it_reloads_and_lists_faults(void **state)
{
    (void)state;
    write_line("0.6", "recipes: {plum: {classes: {rot: 0.3}}, Late pear: {}}\n");
    expect(0, "settings ", "reload");
    write_line("6", "limits: {lanes: 3}\n");
    expect(1, "line.yaml:3:30: classes.level: 6 is out of range", "reload");
    write_line("0.6", "limits: {lanes: 3}\n");
    expect(1, "limits.lanes is 3 in the file and 64 in the running daemon", "reload");
    write_line("0.6", "recipes: {plum: {classes: {rot: 0.3}}, Late pear: {}}\n");
    expect(0, "* --none\n  plum\n  Late pear\n", "recipes");
    expect(0, ", recipe 'Late pear'\n", "recipe 'Late pear'");
    expect(0, "  --none\n  plum\n* Late pear\n", "recipes");
    expect(1, "there is no recipe 'apple'", "recipe apple");
    expect(1, "\ncernitactl: refused; the line goes on with the settings", "recipe apple");
    expect(0, "settings ", "recipe --none");
    write_line("1", "recipes: {plum: {classes: {rot: 0}}, Late pear: {}}\n");
    expect(0,
           "note: classes.level: rot is 1 (no pixel is above it: nothing is found), rot of recipe "
           "plum is 0 (every pixel above it is a defect's)\nsettings ",
           "reload");
    write_line("0.6", "recipes: {plum: {classes: {rot: 0.3}}, Late pear: {}}\n");
    expect(0, "settings ", "reload");
    expect(0, "* --none\n", "recipes");
}

/* Waits for an alarm that is active; returns its number. */
static int await_alarm(const char *sentence)
{
    char output[8192], wanted[128];
    int number = 0;
    snprintf(wanted, sizeof wanted, "active, unacknowledged  warning  %s", sentence);
    int64_t until_ns = crn_now_ns() + PATIENCE_NS;
    for (const char *found; number == 0;) {
        assert_int_equal(ctl(output, "alarms"), 0);
        if ((found = strstr(output, wanted)) != NULL) {
            while (found > output && found[-1] != '\n')
                found--;
            assert_int_equal(sscanf(found, "%*s %d", &number), 1);
        } else if (crn_now_ns() > until_ns) {
            fail_msg("no alarm: %s", output);
        } else {
            usleep(50000);
        }
    }
    return number;
}

static void it_acknowledges_and_shelves_alarms(void **state)
{
    (void)state;
    char command[64], said[64];
    write_line("6", "");
    expect(1, "out of range", "reload");
    int number = await_alarm("New settings were refused; the old ones stay in force. Have");
    snprintf(command, sizeof command, "alarms --acknowledge all --newest %d", number - 1);
    expect(0, " acknowledged\n", command); /* what came later stays */
    snprintf(said, sizeof said, "  %d  active, unacknowledged", number);
    expect(0, said, "alarms");
    expect(0, "--acknowledge all --newest ", "alarms");
    snprintf(command, sizeof command, "alarms --acknowledge %d", number);
    expect(0, "1 acknowledged\n", command);
    expect(0, "0 acknowledged\n", command);
    snprintf(said, sizeof said, "  %d  active, acknowledged by user %u  warning  New", number,
             (unsigned)getuid());
    expect(0, said, "alarms");
    snprintf(command, sizeof command, "alarms --shelve %d --minutes 30", number);
    expect(0, " shelved\n", command);
    expect(0, ", shelved  warning  New settings", "alarms");
    snprintf(command, sizeof command, "alarms --shelve %d --minutes 0", number);
    expect(0, " no longer shelved\n", command);
    expect(0, " acknowledged\n", "alarms --acknowledge all");
    expect(1, "there is no such alarm", "alarms --acknowledge 99999");
    expect(0, " acknowledged\n", "alarms --acknowledge all --newest 1000000");
    expect(1, "expected the number", "alarms --acknowledge some");
    expect(1, "expected the number", "alarms --acknowledge all --newest some");
    expect(1, "1 to 480 minutes", "alarms --shelve 1 --minutes 481");
    expect(1, "1 to 480 minutes", "alarms --shelve '1 2' --minutes 3");
    write_line("0.6", "");
    expect(0, "settings ", "reload");
}

static void it_writes_a_trace(void **state)
{
    (void)state;
    char path[128], text[64] = "", arguments[160];
    snprintf(path, sizeof path, "%s/trace.json", folder);
    snprintf(arguments, sizeof arguments, "trace %s", path);
    expect(0, "", arguments);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    assert_non_null(strstr(text, "\"traceEvents\":["));
    snprintf(arguments, sizeof arguments, "trace %s/nowhere/trace.json", folder);
    expect(1, "nowhere", arguments);
}

typedef struct nonsense {
    int listener;
    const char *answer;
    size_t size;
} nonsense;

static void *serve_nonsense(void *argument)
{
    const nonsense *self = argument;
    char request[64];
    int client = accept(self->listener, NULL, NULL);
    if (recv(client, request, sizeof request, 0) > 0)
        (void)!send(client, self->answer, self->size, MSG_NOSIGNAL);
    close(client);
    return NULL;
}

/* Runs it against a program that answers one request so; returns as ctl(). */
static int ctl_other(const char *answer, size_t size, const char *command, char output[8192])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    pthread_t server;
    snprintf(address.sun_path, sizeof address.sun_path, "%s/other", folder);
    unlink(address.sun_path);
    nonsense self = {socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), answer, size};
    assert_int_equal(bind(self.listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(self.listener, 1), 0);
    assert_int_equal(pthread_create(&server, NULL, serve_nonsense, &self), 0);
    int status = ctl(output, "--socket %s/other %s", folder, command);
    pthread_join(server, NULL);
    close(self.listener);
    return status;
}

/* It answers with more than any daemon would, or with what a terminal obeys. */
static void another_program_at_the_socket_is_told(void **state)
{
    (void)state;
    static char endless[60000] = "ok\nhttp://127.0.0.1:1/";
    static const char evil[] = "ok\n* pl\033[2Jum\n\033]0;a\a\n";
    char output[8192], command[128];
    memset(endless + strlen(endless), 'a', sizeof endless - strlen(endless));
    snprintf(command, sizeof command, "trace %s/other.json", folder);
    assert_int_equal(ctl_other(endless, sizeof endless, command, output), 1);
    assert_non_null(
        strstr(output, "/other.json: no trace: what answers at --socket is not cernitad"));
    assert_int_equal(ctl_other(evil, sizeof evil - 1, "recipes", output), 0);
    assert_string_equal(output, "* pl\\x1b[2Jum\n\\x1b]0;a\\x07\n");
}

static void wrong_usage_is_told_apart(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "stat",
                                        "status now",
                                        "reload --json",
                                        "recipe",
                                        "recipe a b",
                                        "recipe a --none",
                                        "lot --grower a",
                                        "lot a b",
                                        "lot a --end",
                                        "recipe a --variety b",
                                        "status --end",
                                        "trace",
                                        "recipes --none",
                                        "alarms 3",
                                        "alarms --json",
                                        "alarms --acknowledge 1 --shelve 1 --minutes 1",
                                        "alarms --newest 1",
                                        "alarms --acknowledge 1 --newest 1",
                                        "alarms --shelve 1",
                                        "alarms --minutes 1",
                                        "status --acknowledge 1",
                                        "--sockets x status",
                                        "--line apples status"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect(2, "cernitactl: ", wrong[i]);
    expect(1, "no daemon answers there", "--socket /nowhere status");
}

static int start(void **state)
{
    (void)state;
    char path[128];
    if (daemon_make_folder(folder) < 0)
        return -1;
    write_line("0.5", "");
    snprintf(path, sizeof path, "%s/line.yaml", folder);
    const char *const arguments[] = {"cernitad", "--config", path, NULL};
    daemon_start(&line, arguments);
    daemon_read_until(&line, "ready:");
    return 0;
}

static int end(void **state)
{
    (void)state;
    kill(line.pid, SIGTERM);
    int status = daemon_end(&line);
    return status == 0 ? daemon_remove_folder(folder) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_shows_the_status),
        cmocka_unit_test(it_begins_and_ends_a_lot),
        cmocka_unit_test(it_reloads_and_lists_faults),
        cmocka_unit_test(it_acknowledges_and_shelves_alarms),
        cmocka_unit_test(it_writes_a_trace),
        cmocka_unit_test(another_program_at_the_socket_is_told),
        cmocka_unit_test(wrong_usage_is_told_apart),
    };
    return cmocka_run_group_tests(tests, start, end);
}
