/* The pages of one view: their checks, their pixels, and where the next view begins. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/formats/recording/reader_internal.h"

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
                             reader->path, reader->next.view, page);
    return crn_error_set(error, -EBADMSG, "%s: page %" PRIu64 ": %s", reader->path, page, text);
}

int crn_reader_tiff_fault(crn_recording_reader *reader, uint64_t page, crn_error *error)
{
    /* libtiff's text can contain any byte of the file. */
    for (char *c = reader->tiff_error.text; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = '?';
    const char *text = reader->tiff_error.text;
    return fault(reader, page, error, "%s", *text ? text : "libtiff cannot read it");
}

/* --- one page --- */

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

/* The pixels of a page. */
typedef struct page_pixels {
    uint64_t begin; /* in the file; 0: its strips do not follow one another */
    size_t bytes;
} page_pixels;

/* Of strips that follow one another and have `bytes` together, in a file of this machine's byte
 * order, what libtiff returns is what lies in the file. */
static page_pixels find_pixels(TIFF *tiff, size_t bytes)
{
    uint32_t strips = TIFFNumberOfStrips(tiff);
    uint64_t begin = TIFFGetStrileOffset(tiff, 0), end = begin;
    uint16_t order = FILLORDER_MSB2LSB;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_FILLORDER, &order);
    if (order != FILLORDER_MSB2LSB) /* libtiff turns the bits around */
        return (page_pixels){0, bytes};
    for (uint32_t i = 0; i < strips; i++) {
        if (TIFFGetStrileOffset(tiff, i) != end)
            return (page_pixels){0, bytes};
        end += TIFFGetStrileByteCount(tiff, i);
    }
    return (page_pixels){end - begin == bytes ? begin : 0, bytes};
}

/* Reads bytes of the file, at most to its end. Returns 1, or as crn_reader_tiff_fault(). */
static int read_bytes(crn_recording_reader *reader, uint64_t page, unsigned char *to,
                      page_pixels pixels, crn_error *error)
{
    reader->past_end = false;
    return crn_reader_read_at(reader, to, pixels.bytes, pixels.begin) == pixels.bytes
               ? 1
               : crn_reader_tiff_fault(reader, page, error);
}

static int read_page(crn_recording_reader *reader, TIFF *tiff, uint64_t page, unsigned char *to,
                     page_pixels pixels, crn_error *error)
{
    uint32_t strips = TIFFNumberOfStrips(tiff);
    size_t bytes = pixels.bytes, strip_bytes = (size_t)TIFFStripSize(tiff);
    if (pixels.begin)
        return read_bytes(reader, page, to, pixels, error);
    reader->past_end = false;
    for (uint32_t i = 0; i < strips && bytes; i++) {
        size_t want = strip_bytes < bytes ? strip_bytes : bytes;
        if (TIFFReadEncodedStrip(tiff, i, to, (tmsize_t)want) != (tmsize_t)want)
            return crn_reader_tiff_fault(reader, page, error);
        to += want;
        bytes -= want;
    }
    return bytes ? fault(reader, page, error, "has too few strips") : 1;
}

static int reserve(crn_recording_reader *reader, crn_reader_buffer *b, size_t bytes,
                   crn_error *error)
{
    if (bytes > b->room) {
        free(b->memory);
        b->memory = malloc(bytes);
        b->room = b->memory ? bytes : 0;
    }
    return b->memory || bytes == 0
               ? 1
               : crn_error_set(error, -ENOMEM, "%s: no memory for a view of %zu bytes",
                               reader->path, bytes);
}

/* Reads the offset of the next directory from the directory at `offset`. */
static bool read_link(crn_recording_reader *reader, uint64_t offset, uint64_t *ret_next)
{
    uint64_t entries;
    return crn_reader_read_at(reader, &entries, sizeof entries, offset) == sizeof entries &&
           entries < reader->size / CRN_DIRECTORY_ENTRY_BYTES &&
           crn_reader_read_at(reader, ret_next, sizeof *ret_next,
                              offset + 8 + entries * CRN_DIRECTORY_ENTRY_BYTES) == sizeof *ret_next;
}

/* Parses the first page's JSON and checks it against the file's size. */
static int read_description(crn_recording_reader *reader, TIFF *tiff, crn_recorded_view *view,
                            crn_error *error)
{
    char *text = NULL;
    crn_error why = {0};
    if (!TIFFGetField(tiff, TIFFTAG_IMAGEDESCRIPTION, &text) || !text)
        return fault(reader, reader->next.page, error,
                     "has no ImageDescription; is this a cernita recording?");
    if (crn_parse_description(text, view, &reader->classes, &why))
        return fault(reader, reader->next.page, error, "%s", why.text);
    if (view->header.payload_bytes > reader->size) {
        reader->past_end = true;
        return fault(reader, reader->next.page, error, "is larger than the file");
    }
    return 1;
}

/* --- the maps --- */

/* The pages of a view while they are read. As the writer lays them, the maps follow one another,
 * and all are read at once. */
