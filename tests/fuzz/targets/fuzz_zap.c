/*
 * libFuzzer's entry for the handler of keys: frames of any number and size, as libzmq would never
 * send them. Each request has its answer.
 */
#include <errno.h>
#include <string.h>

#include <zmq.h>

#include "src/ingest/access/access.h"
#include "src/ingest/access/zap.h"
#include "tests/fuzz/targets/fuzz.h"

static char folder[64];
static void *asker;

static void write_file(const char *name, const char *text, unsigned mode)
{
    char path[160];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0 || chmod(path, mode) < 0)
        abort();
}

static void remove_keys(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0)
        perror(command);
}

static void set_up(void)
{
    char public[CRN_KEY_BYTES], secret[CRN_KEY_BYTES], path[128];
    crn_access *access;
    crn_zap *zap;
    crn_error error;
    strcpy(folder, "/tmp/cernita-fuzz-XXXXXX");
    if (!mkdtemp(folder) || zmq_curve_keypair(public, secret) < 0)
        abort();
    atexit(remove_keys);
    snprintf(path, sizeof path, "%s/clients", folder);
    mkdir(path, 0700);
    write_file("server.key", secret, 0600);
    write_file("server.pub", public, 0644);
    void *zmq = zmq_ctx_new();
    if (crn_access_open(folder, false, &access, &error) < 0 ||
        crn_zap_open(zmq, access, &zap, &error) < 0) {
        fprintf(stderr, "%s\n", error.text);
        abort();
    }
    asker = zmq_socket(zmq, ZMQ_DEALER);
    if (!asker || zmq_connect(asker, "inproc://zeromq.zap.01") < 0)
        abort();
}

/* The input is frames: a byte of the length, and so many bytes; the last is what is left. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char answer[512];
    int more = 1;
    size_t bytes = sizeof more;
    if (!asker)
        set_up();
    zmq_send(asker, "", 0, ZMQ_SNDMORE); /* the envelope of a REQ socket */
    for (int frames = 0; size > 0 && frames < 20; frames++) {
        size_t length = data[0] < size - 1 ? data[0] : size - 1;
        zmq_send(asker, data + 1, length, ZMQ_SNDMORE);
        data += 1 + length;
        size -= 1 + length;
    }
    zmq_send(asker, data, size, 0);
    while (more) {
        int got = zmq_recv(asker, answer, sizeof answer, 0);
        if (got < 0 && errno == EINTR) /* libFuzzer's clock */
            continue;
        if (got < 0 || zmq_getsockopt(asker, ZMQ_RCVMORE, &more, &bytes) < 0)
            abort();
    }
    return 0;
}
