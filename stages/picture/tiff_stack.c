#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "stages/picture/tiff.h"

#define METAMORPH_PLANES 33629 /* the tag UIC2, with as many values as there are images */

static const char *description_of(TIFF *tiff)
{
    const char *text = NULL;
    return TIFFGetField(tiff, TIFFTAG_IMAGEDESCRIPTION, &text) && text ? text : "";
}

/* Of ImageJ's description, lines of NAME=VALUE; 1 where it is none. */
static int64_t images_described(const char *description)
{
    static const char key[] = "\nimages=";
    const char *line =
        strncmp(description, "ImageJ=", strlen("ImageJ=")) ? NULL : strstr(description, key);
    long long images = line ? strtoll(line + strlen(key), NULL, 10) : 1;
    return images > 1 ? images : 1;
}

/* Why stacks of other programs are refused; NULL: it is none. */
static const char *foreign_stack(TIFF *tiff, const char *description)
{
    uint32_t count = 0;
    const void *values;
    if (TIFFGetField(tiff, METAMORPH_PLANES, &count, &values) && count > 1)
        return "MetaMorph stack";
    if (*description == '{' && strstr(description, "\"truncated\": true"))
        return "truncated series of tifffile's";
    return NULL;
}

static uint64_t row_bytes(const crn_tiff_page *p)
{
    return (uint64_t)p->width * p->file_samples * (p->bits / 8U);
}

/* True if the strips lie one behind the other, as a page's pixels do in memory. */
static bool is_contiguous(TIFF *tiff, const crn_tiff_page *p)
{
    uint32_t rows = p->height, strips = TIFFNumberOfStrips(tiff);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_ROWSPERSTRIP, &rows);
    uint64_t at = TIFFGetStrileOffset(tiff, 0);
    for (uint32_t strip = 1; strip < strips; strip++)
        if (TIFFGetStrileOffset(tiff, strip) != at + (uint64_t)strip * rows * row_bytes(p))
            return false;
    return true;
}

/* Why the further images cannot be found; NULL if they can. */
static const char *fault_of(TIFF *tiff, const crn_tiff_page *p)
{
    uint16_t order = FILLORDER_MSB2LSB;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_FILLORDER, &order);
    if (p->compression != COMPRESSION_NONE)
        return "and it is compressed";
    if (p->tiled || p->separate || p->bits < 8 || order != FILLORDER_MSB2LSB)
        return "and its pixels are not rows of whole bytes";
    return is_contiguous(tiff, p) ? NULL : "and its strips do not lie one behind the other";
}

/* How many the file has pixels for; sets their size. */
static int64_t count_images(TIFF *tiff, const crn_tiff_page *p, crn_tiff_stack *stack)
{
    struct stat about;
    uint64_t size = fstat(TIFFFileno(tiff), &about) ? 0 : (uint64_t)about.st_size;
    if (__builtin_mul_overflow(row_bytes(p), p->height, &stack->image_bytes) || size <= stack->at)
        return 0;
    return (int64_t)((size - stack->at) / stack->image_bytes);
}

int crn_tiff_stack_find(TIFF *tiff, const char *path, const crn_tiff_page *p,
                        crn_tiff_stack *ret_stack, crn_error *error)
{
    const char *description = description_of(tiff), *foreign = foreign_stack(tiff, description);
    crn_tiff_stack stack = {.images = images_described(description)};
    *ret_stack = stack;
    if (foreign)
        return crn_tiff_page_refuse(path, p->number, error,
                                    "is a %s, with one directory for all images; save it with one "
                                    "for each",
                                    foreign);
    if (stack.images == 1)
        return 0;
    const char *fault = fault_of(tiff, p);
    if (fault)
        return crn_tiff_page_refuse(path, p->number, error,
                                    "is an ImageJ stack of %" PRId64
                                    " images with one directory, %s; save it uncompressed, or as "
                                    "an image sequence",
                                    stack.images, fault);
    stack.at = TIFFGetStrileOffset(tiff, 0);
    int64_t there = count_images(tiff, p, &stack);
    if (there < stack.images)
        return crn_error_set(error, -EBADMSG,
                             "%s: its ImageDescription says %" PRId64
                             " images, there are pixels for %" PRId64
                             "; copy it again, or, if the others were taken out, remove the "
                             "description: tiffset -u 270 FILE",
                             path, stack.images, there);
    *ret_stack = stack;
    return 0;
}

int crn_tiff_stack_read(TIFF *tiff, const crn_tiff_page *p, uint64_t at, void *ret_rows,
                        size_t bytes, crn_error *error)
{
    int r = crn_picture_take(TIFFFileno(tiff), TIFFFileName(tiff), at, ret_rows, bytes, error);
    if (r == 0 && TIFFIsByteSwapped(tiff) && p->bits == 16)
        TIFFSwabArrayOfShort(ret_rows, (tmsize_t)(bytes / 2));
    if (r == 0 && TIFFIsByteSwapped(tiff) && p->bits == 32)
        TIFFSwabArrayOfLong(ret_rows, (tmsize_t)(bytes / 4));
    return r;
}
