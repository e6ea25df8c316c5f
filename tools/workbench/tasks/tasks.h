/* What jobs do: each runs in a child process (jobs.h), in the folder of the pictures, and knows
 * them by their names there. */
#ifndef CRN_TOOLS_WORKBENCH_TASKS_TASKS_H
#define CRN_TOOLS_WORKBENCH_TASKS_TASKS_H

#include "src/formats/recording/recording.h"
#include "stages/config/config.h"
#include "stages/picture/picture.h"
#include "tools/common/calibration/calibration.h"
#include "tools/common/operators/operators.h"
#include "tools/workbench/fruits/search.h"
#include "tools/workbench/jobs.h"

/* Pixels of all planes of a picture: 16384 x 16384 in one plane. */
#define CRN_PIXELS_MAX (INT64_C(1) << 28)

/* A file that is uploaded. */
#define CRN_UPLOAD_BYTES_MAX (UINT64_C(256) << 20)

/* Settings of all tasks; each uses some. Texts are valid as long as the job. */
typedef struct crn_task {
    char in[CRN_STORE_NAME_BYTES];
    char out[CRN_STORE_NAME_BYTES], out_photograph[CRN_STORE_NAME_BYTES];
    char photograph[CRN_STORE_NAME_BYTES]; /* that goes with the maps `in`; "": none */
    int64_t first, count;                  /* planes, views, seeds: by the task */
    int32_t width, height;
    double roughness;

    const crn_operator *operator;
    int32_t argument_count; /* of `arguments` */
    char **arguments;       /* of the operator, without its name, IN and OUT */

    const char *yaml;
    size_t yaml_bytes;
    int32_t backend, threads; /* of a chain */
    int32_t repeat;           /* warm runs of the chain, after the first one */

    crn_calibration_target target; /* of a calibration */

    crn_fruit_sources sources; /* of recorded fruits */
    crn_fruit_search search;
} crn_task;

/* The facts of `in`, which is read to its end. */
int crn_task_open(const void *task, crn_job_report *report);

/* Prints the values of planes `first` to first + count - 1 of `in`. */
int crn_task_planes(const void *task, crn_job_report *report);

/* Cuts width x height out of `in`, mirrored beyond its borders, to `out`. */
int crn_task_tile(const void *task, crn_job_report *report);

/* Takes view `first` of the recording `in` to `out`, and its photograph to `out_photograph`. */
int crn_task_view(const void *task, crn_job_report *report);

/* A diamond-square field with exponent `count` and seed `first` to `out`. */
int crn_task_field(const void *task, crn_job_report *report);

/* View `count` of the synthetic fruit with seed `first` to `out` and `out_photograph`. */
int crn_task_fruit(const void *task, crn_job_report *report);

/* The operator with its arguments on `in` to `out`, as cernita-apply. */
int crn_task_apply(const void *task, crn_job_report *report);

/* The same with --dry-run. */
int crn_task_check(const void *task, crn_job_report *report);

/* Prints the defects that the chain of `yaml` finds in the maps `in`, as JSON. */
int crn_task_chain(const void *task, crn_job_report *report);

/* Prints precision and recall by level over the recordings `arguments`, with the labels `in` and
 * the chain of `yaml`, as JSON. */
int crn_task_levels(const void *task, crn_job_report *report);

/* Prints the scale of a camera, and what of the target was found in the picture `in`, as JSON. */
int crn_task_calibrate(const void *task, crn_job_report *report);

/* Reads the recorded fruits of `sources` as far as they have changed since that was done before,
 * and prints what there is to search for, as JSON. */
int crn_task_recordings(const void *task, crn_job_report *report);

/* Prints the fruits of `search`, as JSON. */
int crn_task_fruits(const void *task, crn_job_report *report);

/* Prints a small picture of each fruit that crn_task_fruits answers with: CRN_SMALL_WIDTH x
 * CRN_SMALL_HEIGHT bytes of grey, behind a byte that is 0 where there is no photograph. */
#define CRN_SMALL_WIDTH  96
#define CRN_SMALL_HEIGHT 64
int crn_task_fruit_pictures(const void *task, crn_job_report *report);

/* Prints the verdict on the recorded fruit `first`, as JSON (crn_fruit_verdict_print). */
int crn_task_fruit_verdict(const void *task, crn_job_report *report);

/* Takes view `count` of the recorded fruit `first` to `out`, and its photograph to
 * `out_photograph`. */
int crn_task_fruit_view(const void *task, crn_job_report *report);

/* For tasks: writes a view that was read as a task's pictures. 0 or negative errno with one line.
 */
int crn_task_write_view(const crn_task *task, const crn_recorded_view *view, crn_job_report *report,
                        crn_error *error);

/* Prints what there is to choose from, as JSON. A job, because looking for a GPU binds a process to
 * it. */
int crn_task_catalogue(const void *task, crn_job_report *report);

/* For tasks: finds out the facts of a file, reading all of it if `whole`; 0 or negative errno. */
int crn_facts_find(const char *path, bool whole, crn_picture_facts *ret_facts, crn_error *error);

/* For tasks: the configuration of a chain's YAML, with its backend, threads and one worker; it is
 * to be freed. 0 or negative errno with one line in *error, the first fault. */
int crn_task_config(const crn_task *task, crn_config *ret_config, crn_error *error);

/* For tasks: reports a file that was written; prints the error if r < 0. Returns the exit status.
 */
int crn_task_end(int r, const crn_error *error);

#endif
