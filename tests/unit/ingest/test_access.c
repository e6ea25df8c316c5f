/* Key files and the decisions that follow from them: faults with cures, who is admitted where. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <zmq.h>

#include "src/ingest/access/access.h"
#include "src/client/keys.h"
#include "src/ingest/access/zap.h"
#include "src/ingest/socket/endpoint.h"
#include "stages/base/clock.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/line/log_capture.h"
#include "tests/support/peers/keys.h"

static char parent[64];
static crn_test_keys keys;
static crn_error error;

static int set_up(void **state)
{
    (void)state;
    strcpy(parent, "/tmp/cernita-access-XXXXXX");
    if (!mkdtemp(parent))
        return -1;
    crn_test_keys_make(parent, &keys);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    crn_test_remove_all(parent);
    return 0;
}

/* Opens the folder and expects a line with both texts. */
static void expect_fault(int code, const char *file, const char *cure)
{
    crn_access *access = NULL;
    error.text[0] = '\0';
    assert_int_equal(crn_access_open(keys.folder, false, &access, &error), code);
    assert_null(access);
    if (!strstr(error.text, file) || !strstr(error.text, cure))
        fail_msg("'%s' and '%s' expected: %s", file, cure, error.text);
    assert_null(strchr(error.text, '\n'));
}

static crn_access *open_keys(void)
{
    crn_access *access = NULL;
    if (crn_access_open(keys.folder, false, &access, &error) < 0)
        fail_msg("%s", error.text);
    return access;
}

/* Its first fault goes to `error`. */
static int reload(crn_access *access)
{
    crn_access_update *update = NULL;
    char *text = NULL;
    size_t size = 0;
    FILE *faults = open_memstream(&text, &size);
    assert_non_null(faults);
    int r = crn_access_prepare(access, faults, &update);
    fclose(faults);
    snprintf(error.text, sizeof error.text, "%s", text);
    free(text);
    if (r == 0)
        crn_access_change(access, &update);
    assert_null(update);
    return r;
}

static bool admits(crn_access *access, const char *domain, bool curve, const char *key)
{
    crn_access_peer peer = {.domain = domain, .address = "192.0.2.7", .curve = curve};
    char name[CRN_KEY_NAME_MAX + 1];
    if (key)
        memcpy(peer.key, key, sizeof peer.key);
    return crn_access_admit(access, &peer, name);
}

static uint64_t refused(crn_access *access, crn_access_use use, crn_access_refusal reason)
{
    crn_access_stats stats;
    crn_access_get_stats(access, &stats);
    return stats.refused[use][reason];
}

static void without_a_folder_there_are_no_keys(void **state)
{
    (void)state;
    crn_access *access = (crn_access *)&keys;
    assert_int_equal(crn_access_open("", false, &access, &error), 0);
    assert_null(access);
    crn_access_stats stats;
    crn_access_get_stats(NULL, &stats);
    assert_false(stats.enabled);
}

static void a_client_is_admitted_where_its_file_says(void **state)
{
    (void)state;
    crn_test_pair cnn, all, unknown;
    crn_test_keys_add(&keys, "cnn", "ingest,viewers", &cnn);
    crn_test_keys_add(&keys, "all", NULL, &all);
    crn_test_pair_make(&unknown);
    crn_access *access = open_keys();
    crn_log_capture caught;
    int64_t begin_ns = crn_now_ns();
    crn_log_capture_start(&caught);
    bool right = admits(access, "ingest", true, cnn.public) &&
                 admits(access, "viewers", true, cnn.public) &&
                 !admits(access, "grader", true, cnn.public);
    bool everywhere = admits(access, "ingest", true, all.public) &&
                      admits(access, "grader", true, all.public) &&
                      admits(access, "viewers", true, all.public);
    bool stranger = admits(access, "ingest", true, unknown.public) ||
                    admits(access, "ingest", true, unknown.public);
    bool plain = admits(access, "viewers", false, NULL);
    bool elsewhere = admits(access, "cernita", true, all.public);
    const char *said = crn_log_capture_stop(&caught);
    int64_t took_ns = crn_now_ns() - begin_ns;
    assert_true(right);
    assert_true(everywhere);
    assert_false(stranger);
    assert_false(plain);
    assert_false(elsewhere);
    assert_int_equal(refused(access, CRN_ACCESS_GRADER, CRN_ACCESS_NOT_FOR_SOCKET), 1);
    assert_int_equal(refused(access, CRN_ACCESS_INGEST, CRN_ACCESS_UNKNOWN_KEY), 2);
    assert_int_equal(refused(access, CRN_ACCESS_VIEWERS, CRN_ACCESS_PLAIN), 1);
    /* One line of each reason a second, with the address. */
    assert_non_null(strstr(said, "cnn from 192.0.2.7 to grader was refused: add grader to `for:`"));
    const char *first = strstr(said, unknown.public);
    assert_non_null(first);
    assert_true(took_ns >= CRN_NS_PER_S || !strstr(first + 1, unknown.public));
    crn_access_close(&access);
}

