/* Keys from the command line: cernita-keys, the daemon's start with and without them, and the
 * programs that connect. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <zmq.h>

#include "src/client/keys.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/daemon.h"
#include "tests/support/parts/recorded.h"
#include "tests/support/peers/free_port.h"
#include "tests/support/peers/keys.h"
#include "tests/support/programs/shell.h"

#define PYTHON "/usr/bin/python3 -B " CRN_TEST_DATA "/../tools/python/"

static char folder[64], output[16384];

static int set_up(void **state)
{
    (void)state;
    return daemon_make_folder(folder);
}

static int tear_down(void **state)
{
    (void)state;
    crn_test_remove_all(folder);
    return 0;
}

/* Runs a command in the folder; its output, errors included, goes to `output`. */
__attribute__((format(printf, 1, 2))) static int run(const char *format, ...)
{
    char command[1200];
    va_list arguments;
    int used = snprintf(command, sizeof command, "cd %s && ( ", folder);
    va_start(arguments, format);
    used += vsnprintf(command + used, sizeof command - (size_t)used, format, arguments);
    va_end(arguments);
    snprintf(command + used, sizeof command - (size_t)used, " ) 2>&1");
    return crn_test_shell(command, output, sizeof output);
}

static void expect(int status, const char *said, int got)
{
    if (got != status || !strstr(output, said))
        fail_msg("status %d and '%s' expected, not %d: %s", status, said, got, output);
}

static int keys(const char *arguments)
{
    return run(CRN_BIN "/cernita-keys %s", arguments);
}

static unsigned mode_of(const char *name)
{
    char path[128];
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(lstat(path, &status), 0);
    return status.st_mode & 07777;
}

static void the_tool_makes_keys_that_only_their_owner_reads(void **state)
{
    (void)state;
    umask(0);
    expect(0, "k/server.pub: public", keys("k"));
    expect(0, "for: ingest, viewers", keys("k --client cnn --for viewers,ingest"));
    expect(0, "other.key: secret", keys("k --client grader --for grader --out other.key"));
    umask(022);
    assert_int_equal(mode_of("k"), 0700);
    assert_int_equal(mode_of("k/clients"), 0700);
    assert_int_equal(mode_of("k/server.key"), 0600);
    assert_int_equal(mode_of("k/server.pub"), 0644);
    assert_int_equal(mode_of("k/clients/cnn.pub"), 0644);
    assert_int_equal(mode_of("cnn.key"), 0600);
    assert_int_equal(mode_of("other.key"), 0600);
    expect(0, "  for: grader\n", keys("k --list"));
    assert_non_null(strstr(output, "line "));
    char *secret = strdup(output);
    assert_int_equal(run("tail -qn 1 k/server.key cnn.key other.key"), 0);
    for (char *line = strtok(output, "\n"); line; line = strtok(NULL, "\n")) {
        assert_int_equal(strlen(line), 40);
        assert_null(strstr(secret, line));
    }
    free(secret);
}

static void the_tool_overwrites_nothing(void **state)
{
    (void)state;
    assert_int_equal(keys("k"), 0);
    assert_int_equal(keys("k --client cnn"), 0);
    assert_int_equal(run("cat k/server.key k/server.pub k/clients/cnn.pub cnn.key > before"), 0);
    expect(1, "k/server.key exists and is not overwritten", keys("k"));
    expect(1, "cnn.key exists and is not overwritten", keys("k --client cnn"));
    expect(1, "k/clients/cnn.pub exists", keys("k --client cnn --out again.key"));
    assert_int_equal(run("! ls again.key"), 0); /* no secret without its public half */
    assert_int_equal(run("cat k/server.key k/server.pub k/clients/cnn.pub cnn.key | cmp - before"),
                     0);
}

static void the_tool_names_faults(void **state)
{
    (void)state;
    expect(1, "make the line's keys first: cernita-keys none", keys("none --client cnn"));
    expect(2, "--client '../x'", keys("k --client ../x"));
    expect(2, "--for: 'inges' is not a socket", keys("k --client cnn --for inges"));
    expect(2, "--for needs --client", keys("k --for ingest"));
    expect(2, "one of them expected", keys("k --list --client cnn"));
    expect(1, "server.pub", keys("k --list"));
}

