/**
 * @file
 * Properties of TIFF pages: determined by tiff_page.c, used by tiff.c.
 */
#ifndef CRN_STAGES_PICTURE_TIFF_H
#define CRN_STAGES_PICTURE_TIFF_H

#include <tiffio.h>

#include "stages/picture/internal.h"

/** Properties of a page. */
typedef struct crn_tiff_page {
    uint32_t width, height;
    uint16_t bits, format, file_samples, photometric, compression;
    bool separate, tiled, inverted, palette, associated;
    int32_t alpha;   /**< index of the alpha sample in the file, -1: none */
    int32_t samples; /**< samples without alpha */
    crn_type type;
} crn_tiff_page;

/**
 * Describes the current directory of `tiff`.
 *
 * @param number of the page, from 1
 * @return 0, or -ENOTSUP with a line in *error that names the unsupported property
 */
int crn_tiff_page_describe(TIFF *tiff, const char *path, int32_t number, crn_tiff_page *ret_page,
                           crn_error *error);

/**
 * Checks that two pages can belong to one picture.
 *
 * @param number of `page`, from 1
 * @return 0, or -EBADMSG with a line in *error
 */
int crn_tiff_page_compare(const crn_tiff_page *page, const crn_tiff_page *first, const char *path,
                          int32_t number, crn_error *error);

/**
 * Formats a line about a page into *error.
 *
 * @return -ENOTSUP
 */
__attribute__((format(printf, 4, 5))) int
crn_tiff_page_refuse(const char *path, int32_t number, crn_error *error, const char *format, ...);

#endif
