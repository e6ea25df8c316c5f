/* What the command line names, and jobs that run before the page is served. */
#ifndef CRN_TOOLS_WORKBENCH_GIVEN_H
#define CRN_TOOLS_WORKBENCH_GIVEN_H

#include "tools/workbench/tasks/tasks.h"
#include "tools/workbench/workbench.h"

/* Runs a job to its end; *ret_end is to be freed. 0, -EINTR (a signal), -EIO if it failed, or
 * another negative errno. */
int crn_start_run(crn_workbench *bench, crn_job_run *run, const crn_task *task,
                  crn_job_end *ret_end);
void crn_start_end_free(crn_job_end *end);

/* Opens a file of the command line, which is read where it lies. `ret_picture` may be NULL. 0, or
 * negative errno with one line. */
int crn_given_open(crn_workbench *bench, const char *path, crn_stored **ret_picture,
                   crn_error *error);

/*
 * Opens files and folders of recordings, which become bench->sources, and checks its archive or
 * log. Of a folder, what cannot be read is told on stderr and passed over, and so are links that
 * lead out of it. 0, or negative errno with one line.
 */
int crn_given_open_all(crn_workbench *bench, int count, char *const *paths, crn_error *error);

/* Frees what bench->sources holds. */
void crn_given_close(crn_workbench *bench);

#endif
