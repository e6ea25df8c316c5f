/* Pages are written uncompressed, in native byte order, in contiguous strips of about 1 MiB: dense
 * images directly from their memory, others through a buffer of one strip. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stages/base/file/new_file.h"
#include "stages/picture/internal.h"
#include "stages/picture/tiff_faults.h"

#define STRIP_BYTES   (1 << 20)
#define CLASSIC_BYTES UINT64_C(4200000000) /* of pixels; the rest, to 2^32, is for directories */
#define SAMPLES_MAX   UINT16_MAX

struct crn_picture_writer {
    crn_new_file part;
    char *path;
    TIFF *tiff;
    bool big, failed;
    int64_t pages;
    uint64_t bytes; /* of pixels written so far */
    uint8_t *strip;
    size_t strip_capacity;
    crn_error tiff_error;
};

/* One page: `samples` planes of an image from first_plane on, and a plane of alpha or NULL. */
typedef struct page {
    const crn_image *image, *alpha;
    int32_t first_plane, samples, alpha_plane;
    bool associated;
    const char *description;
} page;

/* Reports a failed write: the system's reason if there is one, else libtiff's message. */
static int tiff_fault(crn_picture_writer *writer, int reason, crn_error *error)
{
    writer->failed = true;
    crn_picture_clean(writer->tiff_error.text);
    const char *text = *writer->tiff_error.text ? writer->tiff_error.text : "libtiff cannot";
    if (reason)
        return crn_error_set(error, -reason, "%s: page %" PRId64 " cannot be written: %s",
                             writer->path, writer->pages + 1, strerror(reason));
    return crn_error_set(error, -EIO, "%s: page %" PRId64 " cannot be written: %.512s",
                         writer->path, writer->pages + 1, text);
}

/* --- one page --- */

static size_t row_bytes(const page *p)
{
    return (size_t)p->image->width * (size_t)(p->samples + (p->alpha != NULL)) *
           crn_type_bytes(p->image->type);
}

static int set_fields(TIFF *tiff, const page *p, uint32_t strip_rows)
{
    const crn_image *image = p->image;
    bool whole = image->type == CRN_U8 || image->type == CRN_U16, colour = p->samples == 3;
    uint16_t samples = (uint16_t)(p->samples + (p->alpha != NULL));
    uint16_t extras = (uint16_t)(samples - (colour ? 3 : 1));
    int ok =
        TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, (uint32_t)image->width) &&
        TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, (uint32_t)image->height) &&
        TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, (int)crn_type_bytes(image->type) * 8) &&
        TIFFSetField(tiff, TIFFTAG_SAMPLEFORMAT, whole ? SAMPLEFORMAT_UINT : SAMPLEFORMAT_IEEEFP) &&
        TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, (int)samples) &&
        TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC,
                     colour ? PHOTOMETRIC_RGB : PHOTOMETRIC_MINISBLACK) &&
        TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) &&
        TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_NONE) &&
        TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, strip_rows);
    if (ok && extras) {
        uint16_t *kinds = calloc(extras, sizeof *kinds); /* 0: unspecified */
        if (!kinds)
            return 0;
        if (p->alpha)
            kinds[extras - 1] = p->associated ? EXTRASAMPLE_ASSOCALPHA : EXTRASAMPLE_UNASSALPHA;
        ok = TIFFSetField(tiff, TIFFTAG_EXTRASAMPLES, (int)extras, kinds);
        free(kinds);
    }
    return ok && (!p->description || TIFFSetField(tiff, TIFFTAG_IMAGEDESCRIPTION, p->description));
}

/* The page's rows if they are stored as the file stores them, or NULL. */
static uint8_t *dense_rows(const page *p)
{
    const crn_image *image = p->image;
    bool dense = !p->alpha && image->step == p->samples &&
                 (p->samples == 1 || image->plane_stride == 1) &&
                 image->row_stride == (ptrdiff_t)image->width * p->samples;
    return dense ? crn_image_element(image, p->first_plane, 0, 0) : NULL;
}

