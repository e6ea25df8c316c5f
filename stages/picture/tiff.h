/**
 * @file
 * Properties of TIFF pages, determined by tiff_page.c, and of stacks without pages, by
 * tiff_stack.c; used by tiff.c.
 */
#ifndef CRN_STAGES_PICTURE_TIFF_H
#define CRN_STAGES_PICTURE_TIFF_H

#include <tiffio.h>

#include "stages/picture/internal.h"

/** Properties of a page. */
typedef struct crn_tiff_page {
    int32_t number; /**< from 1 */
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
 * @return 0, or -EBADMSG with a line in *error
 */
int crn_tiff_page_compare(const crn_tiff_page *page, const crn_tiff_page *first, const char *path,
                          crn_error *error);

/** True if the current directory is a reduced copy of another page or, unless masks are pages, its
 * transparency mask. */
bool crn_tiff_page_is_beside(TIFF *tiff, bool masks_are_pages);

/**
 * Formats a line about a page into *error.
 *
 * @return -ENOTSUP
 */
__attribute__((format(printf, 4, 5))) int
crn_tiff_page_refuse(const char *path, int32_t number, crn_error *error, const char *format, ...);

/** Images that share one directory: the pixels of each follow those of the one before. ImageJ
 * writes such files from 4 GiB on. */
typedef struct crn_tiff_stack {
    int64_t images; /**< 1: the page is all there is */
    uint64_t at;    /**< where the first one's pixels begin in the file */
    uint64_t image_bytes;
} crn_tiff_stack;

/**
 * Finds whether the file's only page is a stack.
 *
 * @return 0, or negative errno with a line in *error if it is one that cannot be read
 */
int crn_tiff_stack_find(TIFF *tiff, const char *path, const crn_tiff_page *page,
                        crn_tiff_stack *ret_stack, crn_error *error);

/**
 * Reads rows of a stack, from that place in the file on, into the machine's byte order.
 *
 * @return 0, or -EIO with a line in *error
 */
int crn_tiff_stack_read(TIFF *tiff, const crn_tiff_page *page, uint64_t at, void *ret_rows,
                        size_t bytes, crn_error *error);

#endif
