/* The pages of TIFFs: what stages/picture/tiff.c reads and tiff_page.c understands. */
#ifndef CRN_STAGES_PICTURE_TIFF_H
#define CRN_STAGES_PICTURE_TIFF_H

#include <tiffio.h>

#include "stages/picture/internal.h"

/* What a page says of itself. */
typedef struct crn_tiff_page {
    uint32_t width, height;
    uint16_t bits, format, file_samples, photometric, compression;
    bool separate, tiled, inverted, palette, associated;
    int32_t alpha;   /* which of the file's samples, -1: none */
    int32_t samples; /* of the picture, without alpha */
    crn_type type;
} crn_tiff_page;

/*
 * Looks at the directory that `tiff` is at; number: the page's, from 1. 0, or -ENOTSUP with a line
 * in *error that says what no picture can be made of.
 */
int crn_tiff_page_describe(TIFF *tiff, const char *path, int32_t number, crn_tiff_page *ret_page,
                           crn_error *error);

/* 0, or -EBADMSG with a line in *error when they cannot be pages of one picture. */
int crn_tiff_page_compare(const crn_tiff_page *page, const crn_tiff_page *first, const char *path,
                          int32_t number, crn_error *error);

/* A line about a page into *error; -ENOTSUP. */
__attribute__((format(printf, 4, 5))) int
crn_tiff_page_refuse(const char *path, int32_t number, crn_error *error, const char *format, ...);

#endif
