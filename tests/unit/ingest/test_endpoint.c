/* Bound sockets: paths that cannot be taken over,
 * errors with hints, peers reported, nothing lost. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <zmq.h>

#include "stages/base/param.h"
#include "src/ingest/socket/endpoint.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/zmtp.h"

#define PATIENCE_MS 60000

typedef struct endpoint_fixture {
    void *zmq;
    char folder[64];
    char path[128], address[160]; /* of a socket file in a folder that does not exist yet */
    crn_endpoint *endpoint;
    crn_error error;
} endpoint_fixture;

static int set_up(void **state)
{
    endpoint_fixture *f = calloc(1, sizeof *f);
    if (!f)
        return -1;
    f->zmq = zmq_ctx_new();
    strcpy(f->folder, "/tmp/cernita-endpoint-XXXXXX");
    if (!mkdtemp(f->folder))
        return -1;
    snprintf(f->path, sizeof f->path, "%s/run/line/in", f->folder);
    snprintf(f->address, sizeof f->address, "ipc://%s", f->path);
    *state = f;
    return crn_endpoint_open(f->zmq, ZMQ_PULL, "ingest.bind", &f->endpoint, &f->error);
}

static int tear_down(void **state)
{
    endpoint_fixture *f = *state;
    crn_endpoint_close(&f->endpoint, 0);
    zmq_ctx_term(f->zmq);
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", f->folder);
    int r = system(command);
    free(f);
    return r;
}

static void make_folder(const endpoint_fixture *f)
{
    char command[160];
    snprintf(command, sizeof command, "mkdir -p %s/run/line", f->folder);
    assert_int_equal(system(command), 0);
}

/* Sends a number to the address and expects it at the endpoint. */
static void assert_answers(endpoint_fixture *f, crn_endpoint *endpoint, const char *address)
{
    void *push = zmq_socket(f->zmq, ZMQ_PUSH);
    assert_int_equal(zmq_connect(push, address), 0);
    static int number = 0;
    int sent = ++number, got = 0, patience = PATIENCE_MS;
    assert_int_equal(zmq_send(push, &sent, sizeof sent, 0), sizeof sent);
    assert_int_equal(crn_endpoint_set(endpoint, ZMQ_RCVTIMEO, patience), 0);
    assert_int_equal(zmq_recv(crn_endpoint_socket(endpoint), &got, sizeof got, 0), sizeof got);
    assert_int_equal(got, sent);
    zmq_close(push);
}

static void assert_one_line_with(const crn_error *error, const char *what)
{
    assert_non_null(strstr(error->text, "ingest.bind: "));
    assert_non_null(strstr(error->text, what));
    assert_null(strchr(error->text, '\n'));
}

static void an_ipc_path_is_made_and_kept_to_user_and_group(void **state)
{
    endpoint_fixture *f = *state;
    assert_int_equal(crn_endpoint_bind(f->endpoint, f->address, &f->error), 0);
    assert_string_equal(crn_endpoint_bound(f->endpoint, 0), f->address);
    assert_null(crn_endpoint_bound(f->endpoint, 1));
    assert_null(crn_endpoint_bound(f->endpoint, -1));
    struct stat status;
    assert_int_equal(lstat(f->path, &status), 0);
    assert_true(S_ISSOCK(status.st_mode));
    assert_int_equal(status.st_mode & 07777, 0660);
    assert_answers(f, f->endpoint, f->address);
}

/* As where memory ran out before its peers were limited: the start ends with what it says of that.
 */
static void one_without_limits_has_nothing_to_report(void **state)
{
    endpoint_fixture *f = *state;
    crn_endpoint_report(f->endpoint);
}

static void a_second_bind_of_an_ipc_path_is_refused_and_the_first_goes_on(void **state)
{
    endpoint_fixture *f = *state;
    assert_int_equal(crn_endpoint_bind(f->endpoint, f->address, &f->error), 0);
    crn_endpoint *thief = NULL;
    assert_int_equal(crn_endpoint_open(f->zmq, ZMQ_PULL, "ingest.bind", &thief, &f->error), 0);
    assert_int_equal(crn_endpoint_bind(thief, f->address, &f->error), -EADDRINUSE);
    assert_one_line_with(&f->error, f->address);
    char holder[32];
    snprintf(holder, sizeof holder, "process %ld", (long)getpid());
    assert_one_line_with(&f->error, holder);
    crn_endpoint_close(&thief, 0);
    assert_answers(f, f->endpoint, f->address);
}

