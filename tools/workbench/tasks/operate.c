/* An operator on a picture: cernita-apply's own code, with its arguments and its messages. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/workbench/tasks/tasks.h"

static int run_operator(const crn_task *task, bool dry)
{
    char **argv = calloc((size_t)task->argument_count + 6, sizeof *argv);
    int argc = 0;
    if (!argv) {
        fputs("no memory\n", stderr);
        return 1;
    }
    argv[argc++] = (char *)(uintptr_t)task->operator->name;
    for (int32_t i = 0; i < task->argument_count; i++)
        argv[argc++] = task->arguments[i];
    if (dry)
        argv[argc++] = (char *)(uintptr_t) "--dry-run";
    argv[argc++] = (char *)(uintptr_t) "--";
    if (!task->operator->generates)
        argv[argc++] = (char *)(uintptr_t)task->in;
    argv[argc++] = (char *)(uintptr_t)task->out;
    optind = 1; /* the program has read its own options */
    int status = crn_operator_run(task->operator, argc, argv);
    free(argv);
    return status;
}

int crn_task_check(const void *settings, crn_job_report *report)
{
    (void)report;
    return run_operator(settings, true);
}

int crn_task_apply(const void *settings, crn_job_report *report)
{
    const crn_task *task = settings;
    crn_error error = {0};
    int status = run_operator(task, false);
    if (status != 0)
        return status;
    /* Pages that differ in size cannot be shown, but saved. */
    if (crn_facts_find(task->out, false, &report->pictures[0], &error) < 0)
        report->pictures[0] = (crn_picture_facts){.kind = CRN_PICTURE_TABLE};
    report->picture_count = 1;
    return 0;
}