static void sockets_without_seal_admit_without_keys_only(void **state)
{
    (void)state;
    crn_test_pair cnn, unknown;
    crn_test_keys_add(&keys, "cnn", "ingest", &cnn);
    crn_test_pair_make(&unknown);
    crn_access *access = open_keys();
    assert_true(crn_access_seals(access, "tcp://127.0.0.1:5555"));
    assert_false(crn_access_seals(access, "ipc:///run/in"));
    assert_true(admits(access, crn_access_domain(CRN_ACCESS_INGEST, false), false, NULL));
    assert_false(admits(access, crn_access_domain(CRN_ACCESS_INGEST, true), false, NULL));
    crn_access_close(&access);
    assert_int_equal(crn_access_open(keys.folder, true, &access, &error), 0);
    assert_true(crn_access_seals(access, "ipc:///run/in"));
    crn_access_close(&access);
}

static void keys_are_read_again(void **state)
{
    (void)state;
    crn_test_pair first, second;
    crn_access *access = open_keys();
    crn_test_keys_add(&keys, "first", NULL, &first);
    assert_false(admits(access, "ingest", true, first.public));
    assert_int_equal(reload(access), 0);
    assert_true(admits(access, "ingest", true, first.public));
    /* A faulty file changes nothing. */
    crn_test_keys_add(&keys, "second", "inges", &second);
    assert_int_equal(reload(access), -EINVAL);
    assert_non_null(strstr(error.text, "second.pub:2: for: 'inges'"));
    assert_true(admits(access, "ingest", true, first.public));
    crn_test_keys_add(&keys, "second", "ingest", &second);
    crn_test_pair other;
    crn_test_pair_make(&other);
    crn_test_keys_write(&keys, "server.key", other.secret, 0600);
    crn_test_keys_write(&keys, "server.pub", other.public, 0644);
    assert_int_equal(reload(access), -EBUSY);
    assert_non_null(strstr(error.text, "restart"));
    crn_access_close(&access);
}

static void a_reload_says_whose_connections_stay(void **state)
{
    (void)state;
    static const struct {
        const char *uses, *said;
    } steps[] = {
        {"ingest", "clients was read again: 1 clients"},
        {"ingest, viewers", "clients was read again: 1 clients"},
        {"viewers", "1 of the clients before lost a permission"},
    };
    crn_test_pair cnn;
    crn_log_capture caught;
    crn_access *access = open_keys();
    crn_test_pair_make(&cnn);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        char text[200];
        snprintf(text, sizeof text, "for: %s\n%s\n", steps[i].uses, cnn.public);
        crn_test_keys_write(&keys, "clients/cnn.pub", text, 0644);
        crn_log_capture_start(&caught);
        int r = reload(access);
        const char *said = crn_log_capture_stop(&caught);
        assert_int_equal(r, 0);
        assert_non_null(strstr(said, steps[i].said));
        assert_int_equal(strstr(said, "lost a permission") != NULL, i == 2);
    }
    crn_access_close(&access);
}

