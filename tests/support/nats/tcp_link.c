#include "tests/support/nats/tcp_link.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/cleanup.h"

static struct sockaddr_in address_of(int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* False once one end has closed. */
static bool pass(int from, int to)
{
    char bytes[65536];
    ssize_t count = recv(from, bytes, sizeof bytes, 0);
    for (ssize_t sent = 0; sent < count;) {
        ssize_t more = send(to, bytes + sent, (size_t)(count - sent), MSG_NOSIGNAL);
        if (more <= 0)
            return false;
        sent += more;
    }
    return count > 0;
}

/* In a process of its own, which ends with the link's. */
static void forward(int client, int port)
{
    struct sockaddr_in address = address_of(port);
    int server = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(server, (struct sockaddr *)&address, sizeof address) < 0)
        return;
    struct pollfd ends[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
    bool is_open = true;
    while (is_open && poll(ends, 2, -1) > 0)
        for (int i = 0; i < 2 && is_open; i++)
            if (ends[i].revents)
                is_open = pass(ends[i].fd, ends[1 - i].fd);
}

static void run(int listener, int port)
{
    pid_t self = getpid();
    signal(SIGCHLD, SIG_IGN);
    for (;;) {
        int client = accept(listener, NULL, NULL);
        if (client < 0 || fork() > 0) {
            close(client);
            continue;
        }
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(listener);
        if (getppid() == self)
            forward(client, port);
        _exit(0);
    }
}

void tcp_link_start(tcp_link *link)
{
    struct sockaddr_in address = address_of(link->port);
    int on = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 16), 0);
    link->pid = crn_cleanup_fork();
    assert_true(link->pid >= 0);
    if (link->pid == 0) {
        setpgid(0, 0);
        run(listener, link->to);
    }
    setpgid(link->pid, link->pid);
    close(listener);
}

void tcp_link_cut(tcp_link *link)
{
    kill(-link->pid, SIGKILL);
    crn_cleanup_wait(link->pid, NULL);
    link->pid = 0;
}

void tcp_link_hold(const tcp_link *link)
{
    kill(-link->pid, SIGSTOP);
}

void tcp_link_go_on(const tcp_link *link)
{
    kill(-link->pid, SIGCONT);
}