typedef struct view_pages {
    crn_recorded_pixels wanted;
    const crn_view_header *header;
    size_t plane_bytes;
    uint64_t directory;   /* of the page at hand */
    page_pixels together; /* of the maps so far, as long as they follow one another; 0: not */
} view_pages;

static crn_reader_buffer *planes_of(crn_recording_reader *reader, const view_pages *pages)
{
    bool is_interleaved = pages->wanted == CRN_PIXELS_ALL && pages->header->layout == CRN_HWC;
    return is_interleaved ? &reader->planes : &reader->maps;
}

/* Reads what the pages before were found to have. Returns 1, or as crn_reader_tiff_fault(). */
static int read_together(crn_recording_reader *reader, view_pages *pages, uint64_t page,
                         crn_error *error)
{
    crn_reader_buffer *planes = planes_of(reader, pages);
    page_pixels together = pages->together;
    pages->together.begin = 0;
    int r = reserve(reader, planes, (size_t)pages->header->payload_bytes, error);
    return r > 0 && together.bytes ? read_bytes(reader, page, planes->memory, together, error) : r;
}

/* Takes the map of the page that is open. Returns 1, or as crn_reader_tiff_fault(). */
static int take_map(crn_recording_reader *reader, TIFF *tiff, uint32_t channel, view_pages *pages,
                    crn_error *error)
{
    uint64_t page = reader->next.page + channel;
    page_pixels pixels = find_pixels(tiff, pages->plane_bytes), *together = &pages->together;
    if (channel == 0)
        together->begin = pixels.begin;
    if (together->begin && together->begin + together->bytes == pixels.begin) {
        together->bytes += pixels.bytes;
        return 1;
    }
    int r = 1;
    if (pages->wanted < CRN_PIXELS_ALL)
        together->begin = 0;
    else if (together->begin || channel == 0)
        r = read_together(reader, pages, page, error);
    if (r <= 0 || pages->wanted < CRN_PIXELS_ALL)
        return r;
    return read_page(reader, tiff, page,
                     planes_of(reader, pages)->memory + channel * pages->plane_bytes, pixels,
                     error);
}

/* The maps in memory once all pages are taken. Returns 1, or as crn_reader_tiff_fault(). */
static int finish_maps(crn_recording_reader *reader, view_pages *pages, crn_recorded_view *view,
                       crn_error *error)
{
    const crn_view_header *header = &view->header;
    int r = pages->together.begin ? read_together(reader, pages, reader->next.page, error) : 1;
    if (r > 0)
        r = reserve(reader, &reader->maps, (size_t)header->payload_bytes, error);
    if (r > 0 && planes_of(reader, pages) == &reader->planes)
        crn_transpose(reader->planes.memory, reader->maps.memory, header->channels,
                      (size_t)header->height * header->width, crn_type_bytes(header->type));
    if (pages->wanted == CRN_PIXELS_PLANAR)
        view->header.layout = CRN_CHW;
    view->maps = r > 0 ? reader->maps.memory : NULL;
    return r;
}

/* --- from page to page --- */

/* Offset of the directory behind that one; offsets must increase, so that loops are impossible.
 * Returns 1, or as crn_reader_tiff_fault(). */
static int find_page(crn_recording_reader *reader, uint64_t before, uint64_t page,
                     uint64_t *ret_directory, crn_error *error)
{
    reader->past_end = false;
    if (!read_link(reader, before, ret_directory) || !*ret_directory) {
        reader->past_end = true; /* the chain of directories ends early, as in a truncated file */
        return fault(reader, page, error, "is missing");
    }
    return *ret_directory > before
               ? 1
               : fault(reader, page, error, "lies before the page that it follows");
}

/* The bytes of the directory; false if it is none of a recording's. */
static bool read_directory(crn_recording_reader *reader, uint64_t offset,
                           unsigned char bytes[CRN_DIRECTORY_MAX], size_t *ret_size)
{
    *ret_size = crn_reader_read_at(reader, bytes, 8, offset) == 8 ? crn_directory_size(bytes) : 0;
    return *ret_size > 0 && crn_reader_read_at(reader, bytes, *ret_size, offset) == *ret_size;
}

/* True if the kept directory is of such a map. */
static bool has_kept(const crn_recording_reader *reader, const crn_view_header *header)
{
    const crn_view_header *kept = &reader->kept_of;
    return reader->kept.size > 0 && kept->width == header->width &&
           kept->height == header->height && kept->type == header->type;
}

/* Keeps the directory of the map that libtiff has read, to know the next ones by. */
static void keep_directory(crn_recording_reader *reader, const view_pages *pages)
{
    unsigned char bytes[CRN_DIRECTORY_MAX];
    size_t size;
    const page_pixels *together = &pages->together;
    reader->kept.size = 0;
    reader->kept_of = *pages->header;
    if (together->begin && read_directory(reader, pages->directory, bytes, &size))
        crn_directory_keep(&reader->kept, bytes, size,
                           together->begin + together->bytes - pages->plane_bytes);
}

