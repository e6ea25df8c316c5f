/*
 * Every view is opened as a separate TIFF: libtiff is given a header that points to the view's
 * first page. It never sees more than one view's pages, so a view takes the same time anywhere in
 * the file.
 */
#include "src/formats/recording/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/base/file/regular_file.h"
#include "src/formats/recording/reader_internal.h"

#define FIRST_LINK  8 /* offset of the first directory's offset in the header */
#define ALLOC_FLOOR (INT64_C(1) << 20)

/* --- file access for libtiff --- */

/* As pread(2), until the file's end. */
static size_t read_file(crn_recording_reader *reader, void *data, size_t bytes, uint64_t offset)
{
    size_t done = 0;
    while (done < bytes && offset + done < reader->size) {
        ssize_t n = pread(reader->fd, (char *)data + done, bytes - done, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    return done;
}

static size_t read_window(crn_recording_reader *reader, void *data, size_t bytes, uint64_t offset)
{
    uint64_t into = offset - reader->window_begin;
    if (offset < reader->window_begin || bytes > reader->window_bytes ||
        into > reader->window_bytes - bytes) {
        reader->window_bytes = read_file(reader, reader->window, sizeof reader->window, offset);
        reader->window_begin = offset;
        into = 0;
    }
    size_t rest = reader->window_bytes - (size_t)into, done = bytes < rest ? bytes : rest;
    memcpy(data, reader->window + into, done);
    return done;
}

size_t crn_reader_read_at(crn_recording_reader *reader, void *data, size_t bytes, uint64_t offset)
{
    size_t done = bytes < CRN_READER_WINDOW / 4 ? read_window(reader, data, bytes, offset)
                                                : read_file(reader, data, bytes, offset);
    if (done < bytes)
        reader->past_end = true;
    else if (offset + bytes > reader->used)
        reader->used = offset + bytes;
    return done;
}

static tmsize_t tiff_read(thandle_t handle, void *data, tmsize_t size)
{
    crn_recording_reader *reader = handle;
    size_t bytes = (size_t)size;
    if (reader->position <= CRN_RECORDING_HEADER_BYTES &&
        bytes <= CRN_RECORDING_HEADER_BYTES - reader->position)
        memcpy(data, reader->header + reader->position, bytes);
    else
        bytes = crn_reader_read_at(reader, data, bytes, reader->position);
    reader->position += bytes;
    return (tmsize_t)bytes;
}

static tmsize_t tiff_write(thandle_t handle, void *data, tmsize_t size)
{
    (void)handle;
    (void)data;
    (void)size;
    return -1;
}

static toff_t tiff_seek(thandle_t handle, toff_t offset, int whence)
{
    crn_recording_reader *reader = handle;
    uint64_t from = whence == SEEK_END ? reader->size : whence == SEEK_CUR ? reader->position : 0;
    return reader->position = from + offset;
}

static toff_t tiff_size(thandle_t handle)
{
    return ((crn_recording_reader *)handle)->size;
}

static int tiff_close(thandle_t handle)
{
    (void)handle;
    return 0;
}

TIFF *crn_reader_open_at(crn_recording_reader *reader, uint64_t directory)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options)
        return NULL;
    *reader->tiff_error.text = '\0';
    reader->past_end = false;
    reader->position = 0;
    memcpy(reader->header + FIRST_LINK, &directory, sizeof directory);
    int64_t max_bytes = (int64_t)reader->size;
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, max_bytes < ALLOC_FLOOR ? ALLOC_FLOOR : max_bytes);
    crn_tiff_keep_faults(options, &reader->tiff_error, NULL);
    TIFF *tiff = TIFFClientOpenExt(reader->path, "rm", reader, tiff_read, tiff_write, tiff_seek,
                                   tiff_close, tiff_size, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return tiff;
}

