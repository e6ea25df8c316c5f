#include "tests/support/peers/notify_socket.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/support/cmocka_prelude.h"

#define PATIENCE_MS 60000

int notify_socket_open(const char *folder)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/notify", folder);
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(descriptor >= 0);
    assert_int_equal(bind(descriptor, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(setenv("NOTIFY_SOCKET", address.sun_path, 1), 0);
    return descriptor;
}

const char *notify_socket_await(int descriptor, const char *wanted, const char *unwanted)
{
    static char message[4096];
    for (;;) {
        struct pollfd polled = {.fd = descriptor, .events = POLLIN};
        if (poll(&polled, 1, PATIENCE_MS) != 1)
            fail_msg("no message with %s", wanted);
        ssize_t size = recv(descriptor, message, sizeof message - 1, 0);
        assert_true(size >= 0);
        message[size] = '\0';
        if (strstr(message, wanted))
            return message;
        if (unwanted && strstr(message, unwanted))
            fail_msg("%s came before %s", message, wanted);
    }
}
