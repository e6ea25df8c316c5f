#include "tools/workbench/jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stages/base/clock.h"
#include "tools/common/progress.h"

/* What a job says on stderr is a few lines. */
#define SAID_BYTES_MAX (64 << 10)

/* --- the child -------------------------------------------------------------------------------- */

static crn_job_report *watched; /* in the child */

static void note_progress(const char *unit, uint64_t done, uint64_t total)
{
    snprintf(watched->unit, sizeof watched->unit, "%s", unit);
    atomic_store(&watched->total, total);
    atomic_store(&watched->done, done);
}

/* Makes the kernel choose this process first when memory runs out. */
static void volunteer_for_oom(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)!write(fd, "800", 3); /* where that is not allowed, all are equal */
    close(fd);
}

static _Noreturn void run_child(const crn_workbench_job *job, const char *folder, pid_t parent)
{
    sigset_t none;
    sigemptyset(&none);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "workbench-job", 0, 0, 0);
    if (getppid() != parent)
        _exit(1);
    volunteer_for_oom();
    /* At the first of both SIGXCPU ends it, which tells this end from others. */
    struct rlimit seconds = {(rlim_t)job->limit_s, (rlim_t)job->limit_s + 1};
    if (job->limit_s)
        setrlimit(RLIMIT_CPU, &seconds);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (dup2(job->output, STDOUT_FILENO) < 0 || dup2(job->said, STDERR_FILENO) < 0 ||
        chdir(folder) < 0)
        _exit(1);
    close_range(STDERR_FILENO + 1, ~0U, 0); /* the clients' connections, the lock */
    sigprocmask(SIG_SETMASK, &none, NULL);
    watched = job->report;
    crn_progress_watch(note_progress);
    int status = job->run(job->settings, job->report);
    if (fflush(stdout) != 0 && status == 0) {
        fprintf(stderr, "the answer could not be stored: %s\n", strerror(errno));
        status = 1;
    }
    _exit(status);
}

/* --- the program ------------------------------------------------------------------------------ */

static void release(crn_workbench_job *job)
{
    if (job->report)
        munmap(job->report, sizeof *job->report);
    if (job->process >= 0)
        close(job->process);
    if (job->output >= 0)
        close(job->output);
    if (job->said >= 0)
        close(job->said);
    job->report = NULL;
    job->process = job->output = job->said = -1;
}

