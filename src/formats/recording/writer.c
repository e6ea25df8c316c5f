/*
 * libtiff writes each view as a small separate TIFF, in memory, at offsets after the file's present
 * end: first the pixels of all pages side by side, so that they can be read at once, then the
 * pages' directories. Then its bytes are written in one call, and last the block with the link to
 * it from the previous view. libtiff alone would walk all earlier pages to link each new one.
 *
 * Whole blocks are written, so that writes may bypass the page cache. The file's end from the block
 * with the link on is therefore kept in memory: the next view begins in it.
 */
#include "src/formats/recording/recording.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/formats/recording/blocks.h"
#include "src/formats/recording/format.h"
#include "src/formats/recording/unfinished.h"
#include "stages/picture/tiff_faults.h"

_Static_assert(__BYTE_ORDER == __LITTLE_ENDIAN,
               "pages and links are written as they lie in memory");

#define HEADER_BYTES 16  /* of a BigTIFF */
#define FIRST_LINK   8   /* offset of the first directory's offset in the header */
#define PAGE_BYTES   512 /* upper bound of a page's directory, without its JSON */
#define EXTENTS      3   /* of a view: maps, photograph if any, and what libtiff writes */
#define BLOCK_BYTES  CRN_RECORDING_BLOCK_BYTES

/* A contiguous range of the view's bytes: in `small` (written by libtiff) or
 * elsewhere (pixels). */
typedef struct writer_extent {
    uint64_t offset; /* in the file */
    size_t bytes;
    unsigned char *memory;
    bool pixels;
} writer_extent;

struct crn_recording_writer {
    crn_recording_part file;
    uint64_t end;          /* end of the file's valid bytes */
    uint64_t link;         /* offset of the link to the next view's first directory */
    unsigned char *blocks; /* the file from the block with the link on */
    size_t blocks_room;
    uint64_t views;
    const crn_classes *classes; /* NULL: not known */

    /* The view being laid out, as libtiff's file. */
    unsigned char header[HEADER_BYTES];
    uint64_t position, top; /* libtiff's file position; end of the file so far */
    writer_extent extents[EXTENTS];
    size_t extents_used;
    unsigned char *small;
    size_t small_room;
    uint64_t pixels_at;    /* where libtiff's next write is to go; 0: to the end */
    unsigned char *planes; /* scratch for interleaved maps */
    size_t planes_room;
    crn_error tiff_error;
};

/* --- file access for libtiff, in memory ------------------------------------------------------ */

static writer_extent *find_extent(crn_recording_writer *writer, uint64_t offset, size_t bytes)
{
    for (size_t i = writer->extents_used; i-- > 0;) {
        writer_extent *e = &writer->extents[i];
        if (offset >= e->offset && offset + bytes <= e->offset + e->bytes)
            return e;
    }
    return NULL;
}

/* Appends a copy of the bytes; NULL reserves a zeroed range, because libtiff writes the data that a
 * directory refers to before the directory. */
static bool append(crn_recording_writer *writer, const void *data, size_t bytes)
{
    writer_extent *small = &writer->extents[writer->extents_used - 1];
    if (bytes > writer->small_room - small->bytes)
        return false;
    if (data)
        memcpy(small->memory + small->bytes, data, bytes);
    else
        memset(small->memory + small->bytes, 0, bytes);
    small->bytes += bytes;
    writer->top += bytes;
    return true;
}

static tmsize_t tiff_write(thandle_t handle, void *data, tmsize_t size)
{
    crn_recording_writer *writer = handle;
    size_t bytes = (size_t)size;
    uint64_t at = writer->position;
    if (at + bytes <= HEADER_BYTES) {
        memcpy(writer->header + at, data, bytes);
    } else if (at >= writer->top) {
        if ((at > writer->top && !append(writer, NULL, (size_t)(at - writer->top))) ||
            !append(writer, data, bytes))
            return 0;
    } else {
        writer_extent *e = find_extent(writer, at, bytes);
        if (!e || (e->pixels && data != e->memory + (at - e->offset)))
            return 0;
        if (!e->pixels)
            memcpy(e->memory + (at - e->offset), data, bytes);
    }
    writer->position = at + bytes;
    return size;
}

static tmsize_t tiff_read(thandle_t handle, void *data, tmsize_t size)
{
    crn_recording_writer *writer = handle;
    size_t bytes = (size_t)size;
    uint64_t at = writer->position;
    writer_extent *e = find_extent(writer, at, bytes);
    if (at + bytes <= HEADER_BYTES)
        memcpy(data, writer->header + at, bytes);
    else if (e)
        memcpy(data, e->memory + (at - e->offset), bytes);
    else
        return 0;
    writer->position = at + bytes;
    return size;
}

