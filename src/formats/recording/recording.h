/*
 * Recordings: uncompressed BigTIFF, view by view, each with a page per class and then the intensity
 * page if any. ImageDescription of a view's first page holds its header as JSON. With picture.c the
 * only user of libtiff.
 *
 * The JSON of a first page: "shape" [C, H, W], "axes" "CYX", "dtype" "u8" | "f16" | "f32" and
 * "layout" "CHW" | "HWC" of the wire, and as integers sequence, epoch, fruit, captured_ns,
 * deadline_ns, encoder, lane, view, views, height, width, channels, flags, class_set, arrived_ns;
 * "pose": [x, y, rx, ry, roll_rad] where "flags" announce it; "classes": the names in channel
 * order, where the writer knew them and they are the view's. That of an intensity page: "shape" [H,
 * W], "axes" "YX", "intensity" true. Pages are planar; u8 has 8 bits a sample, f16 and f32 have
 * IEEE floats of 16 and 32.
 *
 * The pixels of a view's pages lie side by side, before their directories; in recordings of earlier
 * versions each page's directory follows its pixels.
 *
 * A view is linked into the file after its last byte is written, so a writer killed at any time
 * leaves a valid recording (named `.part`) of all views but the one it was writing. Writing and
 * reading take constant time per view, however many pages there are.
 */
#ifndef CRN_SRC_FORMATS_RECORDING_RECORDING_H
#define CRN_SRC_FORMATS_RECORDING_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "stages/base/error.h"
#include "src/formats/view/wire.h"
#include "stages/stage/classes.h"

typedef struct crn_recording_writer crn_recording_writer;
typedef struct crn_recording_reader crn_recording_reader;

/* One view in memory, in the wire's layout and type. */
typedef struct crn_recorded_view {
    crn_view_header header;
    uint64_t arrived_ns;            /* CLOCK_REALTIME at reception */
    const unsigned char *maps;      /* payload_bytes */
    const unsigned char *intensity; /* height x width; NULL for none */
} crn_recorded_view;

/*
 * Writes `path`.part, which is renamed to `path` when closed. `replace`: allows to replace a
 * regular file `path`, and removes a .part that a killed program left; otherwise -EEXIST if one of
 * them exists. Never touches a file that is not regular, nor a .part that another program is
 * writing: -EEXIST. Returns 0 or a negative errno with one line in *error, as do all of these.
 */
int crn_recording_create(const char *path, bool replace, crn_recording_writer **ret_writer,
                         crn_error *error);

/* Names the classes of the views that follow, whose number of channels and class_set fit; they must
 * outlive the writer. */
void crn_recording_name_classes(crn_recording_writer *writer, const crn_classes *classes);

/* Unit of offsets, sizes and addresses of what is written. A file that is not finished may end with
 * zeros that fill its last block. */
#define CRN_RECORDING_BLOCK_BYTES 4096

/* Writes what follows directly to the disk where the file system can: a long recording then neither
 * fills the page cache nor waits for it. */
void crn_recording_bypass_cache(const crn_recording_writer *writer);

/* Appends one view. Returns -EINVAL if it does not match its header. After a failure (a full disk)
 * the file ends with the previous view, and writing may be tried again. */
int crn_recording_write(crn_recording_writer *writer, const crn_recorded_view *view,
                        crn_error *error);

/* File size in bytes; number of views. */
uint64_t crn_recording_bytes(const crn_recording_writer *writer);
uint64_t crn_recording_views(const crn_recording_writer *writer);

/* True unless the file was removed or replaced since: what is written then is lost. */
bool crn_recording_is_there(const crn_recording_writer *writer);

/* Finishes and renames the file; sets *writer to NULL in any case.
 * NULL is allowed. Does not fsync. */
int crn_recording_close(crn_recording_writer **writer, crn_error *error);

/* Aborts: removes `path`.part and sets *writer to NULL. NULL is allowed. */
void crn_recording_discard(crn_recording_writer **writer);

/* Opens a recording, finished or `.part`. Any other file is rejected with one line. */
int crn_recording_open(const char *path, crn_recording_reader **ret_reader, crn_error *error);

/*
 * Reads the next view, restoring the wire's layout and type; its memory belongs to the reader until
 * the next call. Returns 1, 0 at the end, or a negative errno with *error, which repeated calls
 * return again. An incomplete last view (of a killed recorder, a truncated file) is skipped: 0,
 * with one line in *error, whose text is empty otherwise. Memory is limited by the size of the
 * file's largest view.
 */
int crn_recording_next(crn_recording_reader *reader, crn_recorded_view *ret_view, crn_error *error);

/* As crn_recording_next, with the maps as planes as they are in the file, whatever the wire's
 * layout was: the header says CHW. */
int crn_recording_next_planar(crn_recording_reader *reader, crn_recorded_view *ret_view,
                              crn_error *error);

/* As crn_recording_next without pixels: maps and intensity are NULL, the header is complete. */
int crn_recording_skip(crn_recording_reader *reader, crn_recorded_view *ret_view, crn_error *error);

/* As crn_recording_skip, with intensity where the view has it. */
int crn_recording_intensity(crn_recording_reader *reader, crn_recorded_view *ret_view,
                            crn_error *error);

/* Where a view begins. */
typedef struct crn_recording_position {
    uint64_t offset;     /* of its first directory; 0: there is none */
    uint64_t view, page; /* its number and that of its first page, from 0, for faults */
} crn_recording_position;

/* Of the next view. */
crn_recording_position crn_recording_tell(const crn_recording_reader *reader);

/* The next view is the one that begins there. An offset of another file ends as damage does. */
void crn_recording_go_to(crn_recording_reader *reader, crn_recording_position position);

/* Names of the classes of the view read last, without levels, until the next one is read; NULL: not
 * recorded. */
const crn_classes *crn_recording_classes(const crn_recording_reader *reader);

/* Closes the reader and sets *reader to NULL; NULL is allowed. */
void crn_recording_end(crn_recording_reader **reader);

#endif
