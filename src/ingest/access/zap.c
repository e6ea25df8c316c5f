#include "src/ingest/access/zap.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <zmq.h>

#include "stages/base/log.h"
#include "stages/base/process/priority.h"
#include "stages/base/process/thread.h"

#define ENDPOINT      "inproc://zeromq.zap.01"
#define VERSION       "1.0"
#define KEY_BINARY    32
#define REQUEST_BYTES 256 /* per frame; longer ones are cut off, and match nothing */

/* The frames of a request; CURVE has a key as credential, NULL none. */
enum { AT_VERSION, AT_ID, AT_DOMAIN, AT_ADDRESS, AT_IDENTITY, AT_MECHANISM, AT_KEY, FRAMES };

typedef struct request {
    size_t frames;
    size_t size[FRAMES];
    char text[FRAMES][REQUEST_BYTES + 1];
} request;

struct crn_zap {
    crn_access *access;
    void *zmq;
    void *socket; /* the thread's once it runs */
    int wake;     /* eventfd: the thread must end */
    pthread_t thread;
    bool started;
    request request;
};

/* Reads a request whole. False: there is none. */
static bool read_request(crn_zap *zap)
{
    request *in = &zap->request;
    int more = 1;
    size_t size = sizeof more;
    for (in->frames = 0; more; in->frames++) {
        char surplus[1];
        bool fits = in->frames < FRAMES;
        int got;
        do
            got = zmq_recv(zap->socket, fits ? in->text[in->frames] : surplus,
                           fits ? REQUEST_BYTES : sizeof surplus, ZMQ_DONTWAIT);
        while (got < 0 && errno == EINTR);
        if (got < 0)
            return false;
        if (fits) {
            in->size[in->frames] = got < REQUEST_BYTES ? (size_t)got : REQUEST_BYTES;
            in->text[in->frames][in->size[in->frames]] = '\0';
        }
        if (zmq_getsockopt(zap->socket, ZMQ_RCVMORE, &more, &size) < 0)
            return false;
    }
    return true;
}

/* Takes the connection's number off the address, where calls.c of src/ingest/peers put it. */
static uint64_t take_number(char *address)
{
    char *mark = strchr(address, '#'), *end;
    if (!mark)
        return 0;
    uint64_t number = strtoull(mark + 1, &end, 10);
    memmove(mark, end, strlen(end) + 1);
    return number;
}

static bool judge(crn_zap *zap, char name[CRN_KEY_NAME_MAX + 1])
{
    request *in = &zap->request;
    name[0] = '\0';
    if (in->frames < AT_KEY || strcmp(in->text[AT_VERSION], VERSION) != 0)
        return false;
    crn_access_peer peer = {
        .connection = take_number(in->text[AT_ADDRESS]),
        .domain = in->text[AT_DOMAIN],
        .address = in->text[AT_ADDRESS],
        .curve = strcmp(in->text[AT_MECHANISM], "CURVE") == 0,
    };
    if (peer.curve && (in->frames != FRAMES || in->size[AT_KEY] != KEY_BINARY ||
                       !zmq_z85_encode(peer.key, (const uint8_t *)in->text[AT_KEY], KEY_BINARY)))
        return false;
    return crn_access_admit(zap->access, &peer, name);
}

static void answer(crn_zap *zap, bool admitted, const char *name)
{
    const request *in = &zap->request;
    const char *status = admitted ? "200" : "400", *text = admitted ? "OK" : "refused";
    if (zmq_send(zap->socket, VERSION, strlen(VERSION), ZMQ_SNDMORE) < 0 ||
        zmq_send(zap->socket, in->text[AT_ID], in->frames > AT_ID ? in->size[AT_ID] : 0,
                 ZMQ_SNDMORE) < 0 ||
        zmq_send(zap->socket, status, strlen(status), ZMQ_SNDMORE) < 0 ||
        zmq_send(zap->socket, text, strlen(text), ZMQ_SNDMORE) < 0 ||
        zmq_send(zap->socket, name, strlen(name), ZMQ_SNDMORE) < 0 ||
        zmq_send(zap->socket, "", 0, 0) < 0)
        crn_log(CRN_LOG_ERROR, "access: cannot answer a peer's handshake: %s", zmq_strerror(errno));
}

static void *run_zap(void *argument)
{
    crn_zap *zap = argument;
    prctl(PR_SET_NAME, "access", 0, 0, 0);
    crn_priority_lower();
    zmq_pollitem_t items[] = {{.socket = zap->socket, .events = ZMQ_POLLIN},
                              {.fd = zap->wake, .events = ZMQ_POLLIN}};
    while (!items[1].revents) {
        if (zmq_poll(items, 2, -1) < 0)
            continue;
        while (read_request(zap)) {
            char name[CRN_KEY_NAME_MAX + 1];
            bool admitted = judge(zap, name);
            answer(zap, admitted, admitted ? name : "");
        }
    }
    return NULL;
}

int crn_zap_open(void *zmq, crn_access *access, crn_zap **ret_zap, crn_error *error)
{
    *ret_zap = NULL;
    if (!access)
        return 0;
    crn_zap *zap = calloc(1, sizeof *zap);
    int r = zap ? 0 : -ENOMEM, zero = 0;
    if (zap) {
        zap->access = access;
        zap->zmq = zmq;
        zap->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        zap->socket = zmq_socket(zmq, ZMQ_REP);
        if (zap->wake < 0 || !zap->socket ||
            zmq_setsockopt(zap->socket, ZMQ_LINGER, &zero, sizeof zero) < 0 ||
            zmq_bind(zap->socket, ENDPOINT) < 0)
            r = -errno;
        if (r == 0)
            r = crn_thread_start(&zap->thread, run_zap, zap);
        zap->started = r == 0;
        if (r == 0 && !crn_access_serve(access, zmq, true))
            r = -EMFILE;
    }
    if (r < 0) {
        if (zap)
            crn_zap_close(&zap);
        return crn_error_set(error, r, "access.keys: cannot start the handler of handshakes: %s",
                             zmq_strerror(-r));
    }
    *ret_zap = zap;
    return 0;
}

void crn_zap_close(crn_zap **zap)
{
    crn_zap *closing = *zap;
    if (!closing)
        return;
    uint64_t one = 1;
    crn_access_serve(closing->access, closing->zmq, false);
    /* The counter cannot overflow, so the write cannot fail. */
    if (closing->started && write(closing->wake, &one, sizeof one) == sizeof one)
        pthread_join(closing->thread, NULL);
    if (closing->socket)
        zmq_close(closing->socket);
    if (closing->wake >= 0)
        close(closing->wake);
    free(closing);
    *zap = NULL;
}