/* Takes the map of the directory if that is alike to the kept one. */
static bool take_alike(crn_recording_reader *reader, view_pages *pages)
{
    unsigned char bytes[CRN_DIRECTORY_MAX];
    size_t size;
    page_pixels *together = &pages->together;
    uint64_t pixels = together->begin + together->bytes, end = pixels + pages->plane_bytes;
    if (!together->begin || !has_kept(reader, pages->header) || end > reader->size ||
        !read_directory(reader, pages->directory, bytes, &size) || size != reader->kept.size ||
        !crn_directory_is_alike(&reader->kept, bytes, pixels))
        return false;
    together->bytes += pages->plane_bytes;
    reader->used = end > reader->used ? end : reader->used;
    return true;
}

/* Takes the photograph, whose page is open. Returns 1, or as crn_reader_tiff_fault(). */
static int take_intensity(crn_recording_reader *reader, TIFF *tiff, uint64_t page,
                          const view_pages *pages, crn_recorded_view *view, crn_error *error)
{
    size_t bytes = crn_wire_intensity_bytes(&view->header);
    char *text = NULL;
    if (!TIFFGetField(tiff, TIFFTAG_IMAGEDESCRIPTION, &text) || !text ||
        !crn_is_intensity_description(text))
        return fault(reader, page, error, "is not the intensity page that its view announces");
    if (pages->wanted == CRN_PIXELS_NONE)
        return 1;
    int r = reserve(reader, &reader->intensity, bytes, error);
    if (r > 0)
        r = read_page(reader, tiff, page, reader->intensity.memory, find_pixels(tiff, bytes),
                      error);
    view->intensity = reader->intensity.memory;
    return r;
}

/* Takes page `index` of the view, which libtiff has opened. Returns 1, or as
 * crn_reader_tiff_fault(). */
static int take_open(crn_recording_reader *reader, TIFF *tiff, uint32_t index, view_pages *pages,
                     crn_recorded_view *view, crn_error *error)
{
    const crn_view_header *header = pages->header;
    bool is_map = index < header->channels;
    uint64_t page = reader->next.page + index;
    int r = check_page(reader, tiff, page, header, is_map ? header->type : CRN_U8, error);
    if (r > 0 && !is_map)
        return take_intensity(reader, tiff, page, pages, view, error);
    if (r > 0)
        r = take_map(reader, tiff, index, pages, error);
    if (r > 0 && index > 0)
        keep_directory(reader, pages);
    return r;
}

/* Has libtiff open the page behind the one that was taken last. */
static bool open_page(crn_recording_reader *reader, TIFF **tiff, uint64_t before,
                      uint64_t directory)
{
    if (TIFFCurrentDirOffset(*tiff) == before)
        return TIFFReadDirectory(*tiff);
    /* A jump would make libtiff walk through the directories between. */
    TIFFClose(*tiff);
    *tiff = crn_reader_open_at(reader, directory);
    return *tiff != NULL;
}

/* Takes all pages of the view whose first page is open, with the pixels that are requested. Returns
 * 1, or as crn_reader_tiff_fault(). */
static int take_pages(crn_recording_reader *reader, TIFF **tiff, uint64_t count, view_pages *pages,
                      crn_recorded_view *view, crn_error *error)
{
    int r = take_open(reader, *tiff, 0, pages, view, error);
    for (uint32_t i = 1; i < count && r > 0; i++) {
        uint64_t page = reader->next.page + i, before = pages->directory;
        r = find_page(reader, before, page, &pages->directory, error);
        if (r <= 0 || (i < pages->header->channels && take_alike(reader, pages)))
            continue;
        r = open_page(reader, tiff, before, pages->directory)
                ? take_open(reader, *tiff, i, pages, view, error)
                : crn_reader_tiff_fault(reader, page, error);
    }
    return r > 0 && pages->wanted >= CRN_PIXELS_ALL ? finish_maps(reader, pages, view, error) : r;
}

int crn_reader_read_view(crn_recording_reader *reader, TIFF **tiff, crn_recorded_pixels wanted,
                         crn_recorded_view *ret_view, crn_recording_position *ret_next,
                         crn_error *error)
{
    crn_recorded_view view = {0};
    crn_recording_position next = reader->next;
    int r = read_description(reader, *tiff, &view, error);
    if (r <= 0)
        return r;
    const crn_view_header *header = &view.header;
    view_pages pages = {.wanted = wanted,
                        .header = header,
                        .plane_bytes = (size_t)(header->payload_bytes / header->channels),
                        .directory = next.offset};
    uint64_t count = (uint64_t)header->channels + (crn_wire_intensity_bytes(header) > 0);
    r = take_pages(reader, tiff, count, &pages, &view, error);
    if (r <= 0)
        return r;
    reader->past_end = false;
    next.page += count;
    next.view++;
    if (!read_link(reader, pages.directory, &next.offset))
        return fault(reader, next.page - 1, error, "has a broken directory");
    if (next.offset && next.offset <= pages.directory)
        return fault(reader, next.page, error, "lies before the page that it follows");
    *ret_view = view;
    *ret_next = next;
    return 1;
}
