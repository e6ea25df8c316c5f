/*
 * Recordings: uncompressed BigTIFF, a page per class, then the intensity page if any, a view after
 * the other. A view's first page says in ImageDescription, as JSON, what the header said. With
 * picture.c the only user of libtiff.
 *
 * The JSON of a first page: "shape" [C, H, W], "axes" "CYX", "dtype" "u8" | "f16" | "f32" and
 * "layout" "CHW" | "HWC" of the wire, and as whole numbers sequence, epoch, fruit, captured_ns,
 * deadline_ns, encoder, lane, view, views, height, width, channels, flags, class_set, arrived_ns.
 * That of an intensity page: "shape" [H, W], "axes" "YX", "intensity" true. Pages are planar;
 * u8 has 8 bits a sample, f16 and f32 have IEEE floats of 16 and 32.
 *
 * A view is linked into the file after its last byte, so a writer killed at any moment leaves a
 * good recording (named `.part`) of all views but the one it was writing. Writing and reading cost
 * the same for every view, however many pages there are.
 */
#ifndef CRN_SRC_RECORDING_RECORDING_H
#define CRN_SRC_RECORDING_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/base/error.h"
#include "src/ingest/wire.h"

typedef struct crn_recording_writer crn_recording_writer;
typedef struct crn_recording_reader crn_recording_reader;

/* One view in memory, in the wire's layout and type. */
typedef struct crn_recorded_view {
    crn_view_header header;
    uint64_t arrived_ns;            /* CLOCK_REALTIME at reception */
    const unsigned char *maps;      /* payload_bytes */
    const unsigned char *intensity; /* height x width, NULL without */
} crn_recorded_view;

/*
 * Writes `path`.part, renamed to `path` when closed. `replace`: a regular file `path` is then
 * replaced, and a .part that a killed program left is removed now; otherwise -EEXIST where one of
 * them exists. Never touches what is no regular file, nor a .part that another program is writing:
 * -EEXIST. 0 or negative errno with one line in *error, as all of these.
 */
int crn_recording_create(const char *path, bool replace, crn_recording_writer **ret_writer,
                         crn_error *error);

/*
 * Appends one view; its memory is only read. -EINVAL for a view that does not fit its header. After
 * a failure (a full disk) the file ends with the view before, and writing may be tried again.
 */
int crn_recording_write(crn_recording_writer *writer, const crn_recorded_view *view,
                        crn_error *error);

/* How long the file is; how many views it holds. */
uint64_t crn_recording_bytes(const crn_recording_writer *writer);
uint64_t crn_recording_views(const crn_recording_writer *writer);

/* Finishes and renames; nulls *writer in any case. NULL is fine. Nothing is forced to the disk. */
int crn_recording_close(crn_recording_writer **writer, crn_error *error);

/* Gives up: removes `path`.part; nulls. NULL is fine. */
void crn_recording_discard(crn_recording_writer **writer);

/* Opens a recording, `.part` or whole. Any other file is refused with one line. */
int crn_recording_open(const char *path, crn_recording_reader **ret_reader, crn_error *error);

/*
 * The next view, with the wire bytes' layout and type restored; its memory is the reader's until
 * the next call. 1, 0 at the end, negative errno with *error, again and again from there. An
 * incomplete last view (a killed recorder's, a cut file's) is passed over: 0, with one line in
 * *error, whose text is empty otherwise. Memory is bounded by the size of the file's largest view.
 */
int crn_recording_next(crn_recording_reader *reader, crn_recorded_view *ret_view, crn_error *error);

/* The same without reading any pixels: maps and intensity are NULL, the header is complete. */
int crn_recording_skip(crn_recording_reader *reader, crn_recorded_view *ret_view, crn_error *error);

/* Back to the first view. */
void crn_recording_rewind(crn_recording_reader *reader);

/* Closes and nulls; NULL is fine. */
void crn_recording_end(crn_recording_reader **reader);

#endif
