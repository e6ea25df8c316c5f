#include "tests/support/nats/nats_server.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/cleanup.h"
#include "tests/support/programs/shell.h"

#define PROGRAM "/usr/sbin/nats-server"

bool nats_server_is_installed(void)
{
    return access(PROGRAM, X_OK) == 0;
}

static bool does_answer(pid_t child, void *server)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)((nats_server *)server)->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char hello[5];
    (void)child;
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_there = connect(connection, (struct sockaddr *)&address, sizeof address) == 0 &&
                    recv(connection, hello, sizeof hello, MSG_WAITALL) == sizeof hello;
    close(connection);
    return is_there;
}

void nats_server_start(nats_server *server)
{
    char path[256];
    snprintf(path, sizeof path, "%s/nats.conf", server->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "listen: 127.0.0.1:%d\njetstream { store_dir: \"%s/streams\" }\nlog_file: "
            "\"%s/nats.log\"\n%s\n",
            server->port, server->folder, server->folder, server->settings ? server->settings : "");
    assert_int_equal(fclose(file), 0);
    server->pid = crn_cleanup_fork();
    assert_true(server->pid >= 0);
    if (server->pid == 0) {
        execl(PROGRAM, PROGRAM, "-c", path, NULL);
        _exit(1);
    }
    crn_test_await(server->pid, does_answer, server);
}

void nats_server_kill(nats_server *server)
{
    kill(server->pid, SIGKILL);
    crn_cleanup_wait(server->pid, NULL);
    server->pid = 0;
}