static void write_line(int port, const char *rest)
{
    char yaml[1024], path[128];
    snprintf(yaml, sizeof yaml,
             "ingest: {bind: ['tcp://127.0.0.1:%d']}\n"
             "publish: {grader: {bind: 'ipc://%s/grader'}, viewers: {bind: "
             "'tcp://127.0.0.1:%d'}}\n"
             "classes: [{name: a}, {name: rot, level: 0.5}]\n"
             "chain: [contours: {}]\n"
             "run: {backend: openmp, workers: 1, threads: 1}\n"
             "latency: {budget_ms: 60000, assemble_ms: 60000}\n"
             "monitor: {http: ''}\n%s",
             port, folder, port + 1, rest);
    daemon_write_config(folder, "line.yaml", yaml, path);
}

static int cernitad(const char *options)
{
    return run(CRN_BIN "/cernitad --config line.yaml %s", options);
}

static void open_addresses_without_keys_must_be_wanted(void **state)
{
    (void)state;
    static const char *const binds[] = {"*", "0.0.0.0", "[::]"};
    int port = crn_test_free_ports(false, 1);
    for (size_t i = 0; i < sizeof binds / sizeof binds[0]; i++) {
        char yaml[600], path[128];
        snprintf(yaml, sizeof yaml,
                 "ingest: {bind: ['tcp://%s:%d']}\n"
                 "publish: {grader: {bind: 'ipc://%s/a'}, viewers: {bind: 'ipc://%s/b'}}\n"
                 "classes: [{name: rot, level: 0.5}]\nchain: [contours: {}]\n"
                 "run: {workers: 1, threads: 1}\nmonitor: {http: ''}\n",
                 binds[i], port, folder, folder);
        daemon_write_config(folder, "line.yaml", yaml, path);
        expect(78, "line.yaml: ingest.bind: other machines can connect to ", cernitad("--check"));
        assert_non_null(strstr(output, "`access: {plain_tcp: true}`"));
        /* The same at the start, which no service manager need try again. */
        expect(78, "line.yaml: ingest.bind: other machines can connect to ", cernitad(""));
        assert_ptr_equal(strchr(output, '\n'), strrchr(output, '\n'));
        strcat(yaml, "access: {plain_tcp: true}\n");
        daemon_write_config(folder, "line.yaml", yaml, path);
        expect(0, "OK: ", cernitad("--check"));
    }
}

static void keys_are_checked_before_the_start(void **state)
{
    (void)state;
    int port = crn_test_free_ports(false, 2);
    write_line(port, "access: {keys: k}\n");
    expect(78, "line.yaml: access.keys: k/server.key does not exist: make it with cernita-keys k",
           cernitad("--check"));
    expect(1, "line.yaml: access.keys: k/server.key does not exist", cernitad(""));
    assert_int_equal(keys("k"), 0);
    expect(0, "note: access.keys: k/clients has no client's key", cernitad("--check"));
    assert_int_equal(keys("k --client cnn"), 0);
    expect(0, "OK: ", cernitad("--check"));
    assert_null(strstr(output, "note: access"));
    assert_int_equal(run("chmod 640 k/server.key"), 0);
    expect(78, "chmod 600 k/server.key", cernitad("--check"));
    write_line(port, "access: {plain_tcp: true, keys: k}\n");
    expect(78, "line.yaml:8:21: access.plain_tcp: ", cernitad("--check"));
    write_line(port, "access: {ipc: true}\n");
    expect(78, "line.yaml:8:15: access.ipc: ", cernitad("--check"));
}

/* A line that requires keys. */
static void start_line(daemon_process *daemon, int port)
{
    char yaml[128], config[128];
    snprintf(yaml, sizeof yaml, "access: {keys: %s/k}\n", folder);
    write_line(port, yaml);
    snprintf(config, sizeof config, "%s/line.yaml", folder);
    const char *const arguments[] = {"cernitad", "--config", config, NULL};
    daemon_start(daemon, arguments);
    daemon_read_until(daemon, "ready:");
}

/* The same, with its keys and those of its client cnn. */
static void start_with_keys(daemon_process *daemon, int port)
{
    assert_int_equal(keys("k"), 0);
    assert_int_equal(keys("k --client cnn"), 0);
    start_line(daemon, port);
}