static int start(const crn_jobs *jobs, crn_workbench_job *job)
{
    job->report =
        mmap(NULL, sizeof *job->report, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (job->report == MAP_FAILED)
        job->report = NULL;
    job->output = memfd_create("answer", MFD_CLOEXEC);
    job->said = memfd_create("messages", MFD_CLOEXEC);
    if (!job->report || job->output < 0 || job->said < 0)
        return -ENOMEM;
    pid_t parent = getpid();
    fflush(NULL); /* or the child would print it, too */
    job->started_ns = crn_now_ns();
    job->child = fork();
    if (job->child < 0)
        return -errno;
    if (job->child == 0)
        run_child(job, jobs->folder, parent);
    job->process = (int)syscall(SYS_pidfd_open, job->child, 0);
    if (job->process >= 0)
        return 0;
    int r = -errno;
    kill(job->child, SIGKILL);
    waitpid(job->child, NULL, 0);
    return r;
}

static char *read_said(int fd)
{
    char *text = calloc(1, SAID_BYTES_MAX + 1);
    ssize_t size = text && fd >= 0 ? pread(fd, text, SAID_BYTES_MAX, 0) : 0;
    if (text)
        text[size > 0 ? size : 0] = '\0';
    return text;
}

/* The first job has ended, or never began (r < 0): tells its owner, who frees it. */
static void end_first(crn_jobs *jobs, int r)
{
    crn_workbench_job *job = jobs->first;
    crn_job_end end = {.cancelled = job->cancelled, .status = 1, .output = -1};
    jobs->first = job->next;
    if (r == 0 && job->child > 0) {
        siginfo_t info = {0};
        waitid(P_PID, (id_t)job->child, &info, WEXITED);
        end.status = info.si_code == CLD_EXITED ? info.si_status : -1;
        end.signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
        end.said = read_said(job->said);
        end.report = *job->report;
        end.output = job->output;
        job->output = -1;
    } else if (r < 0 && !job->cancelled &&
               asprintf(&end.said, "no job can be started: %s", strerror(-r)) < 0) {
        end.said = NULL;
    }
    release(job);
    job->ended(job->owner, &end);
}

/* Begins the first job if it has not begun; those that cannot begin end. */
static void start_first(crn_jobs *jobs)
{
    while (jobs->first && !jobs->first->child) {
        int r = start(jobs, jobs->first);
        if (r == 0)
            return;
        jobs->first->child = 0;
        end_first(jobs, r);
    }
}

static void prepare(crn_workbench_job *job)
{
    job->next = NULL;
    job->child = 0;
    job->process = job->output = job->said = -1;
    job->report = NULL;
    job->cancelled = false;
}

static bool is_full(const crn_jobs *jobs)
{
    int count = 0;
    for (const crn_workbench_job *job = jobs->first; job; job = job->next)
        count++;
    return count >= CRN_JOBS_MAX;
}

int crn_jobs_add(crn_jobs *jobs, crn_workbench_job *job)
{
    crn_workbench_job **at = &jobs->first;
    if (is_full(jobs))
        return -EBUSY;
    while (*at)
        at = &(*at)->next;
    prepare(job);
    *at = job;
    return 0;
}

int crn_jobs_run_now(crn_jobs *jobs, crn_workbench_job *job)
{
    int r = crn_jobs_add(jobs, job);
    if (r == 0)
        start_first(jobs);
    while (r == 0 && jobs->first) {
        struct pollfd polled[] = {{.fd = jobs->first->process, .events = POLLIN},
                                  {.fd = jobs->interrupt, .events = POLLIN}};
        (void)poll(polled, 2, -1);
        if (polled[1].revents & POLLIN) {
            crn_jobs_cancel_one(jobs, job);
            (void)poll(polled, 1, -1);
            r = -EINTR;
        }
        crn_jobs_step(jobs);
    }
    return r;
}

int crn_jobs_descriptor(const crn_jobs *jobs)
{
    return jobs->first ? jobs->first->process : -1;
}

void crn_jobs_step(crn_jobs *jobs)
{
    if (jobs->first) {
        struct pollfd ended = {.fd = jobs->first->process, .events = POLLIN};
        if (poll(&ended, 1, 0) == 1)
            end_first(jobs, 0);
    }
    start_first(jobs);
}

void crn_jobs_cancel_one(crn_jobs *jobs, crn_workbench_job *job)
{
    job->cancelled = true;
    if (job->child > 0) {
        kill(job->child, SIGKILL); /* it ends in crn_jobs_step */
        return;
    }
    for (crn_workbench_job **at = &jobs->first; *at; at = &(*at)->next) {
        if (*at != job)
            continue;
        *at = job->next;
        crn_job_end end = {.cancelled = true, .status = 1, .output = -1};
        job->ended(job->owner, &end);
        return;
    }
}

bool crn_jobs_cancel(crn_jobs *jobs, const char *token)
{
    for (crn_workbench_job *job = jobs->first; job && *token; job = job->next)
        if (strcmp(job->token, token) == 0) {
            crn_jobs_cancel_one(jobs, job);
            return true;
        }
    return false;
}

const crn_workbench_job *crn_jobs_find(const crn_jobs *jobs, const char *token, int *ret_ahead)
{
    *ret_ahead = 0;
    for (const crn_workbench_job *job = jobs->first; job; job = job->next, ++*ret_ahead)
        if (*token && strcmp(job->token, token) == 0)
            return job;
    return NULL;
}

void crn_jobs_close(crn_jobs *jobs)
{
    for (crn_workbench_job *job = jobs->first; job; job = job->next)
        if (job->child > 0) {
            kill(job->child, SIGKILL);
            waitpid(job->child, NULL, 0);
            release(job);
        }
    jobs->first = NULL;
}
