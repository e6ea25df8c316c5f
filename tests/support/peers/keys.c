#include "tests/support/peers/keys.h"

#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <zmq.h>

#include "tests/support/cmocka_prelude.h"
#include "tests/support/peers/peer.h"

void crn_test_pair_make(crn_test_pair *ret_pair)
{
    assert_int_equal(zmq_curve_keypair(ret_pair->public, ret_pair->secret), 0);
}

void crn_test_keys_write(const crn_test_keys *keys, const char *name, const char *text,
                         unsigned mode)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", keys->folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
}

void crn_test_keys_make(const char *parent, crn_test_keys *ret_keys)
{
    crn_test_pair pair;
    char clients[128];
    snprintf(ret_keys->folder, sizeof ret_keys->folder, "%s/keys", parent);
    snprintf(clients, sizeof clients, "%s/clients", ret_keys->folder);
    assert_int_equal(mkdir(ret_keys->folder, 0700), 0);
    assert_int_equal(mkdir(clients, 0700), 0);
    crn_test_pair_make(&pair);
    memcpy(ret_keys->server, pair.public, CRN_KEY_BYTES);
    crn_test_keys_write(ret_keys, "server.key", pair.secret, 0600);
    crn_test_keys_write(ret_keys, "server.pub", pair.public, 0644);
}

void crn_test_keys_add(const crn_test_keys *keys, const char *name, const char *uses,
                       crn_test_pair *ret_pair)
{
    char file[128], text[256];
    crn_test_pair_make(ret_pair);
    snprintf(file, sizeof file, "clients/%s.pub", name);
    snprintf(text, sizeof text, "# a client\n%s%s\n%s\n", uses ? "for: " : "", uses ? uses : "",
             ret_pair->public);
    crn_test_keys_write(keys, file, text, 0644);
}

void *crn_test_keys_connect(void *zmq, int type, const char *endpoint, const crn_test_pair *pair,
                            const char *server)
{
    void *socket = zmq_socket(zmq, type);
    int wait_ms = CRN_PEER_WAIT_MS, none = 0, one = 1;
    assert_non_null(socket);
    zmq_setsockopt(socket, ZMQ_RCVTIMEO, &wait_ms, sizeof wait_ms);
    zmq_setsockopt(socket, ZMQ_SNDTIMEO, &wait_ms, sizeof wait_ms);
    zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
    zmq_setsockopt(socket, ZMQ_IMMEDIATE, &one, sizeof one); /* nothing is sent before admission */
    assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server, CRN_KEY_BYTES), 0);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, pair->public, CRN_KEY_BYTES), 0);
    assert_int_equal(zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, pair->secret, CRN_KEY_BYTES), 0);
    assert_int_equal(zmq_connect(socket, endpoint), 0);
    return socket;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

void crn_test_remove_all(const char *folder)
{
    assert_int_equal(nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS), 0);
}