static void end_well(daemon_process *daemon)
{
    assert_int_equal(kill(daemon->pid, SIGTERM), 0);
    int status = daemon_end(daemon);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void programs_connect_with_their_keys(void **state)
{
    (void)state;
    static const char with[] = "--key cnn.key --server-key k/server.pub";
    int port = crn_test_free_ports(false, 2);
    daemon_process daemon;
    start_with_keys(&daemon, port);
    assert_int_equal(keys("k --client viewer --for viewers"), 0);
    assert_int_equal(kill(daemon.pid, SIGHUP), 0);
    daemon_read_until(&daemon, "k/clients was read again: 2 clients");
    expect(0, "4 views sent",
           run(PYTHON "sender.py --to tcp://127.0.0.1:%d --fruits 1 --classes a,rot %s --wait 60",
               port, with));
    expect(0, "1 verdicts, 0 lost",
           run(PYTHON "subscriber.py --from ipc://%s/grader --count 1", folder));
    expect(0, "2 of 2 fruits complete",
           run(PYTHON "sender.py --test --to tcp://127.0.0.1:%d --viewers tcp://127.0.0.1:%d "
                      "--classes a,rot %s --wait 60",
               port, port + 1, with));
    expect(
        1, "requires keys",
        run(PYTHON "sender.py --to tcp://127.0.0.1:%d --fruits 1 --classes a,rot --wait 60", port));
    expect(1, "both files are needed",
           run(PYTHON "sender.py --to tcp://127.0.0.1:%d --key cnn.key", port));
    expect(1, "one key expected",
           run(PYTHON "subscriber.py --from tcp://127.0.0.1:%d --key line.yaml --server-key "
                      "k/server.pub",
               port));
    assert_int_equal(run(CRN_BIN "/cernita-synth rec.tif --fruits 2 --classes 2 --size 64x32"), 0);
    expect(1, "the line refused this key",
           run(CRN_BIN "/cernita-replay rec.tif --to tcp://127.0.0.1:%d --wait 60 "
                       "--key viewer.key --server-key k/server.pub",
               port));
    /* The tail sees what the replay, behind it, sends. */
    expect(0, "2/0",
           run("( timeout 60 " CRN_BIN
               "/cernita-tail tcp://127.0.0.1:%d --count 2 --key viewer.key "
               "--server-key k/server.pub > tail; echo $? > tail.status ) & "
               "until test -s tail.status; do " CRN_BIN
               "/cernita-replay rec.tif --rate max --unwatched --wait 60 "
               "--to tcp://127.0.0.1:%d %s >/dev/null || exit 9; "
               "done; wait; echo $(grep -c fruit tail)/$(cat tail.status)",
               port + 1, port, with));
    end_well(&daemon);
    assert_non_null(strstr(daemon.text, "viewer from 127.0.0.1 to ingest was refused"));
}

/* For a command that tells only when its patience ends, $WAIT seconds: gives it more until it says
 * so. */
static void expect_at_its_end(const char *said, const char *command)
{
    int status, wait_s = 2;
    do
        status = run("WAIT=%d; %s", wait_s, command);
    while (!strstr(output, said) && (wait_s *= 2) <= 64);
    expect(1, said, status);
}

/* All but the last three as soon as they know, well before their patience ends. */
static void programs_say_why_the_line_lets_them_not_in(void **state)
{
    (void)state;
    static const char tail[] = "timeout 60 " CRN_BIN "/cernita-tail --timeout 50 tcp://127.0.0.1";
    static const char replay[] = CRN_BIN "/cernita-replay rec.tif --wait 60 --to tcp://127.0.0.1";
    int port = crn_test_free_ports(false, 2);
    char command[512];
    daemon_process daemon;
    assert_int_equal(keys("other"), 0);
    assert_int_equal(keys("other --client stranger"), 0);
    assert_int_equal(run(CRN_BIN "/cernita-synth rec.tif --fruits 1 --classes 2 --size 64x32"), 0);
    start_with_keys(&daemon, port);
    assert_int_equal(keys("k --client narrow --for ingest"), 0);
    assert_int_equal(kill(daemon.pid, SIGHUP), 0);
    daemon_read_until(&daemon, "k/clients was read again: 2 clients");
    expect(1, "the line refused this key: no file in the folder clients",
           run("%s:%d --key stranger.key --server-key k/server.pub", tail, port + 1));
    expect(1, "the line refused this key",
           run("%s:%d --key stranger.key --server-key k/server.pub", replay, port));
    expect(1, "--verdicts tcp://127.0.0.1:",
           run("%s:%d --key narrow.key --server-key k/server.pub --verdicts tcp://127.0.0.1:%d",
               replay, port, port + 1));
    assert_non_null(strstr(output, "the line refused this key"));
    expect(1, "requires keys", run("%s:%d", tail, port + 1));
    snprintf(command, sizeof command,
             CRN_BIN "/cernita-replay rec.tif --wait $WAIT --to tcp://127.0.0.1:%d --key cnn.key "
                     "--server-key other/server.pub",
             port);
    expect_at_its_end("--server-key is not its server.pub", command);
    snprintf(command, sizeof command,
             "cd " CRN_TEST_DATA "/../tools/python && /usr/bin/python3 -B -c \"from cernita import "
             "Verdicts; Verdicts('tcp://127.0.0.1:%d', key='%s/stranger.key', "
             "server_key='%s/k/server.pub').receive($WAIT)\"",
             port + 1, folder, folder);
    expect_at_its_end("in time: the line refused this key", command);
    snprintf(command, sizeof command,
             PYTHON "sender.py --to tcp://127.0.0.1:%d --fruits 1 --classes a,rot --wait $WAIT "
                    "--key cnn.key --server-key other/server.pub",
             port);
    expect_at_its_end("server_key is not its server.pub", command);
    end_well(&daemon);
}

/* Starts it in the folder, where it records into the folder d. */
static void start_recorder(daemon_process *recorder, const char *options)
{
    char command[1024];
    snprintf(command, sizeof command,
             "cd %s && mkdir d && exec " CRN_BIN "/cernita-record --dir d %s", folder, options);
    const char *const arguments[] = {"sh", "-c", command, NULL};
    daemon_start_as(recorder, "/bin/sh", arguments, NULL);
    daemon_read_until(recorder, "ready: ");
}

/* Ends it once it has recorded eight views. */
static void end_recorder(daemon_process *recorder)
{
    char path[128];
    snprintf(path, sizeof path, "%s/d", folder);
    recorded_await(path, 8);
    end_well(recorder);
    if (!strstr(recorder->text, "8 views recorded"))
        fail_msg("%s", recorder->text);
}

/* Serves with keys, and connects with keys. */
static void the_recorder_stands_between_with_keys(void **state)
{
    (void)state;
    static const char with[] = "--key cnn.key --server-key k/server.pub";
    int port = crn_test_free_ports(false, 2), between = port + 1000;
    char command[400];
    daemon_process daemon, recorder;
    start_with_keys(&daemon, port);
    assert_int_equal(run(CRN_BIN "/cernita-synth rec.tif --fruits 2 --classes 2 --size 64x32"), 0);
    snprintf(command, sizeof command,
             "--from ipc://%s/between%d --to tcp://127.0.0.1:%d --keys k %s", folder, between, port,
             with);
    start_recorder(&recorder, command);
    expect(0, "8 views, 2 fruits",
           run(CRN_BIN "/cernita-replay rec.tif --wait 60 --to ipc://%s/between%d %s", folder,
               between, with));
    expect(
        1, "requires keys",
        run(CRN_BIN "/cernita-replay rec.tif --wait 60 --to ipc://%s/between%d", folder, between));
    end_recorder(&recorder);
    assert_non_null(strstr(recorder.text, "8 messages, 8 passed on"));
    end_well(&daemon);
}

/* A stranger's views would come out of it as a sender's of this machine. */
static void the_recorder_opens_no_address_without_keys(void **state)
{
    (void)state;
    static const char record[] =
        "timeout --preserve-status 60 " CRN_BIN "/cernita-record --dir . --from";
    expect(2, "--from tcp://*:45998: other machines can connect to it",
           run("%s 'tcp://*:45998'", record));
    expect(2, "--keys DIR (cernita-keys makes it), or --plain-tcp",
           run("%s 'tcp://[::]:45998'", record));
    assert_ptr_equal(strchr(output, '\n'), strrchr(output, '\n'));
    expect(2, "other machines", run("%s 'tcp://127.0.0.1:1;*:45998'", record));
    expect(2, "leave out one", run("%s tcp://eth0:45998 --keys k --plain-tcp", record));
    expect(1, "k/server.key does not exist", run("%s 'tcp://*:45998' --keys k", record));
    assert_int_equal(run(CRN_BIN "/cernita-synth rec.tif --fruits 2 --classes 2 --size 64x32"), 0);
    char command[64];
    daemon_process recorder;
    int port = crn_test_free_ports(false, 2);
    snprintf(command, sizeof command, "--from tcp://0.0.0.0:%d --plain-tcp", port);
    start_recorder(&recorder, command);
    expect(0, "8 views, 2 fruits",
           run(CRN_BIN "/cernita-replay rec.tif --to tcp://127.0.0.1:%d --wait 60", port));
    end_recorder(&recorder);
}

/* One verdict from a sender with that client's key, or none. */
static int try_client(int port, const char *name, int wait_s)
{
    return run(PYTHON "sender.py --to tcp://127.0.0.1:%d --fruits 1 --classes a,rot --key %s.key "
                      "--server-key k/server.pub --wait %d",
               port, name, wait_s);
}

static void clients_come_and_go_by_a_reload(void **state)
{
    (void)state;
    int port = crn_test_free_ports(false, 2);
    daemon_process daemon;
    start_with_keys(&daemon, port);
    expect(0, "knows it after a reload", keys("k --client late"));
    expect(1, "the line refused this key", try_client(port, "late", 60));
    daemon_read_until(&daemon, "and reload the daemon");
    assert_int_equal(kill(daemon.pid, SIGHUP), 0);
    daemon_read_until(&daemon, "k/clients was read again: 2 clients");
    expect(0, "4 views sent", try_client(port, "late", 60));
    assert_int_equal(run("chmod 666 k/clients/cnn.pub"), 0);
    assert_int_equal(kill(daemon.pid, SIGHUP), 0);
    daemon_read_until(&daemon, "so admit themselves");
    assert_int_equal(run("rm k/clients/late.pub; chmod 644 k/clients/cnn.pub"), 0);
    assert_int_equal(kill(daemon.pid, SIGHUP), 0);
    daemon_read_until(&daemon, "1 of the clients before lost a permission");
    expect(1, "the line refused this key", try_client(port, "late", 60));
    expect(0, "4 views sent", try_client(port, "cnn", 60));
    end_well(&daemon);
}

/* A client that stays until the daemon has said why it was refused, and has refused it, which comes
 * after that: one that leaves during its handshake would be logged for that. */
static void be_refused(daemon_process *daemon, int port, int type, const char *key,
                       const char *server_key, const char *reason)
{
    char endpoint[64], path[2][128];
    crn_client_keys files = {.key = path[0], .server_key = path[1]};
    crn_error error;
    snprintf(endpoint, sizeof endpoint, "tcp://127.0.0.1:%d", port);
    snprintf(path[0], sizeof path[0], "%s/%s", folder, key);
    snprintf(path[1], sizeof path[1], "%s/%s", folder, server_key);
    void *zmq = zmq_ctx_new(), *socket = zmq_socket(zmq, type);
    int never = -1, zero = 0;
    assert_int_equal(zmq_setsockopt(socket, ZMQ_RECONNECT_IVL, &never, sizeof never), 0);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_LINGER, &zero, sizeof zero), 0);
    assert_int_equal(zmq_socket_monitor(socket, "inproc://refused",
                                        ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                                            ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                                            ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL),
                     0);
    void *events = zmq_socket(zmq, ZMQ_PAIR);
    assert_int_equal(zmq_connect(events, "inproc://refused"), 0);
    assert_int_equal(crn_client_connect(socket, endpoint, &files, &error), 0);
    daemon_read_until(daemon, reason);
    zmq_pollitem_t polled = {.socket = events, .events = ZMQ_POLLIN};
    assert_int_equal(zmq_poll(&polled, 1, 60000), 1);
    zmq_close(socket);
    zmq_close(events);
    zmq_ctx_term(zmq);
}

