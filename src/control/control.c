#include "src/control/control.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/ingest/socket/listener.h"
#include "src/control/requests.h"
#include "stages/base/clock.h"
#include "stages/base/log.h"
#include "stages/base/process/thread.h"
#include "stages/base/utf8.h"

/* Below the workers' 10: a reload can wait, a view cannot. */
#define NICE 15

/* How often settings that are no longer in use are freed, and idle clients looked for. */
#define TICK_MS 1000

#define IDLE_NS (10 * CRN_NS_PER_S)

typedef struct client {
    int descriptor; /* -1: none */
    int64_t asked_ns;
    struct ucred who;
} client;

struct crn_control {
    crn_control_settings settings;
    crn_reloader *reloader;
    crn_listener listener;
    int wake_descriptor; /* readable: one of the next two was set */
    atomic_bool hung_up, stop;
    pthread_t thread;
    bool started;
    client clients[CRN_CONTROL_CLIENTS];
};

static void wake(crn_control *control, atomic_bool *what)
{
    uint64_t one = 1;
    atomic_store(what, true);
    /* The counter cannot overflow, so the write cannot fail. */
    if (write(control->wake_descriptor, &one, sizeof one) < 0)
        return;
}

void crn_control_hang_up(crn_control *control)
{
    wake(control, &control->hung_up);
}

/* --- clients --- */

static void drop(client *leaving)
{
    close(leaving->descriptor);
    leaving->descriptor = -1;
}

/* A free place, or that of the client that has asked nothing for the longest time: clients that
 * only stay must not keep others out. */
static client *find_place(crn_control *control)
{
    client *found = &control->clients[0];
    for (int i = 0; i < CRN_CONTROL_CLIENTS; i++) {
        client *one = &control->clients[i];
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
static void admit(crn_control *control)
{
    int descriptor =
        accept4(control->listener.descriptor, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor < 0)
        return;
    client *coming = find_place(control);
    socklen_t size = sizeof coming->who;
    *coming = (client){.descriptor = descriptor, .asked_ns = crn_now_ns()};
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &coming->who, &size) < 0)
        drop(coming);
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
static void answer(crn_control *control, client *asking, const char *request)
{
    char *text = NULL;
    size_t size = 0;
    char by[CRN_ALARM_BY_BYTES];
    FILE *out = open_memstream(&text, &size);
    snprintf(by, sizeof by, "user %u", (unsigned)asking->who.uid);
    if (crn_request_changes(request))
        crn_log(CRN_LOG_INFO, "control: '%s' by user %u, group %u, process %d", request,
                (unsigned)asking->who.uid, (unsigned)asking->who.gid, (int)asking->who.pid);
    if (out) {
        crn_request_answer(&control->settings, control->reloader, request, by, out);
        fclose(out);
    }
    if (text)
        size = cut(text, size);
    asking->asked_ns = crn_now_ns();
    if (!text || send(asking->descriptor, text, size, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)size)
        drop(asking);
    free(text);
}

static void serve(crn_control *control, client *asking)
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
    request[size] = '\0';
    request[strcspn(request, "\r\n")] = '\0';
    crn_utf8_clean(request); /* it goes to the log, and to terminals */
    answer(control, asking, request);
}

static void drop_idle(crn_control *control)
{
    int64_t idle_ns = control->settings.idle_ns ? control->settings.idle_ns : IDLE_NS;
    int64_t now_ns = crn_now_ns();
    for (int i = 0; i < CRN_CONTROL_CLIENTS; i++)
        if (control->clients[i].descriptor >= 0 && now_ns - control->clients[i].asked_ns > idle_ns)
            drop(&control->clients[i]);
}

/* --- the thread --- */

/* No watchdog: a file system that hangs may hold it up, and the line does without it. */

/* A reload without a client to answer: the log says how it went. */
static void reload(crn_control *control)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return;
    crn_request_reload(&control->settings, control->reloader, out);
    fclose(out);
    free(text);
}

