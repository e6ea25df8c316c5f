#include "tests/support/peers/zmtp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "stages/base/clock.h"

#define GREETING_BYTES 64
#define FLAG_MORE      1
#define FLAG_LONG      2
#define FLAG_COMMAND   4

static int connect_tcp(const char *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)atoi(port)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (peer >= 0 && connect(peer, (struct sockaddr *)&address, sizeof address) == 0)
        return peer;
    int r = -errno;
    close(peer);
    return r;
}

static int connect_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (peer >= 0 && connect(peer, (struct sockaddr *)&address, sizeof address) == 0)
        return peer;
    int r = -errno;
    close(peer);
    return r;
}

int crn_zmtp_connect(const char *endpoint)
{
    if (strncmp(endpoint, "ipc://", 6) == 0)
        return connect_unix(endpoint + 6);
    const char *port = strrchr(endpoint, ':');
    return port ? connect_tcp(port + 1) : -EINVAL;
}

int crn_zmtp_send(int peer, const void *bytes, size_t size)
{
    for (const char *at = bytes; size > 0;) {
        ssize_t sent = send(peer, at, size, MSG_NOSIGNAL);
        if (sent < 0)
            return -errno;
        at += sent;
        size -= (size_t)sent;
    }
    return 0;
}

static int receive(int peer, void *bytes, size_t size)
{
    return recv(peer, bytes, size, MSG_WAITALL) == (ssize_t)size ? 0 : -EPIPE;
}

int crn_zmtp_send_head(int peer, uint64_t size, bool more)
{
    unsigned char head[9] = {FLAG_LONG | (more ? FLAG_MORE : 0)};
    for (int i = 0; i < 8; i++)
        head[1 + i] = (unsigned char)(size >> (8 * (7 - i)));
    return crn_zmtp_send(peer, head, sizeof head);
}

size_t crn_zmtp_introduction(const char *kind, unsigned char introduction[CRN_ZMTP_BYTES])
{
    static const unsigned char ready[] = "\x04?\x05READY\x0bSocket-Type\0\0\0?";
    size_t length = strlen(kind), size = sizeof ready - 1;
    memset(introduction, 0, CRN_ZMTP_BYTES);
    introduction[0] = 0xff;
    introduction[9] = 0x7f;
    introduction[10] = 3;
    memcpy(introduction + 12, "NULL", 4);
    unsigned char *command = introduction + GREETING_BYTES;
    memcpy(command, ready, size);
    command[1] = (unsigned char)(size - 2 + length);
    command[size - 1] = (unsigned char)length;
    memcpy(command + size, kind, length);
    return GREETING_BYTES + size + length;
}

static int introduce(int peer, const char *kind)
{
    unsigned char introduction[CRN_ZMTP_BYTES], answer[256];
    size_t size = crn_zmtp_introduction(kind, introduction);
    int r = crn_zmtp_send(peer, introduction, GREETING_BYTES);
    if (r == 0)
        r = receive(peer, answer, GREETING_BYTES);
    if (r == 0)
        r = crn_zmtp_send(peer, introduction + GREETING_BYTES, size - GREETING_BYTES);
    if (r == 0)
        r = receive(peer, answer, 2);
    if (r == 0 && answer[0] != FLAG_COMMAND)
        r = -EPROTO;
    return r == 0 ? receive(peer, answer, answer[1]) : r;
}

int crn_zmtp_connect_as(const char *endpoint, const char *kind)
{
    int peer = crn_zmtp_connect(endpoint);
    if (peer < 0)
        return peer;
    int r = introduce(peer, kind);
    if (r == 0)
        return peer;
    close(peer);
    return r;
}

int crn_zmtp_connect_push(const char *endpoint)
{
    return crn_zmtp_connect_as(endpoint, "PUSH");
}

int crn_zmtp_wait_closed(int peer, int timeout_ms)
{
    int64_t until_ns = crn_now_ns() + timeout_ms * CRN_NS_PER_MS;
    for (int64_t left_ns; (left_ns = until_ns - crn_now_ns()) > 0;) {
        struct pollfd item = {.fd = peer, .events = POLLIN};
        char bytes[512];
        if (poll(&item, 1, (int)(left_ns / CRN_NS_PER_MS) + 1) == 1 &&
            recv(peer, bytes, sizeof bytes, 0) <= 0)
            return 0;
    }
    return -ETIMEDOUT;
}
