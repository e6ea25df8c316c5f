/* libtiff decodes strips and tiles into a buffer from which samples are copied to their planes;
 * strips with the picture's own layout are decoded in place. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stages/picture/tiff.h"
#include "stages/picture/tiff_faults.h"

#define ALLOC_FLOOR (INT64_C(256) << 20) /* libtiff's allocation limit is at least this */

typedef struct tiff_job {
    const char *path;
    TIFF *tiff;
    int32_t number; /* of the page, from 1 */
    crn_tiff_page page;
    crn_tiff_stack stack;
    bool masks; /* are pages, as there are no others */
    crn_picture picture;
    uint8_t *chunk, *wide; /* a strip or tile; one row of it expanded from bits to bytes */
    size_t chunk_capacity, wide_capacity;
    uint8_t palette[3][256];
    crn_error failure, warning; /* libtiff's first error and last warning */
} tiff_job;

/* --- libtiff's file handle --- */

static int tiff_fault(tiff_job *j, crn_error *error)
{
    const char *text = *j->failure.text   ? j->failure.text
                       : *j->warning.text ? j->warning.text
                                          : "libtiff cannot read it";
    crn_picture_clean(j->failure.text);
    crn_picture_clean(j->warning.text);
    char page[640];
    snprintf(page, sizeof page, "page %" PRId32 ": %.512s", j->number, text);
    return crn_picture_fail(j->path, page, error);
}

static int open_tiff(tiff_job *j, int fd, crn_error *error)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    struct stat status;
    if (options && !fstat(fd, &status)) {
        int64_t max = (int64_t)status.st_size * 2;
        TIFFOpenOptionsSetMaxSingleMemAlloc(options, max < ALLOC_FLOOR ? ALLOC_FLOOR : max);
        crn_tiff_keep_faults(options, &j->failure, &j->warning);
        j->tiff = TIFFFdOpenExt(fd, j->path, "rm", options);
    }
    if (options)
        TIFFOpenOptionsFree(options);
    if (j->tiff)
        return 0;
    close(fd);
    return tiff_fault(j, error);
}

/* Advances to the next page that is neither a reduced copy nor a mask: 1, 0 at the end, negative
 * errno. */
static int turn_page(tiff_job *j, int32_t *passed_over, crn_error *error)
{
    for (;;) {
        if (TIFFLastDirectory(j->tiff))
            return 0;
        j->number++;
        if (!TIFFReadDirectory(j->tiff))
            return tiff_fault(j, error);
        if (!crn_tiff_page_is_beside(j->tiff, j->masks))
            return 1;
        ++*passed_over;
    }
}

static int go_to_page(tiff_job *j, int32_t number, crn_error *error)
{
    j->number = number;
    return TIFFSetDirectory(j->tiff, (tdir_t)(number - 1)) ? 0 : tiff_fault(j, error);
}

/* --- pages --- */

/* From the very first page on: as turn_page(). */
static int search_first(tiff_job *j, crn_error *error)
{
    j->picture.passed_over = 0;
    int r = go_to_page(j, 1, error);
    if (r || !crn_tiff_page_is_beside(j->tiff, j->masks))
        return r ? r : 1;
    j->picture.passed_over = 1;
    return turn_page(j, &j->picture.passed_over, error);
}

/* Goes to the first page: where there are reduced copies and masks alone, the first mask, else the
 * first copy. 1 if others may follow, 0 if not, negative errno. */
static int find_first(tiff_job *j, crn_error *error)
{
    uint16_t count = 0;
    const void *offsets;
    int r = search_first(j, error);
    if (r)
        return r;
    j->masks = true;
    r = search_first(j, error);
    if (r)
        return r;
    j->picture.passed_over--;
    r = go_to_page(j, 1, error);
    if (!r && TIFFGetField(j->tiff, TIFFTAG_SUBIFD, &count, &offsets) && count)
        r = crn_tiff_page_refuse(j->path, j->number, error,
                                 "is a reduced copy of an image that is not a page; save that one "
                                 "as a plain TIFF");
    return r;
}