static void a_closed_endpoint_leaves_its_path_to_the_next(void **state)
{
    endpoint_fixture *f = *state;
    for (int round = 0; round < 20; round++) {
        assert_int_equal(crn_endpoint_bind(f->endpoint, f->address, &f->error), 0);
        assert_answers(f, f->endpoint, f->address);
        crn_endpoint_close(&f->endpoint, 0);
        assert_null(f->endpoint);
        assert_int_equal(access(f->path, F_OK), -1);
        char lock[160];
        snprintf(lock, sizeof lock, "%s.lock", f->path);
        assert_int_equal(access(lock, F_OK), 0);
        assert_int_equal(
            crn_endpoint_open(f->zmq, ZMQ_PULL, "ingest.bind", &f->endpoint, &f->error), 0);
    }
}

/* Creates a socket file as another program would; returns its descriptor. */
static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strcpy(address.sun_path, path);
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 5), 0);
    return listener;
}

static void a_dead_programs_socket_file_is_taken_over(void **state)
{
    endpoint_fixture *f = *state;
    make_folder(f);
    close(listen_at(f->path));
    assert_int_equal(access(f->path, F_OK), 0);
    assert_int_equal(crn_endpoint_bind(f->endpoint, f->address, &f->error), 0);
    assert_answers(f, f->endpoint, f->address);
}

static void a_path_that_somebody_listens_on_without_a_lock_is_not_stolen(void **state)
{
    endpoint_fixture *f = *state;
    make_folder(f);
    int listener = listen_at(f->path);
    assert_int_equal(crn_endpoint_bind(f->endpoint, f->address, &f->error), -EADDRINUSE);
    assert_one_line_with(&f->error, f->address);
    int peer = crn_zmtp_connect(f->address);
    assert_true(peer >= 0);
    close(peer);
    close(listener);
    assert_int_equal(crn_endpoint_bind(f->endpoint, f->address, &f->error), 0);
}

static void a_file_that_is_no_socket_is_not_removed(void **state)
{
    endpoint_fixture *f = *state;
    make_folder(f);
    FILE *file = fopen(f->path, "w");
    assert_non_null(file);
    fputs("precious", file);
    fclose(file);
    assert_int_equal(crn_endpoint_bind(f->endpoint, f->address, &f->error), -EEXIST);
    assert_one_line_with(&f->error, f->path);
    struct stat status;
    assert_int_equal(stat(f->path, &status), 0);
    assert_int_equal(status.st_size, 8);
}

static void a_port_in_use_is_told_with_the_endpoint_and_the_cure(void **state)
{
    endpoint_fixture *f = *state;
    assert_int_equal(crn_endpoint_bind(f->endpoint, "tcp://127.0.0.1:*", &f->error), 0);
    const char *bound = crn_endpoint_bound(f->endpoint, 0);
    crn_endpoint *second = NULL;
    assert_int_equal(crn_endpoint_open(f->zmq, ZMQ_PULL, "ingest.bind", &second, &f->error), 0);
    assert_int_equal(crn_endpoint_bind(second, bound, &f->error), -EADDRINUSE);
    assert_one_line_with(&f->error, bound);
    assert_one_line_with(&f->error, "in use");
    assert_null(crn_endpoint_bound(second, 0));
    crn_endpoint_close(&second, 0);
    assert_answers(f, f->endpoint, bound);
}

static void addresses_that_cannot_be_bound_are_told(void **state)
{
    endpoint_fixture *f = *state;
    static const char *const addresses[] = {"",
                                            "5555",
                                            "tcp://",
                                            "tcp://127.0.0.1",
                                            "tcp://127.0.0.1:",
                                            "tcp://127.0.0.1:5555x",
                                            "tcp://127.0.0.1:70000",
                                            "tcp://192.0.2.1:5555",
                                            "tcp://no-such-interface:5555",
                                            "udp://127.0.0.1:5555",
                                            "nonsense://x",
                                            "ipc://",
                                            "ipc:///proc/none/in"};
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++) {
        f->error.text[0] = '\0';
        if (crn_endpoint_bind(f->endpoint, addresses[i], &f->error) >= 0)
            fail_msg("'%s' was bound", addresses[i]);
        const char *transport = strstr(addresses[i], "://");
        assert_one_line_with(&f->error, transport ? transport + 3 : addresses[i]);
    }
    char address[CRN_TEXT_BYTES];
    snprintf(address, sizeof address, "ipc://%s/%0120d", f->folder, 0);
    assert_int_equal(crn_endpoint_bind(f->endpoint, address, &f->error), -ENAMETOOLONG);
    assert_one_line_with(&f->error, "107");
    /* None of the above prevents a valid bind. */
    assert_int_equal(crn_endpoint_bind(f->endpoint, f->address, &f->error), 0);
    assert_answers(f, f->endpoint, f->address);
}

