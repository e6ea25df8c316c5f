/*
 * Image files: TIFF (u8, u16, f16, f32; planar or interleaved, striped or tiled, all compressions
 * that libtiff decodes, classic or BigTIFF, either byte order, several pages, with alpha) and PNG
 * (up to 16 bits per sample).
 *
 * Only stages/picture uses libtiff and libpng, apart from the line's recordings.
 */
#ifndef CRN_STAGES_PICTURE_PICTURE_H
#define CRN_STAGES_PICTURE_PICTURE_H

#include "stages/base/api.h"
#include "stages/base/error.h"
#include "stages/image.h"

/*
 * A picture and its memory. All pages have the same size and type. The planes are pages x samples,
 * in that order, dense: interleaved (HWC) for one page with several samples, else planar.
 *
 * Grey of 1, 2 or 4 bits is scaled to 0..255, a palette becomes three samples of u8, and u8 and u16
 * are inverted where the minimum means white (f16 and f32 are not). Orientation, resolution and
 * gamma are ignored. Reduced-resolution copies of a TIFF's pages are skipped.
 */
typedef struct crn_picture {
    crn_image image;
    crn_image alpha;        /* one plane per page, planar; data NULL if there is none */
    bool alpha_associated;  /* samples are premultiplied by alpha (TIFF only) */
    int32_t pages, samples; /* samples per page, without alpha */
    void *memory, *alpha_memory;
} crn_picture;

/* Reads the header only: the same fields without memory (data NULL; type and planes of alpha are
 * not 0 if there is one). 0, or negative errno with one line in *error. */
CRN_API int crn_picture_probe(const char *path, crn_picture *ret_picture, crn_error *error);

/* Reads the whole file. -ENOMEM comes with the amount of memory needed. The caller
 * frees *ret_picture. */
CRN_API int crn_picture_read(const char *path, crn_picture *ret_picture, crn_error *error);

/* Allocates a zeroed picture, interleaved if it has one page of several samples. 0, -EINVAL (a
 * number below 1, no type) or -ENOMEM. */
CRN_API int crn_picture_create(crn_type type, int32_t pages, int32_t samples, int32_t height,
                               int32_t width, crn_picture *ret_picture);

/* Frees the memory it owns and zeroes it; NULL and a zeroed picture are allowed. */
CRN_API void crn_picture_free(crn_picture *picture);

/*
 * Writes a picture in the format of the name's extension: .tif, .tiff or .png (u8 and u16, one page
 * of one or three samples). Atomic: written to a temporary file and renamed. Only pages, samples,
 * image, alpha and alpha_associated are read; image and alpha may have any strides and owner. 0, or
 * negative errno with one line in *error.
 */
CRN_API int crn_picture_write(const char *path, const crn_picture *picture, crn_error *error);

/* 0 if crn_picture_write can write a picture of that shape (data are not read) under that name,
 * else -EINVAL with one line in *error: to check before long work. */
CRN_API int crn_picture_writable(const char *path, const crn_picture *picture, crn_error *error);

/*
 * Page-by-page writer for results larger than memory: a TIFF whose pages may differ in size and
 * type. Each plane of an appended image becomes a page, or with `together` a sample of one page.
 * Finish renames the file into place; free without finish leaves no file.
 *
 * bytes_expected: total bytes of pixels. Near 4 GiB, the limit of classic TIFF, a BigTIFF is
 * written. 0 means small.
 */
typedef struct crn_picture_writer crn_picture_writer;

CRN_API int crn_picture_writer_open(const char *path, uint64_t bytes_expected,
                                    crn_picture_writer **ret_writer, crn_error *error);

/* description: the ImageDescription of the first page that this call appends, or NULL. After a
 * failure the writer can only be freed. */
CRN_API int crn_picture_writer_append(crn_picture_writer *writer, const crn_image *image,
                                      bool together, const char *description, crn_error *error);
CRN_API int crn_picture_writer_finish(crn_picture_writer *writer, crn_error *error);

/* Frees *writer and sets it to NULL; *writer may be NULL. */
CRN_API void crn_picture_writer_free(crn_picture_writer **writer);

/* Memory available without swapping: the kernel's estimate, or what the process's cgroups leave of
 * it if that is less. UINT64_MAX if unknown. */
CRN_API uint64_t crn_memory_available_bytes(void);

#define CRN_BYTES_TEXT 16

/* Human-readable: 512 bytes, 1.5 KiB, 23 GiB, 3.6 TiB. Returns `text`. */
CRN_API const char *crn_bytes_format(uint64_t bytes, char text[CRN_BYTES_TEXT]);

#endif