static int set_shape(tiff_job *j, const crn_tiff_page *first, int64_t pages, crn_error *error)
{
    const crn_picture_shape shape = {.type = first->type,
                                     .pages = pages,
                                     .samples = first->samples,
                                     .height = first->height,
                                     .width = first->width,
                                     .alpha = first->alpha >= 0};
    int32_t passed_over = j->picture.passed_over;
    int r = crn_picture_set_shape(j->path, &shape, &j->picture, error);
    j->picture.alpha_associated = first->associated;
    j->picture.passed_over = passed_over;
    return r;
}

/* Describes all pages, then returns to the first. */
static int survey(tiff_job *j, crn_error *error)
{
    crn_tiff_page first = {0};
    int64_t pages = 0;
    int more = find_first(j, error), r = more < 0 ? more : 0;
    while (!r) {
        r = crn_tiff_page_describe(j->tiff, j->path, j->number, &j->page, error);
        if (!r && !pages)
            first = j->page;
        if (!r)
            r = crn_tiff_page_compare(&j->page, &first, j->path, error);
        if (r)
            return r;
        pages++;
        if (more)
            more = turn_page(j, &j->picture.passed_over, error);
        if (more <= 0)
            r = more < 0 ? more : 1;
    }
    if (r > 0)
        r = go_to_page(j, first.number, error);
    if (!r)
        r = crn_tiff_page_describe(j->tiff, j->path, j->number, &j->page, error);
    if (!r && pages == 1)
        r = crn_tiff_stack_find(j->tiff, j->path, &j->page, &j->stack, error);
    return r ? r : set_shape(j, &first, pages == 1 ? j->stack.images : pages, error);
}

/* --- pixels --- */

/* Layout of a page's strips or tiles: columns x rows of one, and its bytes. */
typedef struct cut {
    uint32_t width, height;
    int32_t samples; /* samples per strip or tile */
    uint64_t row_bytes, bytes;
} cut;

static int find_cut(tiff_job *j, cut *ret_cut, crn_error *error)
{
    const crn_tiff_page *p = &j->page;
    cut c = {p->width, p->height, p->separate ? 1 : p->file_samples, 0, 0};
    uint32_t rows = 0;
    if (p->tiled) {
        TIFFGetField(j->tiff, TIFFTAG_TILEWIDTH, &c.width);
        TIFFGetField(j->tiff, TIFFTAG_TILELENGTH, &c.height);
    } else if (TIFFGetFieldDefaulted(j->tiff, TIFFTAG_ROWSPERSTRIP, &rows) && rows < c.height) {
        c.height = rows;
    }
    c.row_bytes = ((uint64_t)c.width * (uint64_t)c.samples * p->bits + 7) / 8;
    uint64_t theirs = p->tiled ? TIFFTileSize64(j->tiff) : TIFFVStripSize64(j->tiff, c.height);
    if (!c.width || !c.height || __builtin_mul_overflow(c.row_bytes, c.height, &c.bytes) ||
        c.bytes != theirs)
        return *j->failure.text ? tiff_fault(j, error)
                                : crn_tiff_page_refuse(j->path, j->number, error,
                                                       "has strips or tiles of no sensible size");
    *ret_cut = c;
    return 0;
}

/* Expands bits to bytes, scaled to 0..255 if `scale`. */
static void widen(const uint8_t *from, unsigned bits, bool scale, size_t count, uint8_t *to)
{
    unsigned max = (1U << bits) - 1, factor = scale ? 255 / max : 1;
    for (size_t i = 0; i < count; i++) {
        size_t bit = i * bits;
        unsigned value = (unsigned)from[bit / 8] >> (8 - bits - bit % 8) & max;
        to[i] = (uint8_t)(value * factor);
    }
}

/* Reads the palette, in 8 bits per colour. */
static bool read_palette(tiff_job *j)
{
    uint16_t *colours[3] = {NULL};
    if (!TIFFGetField(j->tiff, TIFFTAG_COLORMAP, &colours[0], &colours[1], &colours[2]))
        return false;
    int32_t count = 1 << j->page.bits;
    unsigned shift = 0; /* some writers store 8 bits where the format has 16 */
    for (int32_t c = 0; c < 3; c++)
        for (int32_t i = 0; i < count; i++)
            shift = colours[c][i] > UINT8_MAX ? 8 : shift;
    for (int32_t c = 0; c < 3; c++)
        for (int32_t i = 0; i < count; i++)
            j->palette[c][i] = (uint8_t)(colours[c][i] >> shift);
    return true;
}