/* server.pub in place of server.key would make the line's secret public. */
static void the_servers_keys_belong_together(void **state)
{
    (void)state;
    crn_test_pair other;
    crn_test_keys_write(&keys, "server.key", keys.server, 0600);
    expect_fault(-EINVAL, "server.key: not the secret key to server.pub", "cernita-keys ");
    crn_test_pair_make(&other);
    crn_test_keys_write(&keys, "server.key", other.secret, 0600);
    expect_fault(-EINVAL, "server.key: not the secret key to server.pub", "cernita-keys ");
    crn_test_keys_write(&keys, "server.pub", other.public, 0644);
    crn_access *access = open_keys();
    crn_access_close(&access);
}

/* Whoever may write a client's file may put his own key into it. */
static void client_files_that_others_may_write_are_refused(void **state)
{
    (void)state;
    crn_test_pair cnn;
    char path[160];
    crn_test_keys_add(&keys, "cnn", "ingest", &cnn);
    snprintf(path, sizeof path, "%s/clients/cnn.pub", keys.folder);
    assert_int_equal(chmod(path, 0664), 0);
    expect_fault(-EPERM, "clients/cnn.pub: ", "chmod go-w ");
    assert_int_equal(chmod(path, 0646), 0);
    expect_fault(-EPERM, "clients/cnn.pub: ", "chmod go-w ");
}

static void secret_keys_that_others_may_read_are_refused(void **state)
{
    (void)state;
    static const unsigned modes[] = {0640, 0604, 0660, 0610, 0602};
    char path[160];
    snprintf(path, sizeof path, "%s/server.key", keys.folder);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal(chmod(path, modes[i]), 0);
        expect_fault(-EPERM, "server.key: ", "chmod 600 ");
    }
    assert_int_equal(chmod(path, 0400), 0);
    crn_access *access = open_keys();
    crn_access_close(&access);
}

static void folders_that_others_may_write_to_are_refused(void **state)
{
    (void)state;
    char clients[160];
    snprintf(clients, sizeof clients, "%s/clients", keys.folder);
    assert_int_equal(chmod(clients, 0777), 0);
    expect_fault(-EPERM, "/clients: ", "chmod go-w ");
    assert_int_equal(chmod(clients, 0755), 0);
    assert_int_equal(chmod(keys.folder, 0770), 0);
    expect_fault(-EPERM, "/keys: ", "chmod go-w ");
}

static void faults_of_files_name_file_line_and_cure(void **state)
{
    (void)state;
    crn_test_pair pair;
    char path[160];
    crn_test_keys_write(&keys, "clients/a.pub", "", 0644);
    expect_fault(-EINVAL, "clients/a.pub: ", "no key");
    crn_test_keys_write(&keys, "clients/a.pub", "# one\nshort\n", 0644);
    expect_fault(-EINVAL, "clients/a.pub:2: ", "cernita-keys");
    crn_test_pair_make(&pair);
    char text[200];
    snprintf(text, sizeof text, "%s\n%s\n", pair.public, pair.public);
    crn_test_keys_write(&keys, "clients/a.pub", text, 0644);
    expect_fault(-EINVAL, "clients/a.pub:2: ", "second key");
    snprintf(text, sizeof text, "%s\n", pair.public);
    crn_test_keys_write(&keys, "clients/a.pub", text, 0644);
    crn_test_keys_write(&keys, "clients/b.pub", text, 0644);
    expect_fault(-EEXIST, ".pub: ", "the same key as ");
    crn_test_keys_write(&keys, "clients/b.pub", "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~", 0644);
    expect_fault(-EINVAL, "clients/b.pub:1: ", "Z85");
    static char large[5000];
    memset(large, '#', sizeof large - 1);
    crn_test_keys_write(&keys, "clients/b.pub", large, 0644);
    expect_fault(-EINVAL, "clients/b.pub: ", "not a key file");
    snprintf(path, sizeof path, "%s/clients/b.pub", keys.folder);
    assert_int_equal(remove(path), 0);
    assert_int_equal(mkdir(path, 0755), 0);
    expect_fault(-EISDIR, "clients/b.pub", "folder");
    assert_int_equal(remove(path), 0);
    /* A damaged secret is not shown. */
    crn_test_keys_write(&keys, "server.key", "secretsecret\n", 0600);
    expect_fault(-EINVAL, "server.key:1: ", "cernita-keys");
    assert_null(strstr(error.text, "secretsecret"));
    snprintf(path, sizeof path, "%s/server.key", keys.folder);
    assert_int_equal(remove(path), 0);
    expect_fault(-ENOENT, "server.key", "make it with cernita-keys ");
}