/* True if zeros fill the last block of a file whose writer could not cut it to its length. */
static bool is_filled_up(const crn_recording_reader *reader)
{
    char end[CRN_RECORDING_BLOCK_BYTES];
    uint64_t bytes = reader->size - reader->used;
    if (bytes >= sizeof end || reader->size % sizeof end ||
        pread(reader->fd, end, bytes, (off_t)reader->used) != (ssize_t)bytes)
        return false;
    while (bytes > 0 && !end[bytes - 1])
        bytes--;
    return bytes == 0;
}

static int read_next(crn_recording_reader *reader, crn_recorded_pixels wanted,
                     crn_recorded_view *ret_view, crn_error *error)
{
    crn_error_set(error, 0, "%s", "");
    if (!reader->next.offset) {
        if (reader->used < reader->size && !is_filled_up(reader))
            crn_error_set(error, 0,
                          "%s: the file ends with %" PRIu64
                          " bytes of a view that was never finished: they are skipped",
                          reader->path, reader->size - reader->used);
        return 0;
    }
    reader->window_bytes = 0; /* the file may be written meanwhile */
    TIFF *tiff = crn_reader_open_at(reader, reader->next.offset);
    if (!tiff)
        return crn_reader_tiff_fault(reader, reader->next.page, error);
    int r = crn_reader_read_view(reader, &tiff, wanted, ret_view, &reader->next, error);
    if (tiff)
        TIFFClose(tiff);
    return r;
}

int crn_recording_next(crn_recording_reader *reader, crn_recorded_view *ret_view, crn_error *error)
{
    return read_next(reader, CRN_PIXELS_ALL, ret_view, error);
}

int crn_recording_next_planar(crn_recording_reader *reader, crn_recorded_view *ret_view,
                              crn_error *error)
{
    return read_next(reader, CRN_PIXELS_PLANAR, ret_view, error);
}

int crn_recording_skip(crn_recording_reader *reader, crn_recorded_view *ret_view, crn_error *error)
{
    return read_next(reader, CRN_PIXELS_NONE, ret_view, error);
}

int crn_recording_intensity(crn_recording_reader *reader, crn_recorded_view *ret_view,
                            crn_error *error)
{
    return read_next(reader, CRN_PIXELS_INTENSITY, ret_view, error);
}

crn_recording_position crn_recording_tell(const crn_recording_reader *reader)
{
    return reader->next;
}

void crn_recording_go_to(crn_recording_reader *reader, crn_recording_position position)
{
    reader->next = position;
}

/* --- the file --- */

int crn_recording_open(const char *path, crn_recording_reader **ret_reader, crn_error *error)
{
    static const unsigned char start[FIRST_LINK] = {'I', 'I', 43, 0, 8};
    struct stat about;
    int r = -ENOMEM;
    crn_recording_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return crn_error_set(error, r, "%s: no memory", path);
    reader->path = strdup(path);
    reader->fd = crn_regular_open(path, error);
    if (reader->fd < 0) {
        r = reader->fd;
        goto fail;
    }
    if (!reader->path || fstat(reader->fd, &about) < 0) {
        crn_error_set(error, r, "%s: no memory", path);
        goto fail;
    }
    reader->size = (uint64_t)about.st_size;
    if (crn_reader_read_at(reader, reader->header, CRN_RECORDING_HEADER_BYTES, 0) <
            CRN_RECORDING_HEADER_BYTES ||
        memcmp(reader->header, start, sizeof start)) {
        r = crn_error_set(error, -EBADMSG, "%s: is not a recording: not a little-endian BigTIFF",
                          path);
        goto fail;
    }
    memcpy(&reader->next.offset, reader->header + FIRST_LINK, sizeof reader->next.offset);
    *ret_reader = reader;
    return 0;
fail:
    crn_recording_end(&reader);
    return r;
}

const crn_classes *crn_recording_classes(const crn_recording_reader *reader)
{
    return reader->classes.count ? &reader->classes : NULL;
}

void crn_recording_end(crn_recording_reader **reader)
{
    if (!*reader)
        return;
    if ((*reader)->fd >= 0)
        close((*reader)->fd);
    free((*reader)->planes.memory);
    free((*reader)->maps.memory);
    free((*reader)->intensity.memory);
    free((*reader)->path);
    free(*reader);
    *reader = NULL;
}