/* Part of a row of page `index`: `count` pixels from (x, y) on, of the file's samples from
 * first_sample on. */
typedef struct tiff_segment {
    int32_t index, first_sample, y, x;
    size_t count;
} tiff_segment;

static void store_palette(tiff_job *j, const uint8_t *from, int32_t step, int32_t plane,
                          const tiff_segment *segment)
{
    const crn_image *image = &j->picture.image;
    for (int32_t c = 0; c < 3; c++) {
        uint8_t *to = crn_image_element(image, plane + c, segment->y, segment->x);
        for (size_t i = 0; i < segment->count; i++)
            to[(ptrdiff_t)i * image->step] = j->palette[c][from[i * (size_t)step]];
    }
}

/* Inverts values, so that the minimum is black. */
static void invert(const crn_image *image, void *first, size_t count)
{
    uint8_t *bytes = first;
    uint16_t *words = first;
    if (image->type == CRN_U8)
        for (size_t i = 0; i < count; i++)
            bytes[(ptrdiff_t)i * image->step] ^= UINT8_MAX;
    else
        for (size_t i = 0; i < count; i++)
            words[(ptrdiff_t)i * image->step] ^= UINT16_MAX;
}

/* Copies part of a row to its planes. */
static void store_row(tiff_job *j, const cut *c, const tiff_segment *segment, const uint8_t *row)
{
    const crn_tiff_page *p = &j->page;
    int32_t index = segment->index;
    size_t count = segment->count;
    size_t size = crn_type_bytes(p->type);
    if (p->bits < 8) {
        widen(row, p->bits, !p->palette, count * (size_t)c->samples, j->wide);
        row = j->wide;
    }
    for (int32_t i = 0; i < c->samples; i++, row += size) {
        int32_t sample = segment->first_sample + i;
        bool alpha = sample == p->alpha;
        int32_t plane = index * p->samples + sample - (p->alpha >= 0 && sample > p->alpha);
        const crn_image *image = alpha ? &j->picture.alpha : &j->picture.image;
        if (p->palette && !sample) {
            store_palette(j, row, c->samples, plane, segment);
            continue;
        }
        plane = alpha ? index : plane + (p->palette ? 2 : 0);
        void *to = crn_image_element(image, plane, segment->y, segment->x);
        crn_picture_copy(row, c->samples, to, image->step, count, size);
        if (p->inverted && !alpha)
            invert(image, to, count);
    }
}