static void wait_for_work(crn_control *control)
{
    struct pollfd polled[2 + CRN_CONTROL_CLIENTS];
    /* poll passes over negative descriptors. */
    polled[0] = (struct pollfd){.fd = control->wake_descriptor, .events = POLLIN};
    polled[1] = (struct pollfd){.fd = control->listener.descriptor, .events = POLLIN};
    for (int i = 0; i < CRN_CONTROL_CLIENTS; i++)
        polled[2 + i] = (struct pollfd){.fd = control->clients[i].descriptor, .events = POLLIN};
    if (poll(polled, 2 + CRN_CONTROL_CLIENTS, TICK_MS) <= 0)
        return;
    uint64_t count;
    if (polled[0].revents && read(control->wake_descriptor, &count, sizeof count) < 0)
        return;
    for (int i = 0; i < CRN_CONTROL_CLIENTS && !atomic_load(&control->stop); i++)
        if (polled[2 + i].revents)
            serve(control, &control->clients[i]);
    if (polled[1].revents)
        admit(control);
}

static void *run(void *argument)
{
    crn_control *control = argument;
    prctl(PR_SET_NAME, "control", 0, 0, 0);
    setpriority(PRIO_PROCESS, 0, NICE);
    while (!atomic_load(&control->stop)) {
        if (atomic_exchange(&control->hung_up, false))
            reload(control);
        crn_line_tidy(control->settings.reload.line);
        drop_idle(control);
        wait_for_work(control);
    }
    return NULL;
}

/* --- open and close --- */

/* Makes `link`, in a folder of this daemon's, lead to the socket, in the place of what lay there.
 */
static int make_link(const char *link, const char *path, crn_error *error)
{
    char whole[PATH_MAX];
    if (!realpath(path, whole) || (unlink(link) < 0 && errno != ENOENT) || symlink(whole, link) < 0)
        return crn_error_set(error, -errno,
                             "control.path: cannot make the link '%s' to it, by which systemctl "
                             "reload finds it: %s",
                             link, strerror(errno));
    return 0;
}

/* Listens at control.path. Elsewhere than where the unit has it, a link there leads to it. */
static int listen_to_clients(crn_control *control, crn_error *error)
{
    const crn_config *config = control->settings.reload.running;
    const char *path = config->control.path, *of_unit = config->control.unit_path;
    bool elsewhere = of_unit[0] && strcmp(path, of_unit) != 0;
    if (!path[0])
        return 0;
    int r = crn_listener_open("control.path", path, &control->listener, error);
    if (r == 0 && elsewhere)
        r = make_link(of_unit, path, error);
    if (r == 0)
        crn_log(CRN_LOG_INFO, "control: cernitactl asks at %s%s%s", path,
                elsewhere    ? ", and by the link "
                : of_unit[0] ? ", of the folder that systemd gave"
                             : "",
                elsewhere ? of_unit : "");
    return r;
}

int crn_control_open(const crn_control_settings *settings, crn_control **ret_control,
                     crn_error *error)
{
    crn_control *control = calloc(1, sizeof *control);
    if (!control)
        return crn_error_set(error, -ENOMEM, "control: no memory");
    control->settings = *settings;
    control->listener.descriptor = -1;
    for (int i = 0; i < CRN_CONTROL_CLIENTS; i++)
        control->clients[i].descriptor = -1;
    control->wake_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r = control->wake_descriptor < 0 ? -errno : 0;
    if (r == 0)
        r = crn_reloader_create(&control->settings.reload, &control->reloader);
    if (r < 0)
        crn_error_set(error, r, "control: %s", strerror(-r));
    if (r == 0)
        r = listen_to_clients(control, error);
    if (r == 0) {
        r = crn_thread_start(&control->thread, run, control);
        control->started = r == 0;
        if (r < 0)
            crn_error_set(error, r, "control: cannot start its thread: %s", strerror(-r));
    }
    if (r < 0)
        crn_control_close(&control);
    else
        *ret_control = control;
    return r;
}

void crn_control_close(crn_control **control)
{
    crn_control *closing = *control;
    if (!closing)
        return;
    if (closing->started) {
        wake(closing, &closing->stop);
        pthread_join(closing->thread, NULL);
    }
    for (int i = 0; i < CRN_CONTROL_CLIENTS; i++)
        if (closing->clients[i].descriptor >= 0)
            drop(&closing->clients[i]);
    crn_listener_close(&closing->listener);
    crn_reloader_free(&closing->reloader);
    if (closing->wake_descriptor >= 0)
        close(closing->wake_descriptor);
    free(closing);
    *control = NULL;
}
