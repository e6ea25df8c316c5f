/*
 * Pictures in files: TIFF (u8, u16, f16, f32; planar or interleaved, striped or tiled, whatever
 * compression libtiff decodes, classic or big, either byte order, several pages, with alpha) and
 * PNG (up to 16 bits a sample).
 *
 * Nothing outside stages/picture sees libtiff or libpng, but for the line's recordings.
 */
#ifndef CRN_STAGES_PICTURE_PICTURE_H
#define CRN_STAGES_PICTURE_PICTURE_H

#include "stages/base/error.h"
#include "stages/image.h"

/*
 * A picture and its memory. All pages have one size and type. The planes are pages x samples, in
 * that order, dense: interleaved (HWC) when one page came with several samples, else planar.
 *
 * Grey of 1, 2 or 4 bits is stretched to 0..255, a palette becomes three samples of u8, and where
 * the least value means white, u8 and u16 are turned round (f16 and f32 stay as they are).
 * Orientation, resolution and gamma are not looked at. Reduced copies of a TIFF's pages are passed
 * over.
 */
typedef struct crn_picture {
    crn_image image;
    crn_image alpha;        /* a plane a page, planar; data NULL without */
    bool alpha_associated;  /* the samples were multiplied by it (TIFF only) */
    int32_t pages, samples; /* samples: of a page, without alpha */
    void *memory, *alpha_memory;
} crn_picture;

/* What a file holds, before its pixels are read: the same fields without memory (data NULL; alpha's
 * type and planes are not 0 when there is one). 0, or negative errno with one line in *error. */
int crn_picture_probe(const char *path, crn_picture *ret_picture, crn_error *error);

/* Reads all of it. -ENOMEM says how much memory it would take. The caller frees *ret_picture. */
int crn_picture_read(const char *path, crn_picture *ret_picture, crn_error *error);

/* A picture of that many pages and samples over fresh memory, all 0, interleaved when pages is 1
 * and samples is not. 0, -EINVAL (a number below 1, no type) or -ENOMEM. */
int crn_picture_create(crn_type type, int32_t pages, int32_t samples, int32_t height, int32_t width,
                       crn_picture *ret_picture);

/* Frees what it owns and sets it to 0; NULL and a picture of zeros are fine. */
void crn_picture_free(crn_picture *picture);

/*
 * Writes it; the name's end decides: .tif, .tiff or .png (u8 and u16, one page of one or three
 * samples). The file appears whole or not at all: written beside and renamed. Image and alpha may
 * have any strides and any owner: only pages, samples, image, alpha and alpha_associated are looked
 * at. 0, or negative errno with one line in *error.
 */
int crn_picture_write(const char *path, const crn_picture *picture, crn_error *error);

/* 0 when crn_picture_write could write a picture of that shape (its data are not looked at) under
 * that name, else -EINVAL with one line in *error: to be asked before long work. */
int crn_picture_writable(const char *path, const crn_picture *picture, crn_error *error);

/*
 * The same page by page, for results larger than memory: a TIFF whose pages may differ in size and
 * type. `planes` of an appended image become a page each, or with `together` the samples of one
 * page. Finish renames it into place; free without finish leaves no file.
 *
 * bytes_expected: of all pixels to come; a BigTIFF is written when that nears 4 GiB, for which a
 * classic TIFF has no room. 0 is small.
 */
typedef struct crn_picture_writer crn_picture_writer;

int crn_picture_writer_open(const char *path, uint64_t bytes_expected,
                            crn_picture_writer **ret_writer, crn_error *error);

/* description: the ImageDescription of the first page appended by this call, or NULL. After a
 * failure the writer only serves to be freed. */
int crn_picture_writer_append(crn_picture_writer *writer, const crn_image *image, bool together,
                              const char *description, crn_error *error);
int crn_picture_writer_finish(crn_picture_writer *writer, crn_error *error);

/* Frees and nulls *writer; NULL in it is fine. */
void crn_picture_writer_free(crn_picture_writer **writer);

/*
 * Memory that can still be had without swapping: what the kernel calls available, or what the
 * process' control groups leave of it where that is less. UINT64_MAX when nothing tells.
 */
uint64_t crn_memory_available_bytes(void);

#define CRN_BYTES_TEXT 16

/* As a person says it: 512 bytes, 1.5 KiB, 23 GiB, 3.6 TiB. Returns `text`. */
const char *crn_bytes_say(uint64_t bytes, char text[CRN_BYTES_TEXT]);

#endif