static int32_t min(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static int read_tiles(tiff_job *j, int32_t index, const cut *c, crn_error *error)
{
    int32_t height = (int32_t)j->page.height, width = (int32_t)j->page.width;
    for (int32_t sample = 0; sample < j->page.file_samples; sample += c->samples)
        for (int64_t y = 0; y < height; y += c->height)
            for (int64_t x = 0; x < width; x += c->width) {
                uint32_t tile =
                    TIFFComputeTile(j->tiff, (uint32_t)x, (uint32_t)y, 0, (uint16_t)sample);
                tmsize_t bytes = (tmsize_t)c->bytes;
                if (TIFFReadEncodedTile(j->tiff, tile, j->chunk, bytes) != bytes)
                    return tiff_fault(j, error);
                int64_t rows = c->height < height - y ? c->height : height - y;
                int64_t columns = c->width < width - x ? c->width : width - x;
                tiff_segment segment = {index, sample, (int32_t)y, (int32_t)x, (size_t)columns};
                for (int64_t i = 0; i < rows; i++, segment.y++)
                    store_row(j, c, &segment, j->chunk + (uint64_t)i * c->row_bytes);
            }
    return 0;
}

/* True if the file's rows have the picture's layout. */
static bool in_place(const tiff_job *j, const cut *c)
{
    const crn_tiff_page *p = &j->page;
    const crn_image *image = &j->picture.image;
    return p->bits >= 8 && p->alpha < 0 && !p->palette && !p->inverted && !p->tiled &&
           image->step == c->samples && image->row_stride == image->width * (ptrdiff_t)c->samples;
}

/* Reads and decodes the strip that begins with that row. */
static int read_strip(tiff_job *j, const tiff_segment *row, const cut *c, uint8_t *to, size_t bytes,
                      crn_error *error)
{
    const crn_tiff_stack *stack = &j->stack;
    if (stack->images > 1)
        return crn_tiff_stack_read(j->tiff, &j->page,
                                   stack->at + (uint64_t)row->index * stack->image_bytes +
                                       (uint64_t)row->y * c->row_bytes,
                                   to, bytes, error);
    uint32_t strip = TIFFComputeStrip(j->tiff, (uint32_t)row->y, (uint16_t)row->first_sample);
    return TIFFReadEncodedStrip(j->tiff, strip, to, (tmsize_t)bytes) == (tmsize_t)bytes
               ? 0
               : tiff_fault(j, error);
}

static int read_strips(tiff_job *j, int32_t index, const cut *c, crn_error *error)
{
    int32_t height = (int32_t)j->page.height;
    bool direct = in_place(j, c);
    for (int32_t sample = 0; sample < j->page.file_samples; sample += c->samples)
        for (int64_t y = 0; y < height; y += c->height) {
            tiff_segment segment = {index, sample, (int32_t)y, 0, j->page.width};
            int32_t rows = min(height - segment.y, (int32_t)c->height);
            uint8_t *to = j->chunk;
            if (direct)
                to = crn_image_element(&j->picture.image, index * j->page.samples + sample,
                                       segment.y, 0);
            int r = read_strip(j, &segment, c, to, (uint64_t)rows * c->row_bytes, error);
            if (r)
                return r;
            for (int32_t i = 0; !direct && i < rows; i++, segment.y++)
                store_row(j, c, &segment, to + (uint64_t)i * c->row_bytes);
        }
    return 0;
}

static int grow(const tiff_job *j, uint8_t **memory, size_t *capacity, uint64_t bytes,
                crn_error *error)
{
    char text[CRN_BYTES_TEXT];
    if (bytes <= *capacity)
        return 0;
    free(*memory);
    *capacity = 0;
    *memory = bytes > crn_memory_available_bytes() ? NULL : malloc(bytes);
    if (!*memory)
        return crn_error_set(error, -ENOMEM,
                             "%s: page %" PRId32 " has strips or tiles of %s, for which there is "
                             "no memory",
                             j->path, j->number, crn_bytes_format(bytes, text));
    *capacity = bytes;
    return 0;
}

static int read_page(tiff_job *j, int32_t index, const cut *c, crn_error *error)
{
    int r = 0;
    if (j->page.palette && !read_palette(j))
        return crn_tiff_page_refuse(j->path, j->number, error, "has a palette without colours");
    if (!in_place(j, c))
        r = grow(j, &j->chunk, &j->chunk_capacity, c->bytes, error);
    if (!r && j->page.bits < 8)
        r = grow(j, &j->wide, &j->wide_capacity, c->row_bytes * 8, error);
    if (r)
        return r;
    return j->page.tiled ? read_tiles(j, index, c, error) : read_strips(j, index, c, error);
}

/* Goes to the next page and describes it. */
static int read_next(tiff_job *j, cut *ret_cut, crn_error *error)
{
    int32_t passed_over = 0;
    int r = turn_page(j, &passed_over, error);
    if (!r)
        return crn_tiff_page_refuse(j->path, j->number, error,
                                    "has disappeared; is another process writing to the file?");
    r = r < 0 ? r : crn_tiff_page_describe(j->tiff, j->path, j->number, &j->page, error);
    return r ? r : find_cut(j, ret_cut, error);
}

static int read_pages(tiff_job *j, crn_error *error)
{
    cut c = {0};
    int r = find_cut(j, &c, error);
    if (r)
        return r;
    r = crn_picture_reserve(j->path, c.bytes, &j->picture, error);
    for (int32_t index = 0; !r && index < j->picture.pages; index++) {
        if (index && j->stack.images <= 1)
            r = read_next(j, &c, error);
        if (!r)
            r = read_page(j, index, &c, error);
    }
    return r;
}

int crn_picture_tiff_read(int fd, const char *path, bool pixels, crn_picture *ret_picture,
                          crn_error *error)
{
    tiff_job j = {.path = path, .number = 1};
    errno = 0;
    int r = open_tiff(&j, fd, error);
    if (r)
        return r;
    r = survey(&j, error);
    if (!r && pixels)
        r = read_pages(&j, error);
    TIFFClose(j.tiff);
    free(j.chunk);
    free(j.wide);
    if (r)
        crn_picture_free(&j.picture);
    else
        *ret_picture = j.picture;
    return r;
}
