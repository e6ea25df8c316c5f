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
#include <unistd.h>

#include "src/control/requests.h"
#include "src/service/control_socket.h"
#include "stages/base/log.h"
#include "stages/base/process/thread.h"

/* Below the workers' 10: a reload can wait, a view cannot. */
#define NICE 15

/* How often settings that are no longer in use are freed, a recipe or lot that is not kept is tried
 * again, and idle clients are looked for at least. */
#define TICK_MS 1000

struct crn_control {
    crn_request_target target;
    crn_control_socket *socket;
    int wake_descriptor; /* readable: one of the next two was set */
    atomic_bool hung_up, stop;
    atomic_int hung_up_user, hung_up_process; /* who sent the signal */
    pthread_t thread;
    bool started;
};

static void wake(crn_control *control, atomic_bool *what)
{
    uint64_t one = 1;
    atomic_store(what, true);
    /* The counter cannot overflow, so the write cannot fail. */
    if (write(control->wake_descriptor, &one, sizeof one) < 0)
        return;
}

void crn_control_hang_up(crn_control *control, uid_t user, pid_t process)
{
    atomic_store(&control->hung_up_user, (int)user);
    atomic_store(&control->hung_up_process, process);
    wake(control, &control->hung_up);
}

/* --- requests --- */

static void answer(void *context, const char *request, const crn_control_asker *asker, FILE *out)
{
    crn_control *control = context;
    const crn_changed_by by = {"control", asker->user, asker->process};
    if (crn_request_changes(request))
        crn_log(CRN_LOG_INFO, "control: '%s' by user %u, group %u, process %d", request,
                (unsigned)asker->user, (unsigned)asker->group, (int)asker->process);
    crn_request_answer(&control->target, request, &by, out);
}

/* --- the thread --- */

/* No watchdog: a file system that hangs may hold it up, and the line does without it. */

/* A reload without a client to answer: the log says how it went. */
static void reload(crn_control *control)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const crn_changed_by by = {"signal", (uid_t)atomic_load(&control->hung_up_user),
                               atomic_load(&control->hung_up_process)};
    if (!out)
        return;
    crn_request_reload(&control->target, &by, out);
    fclose(out);
    free(text);
}

static void wait_for_work(crn_control *control)
{
    int descriptors[CRN_CONTROL_DESCRIPTORS];
    struct pollfd polled[1 + CRN_CONTROL_DESCRIPTORS];
    crn_control_socket_descriptors(control->socket, descriptors);
    polled[0] = (struct pollfd){.fd = control->wake_descriptor, .events = POLLIN};
    for (int i = 0; i < CRN_CONTROL_DESCRIPTORS; i++)
        polled[1 + i] = (struct pollfd){.fd = descriptors[i], .events = POLLIN};
    if (poll(polled, 1 + CRN_CONTROL_DESCRIPTORS, TICK_MS) < 0)
        return;
    uint64_t count;
    if (polled[0].revents && read(control->wake_descriptor, &count, sizeof count) < 0)
        return;
    if (!atomic_load(&control->stop))
        crn_control_socket_serve(control->socket);
}

static void *run(void *argument)
{
    crn_control *control = argument;
    prctl(PR_SET_NAME, "control", 0, 0, 0);
    setpriority(PRIO_PROCESS, 0, NICE);
    while (!atomic_load(&control->stop)) {
        if (atomic_exchange(&control->hung_up, false))
            reload(control);
        crn_line_tidy(control->target.settings.reload.line);
        crn_reloader_keep_again(control->target.reloader);
        crn_lots_keep_again(&control->target.lots);
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
    const crn_config *config = control->target.settings.reload.running;
    const char *path = config->control.path, *of_unit = config->control.unit_path;
    bool elsewhere = of_unit[0] && strcmp(path, of_unit) != 0;
    const crn_control_plan plan = {.path = path,
                                   .answer = answer,
                                   .context = control,
                                   .idle_ns = control->target.settings.idle_ns};
    int r = crn_control_socket_open(&plan, &control->socket, error);
    if (!path[0])
        return r;
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

static void note_changes_kept(void *context, int result)
{
    crn_line_note_changes_kept(context, result);
}

static void note_changes_wait(void *context, int64_t since_ns)
{
    crn_line_note_changes_wait(context, since_ns);
}

/* Opens the log of changes, and what puts them into force. */
static int open_reloader(crn_control *control, crn_error *error)
{
    crn_reload_settings *from = &control->target.settings.reload;
    const crn_changes_plan plan = {.dir = from->running->state.dir,
                                   .note = note_changes_kept,
                                   .waits = note_changes_wait,
                                   .context = from->line};
    int r = crn_changes_open(&plan, &from->changes);
    if (r == 0)
        r = crn_reloader_create(from, &control->target.reloader);
    return r < 0 ? crn_error_set(error, r, "control: %s", strerror(-r)) : 0;
}

int crn_control_open(const crn_control_settings *settings, crn_control **ret_control,
                     crn_error *error)
{
    crn_control *control = calloc(1, sizeof *control);
    if (!control)
        return crn_error_set(error, -ENOMEM, "control: no memory");
    crn_request_target *target = &control->target;
    target->settings = *settings;
    target->lots = (crn_lots){.from = &target->settings.reload, .lot = settings->lot};
    control->wake_descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r = control->wake_descriptor < 0
                ? crn_error_set(error, -errno, "control: %s", strerror(errno))
                : open_reloader(control, error);
    if (r == 0)
        r = listen_to_clients(control, error);
    if (r == 0) {
        crn_reloader_note(target->reloader, "start", settings->lot.id);
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
        crn_reloader_note(closing->target.reloader, "stop", closing->target.lots.lot.id);
    }
    crn_control_socket_close(&closing->socket);
    crn_reloader_free(&closing->target.reloader);
    crn_changes_close(&closing->target.settings.reload.changes);
    if (closing->wake_descriptor >= 0)
        close(closing->wake_descriptor);
    free(closing);
    *control = NULL;
}
