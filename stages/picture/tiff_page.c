#include "stages/picture/tiff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* A page being examined. */
typedef struct tiff_page_context {
    TIFF *tiff;
    const char *path;
    int32_t number;
    crn_error *error;
} tiff_page_context;

int crn_tiff_page_refuse(const char *path, int32_t number, crn_error *error, const char *format,
                         ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return crn_error_set(error, -ENOTSUP, "%s: page %" PRId32 " %s", path, number, text);
}

static int find_type(const tiff_page_context *l, crn_tiff_page *p)
{
    static const char *const formats[] = {
        [SAMPLEFORMAT_UINT] = "unsigned integer",
        [SAMPLEFORMAT_INT] = "signed integer",
        [SAMPLEFORMAT_IEEEFP] = "floating point",
        [SAMPLEFORMAT_VOID] = "untyped",
        [SAMPLEFORMAT_COMPLEXINT] = "complex integer",
        [SAMPLEFORMAT_COMPLEXIEEEFP] = "complex floating point",
    };
    bool whole = p->format == SAMPLEFORMAT_UINT || p->format == SAMPLEFORMAT_VOID;
    bool real = p->format == SAMPLEFORMAT_IEEEFP;
    if (whole && (p->bits == 1 || p->bits == 2 || p->bits == 4 || p->bits == 8))
        p->type = CRN_U8;
    else if (whole && p->bits == 16)
        p->type = CRN_U16;
    else if (real && p->bits == 16)
        p->type = CRN_F16;
    else if (real && p->bits == 32)
        p->type = CRN_F32;
    else
        return crn_tiff_page_refuse(
            l->path, l->number, l->error,
            "has %u-bit %s samples; supported are u8 (or 1, 2, 4 bits), u16, f16 and f32", p->bits,
            p->format < sizeof formats / sizeof *formats && formats[p->format] ? formats[p->format]
                                                                               : "unknown");
    return 0;
}

static const char *colour_space_name(uint16_t photometric)
{
    switch (photometric) {
    case PHOTOMETRIC_YCBCR:
        return "YCbCr";
    case PHOTOMETRIC_SEPARATED:
        return "CMYK";
    case PHOTOMETRIC_CIELAB:
    case PHOTOMETRIC_ICCLAB:
    case PHOTOMETRIC_ITULAB:
        return "Lab";
    case PHOTOMETRIC_LOGL:
    case PHOTOMETRIC_LOGLUV:
        return "logarithmic";
    default:
        return "unknown";
    }
}

/* Interprets the samples; colour spaces that would need a conversion are rejected. */
static int find_colours(const tiff_page_context *l, crn_tiff_page *p)
{
    switch (p->photometric) {
    case PHOTOMETRIC_MINISWHITE:
        p->inverted = p->type == CRN_U8 || p->type == CRN_U16;
        break;
    case PHOTOMETRIC_MINISBLACK:
    case PHOTOMETRIC_RGB:
    case PHOTOMETRIC_MASK:
    case PHOTOMETRIC_CFA:
        break;
    case PHOTOMETRIC_PALETTE:
        if (p->type != CRN_U8 || (p->bits < 8 && p->file_samples > 1))
            return crn_tiff_page_refuse(l->path, l->number, l->error,
                                        "has a palette for %u bits and %u samples; save it as RGB",
                                        p->bits, p->file_samples);
        p->palette = true;
        p->samples += 2;
        break;
    case PHOTOMETRIC_YCBCR:
        if (p->compression == COMPRESSION_JPEG && !p->separate)
            break; /* libtiff converts it to RGB */
        /* fall through */
    default:
        return crn_tiff_page_refuse(
            l->path, l->number, l->error,
            "has %s colours (PhotometricInterpretation %u); save it as grey or RGB",
            colour_space_name(p->photometric), p->photometric);
    }
    return 0;
}

