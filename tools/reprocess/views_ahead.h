/*
 * The views of a recording through the engine: some are read and judged ahead, by several threads,
 * and come back in the order of the recording. For one thread.
 */
#ifndef CRN_TOOLS_REPROCESS_VIEWS_AHEAD_H
#define CRN_TOOLS_REPROCESS_VIEWS_AHEAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/engine/worker.h"
#include "src/formats/recording/recording.h"
#include "src/fruit/values/values.h"
#include "stages/base/error.h"
#include "stages/config/config.h"

/* What was read and judged so far, by all threads of the process, for the progress. */
typedef struct crn_reprocess_meter {
    _Atomic uint64_t views, bytes, fruits;
    _Atomic int64_t read_ns, read_cpu_ns; /* spent reading views; of it, on a processor */
} crn_reprocess_meter;

/* A view that came back. */
typedef struct crn_ahead_view {
    crn_view view; /* first member; what the fruit table says of it is the caller's */
    uint64_t arrived_ns;
    crn_wire_fault fault;         /* a line would have refused it: it was not judged */
    crn_output *output;           /* NULL if so */
    crn_recording_reader *reader; /* owns its memory */
} crn_ahead_view;

typedef struct crn_views_ahead crn_views_ahead;

/* `config` is prepared (judge.h); it and `meter` must outlive it. 0, or a negative errno with one
 * line in *error. */
int crn_views_ahead_create(const crn_config *config, crn_reprocess_meter *meter,
                           crn_views_ahead **ret_ahead, crn_error *error);
void crn_views_ahead_free(crn_views_ahead **ahead); /* NULL is allowed */

/* Continues with this recording, at its first view; none is ahead. 0, or a negative errno with one
 * line in *error. */
int crn_views_ahead_open(crn_views_ahead *ahead, const char *path, crn_error *error);

/* Continues with the view that begins there. */
void crn_views_ahead_go_to(crn_views_ahead *ahead, crn_recording_position position);

/* True if another view can be read before one is taken. */
bool crn_views_ahead_has_room(const crn_views_ahead *ahead);

/* True if no further view can be read. */
bool crn_views_ahead_is_at_end(const crn_views_ahead *ahead);

/* Reads the next view, and has it judged. False: there was none; *ret_damage says so if the
 * recording ends within a view, or cannot be read further, and has no text otherwise. */
bool crn_views_ahead_read(crn_views_ahead *ahead, crn_error *ret_damage);

/* Waits for the oldest view that is ahead, which is the caller's until crn_views_ahead_release.
 * NULL: none is. */
crn_ahead_view *crn_views_ahead_take(crn_views_ahead *ahead);
void crn_views_ahead_release(crn_views_ahead *ahead);

/* What a line would refuse the view for. */
crn_wire_fault crn_views_ahead_check(const crn_views_ahead *ahead, const crn_view_header *header);

#endif
