/*
 * Jobs, one after the other, each in a child process: a file that crashes a decoder, a picture that
 * takes all memory or a GPU that hangs ends the job and not the program, and a job can be killed at
 * any time. The program itself has one thread and uses neither OpenMP nor a device, which a child
 * could not go on with.
 */
#ifndef CRN_TOOLS_WORKBENCH_JOBS_H
#define CRN_TOOLS_WORKBENCH_JOBS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tools/workbench/store.h"

#define CRN_JOB_TOKEN_BYTES   33
#define CRN_JOB_PICTURES_MAX  2
#define CRN_JOB_PROGRESS_UNIT 16

/* Memory that a job shares with the program. */
typedef struct crn_job_report {
    atomic_uint_least64_t done, total;
    char unit[CRN_JOB_PROGRESS_UNIT];
    /* The files that it made, by the names that it was given. */
    int32_t picture_count;
    crn_picture_facts pictures[CRN_JOB_PICTURES_MAX];
} crn_job_report;

/*
 * What a job does, in the child, whose folder is the store's: prints its answer on stdout, and on
 * stderr a line for people. Returns the exit status, 0 for success.
 */
typedef int crn_job_run(const void *settings, crn_job_report *report);

/* How a job ended. */
typedef struct crn_job_end {
    bool cancelled;
    int status; /* exit status; -1: killed by `signal` */
    int signal;
    int output; /* memory with what it printed; the receiver closes it */
    char *said; /* what it said on stderr; the receiver frees it */
    crn_job_report report;
} crn_job_end;

typedef void crn_job_ended(void *owner, crn_job_end *end);

typedef struct crn_workbench_job {
    char token[CRN_JOB_TOKEN_BYTES]; /* made up by the client; "": it cannot be cancelled */
    crn_job_run *run;
    const void *settings; /* the owner's */
    int64_t limit_s;      /* of processor time; 0: none */
    crn_job_ended *ended; /* called once, unless the job is abandoned */
    void *owner;

    /* jobs.c's own. */
    struct crn_workbench_job *next;
    pid_t child;
    int process; /* pidfd */
    int output, said;
    int64_t started_ns;
    bool cancelled;
    crn_job_report *report;
} crn_workbench_job;

typedef struct crn_jobs {
    const char *folder;
    int interrupt;            /* ends crn_jobs_run_now once it is readable; -1: none */
    crn_workbench_job *first; /* the running one, then those that wait */
} crn_jobs;

#define CRN_JOBS_MAX 32

/* Lets a job wait until crn_jobs_step begins it; it stays the caller's until `ended` was called. 0,
 * or -EBUSY: too many wait. */
int crn_jobs_add(crn_jobs *jobs, crn_workbench_job *job);

/* Runs a job to its end at once; `ended` is called before the return. For the program's start. 0,
 * -EINTR (interrupted) or another negative errno. */
int crn_jobs_run_now(crn_jobs *jobs, crn_workbench_job *job);

/* Readable when the running job has ended; -1: none runs. */
int crn_jobs_descriptor(const crn_jobs *jobs);

/* Ends a job whose process has ended, and begins the next. */
void crn_jobs_step(crn_jobs *jobs);

/* Kills or removes the job; it ends as cancelled. False: there is none. */
bool crn_jobs_cancel(crn_jobs *jobs, const char *token);

/* The same for a job whose client has left: `ended` is called as for any other. */
void crn_jobs_cancel_one(crn_jobs *jobs, crn_workbench_job *job);

/* The job and how many are before it; NULL: there is none. */
const crn_workbench_job *crn_jobs_find(const crn_jobs *jobs, const char *token, int *ret_ahead);

/* Kills all; nothing is called. */
void crn_jobs_close(crn_jobs *jobs);

#endif
