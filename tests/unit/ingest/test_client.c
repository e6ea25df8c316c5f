/* How programs connect to a line: by IPv4, by IPv6, and by a name that stands for both. */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <zmq.h>

#include "src/client/keys.h"
#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/peer.h"

#define BOTH "both.test"
#define SIX  "six.test"

/* libzmq uses these functions as well. */

int getaddrinfo(const char *restrict host, const char *restrict port,
                const struct addrinfo *restrict wanted, struct addrinfo **restrict ret_found)
{
    int family = wanted ? wanted->ai_family : AF_UNSPEC;
    bool four = strcmp(host, SIX) != 0 && !strchr(host, ':') && family != AF_INET6;
    bool six = (strchr(host, ':') || strcmp(host, BOTH) == 0 || strcmp(host, SIX) == 0) &&
               family != AF_INET;
    struct addrinfo *found = NULL;
    for (int i = 0; i < 2; i++) {
        if (!(i == 0 ? four : six))
            continue;
        struct addrinfo *one = calloc(1, sizeof *one + sizeof(struct sockaddr_in6));
        one->ai_family = i == 0 ? AF_INET : AF_INET6;
        one->ai_socktype = SOCK_STREAM;
        one->ai_addr = (struct sockaddr *)(one + 1);
        one->ai_addr->sa_family = (sa_family_t)one->ai_family;
        one->ai_addrlen = i == 0 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
        in_port_t number = htons((uint16_t)(port ? atoi(port) : 0));
        if (i == 0) {
            struct sockaddr_in *at = (struct sockaddr_in *)one->ai_addr;
            at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            at->sin_port = number;
        } else {
            struct sockaddr_in6 *at = (struct sockaddr_in6 *)one->ai_addr;
            at->sin6_addr = in6addr_loopback;
            at->sin6_port = number;
        }
        one->ai_next = found; /* IPv6 comes first, as on most machines */
        found = one;
    }
    *ret_found = found;
    return found ? 0 : EAI_NONAME;
}

void freeaddrinfo(struct addrinfo *found)
{
    while (found) {
        struct addrinfo *next = found->ai_next;
        free(found);
        found = next;
    }
}

static void skip_without_ipv6(void)
{
    struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    int probe = socket(AF_INET6, SOCK_STREAM, 0);
    bool there = probe >= 0 && bind(probe, (struct sockaddr *)&at, sizeof at) == 0;
    close(probe);
    if (!there)
        skip();
}

/* Binds a PULL socket there; with a wildcard the port is in ret_port. */
static void *listen_at(void *zmq, const char *host, char port[8])
{
    char address[64];
    size_t size = sizeof address;
    int six = host[0] == '[', wait_ms = CRN_PEER_WAIT_MS;
    void *pull = zmq_socket(zmq, ZMQ_PULL);
    snprintf(address, sizeof address, "tcp://%s:%s", host, port[0] ? port : "*");
    zmq_setsockopt(pull, ZMQ_IPV6, &six, sizeof six);
    zmq_setsockopt(pull, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms);
    assert_int_equal(zmq_bind(pull, address), 0);
    zmq_getsockopt(pull, ZMQ_LAST_ENDPOINT, address, &size);
    snprintf(port, 8, "%s", strrchr(address, ':') + 1);
    return pull;
}

static void *connect_to(void *zmq, const char *host, const char *port)
{
    static const crn_client_keys none;
    char address[64];
    crn_error error = {""};
    int zero = 0;
    void *push = zmq_socket(zmq, ZMQ_PUSH);
    zmq_setsockopt(push, ZMQ_LINGER, &zero, sizeof zero);
    snprintf(address, sizeof address, "tcp://%s:%s", host, port);
    if (crn_client_connect(push, address, &none, &error) < 0)
        fail_msg("%s", error.text);
    return push;
}

/* A message from a client that was told `host` arrives at what listens at `at`. */
static void reaches(const char *host, const char *at)
{
    char port[8] = "", got[4];
    void *zmq = zmq_ctx_new(), *pull = listen_at(zmq, at, port),
         *push = connect_to(zmq, host, port);
    assert_int_equal(zmq_send(push, "view", 4, 0), 4);
    if (zmq_recv(pull, got, sizeof got, 0) != 4)
        fail_msg("'%s' does not reach %s", host, at);
    zmq_close(push);
    zmq_close(pull);
    zmq_ctx_term(zmq);
}

static void an_address_of_either_family_connects(void **state)
{
    (void)state;
    reaches("127.0.0.1", "127.0.0.1");
    skip_without_ipv6();
    reaches("[::1]", "[::1]");
}

static void a_name_stands_for_what_listens(void **state)
{
    (void)state;
    reaches("four.test", "127.0.0.1");
    reaches(BOTH, "127.0.0.1");
    skip_without_ipv6();
    reaches(SIX, "[::1]");
    reaches(BOTH, "[::1]");
}

static void a_name_of_both_kinds_stands_for_ipv4_while_nothing_listens(void **state)
{
    (void)state;
    char port[8] = "", got[4];
    void *zmq = zmq_ctx_new();
    zmq_close(listen_at(zmq, "127.0.0.1", port));
    zmq_ctx_term(zmq);
    zmq = zmq_ctx_new();
    void *push = connect_to(zmq, BOTH, port), *pull = listen_at(zmq, "127.0.0.1", port);
    assert_int_equal(zmq_send(push, "view", 4, 0), 4);
    assert_int_equal(zmq_recv(pull, got, sizeof got, 0), 4);
    zmq_close(push);
    zmq_close(pull);
    zmq_ctx_term(zmq);
}

static void what_is_no_address_is_said(void **state)
{
    (void)state;
    static const crn_client_keys none;
    crn_error error;
    void *zmq = zmq_ctx_new(), *push = zmq_socket(zmq, ZMQ_PUSH);
    assert_true(crn_client_connect(push, "nowhere", &none, &error) < 0);
    assert_string_equal(error.text, "cannot connect to 'nowhere': Invalid argument; expected "
                                    "tcp://HOST:PORT, tcp://[IPV6]:PORT or ipc://PATH");
    assert_true(crn_client_connect(push, "tcp://[", &none, &error) < 0);
    assert_true(crn_client_connect(push, "tcp://", &none, &error) < 0);
    const char *const ports[] = {"tcp://127.0.0.1:555O", "tcp://127.0.0.1:5555x",
                                 "tcp://[::1]:70000", "tcp://127.0.0.1:", "tcp://127.0.0.1:71091"};
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        assert_true(crn_client_connect(push, ports[i], &none, &error) < 0);
        assert_non_null(strstr(error.text, "': its port is not a number from 1 to 65535"));
    }
    zmq_close(push);
    zmq_ctx_term(zmq);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_of_either_family_connects),
        cmocka_unit_test(a_name_stands_for_what_listens),
        cmocka_unit_test(a_name_of_both_kinds_stands_for_ipv4_while_nothing_listens),
        cmocka_unit_test(what_is_no_address_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
