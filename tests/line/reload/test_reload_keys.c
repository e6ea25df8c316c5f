/* The clients' keys are part of a reload: it takes in the file and the keys, or neither; each fault
 * of a key is in the answer, with its file and cure. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <zmq.h>

#include "src/ingest/access/access.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/log_capture.h"
#include "tests/support/line/reloading.h"
#include "tests/support/peers/keys.h"
#include "tests/support/programs/shell.h"

static char parent[64], file[256];
static crn_test_keys keys;
static crn_test_pair cnn, grader;

static int set_up(void **state)
{
    (void)state;
    strcpy(parent, "/tmp/cernita-reload-keys-XXXXXX");
    if (!mkdtemp(parent))
        return -1;
    crn_test_keys_make(parent, &keys);
    crn_test_keys_add(&keys, "cnn", "ingest", &cnn);
    crn_test_keys_add(&keys, "grader", "grader", &grader);
    snprintf(file, sizeof file, "access: {keys: '%s', ipc: true}\n", keys.folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    crn_test_remove_all(parent);
    return 0;
}

/* Runs a command in the folder of keys, or above it while that is away. */
static void shell(const char *command)
{
    char line[1200], output[1024];
    snprintf(line, sizeof line, "cd %s && ( [ -d keys ] && cd keys; %s ) 2>&1", parent, command);
    if (crn_test_shell(line, output, sizeof output) != 0)
        fail_msg("%s: %s", command, output);
}

static void *join_line(reloading_line *self, int type, const char *socket,
                       const crn_test_pair *pair)
{
    char address[128];
    snprintf(address, sizeof address, "ipc://%s/%s", self->line.folder, socket);
    return crn_test_keys_connect(self->line.zmq, type, address, pair, keys.server);
}

/* With a sender and a grader that have keys, in place of the fixture's that have none. */
static void start(reloading_line *self)
{
    reloading_start(self, 3, file);
    zmq_close(self->line.sender);
    zmq_close(self->line.grader);
    self->line.sender = join_line(self, ZMQ_PUSH, "in", &cnn);
    self->line.grader = join_line(self, ZMQ_PULL, "grader", &grader);
}

static void expect_verdict(reloading_line *self, uint64_t fruit, uint32_t defects)
{
    seen_verdict verdict;
    assert_true(line_receive(&self->line, CRN_FIXTURE_PATIENCE_MS, &verdict));
    assert_int_equal(verdict.fruit, fruit);
    assert_int_equal(verdict.defects, defects);
}

static void expect(const char *wanted, const char *text)
{
    if (!strstr(text, wanted))
        fail_msg("'%s' expected: %s", wanted, text);
}

/* Shell commands; what the answer says, and its cure. */
typedef struct key_fault {
    const char *damage, *repair, *said, *cure;
} key_fault;

#define PUB "clients/x.pub"

static const key_fault faults[] = {
    {": > " PUB, "rm " PUB, PUB ": no key in it", "cernita-keys"},
    {"echo short > " PUB, "rm " PUB, PUB ":1: neither a key", "cernita-keys"},
    {"sed 's/^../x/' server.pub > " PUB, "rm " PUB, PUB ":1: neither a key", "cernita-keys"},
    {"sed 's/^./~/' server.pub > " PUB, "rm " PUB, PUB ":1: neither a key", "cernita-keys"},
    {"(cat server.pub; echo; cat clients/cnn.pub) > " PUB, "rm " PUB, "a second key",
     "one expected"},
    {"cp clients/cnn.pub " PUB, "rm " PUB, ".pub: the same key as ", "remove one of them"},
    {"echo 'for: eject' > " PUB, "rm " PUB, PUB ":1: for: 'eject'", "ingest, grader or viewers"},
    {"head -c 9000 /dev/zero > " PUB, "rm " PUB, PUB ": not a key file", "cernita-keys"},
    {"mkdir " PUB, "rmdir " PUB, PUB ": cannot be read: it is a folder", "a regular file"},
    {"mkfifo " PUB, "rm " PUB, PUB ": cannot be read: it is a pipe", "a regular file"},
    {"ln -s /dev/zero " PUB, "rm " PUB, PUB ": cannot be read: it is a device", "regular file"},
    {"ln -s x.pub " PUB, "rm " PUB, PUB ": cannot be read: Too many levels", "remove it"},
    {"ln -s /nowhere " PUB, "rm " PUB, PUB ": cannot be read: No such file", "remove it"},
    {"chmod 664 clients/cnn.pub", "chmod 644 clients/cnn.pub", "admit themselves", "chmod go-w "},
    {"chmod 777 clients", "chmod 700 clients", "/clients: other users may write", "chmod go-w "},
    {"mv clients away", "mv away clients", "/clients does not exist any more", "put it back"},
    {"mv clients away; : > clients", "rm clients; mv away clients", "/clients: cannot be read",
     "a folder of keys expected"},
    {"mv server.key away", "mv away server.key", "server.key does not exist", "cernita-keys"},
    {"chmod 644 server.key", "chmod 600 server.key", "server.key: a secret key", "chmod 600"},
    {"cp -p server.key away; cat server.pub > server.key", "mv away server.key",
     "not the secret key to", "put back"},
    {"mv ../keys ../away", "mv away keys", "server.key does not exist", "cernita-keys"},
};