static void gather(const page *p, int32_t y0, int32_t rows, uint8_t *to)
{
    size_t size = crn_type_bytes(p->image->type);
    size_t width = (size_t)p->image->width;
    int32_t samples = p->samples + (p->alpha != NULL);
    for (int32_t y = y0; y < y0 + rows; y++, to += row_bytes(p)) {
        for (int32_t s = 0; s < p->samples; s++)
            crn_picture_copy(crn_image_element(p->image, p->first_plane + s, y, 0), p->image->step,
                             to + (size_t)s * size, samples, width, size);
        if (p->alpha)
            crn_picture_copy(crn_image_element(p->alpha, p->alpha_plane, y, 0), p->alpha->step,
                             to + (size_t)p->samples * size, samples, width, size);
    }
}

static int write_strips(crn_picture_writer *writer, const page *p, int32_t strip_rows,
                        crn_error *error)
{
    size_t row = row_bytes(p);
    uint8_t *rows = dense_rows(p);
    int32_t height = p->image->height;
    for (int32_t y = 0; y < height; y += strip_rows) {
        int32_t count = strip_rows < height - y ? strip_rows : height - y;
        tmsize_t bytes = (tmsize_t)(row * (size_t)count);
        uint8_t *strip = rows ? rows + row * (size_t)y : writer->strip;
        if (!rows)
            gather(p, y, count, strip);
        errno = 0;
        if (TIFFWriteEncodedStrip(writer->tiff, (uint32_t)(y / strip_rows), strip, bytes) != bytes)
            return tiff_fault(writer, errno, error);
    }
    return 0;
}

static int append_page(crn_picture_writer *writer, const page *p, crn_error *error)
{
    size_t row = row_bytes(p);
    uint64_t bytes;
    if (__builtin_mul_overflow((uint64_t)row, (uint64_t)p->image->height, &bytes) ||
        __builtin_add_overflow(bytes, writer->bytes, &bytes) ||
        (!writer->big && bytes > CLASSIC_BYTES))
        return crn_error_set(error, -EFBIG,
                             "%s: page %" PRId64 " would make it larger than a classic TIFF can "
                             "be; it was not opened for so many bytes",
                             writer->path, writer->pages + 1);
    int32_t height = p->image->height;
    int32_t strip_rows = row < STRIP_BYTES ? (int32_t)(STRIP_BYTES / row) : 1;
    strip_rows = strip_rows < height ? strip_rows : height;
    if (!dense_rows(p) && writer->strip_capacity < row * (size_t)strip_rows) {
        free(writer->strip);
        writer->strip_capacity = row * (size_t)strip_rows;
        writer->strip = malloc(writer->strip_capacity);
        if (!writer->strip) {
            writer->strip_capacity = 0;
            return crn_error_set(error, -ENOMEM, "%s: no memory for rows of %zu bytes",
                                 writer->path, row);
        }
    }
    errno = 0;
    if (!set_fields(writer->tiff, p, (uint32_t)strip_rows))
        return tiff_fault(writer, errno, error);
    int r = write_strips(writer, p, strip_rows, error);
    if (r)
        return r;
    errno = 0;
    if (!TIFFWriteDirectory(writer->tiff))
        return tiff_fault(writer, errno, error);
    writer->bytes = bytes;
    writer->pages++;
    return 0;
}

/* --- the writer --- */

static int open_tiff(crn_picture_writer *writer, crn_error *error)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    int fd = dup(writer->part.fd); /* libtiff closes its own descriptor */
    if (options && fd >= 0) {
        crn_tiff_keep_faults(options, &writer->tiff_error, NULL);
        writer->tiff = TIFFFdOpenExt(fd, writer->path, writer->big ? "w8" : "w", options);
    }
    int reason = errno;
    if (options)
        TIFFOpenOptionsFree(options);
    if (writer->tiff)
        return 0;
    if (fd >= 0)
        close(fd);
    return crn_error_set(error, -EIO, "%s: cannot be written: %s", writer->path, strerror(reason));
}

