/* Precision and recall by level, over labelled recordings. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/formats/recording/recording.h"
#include "tools/workbench/levels/report.h"
#include "tools/workbench/tasks/tasks.h"

/* Names that a recording has go before those of the chain: labels are by the CNN's names. */
static void take_names(const char *path, crn_classes *classes)
{
    crn_recording_reader *reader = NULL;
    crn_recorded_view view;
    crn_error ignored = {0};
    if (crn_recording_open(path, &reader, &ignored) < 0)
        return;
    const crn_classes *names =
        crn_recording_skip(reader, &view, &ignored) == 1 ? crn_recording_classes(reader) : NULL;
    if (names && names->count == classes->count)
        memcpy(classes->name, names->name, sizeof classes->name);
    crn_recording_end(&reader);
}

static int print_levels(const crn_level_counts *levels, const crn_classes *classes)
{
    crn_encoder *encoder;
    int r = crn_encoder_create(CRN_FORMAT_JSON, &encoder);
    if (r < 0)
        return r;
    crn_encoder_begin(encoder);
    crn_levels_write(levels, classes, encoder);
    r = crn_encoder_print(encoder, stdout);
    crn_encoder_free(&encoder);
    return r;
}

static int run_sweep(const crn_task *task, crn_config *config, crn_error *error)
{
    crn_labels labels = {0};
    crn_level_counts *levels = calloc(1, sizeof *levels);
    int r = levels ? 0 : crn_error_set(error, -ENOMEM, "no memory for levels");
    if (r == 0)
        r = crn_labels_read(task->in, &config->classes, &labels, error);
    if (r == 0)
        r = crn_levels_sweep(config, (const char *const *)task->arguments, task->argument_count,
                             &labels, levels, error);
    if (r == 0 && !levels->labelled_views)
        r = crn_error_set(error, -EINVAL, "%s: has no label of a view of the recordings", task->in);
    if (r == 0 && print_levels(levels, &config->classes) < 0)
        r = crn_error_set(error, -ENOMEM, "no memory for levels");
    crn_labels_free(&labels);
    free(levels);
    return r;
}

int crn_task_levels(const void *settings, crn_job_report *report)
{
    const crn_task *task = settings;
    crn_config config = {0};
    crn_error error = {0};
    (void)report;
    int r = crn_task_config(task, &config, &error);
    if (r == 0) {
        take_names(task->arguments[0], &config.classes);
        r = run_sweep(task, &config, &error);
    }
    crn_config_done(&config);
    return crn_task_end(r, &error);
}