static toff_t tiff_seek(thandle_t handle, toff_t offset, int whence)
{
    crn_recording_writer *writer = handle;
    uint64_t end = writer->pixels_at ? writer->pixels_at : writer->top;
    uint64_t from = whence == SEEK_END ? end : whence == SEEK_CUR ? writer->position : 0;
    return writer->position = from + offset;
}

static toff_t tiff_size(thandle_t handle)
{
    return ((crn_recording_writer *)handle)->top;
}

static int tiff_close(thandle_t handle)
{
    (void)handle;
    return 0;
}

static TIFF *open_view(crn_recording_writer *writer)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options)
        return NULL;
    *writer->tiff_error.text = '\0';
    crn_tiff_keep_faults(options, &writer->tiff_error, NULL);
    TIFF *tiff = TIFFClientOpenExt(writer->file.name, "w8l", writer, tiff_read, tiff_write,
                                   tiff_seek, tiff_close, tiff_size, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return tiff;
}

/* --- one view -------------------------------------------------------------------------------- */

/* A page of the view; its pixels are laid out already. */
typedef struct writer_page {
    crn_type type;
    uint64_t at; /* of its pixels in the file */
    const unsigned char *pixels;
    const char *description; /* NULL: none */
} writer_page;

static bool write_page(crn_recording_writer *writer, TIFF *tiff, const crn_view_header *header,
                       const writer_page *page)
{
    tmsize_t bytes =
        (tmsize_t)header->height * header->width * (tmsize_t)crn_type_bytes(page->type);
    bool is_set =
        TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, header->width) &&
        TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, header->height) &&
        TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, (int)crn_type_bytes(page->type) * 8) &&
        TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT,
                     page->type == CRN_U8 ? SAMPLEFORMAT_UINT : SAMPLEFORMAT_IEEEFP) &&
        TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 1) &&
        TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) &&
        TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK) &&
        TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_NONE) &&
        TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, header->height) &&
        (!page->description || TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION, page->description));
    writer->pixels_at = page->at; /* where libtiff finds the file's end */
    bool is_good =
        is_set && TIFFWriteRawStrip(tiff, 0, (void *)(uintptr_t)page->pixels, bytes) == bytes;
    writer->pixels_at = 0;
    return is_good && TIFFWriteDirectory(tiff);
}

static bool write_pages(crn_recording_writer *writer, TIFF *tiff, const crn_recorded_view *view)
{
    char text[CRN_DESCRIPTION_BYTES];
    const crn_view_header *header = &view->header;
    const writer_extent *maps = &writer->extents[0], *intensity = &writer->extents[1];
    size_t plane_bytes = maps->bytes / header->channels;
    crn_describe_view(view, writer->classes, text);
    for (uint32_t c = 0; c < header->channels; c++)
        if (!write_page(writer, tiff, header,
                        &(writer_page){header->type, maps->offset + c * plane_bytes,
                                       maps->memory + c * plane_bytes, c ? NULL : text}))
            return false;
    crn_describe_intensity(header, text);
    return !view->intensity ||
           write_page(writer, tiff, header,
                      &(writer_page){CRN_U8, intensity->offset, intensity->memory, text});
}

static int grow(void *memory, size_t *room, size_t need, size_t element_bytes)
{
    void **at = memory;
    if (need <= *room)
        return 0;
    void *larger = realloc(*at, need * element_bytes);
    if (!larger)
        return -ENOMEM;
    *at = larger;
    *room = need;
    return 0;
}

static int reserve(crn_recording_writer *writer, const crn_view_header *header)
{
    size_t pages = (size_t)header->channels + 1;
    int r = grow(&writer->small, &writer->small_room,
                 pages * PAGE_BYTES + 2 * CRN_DESCRIPTION_BYTES, 1);
    if (!r && header->layout == CRN_HWC)
        r = grow(&writer->planes, &writer->planes_room, (size_t)header->payload_bytes, 1);
    return r;
}

static void add_extent(crn_recording_writer *writer, const unsigned char *memory, size_t bytes,
                       bool pixels)
{
    writer->extents[writer->extents_used++] =
        (writer_extent){writer->top, bytes, (unsigned char *)(uintptr_t)memory, pixels};
    writer->top += bytes;
}