static void one_address_too_many_is_refused(void **state)
{
    endpoint_fixture *f = *state;
    char address[64];
    for (int i = 0; i < CRN_TEXTS_MAX; i++) {
        snprintf(address, sizeof address, "inproc://endpoint-%d", i);
        assert_int_equal(crn_endpoint_bind(f->endpoint, address, &f->error), 0);
    }
    assert_int_equal(crn_endpoint_bind(f->endpoint, "inproc://surplus", &f->error), -E2BIG);
    assert_string_equal(crn_endpoint_bound(f->endpoint, CRN_TEXTS_MAX - 1), address);
}

static void wait_event(crn_endpoint *endpoint, crn_endpoint_event_kind expected)
{
    int descriptors[2];
    crn_endpoint_descriptors(endpoint, descriptors);
    crn_endpoint_event_kind kind;
    while (!crn_endpoint_event(endpoint, &kind)) {
        zmq_pollitem_t item = {.fd = descriptors[1], .events = ZMQ_POLLIN};
        assert_int_equal(zmq_poll(&item, 1, PATIENCE_MS), 1);
    }
    assert_int_equal(kind, expected);
}

static void peers_are_seen_to_come_and_go_and_strangers_told_apart(void **state)
{
    endpoint_fixture *f = *state;
    assert_int_equal(crn_endpoint_bind(f->endpoint, "tcp://127.0.0.1:*", &f->error), 0);
    assert_int_equal(crn_endpoint_bind(f->endpoint, f->address, &f->error), 0);
    for (int i = 0; i < 2; i++) {
        const char *address = crn_endpoint_bound(f->endpoint, i);
        int peer = crn_zmtp_connect_push(address);
        assert_true(peer >= 0);
        wait_event(f->endpoint, CRN_ENDPOINT_CONNECTED);
        close(peer);
        wait_event(f->endpoint, CRN_ENDPOINT_DISCONNECTED);
        peer = crn_zmtp_connect(address);
        assert_true(peer >= 0);
        close(peer);
        wait_event(f->endpoint, CRN_ENDPOINT_REFUSED);
    }
    crn_endpoint_event_kind kind;
    assert_int_equal(crn_endpoint_event(f->endpoint, &kind), 0);
}

/* A stray web browser must neither count as the grader nor receive a share of its verdicts. */
static void a_peer_without_zeromqs_greeting_gets_no_messages(void **state)
{
    endpoint_fixture *f = *state;
    crn_endpoint_close(&f->endpoint, 0);
    assert_int_equal(crn_endpoint_open(f->zmq, ZMQ_PUSH, "grader", &f->endpoint, &f->error), 0);
    assert_int_equal(crn_endpoint_bind(f->endpoint, "tcp://127.0.0.1:*", &f->error), 0);
    const char *address = crn_endpoint_bound(f->endpoint, 0);
    static const char request[] = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";
    int browser = crn_zmtp_connect(address);
    assert_true(browser >= 0);
    assert_int_equal(crn_zmtp_send(browser, request, sizeof request - 1), 0);
    wait_event(f->endpoint, CRN_ENDPOINT_REFUSED);
    assert_int_equal(zmq_send(crn_endpoint_socket(f->endpoint), "x", 1, ZMQ_DONTWAIT), -1);
    assert_int_equal(crn_zmtp_wait_closed(browser, PATIENCE_MS), 0);
    close(browser);

    /* A peer stuck in its handshake is not mistaken for the next one. */
    int silent = crn_zmtp_connect(address);
    assert_true(silent >= 0);
    void *pull = zmq_socket(f->zmq, ZMQ_PULL);
    assert_int_equal(zmq_connect(pull, address), 0);
    wait_event(f->endpoint, CRN_ENDPOINT_CONNECTED);
    close(silent);
    wait_event(f->endpoint, CRN_ENDPOINT_REFUSED);
    void *second = zmq_socket(f->zmq, ZMQ_PULL);
    assert_int_equal(zmq_connect(second, address), 0);
    wait_event(f->endpoint, CRN_ENDPOINT_CONNECTED);
    zmq_close(pull);
    wait_event(f->endpoint, CRN_ENDPOINT_DISCONNECTED);
    zmq_close(second);
    wait_event(f->endpoint, CRN_ENDPOINT_DISCONNECTED);
}

/* Regression: libzmq's I/O thread blocked for ever reporting to a closed monitor a peer that left
 * during the linger, and with it every socket of the context. */
