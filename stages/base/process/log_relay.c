#include "stages/base/process/log_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "stages/base/log.h"
#include "stages/base/process/thread.h"

/* Some thousand lines. */
#define PIPE_BYTES (1 << 20)

/* How long the end of the process waits for a disk. */
#define PATIENCE_S 1

static int ends[2] = {-1, -1};
static pthread_t thread;

/* Copies what the pipe has; false at its end, or without any where it does not wait. */
static bool copy_some(void)
{
    char text[4096];
    ssize_t size;
    do {
        size = read(ends[0], text, sizeof text);
    } while (size < 0 && errno == EINTR);
    for (ssize_t done = 0, r; done < size; done += r) {
        r = write(STDERR_FILENO, text + done, (size_t)(size - done));
        if (r < 0)
            break; /* a full disk: the next lines may fit again */
    }
    return size > 0;
}

static void *run(void *unused)
{
    prctl(PR_SET_NAME, "log", 0, 0, 0);
    while (copy_some())
        continue;
    return unused;
}

void crn_log_relay_start(void)
{
    struct stat status;
    if (fstat(STDERR_FILENO, &status) < 0 || !S_ISREG(status.st_mode) || pipe2(ends, O_CLOEXEC) < 0)
        return;
    (void)fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES); /* else it has 64 KiB */
    fcntl(ends[1], F_SETFL, O_NONBLOCK);            /* where two threads find the last room */
    if (crn_thread_start(&thread, run, NULL) < 0) {
        close(ends[0]);
        close(ends[1]);
        ends[0] = ends[1] = -1;
        return;
    }
    crn_log_set_output(ends[1]);
}

void crn_log_relay_flush(void)
{
    if (ends[0] < 0)
        return;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    while (copy_some())
        continue;
}

void crn_log_relay_end(void)
{
    if (ends[0] < 0)
        return;
    crn_log_set_output(STDERR_FILENO);
    close(ends[1]);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    if (pthread_timedjoin_np(thread, NULL, &until) == 0)
        close(ends[0]); /* else the thread still reads it */
    ends[0] = ends[1] = -1;
}