int crn_picture_writer_open(const char *path, uint64_t bytes_expected,
                            crn_picture_writer **ret_writer, crn_error *error)
{
    int r;
    crn_picture_writer *writer = calloc(1, sizeof *writer);
    if (!writer || !(writer->path = strdup(path))) {
        r = crn_error_set(error, -ENOMEM, "%s: no memory to write it", path);
        goto fail;
    }
    writer->big = bytes_expected > CLASSIC_BYTES;
    r = crn_new_file_open(writer->path, &writer->part, error);
    if (r)
        goto fail;
    r = open_tiff(writer, error);
    if (r)
        goto fail;
    *ret_writer = writer;
    return 0;
fail:
    crn_picture_writer_free(&writer);
    return r;
}

int crn_picture_writer_append(crn_picture_writer *writer, const crn_image *image, bool together,
                              const char *description, crn_error *error)
{
    int r = 0;
    if (writer->failed)
        return crn_error_set(error, -EINVAL, "%s: cannot be continued after a failure",
                             writer->path);
    if (!crn_type_bytes(image->type) || image->planes < 1 || image->height < 1 ||
        image->width < 1 || (together && image->planes > SAMPLES_MAX))
        r = crn_error_set(error, -EINVAL,
                          "%s: page %" PRId64 " cannot be %" PRId32 " planes of %" PRId32
                          "x%" PRId32 " %s",
                          writer->path, writer->pages + 1, image->planes, image->width,
                          image->height, crn_type_name(image->type));
    int32_t samples = together ? image->planes : 1;
    for (int32_t plane = 0; !r && plane < image->planes; plane += samples) {
        page p = {.image = image,
                  .first_plane = plane,
                  .samples = samples,
                  .description = plane ? NULL : description};
        r = append_page(writer, &p, error);
    }
    writer->failed = r < 0;
    return r;
}

int crn_picture_writer_finish(crn_picture_writer *writer, crn_error *error)
{
    if (writer->failed || !writer->tiff || !writer->pages)
        return crn_error_set(error, -EINVAL, "%s: incomplete, so it is not written", writer->path);
    errno = 0;
    TIFFClose(writer->tiff);
    writer->tiff = NULL;
    if (*writer->tiff_error.text)
        return tiff_fault(writer, errno, error);
    return crn_new_file_finish(&writer->part, error);
}

void crn_picture_writer_free(crn_picture_writer **writer)
{
    if (!writer || !*writer)
        return;
    if ((*writer)->tiff)
        TIFFClose((*writer)->tiff);
    crn_new_file_drop(&(*writer)->part);
    free((*writer)->strip);
    free((*writer)->path);
    free(*writer);
    *writer = NULL;
}

int crn_picture_tiff_write(const char *path, const crn_picture *picture, crn_error *error)
{
    crn_picture_writer *writer = NULL;
    bool alpha = picture->alpha.planes > 0;
    double bytes = (double)picture->pages * (picture->samples + alpha) * picture->image.height *
                   picture->image.width * (double)crn_type_bytes(picture->image.type);
    int r =
        crn_picture_writer_open(path, bytes < 1e18 ? (uint64_t)bytes : UINT64_MAX, &writer, error);
    for (int32_t i = 0; !r && i < picture->pages; i++) {
        page p = {.image = &picture->image,
                  .first_plane = i * picture->samples,
                  .samples = picture->samples,
                  .alpha = alpha ? &picture->alpha : NULL,
                  .alpha_plane = i,
                  .associated = picture->alpha_associated};
        r = append_page(writer, &p, error);
    }
    if (!r)
        r = crn_picture_writer_finish(writer, error);
    crn_picture_writer_free(&writer);
    return r;
}
