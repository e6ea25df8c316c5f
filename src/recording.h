/*
 * Recordings: uncompressed BigTIFF, a page per class, then the intensity page if any, a view after
 * the other. A view's first page says in ImageDescription, as JSON, what the header said. With
 * picture.c the only user of libtiff.
 */
#ifndef CRN_RECORDING_H
#define CRN_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "src/base/error.h"
#include "src/wire.h"

typedef struct crn_recording_writer crn_recording_writer;
typedef struct crn_recording_reader crn_recording_reader;

/* One view in memory, in the wire's layout and type. */
typedef struct crn_recorded_view {
    crn_view_header header;
    uint64_t arrived_ns;            /* CLOCK_REALTIME at reception */
    const unsigned char *maps;      /* payload_bytes */
    const unsigned char *intensity; /* height x width, NULL without */
} crn_recorded_view;

/* Writes `path`.part, renamed to `path` when closed. 0 or negative errno with *error. */
int crn_recording_create(const char *path, crn_recording_writer **ret_writer, crn_error *error);
int crn_recording_write(crn_recording_writer *writer, const crn_recorded_view *view,
                        crn_error *error);
uint64_t crn_recording_bytes(const crn_recording_writer *writer);
/* Finishes and renames; nulls *writer in any case. NULL is fine. */
int crn_recording_close(crn_recording_writer **writer, crn_error *error);

int crn_recording_open(const char *path, crn_recording_reader **ret_reader, crn_error *error);
/*
 * The next view, with the wire bytes' layout and type restored; its memory is the reader's until
 * the next call. 1, 0 at the end, negative errno with *error. An incomplete last view (a killed
 * recorder's) is passed over: 0, with one line in *error.
 */
int crn_recording_next(crn_recording_reader *reader, crn_recorded_view *ret_view, crn_error *error);
/* Back to the first view. */
int crn_recording_rewind(crn_recording_reader *reader, crn_error *error);
void crn_recording_end(crn_recording_reader **reader);

#endif