static void expect_not_said(const daemon_process *daemon, const char *text)
{
    if (strstr(daemon->text, text))
        fail_msg("'%s' beside its reason: %s", text, daemon->text);
}

/* By what refused it, at the sockets of senders and viewers; the socket's own line would only say
 * that a connection failed. The second daemon logs a reason again, which one does once a second. */
static void a_refused_key_is_logged_once(void **state)
{
    (void)state;
    int port = crn_test_free_ports(false, 2);
    daemon_process daemon;
    assert_int_equal(keys("other"), 0);
    assert_int_equal(keys("other --client stranger"), 0);
    start_with_keys(&daemon, port);
    be_refused(&daemon, port, ZMQ_PUSH, "stranger.key", "k/server.pub",
               "to ingest was refused: no file in");
    be_refused(&daemon, port, ZMQ_PUSH, "cnn.key", "other/server.pub",
               "compare its server key with");
    end_well(&daemon);
    expect_not_said(&daemon, "failed the ZeroMQ handshake");
    start_line(&daemon, port);
    be_refused(&daemon, port + 1, ZMQ_SUB, "stranger.key", "k/server.pub",
               "to viewers was refused: no file in");
    end_well(&daemon);
    expect_not_said(&daemon, "does not speak ZeroMQ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_tool_makes_keys_that_only_their_owner_reads),
        TEST(the_tool_overwrites_nothing),
        TEST(the_tool_names_faults),
        TEST(open_addresses_without_keys_must_be_wanted),
        TEST(keys_are_checked_before_the_start),
        TEST(programs_connect_with_their_keys),
        TEST(programs_say_why_the_line_lets_them_not_in),
        TEST(the_recorder_stands_between_with_keys),
        TEST(the_recorder_opens_no_address_without_keys),
        TEST(clients_come_and_go_by_a_reload),
        TEST(a_refused_key_is_logged_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
