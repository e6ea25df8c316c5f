#include "src/ingest/access/client.h"

#include <errno.h>
#include <string.h>

#include <zmq.h>

#include "src/ingest/access/key_file.h"

static int set_keys(void *socket, const crn_key_file *own, const crn_key_file *server)
{
    char public[CRN_KEY_BYTES];
    if (zmq_curve_public(public, own->key) < 0 ||
        zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, server->key, CRN_KEY_BYTES) < 0 ||
        zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, public, CRN_KEY_BYTES) < 0 ||
        zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, own->key, CRN_KEY_BYTES) < 0)
        return -errno;
    return 0;
}

int crn_client_keys_use(void *socket, const crn_client_keys *keys, crn_error *error)
{
    crn_key_file own, server;
    if (!keys->key && !keys->server_key)
        return 0;
    if (!keys->key || !keys->server_key)
        return crn_error_set(error, -EINVAL, "--%s is missing: a line with keys needs both files",
                             keys->key ? "server-key" : "key");
    int r = crn_key_supported(error);
    if (r == 0)
        r = crn_key_read(keys->server_key, CRN_KEY_PUBLIC, &server, error);
    if (r == 0)
        r = crn_key_read(keys->key, CRN_KEY_SECRET, &own, error);
    if (r < 0)
        return r;
    r = set_keys(socket, &own, &server);
    explicit_bzero(&own, sizeof own);
    return r < 0 ? crn_error_set(error, r, "the keys of %s and %s cannot be used: %s", keys->key,
                                 keys->server_key, zmq_strerror(-r))
                 : 0;
}