static void find_alpha(const tiff_page_context *l, crn_tiff_page *p)
{
    uint16_t extras = 0, *kinds = NULL;
    TIFFGetFieldDefaulted(l->tiff, TIFFTAG_EXTRASAMPLES, &extras, &kinds);
    p->alpha = -1;
    p->samples = p->file_samples;
    for (int32_t i = 0; p->alpha < 0 && kinds && i < extras && extras < p->file_samples; i++) {
        if (kinds[i] != EXTRASAMPLE_ASSOCALPHA && kinds[i] != EXTRASAMPLE_UNASSALPHA)
            continue;
        p->alpha = p->file_samples - extras + i;
        p->associated = kinds[i] == EXTRASAMPLE_ASSOCALPHA;
        p->samples--;
    }
}

int crn_tiff_page_describe(TIFF *tiff, const char *path, int32_t number, crn_tiff_page *ret_page,
                           crn_error *error)
{
    const tiff_page_context at = {tiff, path, number, error}, *l = &at;
    crn_tiff_page p = {.number = number};
    uint16_t planar = 0;
    uint32_t depth = 1;
    TIFFGetFieldDefaulted(tiff, TIFFTAG_IMAGEWIDTH, &p.width);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_IMAGELENGTH, &p.height);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_IMAGEDEPTH, &depth);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &p.bits);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &p.format);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &p.file_samples);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_COMPRESSION, &p.compression);
    TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &planar);
    if (!TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &p.photometric))
        p.photometric = PHOTOMETRIC_MINISBLACK;
    p.separate = planar == PLANARCONFIG_SEPARATE && p.file_samples > 1;
    p.tiled = TIFFIsTiled(tiff);
    if (!p.width || !p.height || !p.file_samples)
        return crn_tiff_page_refuse(l->path, l->number, l->error, "has no pixels");
    if (depth > 1)
        return crn_tiff_page_refuse(l->path, l->number, l->error,
                                    "is %" PRIu32 " deep; save its layers as pages", depth);
    if (!TIFFIsCODECConfigured(p.compression))
        return crn_tiff_page_refuse(
            l->path, l->number, l->error,
            "uses compression %u, which this libtiff does not support; save "
            "it uncompressed",
            p.compression);
    int r = find_type(l, &p);
    if (r)
        return r;
    find_alpha(l, &p);
    r = find_colours(l, &p);
    if (!r && p.photometric == PHOTOMETRIC_YCBCR)
        TIFFSetField(tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
    if (!r)
        *ret_page = p;
    return r;
}

int crn_tiff_page_compare(const crn_tiff_page *p, const crn_tiff_page *first, const char *path,
                          crn_error *error)
{
    if (p->width != first->width || p->height != first->height)
        return crn_error_set(error, -EBADMSG,
                             "%s: page %" PRId32 " is %" PRIu32 "x%" PRIu32 ", page %" PRId32
                             " is %" PRIu32 "x%" PRIu32 "; all pages must have one size",
                             path, p->number, p->width, p->height, first->number, first->width,
                             first->height);
    if (p->type != first->type)
        return crn_error_set(
            error, -EBADMSG,
            "%s: page %" PRId32 " is %s, page %" PRId32 " is %s; all pages must have one type",
            path, p->number, crn_type_name(p->type), first->number, crn_type_name(first->type));
    if (p->samples != first->samples || (p->alpha < 0) != (first->alpha < 0) ||
        p->associated != first->associated)
        return crn_error_set(error, -EBADMSG,
                             "%s: page %" PRId32 " has %" PRId32 " samples%s, page %" PRId32
                             " has %" PRId32 "%s; all pages must have the same samples",
                             path, p->number, p->samples, p->alpha < 0 ? "" : " and alpha",
                             first->number, first->samples, first->alpha < 0 ? "" : " and alpha");
    return 0;
}

bool crn_tiff_page_is_beside(TIFF *tiff, bool masks_are_pages)
{
    uint32_t kind = 0;
    uint16_t photometric = PHOTOMETRIC_MINISBLACK;
    TIFFGetField(tiff, TIFFTAG_SUBFILETYPE, &kind);
    TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &photometric);
    bool mask = kind & FILETYPE_MASK || photometric == PHOTOMETRIC_MASK;
    return kind & FILETYPE_REDUCEDIMAGE || (mask && !masks_are_pages);
}