static void a_peer_that_leaves_a_closed_endpoint_leaves_the_others_alive(void **state)
{
    endpoint_fixture *f = *state;
    assert_int_equal(crn_endpoint_bind(f->endpoint, f->address, &f->error), 0);
    crn_endpoint *closed = NULL;
    assert_int_equal(crn_endpoint_open(f->zmq, ZMQ_PUSH, "grader", &closed, &f->error), 0);
    assert_int_equal(crn_endpoint_bind(closed, "tcp://127.0.0.1:*", &f->error), 0);
    void *elsewhere = zmq_ctx_new();
    void *pull = zmq_socket(elsewhere, ZMQ_PULL);
    int one = 1;
    zmq_setsockopt(pull, ZMQ_RCVHWM, &one, sizeof one);
    assert_int_equal(zmq_connect(pull, crn_endpoint_bound(closed, 0)), 0);
    static const char bytes[1000000];
    for (int i = 0; i < 100; i++)
        assert_int_equal(zmq_send(crn_endpoint_socket(closed), bytes, sizeof bytes, 0),
                         sizeof bytes);
    crn_endpoint_close(&closed, 1000);
    zmq_close(pull);
    zmq_ctx_term(elsewhere);
    assert_answers(f, f->endpoint, f->address);
}

static void what_was_sent_goes_out_after_the_close(void **state)
{
    endpoint_fixture *f = *state;
    crn_endpoint_close(&f->endpoint, 0);
    assert_int_equal(crn_endpoint_open(f->zmq, ZMQ_PUSH, "grader", &f->endpoint, &f->error), 0);
    assert_int_equal(crn_endpoint_bind(f->endpoint, f->address, &f->error), 0);
    void *pull = zmq_socket(f->zmq, ZMQ_PULL);
    int one = 1, none = 0, patience = PATIENCE_MS;
    zmq_setsockopt(pull, ZMQ_RCVHWM, &one, sizeof one);
    zmq_setsockopt(pull, ZMQ_RCVTIMEO, &patience, sizeof patience);
    zmq_setsockopt(pull, ZMQ_LINGER, &none, sizeof none);
    assert_int_equal(zmq_connect(pull, f->address), 0);
    static char bytes[100000];
    for (int i = 0; i < 200; i++) {
        memcpy(bytes, &i, sizeof i);
        assert_int_equal(zmq_send(crn_endpoint_socket(f->endpoint), bytes, sizeof bytes, 0),
                         sizeof bytes);
    }
    crn_endpoint_close(&f->endpoint, PATIENCE_MS);
    for (int i = 0; i < 200; i++) {
        int got;
        assert_int_equal(zmq_recv(pull, bytes, sizeof bytes, 0), sizeof bytes);
        memcpy(&got, bytes, sizeof got);
        assert_int_equal(got, i);
    }
    zmq_close(pull);
}

static void closing_nothing_is_fine(void **state)
{
    (void)state;
    crn_endpoint *none = NULL;
    crn_endpoint_close(&none, 0);
    assert_null(none);
}

static void a_context_that_is_shut_down_opens_nothing(void **state)
{
    endpoint_fixture *f = *state;
    zmq_ctx_shutdown(f->zmq);
    crn_endpoint *const mark = f->endpoint;
    crn_endpoint *endpoint = mark;
    assert_true(crn_endpoint_open(f->zmq, ZMQ_PULL, "ingest.bind", &endpoint, &f->error) < 0);
    assert_ptr_equal(endpoint, mark);
    assert_one_line_with(&f->error, "no ZeroMQ socket");
}

#define WITH_ENDPOINT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ENDPOINT(one_without_limits_has_nothing_to_report),
        WITH_ENDPOINT(an_ipc_path_is_made_and_kept_to_user_and_group),
        WITH_ENDPOINT(a_second_bind_of_an_ipc_path_is_refused_and_the_first_goes_on),
        WITH_ENDPOINT(a_closed_endpoint_leaves_its_path_to_the_next),
        WITH_ENDPOINT(a_dead_programs_socket_file_is_taken_over),
        WITH_ENDPOINT(a_path_that_somebody_listens_on_without_a_lock_is_not_stolen),
        WITH_ENDPOINT(a_file_that_is_no_socket_is_not_removed),
        WITH_ENDPOINT(a_port_in_use_is_told_with_the_endpoint_and_the_cure),
        WITH_ENDPOINT(addresses_that_cannot_be_bound_are_told),
        WITH_ENDPOINT(one_address_too_many_is_refused),
        WITH_ENDPOINT(peers_are_seen_to_come_and_go_and_strangers_told_apart),
        WITH_ENDPOINT(a_peer_without_zeromqs_greeting_gets_no_messages),
        WITH_ENDPOINT(a_peer_that_leaves_a_closed_endpoint_leaves_the_others_alive),
        WITH_ENDPOINT(what_was_sent_goes_out_after_the_close),
        WITH_ENDPOINT(closing_nothing_is_fine),
        WITH_ENDPOINT(a_context_that_is_shut_down_opens_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
