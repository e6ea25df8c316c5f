#include "tools/workbench/given.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/base/buffer/array.h"
#include "tools/common/recordings.h"
#include "tools/workbench/fruits/sources.h"
#include "tools/workbench/tasks/tasks.h"

/* Of processor time, for a file of the command line. */
#define START_LIMIT_S 600

/* Of a folder's recordings, so many are in the list of pictures as well; reading their headers
 * takes time, and the list's room is for more. */
#define FOLDER_OPENED_MAX 32

/* --- jobs ------------------------------------------------------------------------------------- */

/* A job at the start, whose end is kept. */
static void keep_end(void *owner, crn_job_end *end)
{
    *(crn_job_end *)owner = *end;
}

int crn_start_run(crn_workbench *bench, crn_job_run *run, const crn_task *task,
                  crn_job_end *ret_end)
{
    crn_workbench_job job = {.run = run,
                             .settings = task,
                             .limit_s = START_LIMIT_S,
                             .ended = keep_end,
                             .owner = ret_end};
    int r = crn_jobs_run_now(&bench->jobs, &job);
    if (r == 0 && ret_end->cancelled)
        r = -EINTR;
    if (r == 0 && ret_end->status != 0)
        r = -EIO;
    return r;
}

void crn_start_end_free(crn_job_end *end)
{
    if (end->output > 0)
        close(end->output);
    free(end->said);
    *end = (crn_job_end){0};
}

/* --- files ------------------------------------------------------------------------------------ */

/* A file of the command line is read where it lies, through a link. */
int crn_given_open(crn_workbench *bench, const char *path, crn_stored **ret_picture,
                   crn_error *error)
{
    crn_task task = {0};
    crn_job_end end = {0};
    char *whole = realpath(path, NULL);
    if (!whole)
        return crn_error_set(error, -errno, "%s: %s", path, strerror(errno));
    int r = crn_store_reserve(&bench->store, path, task.in);
    if (r == 0) {
        crn_store_remove_file(&bench->store, task.in);
        r = symlinkat(whole, bench->store.folder_fd, task.in) < 0 ? -errno : 0;
    }
    if (r < 0)
        crn_error_set(error, r, "%s: %s", path, strerror(-r));
    free(whole);
    if (r < 0)
        return r;
    r = crn_start_run(bench, crn_task_open, &task, &end);
    crn_stored *picture =
        r < 0 ? NULL : crn_store_add(&bench->store, task.in, &end.report.pictures[0], false);
    if (picture) {
        picture->given = true;
        crn_store_original(path, picture->original);
    } else if (end.status < 0) {
        r = crn_error_set(error, -EIO, "%s: reading it ended by signal %d", path, end.signal);
    } else {
        r = crn_error_set(error, r < 0 ? r : -ENOMEM, "%.*s",
                          end.said ? (int)strcspn(end.said, "\n") : 0, end.said ? end.said : "");
    }
    crn_start_end_free(&end);
    if (ret_picture)
        *ret_picture = picture;
    return picture ? 0 : r;
}

/* Takes ownership of the whole path. */
static int add_named(crn_workbench *bench, char *path)
{
    crn_fruit_sources *sources = &bench->sources;
    if (!path || crn_array_grow(&sources->named, (size_t)sources->named_count, sizeof path) < 0) {
        free(path);
        return -ENOMEM;
    }
    sources->named[sources->named_count++] = path;
    return 0;
}

static int no_memory(const char *path, crn_error *error)
{
    return crn_error_set(error, -ENOMEM, "%s: no memory for its name", path);
}

static void tell(const char *text)
{
    fprintf(stderr, "cernita-workbench: %s\n", text);
}

/* --- folders ---------------------------------------------------------------------------------- */

/* A file of a folder that cannot be read is told, and the others are opened. 0, or -ENOMEM or
 * -EINTR. */
static int open_in_folder(crn_workbench *bench, const char *folder, const char *path, bool in_list,
                          crn_error *error)
{
    char *whole = NULL;
    int r = crn_fruit_source_in(folder, path, &whole);
    if (r == -ENOMEM)
        return no_memory(path, error);
    if (r < 0) {
        fprintf(stderr,
                r == -EXDEV ? "cernita-workbench: %s: passed over: a link that leads out of the "
                              "folder: name its file itself\n"
                            : "cernita-workbench: %s: passed over: a link that leads nowhere, or "
                              "not a file of this user\n",
                path);
        return 0;
    }
    free(whole);
    r = in_list ? crn_given_open(bench, path, NULL, error) : 0;
    if (r < 0 && r != -EINTR)
        tell(error->text);
    return r == -EINTR ? r : 0;
}

static int open_folder(crn_workbench *bench, const char *path, crn_error *error)
{
    crn_recordings list = {0};
    char *folder = realpath(path, NULL);
    int r = folder ? crn_recordings_list(&path, 1, &list, error)
                   : crn_error_set(error, -errno, "%s: %s", path, strerror(errno));
    for (int i = 0; r == 0 && i < list.count; i++)
        r = open_in_folder(bench, folder, list.paths[i], i < FOLDER_OPENED_MAX, error);
    if (r == 0 && list.count > FOLDER_OPENED_MAX)
        fprintf(stderr,
                "cernita-workbench: %s: its first %d of %d recordings are in the list of pictures; "
                "the Fruits mode has the fruits of all\n",
                path, FOLDER_OPENED_MAX, list.count);
    crn_recordings_free(&list);
    if (r == 0 && add_named(bench, folder) < 0)
        return no_memory(path, error);
    if (r < 0)
        free(folder);
    return r;
}

static int open_file(crn_workbench *bench, const char *path, crn_error *error)
{
    crn_stored *picture = NULL;
    int r = crn_given_open(bench, path, &picture, error);
    if (r == 0 && picture->facts.kind == CRN_PICTURE_RECORDING &&
        add_named(bench, realpath(path, NULL)) < 0)
        r = no_memory(path, error);
    return r;
}

/* A source of verdicts by its whole path, as jobs run in another folder. */
static int find_source(const char **path, char ret_whole[PATH_MAX], crn_error *error)
{
    if (!*path)
        return 0;
    if (!realpath(*path, ret_whole))
        return crn_error_set(error, -errno, "%s: %s", *path, strerror(errno));
    *path = ret_whole;
    return 0;
}

int crn_given_open_all(crn_workbench *bench, int count, char *const *paths, crn_error *error)
{
    static char archive[PATH_MAX], log[PATH_MAX]; /* for the program's whole time */
    int r = find_source(&bench->sources.archive, archive, error);
    if (r == 0)
        r = find_source(&bench->sources.log, log, error);
    if (r == 0)
        r = crn_fruit_sources_check(&bench->sources, error);
    for (int i = 0; r == 0 && i < count; i++) {
        struct stat status;
        bool is_folder = stat(paths[i], &status) == 0 && S_ISDIR(status.st_mode);
        r = is_folder ? open_folder(bench, paths[i], error) : open_file(bench, paths[i], error);
    }
    return r;
}

void crn_given_close(crn_workbench *bench)
{
    for (int32_t i = 0; i < bench->sources.named_count; i++)
        free(bench->sources.named[i]);
    free(bench->sources.named);
    bench->sources = (crn_fruit_sources){0};
}