static void the_server_may_not_change(reloading_line *self)
{
    crn_test_pair other;
    char answer[4096];
    crn_test_pair_make(&other);
    shell("cp -p server.key key; cp -p server.pub pub");
    crn_test_keys_write(&keys, "server.key", other.secret, 0600);
    crn_test_keys_write(&keys, "server.pub", other.public, 0644);
    assert_false(reloading_ask(self, "reload", answer));
    expect("server.key is another key than at the start", answer);
    expect("restart the daemon", answer);
    shell("mv key server.key; mv pub server.pub");
}

/* Root reads everything. */
static void no_file_may_be_unreadable(reloading_line *self)
{
    char answer[4096];
    if (geteuid() == 0)
        return;
    shell("chmod 000 clients/cnn.pub");
    assert_false(reloading_ask(self, "reload", answer));
    expect("cnn.pub: this user may not read it", answer);
    shell("chmod 644 clients/cnn.pub");
}

static void every_fault_of_a_key_refuses_a_reload(void **state)
{
    (void)state;
    static reloading_line self;
    enum { FAULTS = sizeof faults / sizeof faults[0] };
    char answer[4096], wanted[80];
    start(&self);
    reloading_write(&self, 5, file); /* good settings, which must not come into force */
    for (int i = 0; i < FAULTS; i++) {
        shell(faults[i].damage);
        if (reloading_ask(&self, "reload", answer))
            fail_msg("ok after %s: %s", faults[i].damage, answer);
        expect("line.yaml: access.keys: ", answer);
        expect(faults[i].said, answer);
        expect(faults[i].cure, answer);
        shell(faults[i].repair);
    }
    the_server_may_not_change(&self);
    no_file_may_be_unreadable(&self);
    reloading_send(&self, 1, 0, 1);
    expect_verdict(&self, 1, 3);
    assert_true(reloading_ask(&self, "status", answer));
    snprintf(wanted, sizeof wanted, "0 taken in, %d refused", FAULTS + 1 + (geteuid() != 0));
    expect(wanted, answer);
    assert_true(reloading_ask(&self, "reload", answer));
    expect("keys of 2 clients\n", answer);
    reloading_send(&self, 2, 0, 1);
    expect_verdict(&self, 2, 5);
    reloading_stop(&self);
}

static uint64_t clients(const reloading_line *self)
{
    crn_access_stats stats;
    crn_access_get_stats(self->line.config.guard, &stats);
    return stats.clients;
}

static void all_faults_of_file_and_keys_are_told_at_once(void **state)
{
    (void)state;
    static reloading_line self;
    char answer[4096];
    start(&self);
    shell("echo short > clients/x.pub; mkdir clients/y.pub; chmod 644 server.key");
    reloading_write_text(&self, "classes: [{name: background}, {name: rot, level: 2}]\n"
                                "chain: [contours: {}]\n");
    assert_false(reloading_ask(&self, "reload", answer));
    expect("line.yaml:6:50: classes.level:", answer);
    expect("clients/x.pub:1: neither a key", answer);
    expect("clients/y.pub: cannot be read: it is a folder", answer);
    expect("server.key: a secret key that other users may read", answer);
    reloading_stop(&self);
}

static void good_keys_beside_a_faulty_file_are_not_taken_in(void **state)
{
    (void)state;
    static reloading_line self;
    crn_test_pair late;
    char answer[4096];
    start(&self);
    crn_test_keys_add(&keys, "late", "ingest", &late);
    reloading_write_text(&self, "classes: [{name: background}, {name: rot, level: 2}]\n"
                                "chain: [contours: {}]\n");
    assert_false(reloading_ask(&self, "reload", answer));
    assert_int_equal(clients(&self), 2);
    reloading_write(&self, 3, file);
    assert_true(reloading_ask(&self, "reload", answer));
    expect("keys of 3 clients\n", answer);
    assert_int_equal(clients(&self), 3);
    reloading_stop(&self);
}

/* Refused as a whole, and loudly: whoever revoked it must not think that it is out. */
static void a_revocation_beside_a_fault_is_refused(void **state)
{
    (void)state;
    static const char kept[] =
        "clients/cnn.pub is gone, but its client keeps its access until a reload succeeds";
    static reloading_line self;
    crn_log_capture capture;
    char answer[4096];
    start(&self);
    shell("rm clients/cnn.pub; : > clients/x.pub");
    crn_log_capture_start(&capture);
    bool ok = reloading_ask(&self, "reload", answer);
    const char *logged = crn_log_capture_stop(&capture);
    assert_false(ok);
    expect("clients/x.pub: no key in it", answer);
    expect(kept, answer);
    expect("settings refused: ", logged);
    expect(kept, logged);
    crn_log_capture_start(&capture);
    crn_control_hang_up(self.control, getuid(), getpid());
    do
        assert_true(reloading_ask(&self, "status", answer));
    while (!strstr(answer, "0 taken in, 2 refused"));
    logged = crn_log_capture_stop(&capture);
    expect("clients/x.pub: no key in it", logged);
    expect(kept, logged);
    reloading_send(&self, 1, 0, 1);
    expect_verdict(&self, 1, 3);
    assert_int_equal(clients(&self), 2);
    shell("rm clients/x.pub");
    assert_true(reloading_ask(&self, "reload", answer));
    expect("keys of 1 client; 1 of those before lost a permission, 1 connection ended\n", answer);
    assert_int_equal(clients(&self), 1);
    reloading_stop(&self);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_fault_of_a_key_refuses_a_reload),
        TEST(all_faults_of_file_and_keys_are_told_at_once),
        TEST(good_keys_beside_a_faulty_file_are_not_taken_in),
        TEST(a_revocation_beside_a_fault_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