static void comments_and_line_ends_do_not_matter(void **state)
{
    (void)state;
    crn_test_pair pair;
    char text[200], path[160];
    crn_key_file file;
    crn_test_pair_make(&pair);
    snprintf(text, sizeof text, "# a comment\r\n#\r\n\r\n#x\n  %s \r\nfor:viewers\r\n",
             pair.public);
    crn_test_keys_write(&keys, "clients/a.pub", text, 0644);
    snprintf(path, sizeof path, "%s/clients/a.pub", keys.folder);
    if (crn_key_read(path, CRN_KEY_PUBLIC, &file, &error) < 0)
        fail_msg("%s", error.text);
    assert_string_equal(file.key, pair.public);
    assert_int_equal(file.uses, 1u << CRN_ACCESS_VIEWERS);
}

static void files_of_other_names_are_passed_over(void **state)
{
    (void)state;
    static const char *const names[] = {"clients/notes.txt", "clients/.a.pub", "clients/a.pub~",
                                        "clients/.pub", "clients/a b.pub"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        crn_test_keys_write(&keys, names[i], "no key\n", 0644);
    crn_access *access = open_keys();
    crn_access_stats stats;
    crn_access_get_stats(access, &stats);
    assert_true(stats.enabled);
    assert_int_equal(stats.clients, 0);
    crn_access_close(&access);
}

static void addresses_beyond_this_machine_are_told_apart(void **state)
{
    (void)state;
    static const char *const own[] = {"tcp://127.0.0.1:1", "tcp://127.1.2.3:1",
                                      "tcp://[::1]:1",     "tcp://lo:1",
                                      "ipc:///tmp/x",      "tcp://localhost:1"};
    static const char *const open[] = {
        "tcp://*:1",           "tcp://0.0.0.0:1", "tcp://[::]:1",         "tcp://eth0:1",
        "tcp://192.168.1.2:1", "tcp://local:1",   "tcp://127.0.0.1:1;*:1"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        assert_false(crn_access_is_exposed(own[i]));
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++)
        assert_true(crn_access_is_exposed(open[i]));
}

/* LoadCredential= of systemd makes one flat folder. */
static void credentials_of_a_service_are_keys(void **state)
{
    (void)state;
    crn_test_pair cnn, grader;
    crn_test_keys_add(&keys, "cnn", "ingest", &cnn);
    crn_test_keys_add(&keys, "grader", "grader", &grader);
    char command[400];
    snprintf(
        command, sizeof command,
        "cd %s && chmod 400 server.key clients/cnn.pub && mv clients/cnn.pub clients_cnn.pub && "
        "mv clients/grader.pub clients_grader.pub && rmdir clients && chmod 500 .",
        keys.folder);
    assert_int_equal(system(command), 0);
    crn_access *access = open_keys();
    assert_true(admits(access, "ingest", true, cnn.public));
    assert_true(admits(access, "grader", true, grader.public));
    assert_int_equal(chmod(keys.folder, 0700), 0);
    crn_access_close(&access);
}

/* From 254 on systemd lets the service's user read them by an access control list: mode 0440. */
static void credentials_may_have_the_mode_of_a_list(void **state)
{
    (void)state;
    char path[160];
    snprintf(path, sizeof path, "%s/server.key", keys.folder);
    assert_int_equal(chmod(path, 0440), 0);
    expect_fault(-EPERM, "server.key: ", "chmod 600 ");
    setenv("CREDENTIALS_DIRECTORY", keys.folder, 1);
    crn_access *access = open_keys();
    crn_access_close(&access);
    assert_int_equal(chmod(path, 0444), 0);
    expect_fault(-EPERM, "server.key: ", "chmod 600 ");
    assert_int_equal(chmod(path, 0440), 0);
    setenv("CREDENTIALS_DIRECTORY", "/run/credentials/another.service", 1);
    expect_fault(-EPERM, "server.key: ", "chmod 600 ");
    unsetenv("CREDENTIALS_DIRECTORY");
}

/* libzmq admits everyone in a context where no handler answers. */
static void nothing_is_bound_without_a_handler(void **state)
{
    (void)state;
    void *zmq = zmq_ctx_new();
    crn_access *access = open_keys();
    crn_endpoint *endpoint = NULL;
    crn_zap *zap = NULL;
    assert_int_equal(crn_endpoint_open(zmq, ZMQ_PULL, "ingest.bind", &endpoint, &error), 0);
    crn_endpoint_guard(endpoint, access, CRN_ACCESS_INGEST);
    assert_true(crn_endpoint_bind(endpoint, "tcp://127.0.0.1:*", &error) < 0);
    assert_non_null(strstr(error.text, "no handler for keys"));
    assert_int_equal(crn_zap_open(zmq, access, &zap, &error), 0);
    assert_int_equal(crn_endpoint_bind(endpoint, "tcp://127.0.0.1:*", &error), 0);
    crn_zap *second = NULL;
    assert_true(crn_zap_open(zmq, access, &second, &error) < 0);
    crn_endpoint_close(&endpoint, 0);
    crn_zap_close(&zap);
    zmq_ctx_term(zmq);
    crn_access_close(&access);
}

static void clients_name_both_files_or_none(void **state)
{
    (void)state;
    char secret[160], server[160];
    snprintf(secret, sizeof secret, "%s/server.key", keys.folder);
    snprintf(server, sizeof server, "%s/server.pub", keys.folder);
    void *zmq = zmq_ctx_new(), *socket = zmq_socket(zmq, ZMQ_PUSH);
    crn_client_keys given = {NULL, NULL};
    assert_int_equal(crn_client_keys_use(socket, &given, &error), 0);
    given.key = secret;
    assert_int_equal(crn_client_keys_use(socket, &given, &error), -EINVAL);
    assert_non_null(strstr(error.text, "--server-key is missing"));
    given = (crn_client_keys){NULL, server};
    assert_int_equal(crn_client_keys_use(socket, &given, &error), -EINVAL);
    assert_non_null(strstr(error.text, "--key is missing"));
    given.key = secret;
    assert_int_equal(crn_client_keys_use(socket, &given, &error), 0);
    given.key = server; /* mode 0644 */
    assert_int_equal(crn_client_keys_use(socket, &given, &error), -EPERM);
    zmq_close(socket);
    zmq_ctx_term(zmq);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(without_a_folder_there_are_no_keys),
        TEST(a_client_is_admitted_where_its_file_says),
        TEST(sockets_without_seal_admit_without_keys_only),
        TEST(keys_are_read_again),
        TEST(a_reload_says_whose_connections_stay),
        TEST(the_servers_keys_belong_together),
        TEST(client_files_that_others_may_write_are_refused),
        TEST(credentials_may_have_the_mode_of_a_list),
        TEST(secret_keys_that_others_may_read_are_refused),
        TEST(folders_that_others_may_write_to_are_refused),
        TEST(faults_of_files_name_file_line_and_cure),
        TEST(comments_and_line_ends_do_not_matter),
        TEST(files_of_other_names_are_passed_over),
        TEST(addresses_beyond_this_machine_are_told_apart),
        TEST(credentials_of_a_service_are_keys),
        TEST(nothing_is_bound_without_a_handler),
        TEST(clients_name_both_files_or_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
