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
#include "src/formats/recording/format.h"
#include "stages/picture/tiff_faults.h"

#define HEADER_BYTES 16 /* of a BigTIFF */
#define FIRST_LINK   8  /* offset of the first directory's offset in the header */
#define ENTRY_BYTES  20
#define ALLOC_FLOOR  (INT64_C(1) << 20)

typedef struct buffer {
    unsigned char *memory;
    size_t room;
} buffer;

struct crn_recording_reader {
    int fd;
    char *path;
    uint64_t size;        /* of the file */
    uint64_t next;        /* offset of the next view's first directory, or 0 */
    uint64_t page, views; /* number read so far */
    uint64_t used;        /* end of the bytes read so far */

    unsigned char header[HEADER_BYTES]; /* the header that libtiff is given */
    uint64_t position;
    bool past_end; /* a read went beyond the file's end */
    crn_error tiff_error;
    buffer planes, maps, intensity;
    crn_classes classes; /* of the last view read */
};

/* --- file access for libtiff --- */

static size_t read_at(crn_recording_reader *reader, void *data, size_t bytes, uint64_t offset)
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
    if (reader->position <= HEADER_BYTES && bytes <= HEADER_BYTES - reader->position)
        memcpy(data, reader->header + reader->position, bytes);
    else
        bytes = read_at(reader, data, bytes, reader->position);
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

static TIFF *open_view(crn_recording_reader *reader)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options)
        return NULL;
    *reader->tiff_error.text = '\0';
    reader->past_end = false;
    reader->position = 0;
    memcpy(reader->header + FIRST_LINK, &reader->next, sizeof reader->next);
    int64_t max_bytes = (int64_t)reader->size;
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, max_bytes < ALLOC_FLOOR ? ALLOC_FLOOR : max_bytes);
    crn_tiff_keep_faults(options, &reader->tiff_error, NULL);
    TIFF *tiff = TIFFClientOpenExt(reader->path, "rm", reader, tiff_read, tiff_write, tiff_seek,
                                   tiff_close, tiff_size, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return tiff;
}

/* --- faults --- */

/* Returns 0 with a line if the file is truncated here, otherwise -EBADMSG with the fault. */
__attribute__((format(printf, 4, 5))) static int fault(crn_recording_reader *reader, uint64_t page,
                                                       crn_error *error, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (reader->past_end)
        return crn_error_set(error, 0,
                             "%s: the file ends within view %" PRIu64 " (page %" PRIu64
                             "): that view is skipped",
                             reader->path, reader->views, page);
    return crn_error_set(error, -EBADMSG, "%s: page %" PRIu64 ": %s", reader->path, page, text);
}

