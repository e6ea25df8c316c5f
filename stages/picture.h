/*
 * Pictures in files: TIFF (u8, u16, f32; planar or interleaved, striped or tiled, compressed or
 * not, classic or big, several pages, with alpha) and PNG (8 and 16 bits).
 *
 * Nothing outside stages/picture*.c sees libtiff or libpng, but for the line's recordings.
 */
#ifndef CRN_PICTURE_H
#define CRN_PICTURE_H

#include "src/base/error.h"
#include "stages/image.h"

/*
 * A picture and its memory. All pages have one size and type. The planes are pages x samples, in
 * that order, dense: interleaved (HWC) when one page came with several samples, else planar. A
 * palette or fewer than 8 bits are widened to u8.
 */
typedef struct crn_picture {
    crn_image image;
    crn_image alpha;        /* a plane a page, planar; data NULL without */
    int32_t pages, samples; /* samples: of a page, without alpha */
    void *memory, *alpha_memory;
} crn_picture;

/* What a file holds, before its pixels are read: the same fields without memory (data NULL; alpha's
 * type and size are set when there is one). 0, or negative errno with one line in *error. */
int crn_picture_probe(const char *path, crn_picture *ret_picture, crn_error *error);

/* Reads all of it. -ENOMEM says how much memory it would take. The caller frees *ret_picture. */
int crn_picture_read(const char *path, crn_picture *ret_picture, crn_error *error);

/* A picture of that many pages and samples over fresh memory, all 0, interleaved when pages is 1
 * and samples is not. 0 or -ENOMEM. */
int crn_picture_create(crn_type type, int32_t pages, int32_t samples, int32_t height, int32_t width,
                       crn_picture *ret_picture);

/* Frees what it owns and sets it to 0; NULL and a picture of zeros are fine. */
void crn_picture_free(crn_picture *picture);

/*
 * Writes it; the name's end decides: .tif, .tiff or .png (u8 and u16, one page of one or three
 * samples). The file appears whole or not at all: written beside and renamed. 0, or negative errno
 * with one line in *error.
 */
int crn_picture_write(const char *path, const crn_picture *picture, crn_error *error);

/*
 * The same page by page, for results larger than memory: a TIFF (big where it must be) whose pages
 * may differ in size. `planes` of an appended image become a page each, or with `together` the
 * samples of one page. Finish renames it into place; free without finish leaves no file.
 */
typedef struct crn_picture_writer crn_picture_writer;

int crn_picture_writer_open(const char *path, uint64_t bytes_expected,
                            crn_picture_writer **ret_writer, crn_error *error);
int crn_picture_writer_append(crn_picture_writer *writer, const crn_image *image, bool together,
                              const char *description, crn_error *error); /* description: the
                              first page's ImageDescription, or NULL */
int crn_picture_writer_finish(crn_picture_writer *writer, crn_error *error);
void crn_picture_writer_free(crn_picture_writer **writer);

#endif