/* Lays the view out in memory, `gap` bytes after the file's end. */
static int lay_out(crn_recording_writer *writer, const crn_recorded_view *view, size_t gap,
                   crn_error *error)
{
    const crn_view_header *header = &view->header;
    if (reserve(writer, header))
        return crn_error_set(error, -ENOMEM, "%s: no memory for a view", writer->file.name);
    const unsigned char *planes = view->maps;
    if (header->layout == CRN_HWC) {
        crn_transpose(view->maps, writer->planes, (size_t)header->height * header->width,
                      header->channels, crn_type_bytes(header->type));
        planes = writer->planes;
    }
    writer->top = writer->end + gap;
    writer->position = writer->pixels_at = 0;
    writer->extents_used = 0;
    add_extent(writer, planes, (size_t)header->payload_bytes, true);
    if (view->intensity)
        add_extent(writer, view->intensity, crn_wire_intensity_bytes(header), true);
    add_extent(writer, writer->small, 0, false);
    TIFF *tiff = open_view(writer);
    bool good = tiff && write_pages(writer, tiff, view);
    if (tiff)
        TIFFClose(tiff);
    if (!good)
        return crn_error_set(error, -EIO, "%s: libtiff: %s", writer->file.name,
                             *writer->tiff_error.text ? writer->tiff_error.text : "no memory");
    return 0;
}

/* Of the first byte in `blocks`. */
static uint64_t blocks_offset(const crn_recording_writer *writer)
{
    return writer->link - writer->link % BLOCK_BYTES;
}

static int reserve_blocks(crn_recording_writer *writer, size_t bytes)
{
    if (bytes <= writer->blocks_room)
        return 0;
    unsigned char *blocks = aligned_alloc(BLOCK_BYTES, bytes);
    if (!blocks)
        return -ENOMEM;
    if (writer->blocks)
        memcpy(blocks, writer->blocks, (size_t)(writer->end - blocks_offset(writer)));
    free(writer->blocks);
    writer->blocks = blocks;
    writer->blocks_room = bytes;
    return 0;
}

/* Writes the extents, which are contiguous in the file, and zeros before and after them. */
static int write_extents(crn_recording_writer *writer)
{
    uint64_t offset = blocks_offset(writer);
    size_t used = (size_t)(writer->top - offset), bytes = crn_blocks_up(used);
    int r = reserve_blocks(writer, bytes);
    if (r)
        return r;
    memset(writer->blocks + (writer->end - offset), 0, writer->extents[0].offset - writer->end);
    for (size_t i = 0; i < writer->extents_used; i++) {
        const writer_extent *e = &writer->extents[i];
        memcpy(writer->blocks + (e->offset - offset), e->memory, e->bytes);
    }
    memset(writer->blocks + used, 0, bytes - used);
    return crn_blocks_write(writer->file.fd, writer->blocks, bytes, offset);
}

/* Links the view to the previous one, or to the file's header. */
static int write_link(crn_recording_writer *writer, uint64_t first)
{
    unsigned char *link = writer->blocks + writer->link % BLOCK_BYTES;
    memcpy(link, &first, sizeof first);
    int r = crn_blocks_write(writer->file.fd, writer->blocks, BLOCK_BYTES, blocks_offset(writer));
    if (r)
        memset(link, 0, sizeof first);
    return r;
}

/* The view is a part of the file: keeps its end from the block with its link on. */
static void keep_end(crn_recording_writer *writer, uint64_t link)
{
    uint64_t before = blocks_offset(writer);
    writer->link = link;
    writer->end = writer->top;
    memmove(writer->blocks, writer->blocks + (blocks_offset(writer) - before),
            (size_t)(writer->end - blocks_offset(writer)));
}

/* Offset of the link in the view's last page to the next page. */
static uint64_t last_link(crn_recording_writer *writer, uint64_t directory)
{
    for (uint64_t next = directory;; directory = next) {
        uint64_t entries = 0;
        writer_extent *e = find_extent(writer, directory, sizeof entries);
        if (!e)
            return 0;
        memcpy(&entries, e->memory + (directory - e->offset), sizeof entries);
        uint64_t link = directory + 8 + entries * 20;
        e = find_extent(writer, link, sizeof next);
        if (!e)
            return 0;
        memcpy(&next, e->memory + (link - e->offset), sizeof next);
        if (!next)
            return link;
    }
}

/* Lays the view out so that one block holds its link: a kill between two would leave a part of it.
 * The offset of its first directory, and that of its link. */