static int tiff_fault(crn_recording_reader *reader, uint64_t page, crn_error *error)
{
    /* libtiff's text can contain any byte of the file. */
    for (char *c = reader->tiff_error.text; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = '?';
    const char *text = reader->tiff_error.text;
    return fault(reader, page, error, "%s", *text ? text : "libtiff cannot read it");
}

/* --- one view --- */

static uint32_t tag(TIFF *tiff, uint32_t which)
{
    uint16_t value = 0;
    return TIFFGetFieldDefaulted(tiff, which, &value) ? value : 0;
}

/* True if all of the page's strips are within the file. */
static bool strips_lie_inside(crn_recording_reader *reader, TIFF *tiff)
{
    uint32_t strips = TIFFNumberOfStrips(tiff);
    for (uint32_t i = 0; i < strips; i++) {
        uint64_t end;
        if (__builtin_add_overflow(TIFFGetStrileOffset(tiff, i), TIFFGetStrileByteCount(tiff, i),
                                   &end) ||
            end > reader->size)
            return false;
        if (end > reader->used)
            reader->used = end;
    }
    return true;
}

/* Returns 1 if the page is as a recording has it for this header, otherwise as fault(). */
static int check_page(crn_recording_reader *reader, TIFF *tiff, uint64_t page,
                      const crn_view_header *header, crn_type type, crn_error *error)
{
    uint32_t width = 0, height = 0;
    TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
    TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
    uint32_t bits = tag(tiff, TIFFTAG_BITSPERSAMPLE), format = tag(tiff, TIFFTAG_SAMPLEFORMAT);
    uint32_t want_bits = (uint32_t)crn_type_bytes(type) * 8;
    uint32_t want_format = type == CRN_U8 ? SAMPLEFORMAT_UINT : SAMPLEFORMAT_IEEEFP;
    if (width != header->width || height != header->height)
        return fault(reader, page, error,
                     "is %" PRIu32 " x %" PRIu32 " where its view says %" PRIu32 " x %" PRIu32,
                     width, height, header->width, header->height);
    if (bits != want_bits || format != want_format || tag(tiff, TIFFTAG_SAMPLESPERPIXEL) != 1)
        return fault(reader, page, error,
                     "has %" PRIu32 " bits in sample format %" PRIu32
                     " where its view says %" PRIu32 " in %" PRIu32 ", one sample a pixel",
                     bits, format, want_bits, want_format);
    if (TIFFIsTiled(tiff) || tag(tiff, TIFFTAG_COMPRESSION) != COMPRESSION_NONE)
        return fault(reader, page, error, "is tiled or compressed; recordings are neither");
    if (strips_lie_inside(reader, tiff))
        return 1;
    reader->past_end = true;
    return fault(reader, page, error, "lies outside the file");
}

/* True if the page's strips follow one another and have `bytes` together: they can be read at once.
 * Of an uncompressed page, in a file of this machine's byte order, that is what libtiff returns. */
static bool strips_are_one(TIFF *tiff, size_t bytes)
{
    uint32_t strips = TIFFNumberOfStrips(tiff);
    uint64_t end = TIFFGetStrileOffset(tiff, 0), begin = end;
    for (uint32_t i = 0; i < strips; i++) {
        if (TIFFGetStrileOffset(tiff, i) != end)
            return false;
        end += TIFFGetStrileByteCount(tiff, i);
    }
    return end - begin == bytes;
}

static int read_page(crn_recording_reader *reader, TIFF *tiff, uint64_t page, unsigned char *to,
                     size_t bytes, crn_error *error)
{
    uint32_t strips = TIFFNumberOfStrips(tiff);
    size_t strip_bytes = (size_t)TIFFStripSize(tiff);
    reader->past_end = false;
    if (strips_are_one(tiff, bytes))
        return read_at(reader, to, bytes, TIFFGetStrileOffset(tiff, 0)) == bytes
                   ? 1
                   : tiff_fault(reader, page, error);
    for (uint32_t i = 0; i < strips && bytes; i++) {
        size_t want = strip_bytes < bytes ? strip_bytes : bytes;
        if (TIFFReadEncodedStrip(tiff, i, to, (tmsize_t)want) != (tmsize_t)want)
            return tiff_fault(reader, page, error);
        to += want;
        bytes -= want;
    }
    return bytes ? fault(reader, page, error, "has too few strips") : 1;
}

static int reserve(buffer *b, size_t bytes)
{
    if (bytes <= b->room)
        return 0;
    free(b->memory);
    b->memory = malloc(bytes);
    b->room = b->memory ? bytes : 0;
    return b->memory ? 0 : -ENOMEM;
}

/* Reads the offset of the next directory from the directory at `offset`. */
static bool read_link(crn_recording_reader *reader, uint64_t offset, uint64_t *ret_next)
{
    uint64_t entries;
    return read_at(reader, &entries, sizeof entries, offset) == sizeof entries &&
           entries < reader->size / ENTRY_BYTES &&
           read_at(reader, ret_next, sizeof *ret_next, offset + 8 + entries * ENTRY_BYTES) ==
               sizeof *ret_next;
}

/* Goes to the next page of a view; offsets must increase, so that loops are impossible. */
static int read_following_page(crn_recording_reader *reader, TIFF *tiff, uint64_t page,
                               crn_error *error)
{
    uint64_t before = TIFFCurrentDirOffset(tiff), next = 0;
    reader->past_end = false;
    if (!read_link(reader, before, &next) || !next) {
        reader->past_end = true; /* the chain of directories ends early, as in a truncated file */
        return fault(reader, page, error, "is missing");
    }
    if (next <= before)
        return fault(reader, page, error, "lies before the page that it follows");
    return TIFFReadDirectory(tiff) ? 1 : tiff_fault(reader, page, error);
}

/* Parses the first page's JSON and checks it against the file's size. */
static int read_description(crn_recording_reader *reader, TIFF *tiff, crn_recorded_view *view,
                            crn_error *error)
{
    char *text = NULL;
    crn_error why = {0};
    if (!TIFFGetField(tiff, TIFFTAG_IMAGEDESCRIPTION, &text) || !text)
        return fault(reader, reader->page, error,
                     "has no ImageDescription; is this a cernita recording?");
    if (crn_parse_description(text, view, &reader->classes, &why))
        return fault(reader, reader->page, error, "%s", why.text);
    if (view->header.payload_bytes > reader->size) {
        reader->past_end = true;
        return fault(reader, reader->page, error, "is larger than the file");
    }
    return 1;
}

/* Which pixels of a view are read. */
typedef enum read_pixels {
    PIXELS_NONE,
    PIXELS_INTENSITY,
    PIXELS_ALL,
} read_pixels;

/* Reads the pages of the view whose first page is open, with the pixels that are
 * requested. Returns 1, or as fault(). */
static int read_pages(crn_recording_reader *reader, TIFF *tiff, read_pixels wanted,
                      crn_recorded_view *view, crn_error *error)
{
    const crn_view_header *header = &view->header;
    size_t plane_bytes = (size_t)(header->payload_bytes / header->channels);
    size_t intensity_bytes = crn_wire_intensity_bytes(header);
    buffer *planes = header->layout == CRN_HWC ? &reader->planes : &reader->maps;
    if ((wanted == PIXELS_ALL && (reserve(&reader->maps, (size_t)header->payload_bytes) ||
                                  reserve(planes, (size_t)header->payload_bytes))) ||
        (wanted != PIXELS_NONE && reserve(&reader->intensity, intensity_bytes)))
        return crn_error_set(error, -ENOMEM, "%s: no memory for a view of %" PRIu64 " bytes",
                             reader->path, header->payload_bytes);
    uint64_t pages = (uint64_t)header->channels + (intensity_bytes > 0);
    for (uint64_t p = 0; p < pages; p++) {
        bool map = p < header->channels;
        uint64_t page = reader->page + p;
        int r = p ? read_following_page(reader, tiff, page, error) : 1;
        if (r > 0)
            r = check_page(reader, tiff, page, header, map ? header->type : CRN_U8, error);
        char *text = NULL;
        if (r > 0 && !map &&
            (!TIFFGetField(tiff, TIFFTAG_IMAGEDESCRIPTION, &text) || !text ||
             !crn_is_intensity_description(text)))
            r = fault(reader, page, error, "is not the intensity page that its view announces");
        if (r > 0 && wanted >= (map ? PIXELS_ALL : PIXELS_INTENSITY))
            r = read_page(reader, tiff, page,
                          map ? planes->memory + p * plane_bytes : reader->intensity.memory,
                          map ? plane_bytes : intensity_bytes, error);
        if (r <= 0)
            return r;
    }
    return 1;
}

/* Reads one view and finds the next one. Returns 1, or as fault(). */
static int read_view(crn_recording_reader *reader, TIFF *tiff, read_pixels wanted,
                     crn_recorded_view *ret_view, crn_error *error)
{
    crn_recorded_view view = {0};
    uint64_t next = 0;
    int r = read_description(reader, tiff, &view, error);
    if (r > 0)
        r = read_pages(reader, tiff, wanted, &view, error);
    if (r <= 0)
        return r;
    const crn_view_header *header = &view.header;
    uint64_t pages = (uint64_t)header->channels + (crn_wire_intensity_bytes(header) > 0);
    uint64_t last = TIFFCurrentDirOffset(tiff);
    reader->past_end = false;
    if (!read_link(reader, last, &next))
        return fault(reader, reader->page + pages - 1, error, "has a broken directory");
    if (next && next <= last)
        return fault(reader, reader->page + pages, error, "lies before the page that it follows");
    if (wanted != PIXELS_NONE)
        view.intensity = crn_wire_intensity_bytes(header) ? reader->intensity.memory : NULL;
    if (wanted == PIXELS_ALL) {
        if (header->layout == CRN_HWC)
            crn_transpose(reader->planes.memory, reader->maps.memory, header->channels,
                          (size_t)header->height * header->width, crn_type_bytes(header->type));
        view.maps = reader->maps.memory;
    }
    reader->next = next;
    reader->page += pages;
    reader->views++;
    *ret_view = view;
    return 1;
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

static int read_next(crn_recording_reader *reader, read_pixels wanted, crn_recorded_view *ret_view,
                     crn_error *error)
{
    crn_error_set(error, 0, "%s", "");
    if (!reader->next) {
        if (reader->used < reader->size && !is_filled_up(reader))
            crn_error_set(error, 0,
                          "%s: the file ends with %" PRIu64
                          " bytes of a view that was never finished: they are skipped",
                          reader->path, reader->size - reader->used);
        return 0;
    }
    TIFF *tiff = open_view(reader);
    if (!tiff)
        return tiff_fault(reader, reader->page, error);
    int r = read_view(reader, tiff, wanted, ret_view, error);
    TIFFClose(tiff);
    return r;
}

int crn_recording_next(crn_recording_reader *reader, crn_recorded_view *ret_view, crn_error *error)
{
    return read_next(reader, PIXELS_ALL, ret_view, error);
}

int crn_recording_skip(crn_recording_reader *reader, crn_recorded_view *ret_view, crn_error *error)
{
    return read_next(reader, PIXELS_NONE, ret_view, error);
}

int crn_recording_intensity(crn_recording_reader *reader, crn_recorded_view *ret_view,
                            crn_error *error)
{
    return read_next(reader, PIXELS_INTENSITY, ret_view, error);
}

uint64_t crn_recording_offset(const crn_recording_reader *reader)
{
    return reader->next;
}

void crn_recording_go_to(crn_recording_reader *reader, uint64_t offset)
{
    reader->next = offset;
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
    if (read_at(reader, reader->header, HEADER_BYTES, 0) < HEADER_BYTES ||
        memcmp(reader->header, start, sizeof start)) {
        r = crn_error_set(error, -EBADMSG, "%s: is not a recording: not a little-endian BigTIFF",
                          path);
        goto fail;
    }
    memcpy(&reader->next, reader->header + FIRST_LINK, sizeof reader->next);
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
