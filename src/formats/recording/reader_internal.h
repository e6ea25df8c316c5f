/* Shared by reader.c and pages.c. */
#ifndef CRN_SRC_FORMATS_RECORDING_READER_INTERNAL_H
#define CRN_SRC_FORMATS_RECORDING_READER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "src/formats/recording/directory.h"
#include "src/formats/recording/format.h"
#include "src/formats/recording/recording.h"
#include "stages/picture/tiff_faults.h"

#define CRN_RECORDING_HEADER_BYTES 16 /* of a BigTIFF */

/* Read at once where a little is wanted: a view's directories lie side by side. */
#define CRN_READER_WINDOW 8192

typedef struct crn_reader_buffer {
    unsigned char *memory;
    size_t room;
} crn_reader_buffer;

struct crn_recording_reader {
    int fd;
    char *path;
    uint64_t size;               /* of the file */
    crn_recording_position next; /* of the next view */
    uint64_t used;               /* end of the bytes read so far */

    unsigned char header[CRN_RECORDING_HEADER_BYTES]; /* the header that libtiff is given */
    uint64_t position;
    unsigned char window[CRN_READER_WINDOW]; /* the bytes around what was read last */
    uint64_t window_begin;
    size_t window_bytes;
    bool past_end; /* a read went beyond the file's end */
    crn_error tiff_error;
    crn_reader_buffer planes, maps, intensity;
    crn_directory kept;      /* of a map that libtiff has read, */
    crn_view_header kept_of; /* in a view of this header */
    crn_classes classes;     /* of the last view read */
};

/* Which pixels of a view are read. */
typedef enum crn_recorded_pixels {
    CRN_PIXELS_NONE,
    CRN_PIXELS_INTENSITY,
    CRN_PIXELS_ALL,
    CRN_PIXELS_PLANAR, /* all, the maps as they are in the file */
} crn_recorded_pixels;

/* Bytes of the file; fewer than asked for set past_end. */
size_t crn_reader_read_at(crn_recording_reader *reader, void *data, size_t bytes, uint64_t offset);

/* libtiff on the file as if it began with the directory at that offset; NULL: it cannot be read. */
TIFF *crn_reader_open_at(crn_recording_reader *reader, uint64_t directory);

/* The fault of a page that libtiff cannot read: 0 with a line if the file is truncated there,
 * otherwise -EBADMSG. */
int crn_reader_tiff_fault(crn_recording_reader *reader, uint64_t page, crn_error *error);

/* Reads the view whose first page is open, and where the next one begins; *tiff may become another,
 * or NULL. Returns 1, or as
 * crn_reader_tiff_fault(), or -ENOMEM. */
int crn_reader_read_view(crn_recording_reader *reader, TIFF **tiff, crn_recorded_pixels wanted,
                         crn_recorded_view *ret_view, crn_recording_position *ret_next,
                         crn_error *error);

#endif