static int lay_out_linked(crn_recording_writer *writer, const crn_recorded_view *view,
                          uint64_t *ret_first, uint64_t *ret_link, crn_error *error)
{
    for (size_t gap = 0;; gap += sizeof *ret_link) {
        int r = lay_out(writer, view, gap, error);
        if (r)
            return r;
        memcpy(ret_first, writer->header + FIRST_LINK, sizeof *ret_first);
        *ret_link = last_link(writer, *ret_first);
        if (!*ret_link)
            return crn_error_set(error, -EIO, "%s: libtiff left pages unlinked", writer->file.name);
        if (*ret_link % BLOCK_BYTES + sizeof *ret_link <= BLOCK_BYTES)
            return 0;
    }
}

static int check_view(const crn_recording_writer *writer, const crn_recorded_view *view,
                      crn_error *error)
{
    const crn_view_header *header = &view->header;
    bool type = header->type == CRN_U8 || header->type == CRN_F16 || header->type == CRN_F32;
    bool layout = header->layout == CRN_CHW || header->layout == CRN_HWC;
    uint64_t bytes = crn_payload_bytes(header);
    bool flag = header->flags & CRN_WIRE_FLAG_INTENSITY;
    if (type && layout && bytes && bytes == header->payload_bytes && view->maps &&
        !(header->flags & ~CRN_RECORDED_FLAGS) && flag == (view->intensity != NULL))
        return 0;
    return crn_error_set(error, -EINVAL, "%s: view %llu does not fit its header", writer->file.name,
                         (unsigned long long)header->sequence);
}

int crn_recording_write(crn_recording_writer *writer, const crn_recorded_view *view,
                        crn_error *error)
{
    uint64_t first, link;
    int r = check_view(writer, view, error);
    if (!r)
        r = lay_out_linked(writer, view, &first, &link, error);
    if (r)
        return r;
    r = write_extents(writer);
    if (!r)
        r = write_link(writer, first);
    if (r)
        return crn_error_set(error, r, "%s: cannot write: %s", writer->file.name, strerror(-r));
    keep_end(writer, link);
    writer->views++;
    return 0;
}

/* --- the file -------------------------------------------------------------------------------- */

static void writer_free(crn_recording_writer *writer)
{
    crn_recording_part_drop(&writer->file);
    free(writer->small);
    free(writer->planes);
    free(writer->blocks);
    free(writer);
}

int crn_recording_create(const char *path, bool replace, crn_recording_writer **ret_writer,
                         crn_error *error)
{
    static const unsigned char empty[HEADER_BYTES] = {'I', 'I', 43, 0, 8};
    crn_recording_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return crn_error_set(error, -ENOMEM, "%s: no memory", path);
    writer->file.fd = -1;
    int r = reserve_blocks(writer, BLOCK_BYTES)
                ? crn_error_set(error, -ENOMEM, "%s: no memory", path)
                : crn_recording_part_open(path, replace, &writer->file, error);
    if (r)
        goto fail;
    memset(writer->blocks, 0, BLOCK_BYTES);
    memcpy(writer->blocks, empty, sizeof empty);
    r = crn_blocks_write(writer->file.fd, writer->blocks, BLOCK_BYTES, 0);
    if (r) {
        crn_error_set(error, r, "%s: cannot write: %s", writer->file.name, strerror(-r));
        goto fail;
    }
    writer->end = HEADER_BYTES;
    writer->link = FIRST_LINK;
    *ret_writer = writer;
    return 0;
fail:
    writer_free(writer);
    return r;
}

void crn_recording_name_classes(crn_recording_writer *writer, const crn_classes *classes)
{
    writer->classes = classes;
}

void crn_recording_bypass_cache(const crn_recording_writer *writer)
{
    crn_blocks_bypass_cache(writer->file.fd);
}

uint64_t crn_recording_bytes(const crn_recording_writer *writer)
{
    return writer->end;
}

uint64_t crn_recording_views(const crn_recording_writer *writer)
{
    return writer->views;
}

bool crn_recording_is_there(const crn_recording_writer *writer)
{
    return crn_recording_part_is_there(&writer->file);
}

int crn_recording_close(crn_recording_writer **writer, crn_error *error)
{
    crn_recording_writer *w = *writer;
    *writer = NULL;
    if (!w)
        return 0;
    int r;
    /* Removes what a failed write, or the last block, has after the last view. */
    if (ftruncate(w->file.fd, (off_t)w->end) < 0) {
        r = crn_error_set(error, -errno, "%s: cannot be cut to its length: %s", w->file.name,
                          strerror(errno));
        crn_recording_part_keep(&w->file);
    } else {
        r = crn_recording_part_finish(&w->file, error);
    }
    writer_free(w);
    return r;
}

void crn_recording_discard(crn_recording_writer **writer)
{
    if (*writer)
        writer_free(*writer);
    *writer = NULL;
}
