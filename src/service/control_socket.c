#include "src/service/control_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/service/listener.h"
#include "stages/base/clock.h"
#include "stages/base/utf8.h"

#define IDLE_NS (10 * CRN_NS_PER_S)

typedef struct control_client {
    int descriptor; /* -1: none */
    int64_t asked_ns;
    crn_control_asker who;
} control_client;

struct crn_control_socket {
    crn_control_plan plan;
    crn_listener listener;
    control_client clients[CRN_CONTROL_CLIENTS];
};

int crn_control_socket_open(const crn_control_plan *plan, crn_control_socket **ret_socket,
                            crn_error *error)
{
    crn_control_socket *self = calloc(1, sizeof *self);
    if (!self)
        return crn_error_set(error, -ENOMEM, "control: no memory");
    self->plan = *plan;
    self->listener.descriptor = -1;
    for (int i = 0; i < CRN_CONTROL_CLIENTS; i++)
        self->clients[i].descriptor = -1;
    int r =
        plan->path[0] ? crn_listener_open("control.path", plan->path, &self->listener, error) : 0;
    if (r < 0)
        free(self);
    else
        *ret_socket = self;
    return r;
}

static void drop(control_client *leaving)
{
    close(leaving->descriptor);
    leaving->descriptor = -1;
}

void crn_control_socket_close(crn_control_socket **socket)
{
    crn_control_socket *self = *socket;
    if (!self)
        return;
    for (int i = 0; i < CRN_CONTROL_CLIENTS; i++)
        if (self->clients[i].descriptor >= 0)
            drop(&self->clients[i]);
    crn_listener_close(&self->listener);
    free(self);
    *socket = NULL;
}

void crn_control_socket_descriptors(const crn_control_socket *self,
                                    int ret_descriptors[CRN_CONTROL_DESCRIPTORS])
{
    ret_descriptors[0] = self->listener.descriptor;
    for (int i = 0; i < CRN_CONTROL_CLIENTS; i++)
        ret_descriptors[1 + i] = self->clients[i].descriptor;
}

/* A free place, or that of the client that has asked nothing for the longest time: clients that
 * only stay must not keep others out. */
static control_client *find_place(crn_control_socket *self)
{
    control_client *found = &self->clients[0];
    for (int i = 0; i < CRN_CONTROL_CLIENTS; i++) {
        control_client *one = &self->clients[i];
        if (one->descriptor < 0)
            return one;
        if (one->asked_ns < found->asked_ns)
            found = one;
    }
    drop(found);
    return found;
}

/* Accepts one client at a time: its request is looked for before the next one can take its place.
 */
static void admit(crn_control_socket *self)
{
    struct ucred who;
    socklen_t size = sizeof who;
    int descriptor = accept4(self->listener.descriptor, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor < 0)
        return;
    control_client *coming = find_place(self);
    *coming = (control_client){.descriptor = descriptor, .asked_ns = crn_now_ns()};
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &who, &size) < 0)
        drop(coming);
    else
        coming->who = (crn_control_asker){.user = who.uid, .group = who.gid, .process = who.pid};
}

/* Cuts an answer that is too long after a whole line, and says so. */
static size_t cut(char *text, size_t size)
{
    static const char more[] = "...\n";
    if (size <= CRN_CONTROL_ANSWER_BYTES)
        return size;
    size = CRN_CONTROL_ANSWER_BYTES - strlen(more);
    while (size > 0 && text[size - 1] != '\n')
        size--;
    memcpy(text + size, more, strlen(more));
    return size + strlen(more);
}

/* Sends the answer as one packet; a client that does not read is dropped. */
static void answer(crn_control_socket *self, control_client *asking, const char *request)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out) {
        self->plan.answer(self->plan.context, request, &asking->who, out);
        fclose(out);
    }
    if (text)
        size = cut(text, size);
    asking->asked_ns = crn_now_ns();
    if (!text || send(asking->descriptor, text, size, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)size)
        drop(asking);
    free(text);
}

/* Takes the line end off. One in the middle, or a zero, must not cut the request unseen: what does
 * not print becomes question marks, as it goes to the log, and to terminals. */
static void clean(char *request, size_t size)
{
    while (size > 0 && (request[size - 1] == '\n' || request[size - 1] == '\r'))
        size--;
    request[size] = '\0';
    for (char *zero; (zero = memchr(request, '\0', size)) != NULL;)
        *zero = '?';
    crn_utf8_clean(request);
}

static void serve_client(crn_control_socket *self, control_client *asking)
{
    char request[CRN_CONTROL_REQUEST_BYTES + 1];
    ssize_t size =
        recv(asking->descriptor, request, CRN_CONTROL_REQUEST_BYTES, MSG_DONTWAIT | MSG_TRUNC);
    if (size < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (size <= 0 || size > CRN_CONTROL_REQUEST_BYTES) {
        drop(asking);
        return;
    }
    clean(request, (size_t)size);
    answer(self, asking, request);
}

static void drop_idle(crn_control_socket *self)
{
    int64_t idle_ns = self->plan.idle_ns ? self->plan.idle_ns : IDLE_NS;
    int64_t now_ns = crn_now_ns();
    for (int i = 0; i < CRN_CONTROL_CLIENTS; i++)
        if (self->clients[i].descriptor >= 0 && now_ns - self->clients[i].asked_ns > idle_ns)
            drop(&self->clients[i]);
}

void crn_control_socket_serve(crn_control_socket *self)
{
    if (self->listener.descriptor < 0)
        return;
    for (int i = 0; i < CRN_CONTROL_CLIENTS; i++)
        if (self->clients[i].descriptor >= 0)
            serve_client(self, &self->clients[i]);
    drop_idle(self);
    admit(self);
}

void crn_control_answer_change(crn_control_change *change, void *context, FILE *copy, FILE *out)
{
    char *text = NULL;
    size_t size = 0;
    FILE *lines = open_memstream(&text, &size);
    if (!lines) {
        fputs("refused\nno memory\n", out);
        return;
    }
    int r = change(context, lines);
    fclose(lines);
    if (copy && text)
        fputs(text, copy);
    fprintf(out, "%s\n%s", r == 0 ? "ok" : "refused", text ? text : "");
    free(text);
}
