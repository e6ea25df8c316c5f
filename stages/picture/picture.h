/**
 * @file
 * Image files: TIFF (u8, u16, f16, f32; planar or interleaved, striped or tiled, all compressions
 * that libtiff decodes, classic or BigTIFF, either byte order, several pages, with alpha), PNG (up
 * to 16 bits per sample), and, to read only, JPEG (grey and colour) and NumPy's .npy (u8, u16, f16,
 * f32; height x width or height x width x samples).
 *
 * Only stages/picture uses libtiff, libpng and libjpeg, apart from the line's recordings and pages.
 */
#ifndef CRN_STAGES_PICTURE_PICTURE_H
#define CRN_STAGES_PICTURE_PICTURE_H

#include "stages/base/api.h"
#include "stages/base/error.h"
#include "stages/image.h"

/**
 * A picture and its memory. All pages have the same size and type. The planes are pages x samples,
 * in that order, dense: interleaved (HWC) for one page with several samples, else planar.
 *
 * Grey of 1, 2 or 4 bits is scaled to 0..255, a palette becomes three samples of u8, and u8 and u16
 * are inverted where the minimum means white (f16 and f32 are not). Orientation, resolution and
 * gamma are ignored. Reduced-resolution copies and transparency masks of a TIFF's pages are passed
 * over.
 */
typedef struct crn_picture {
    crn_image image;
    crn_image alpha;        /**< one plane per page, planar; data NULL if there is none */
    bool alpha_associated;  /**< samples are premultiplied by alpha (TIFF only) */
    int32_t pages, samples; /**< samples per page, without alpha */
    int32_t passed_over;    /**< pages of the file that are copies or masks of others */
    void *memory, *alpha_memory;
} crn_picture;

/**
 * Reads the header only.
 *
 * @param ret_picture as crn_picture_read() sets it, but without memory: data is NULL; type and
 *        planes of alpha are not 0 if there is one
 * @return 0, or negative errno with one line in *error
 */
CRN_API int crn_picture_probe(const char *path, crn_picture *ret_picture, crn_error *error);

/**
 * Reads the whole file.
 *
 * @param ret_picture free it with crn_picture_free()
 * @return 0, or negative errno with one line in *error; with -ENOMEM it has the amount of memory
 *        needed
 */
CRN_API int crn_picture_read(const char *path, crn_picture *ret_picture, crn_error *error);

/**
 * Allocates a zeroed picture, interleaved if it has one page of several samples.
 *
 * @param samples per page, without alpha
 * @param ret_picture free it with crn_picture_free()
 * @return 0, -EINVAL (a number below 1, no type) or -ENOMEM
 */
CRN_API int crn_picture_create(crn_type type, int32_t pages, int32_t samples, int32_t height,
                               int32_t width, crn_picture *ret_picture);

/** Frees the memory it owns and zeroes it; NULL and a zeroed picture are allowed. */
CRN_API void crn_picture_free(crn_picture *picture);

/**
 * Writes a picture in the format of the name's extension. Atomic: written to a temporary file and
 * renamed.
 *
 * @param path .tif, .tiff or .png (u8 and u16, one page of one or three samples)
 * @param picture only pages, samples, image, alpha and alpha_associated are read; image and alpha
 *        may have any strides and owner
 * @return 0, or negative errno with one line in *error
 */
CRN_API int crn_picture_write(const char *path, const crn_picture *picture, crn_error *error);

/**
 * Checks whether crn_picture_write() can write such a picture: to know before long work.
 *
 * @param picture its shape; data are not read
 * @return 0, or -EINVAL with one line in *error
 */
CRN_API int crn_picture_writable(const char *path, const crn_picture *picture, crn_error *error);

/** Page-by-page writer for results larger than memory: a TIFF whose pages may differ in size and
 * type. Finish renames the file into place; free without finish leaves no file. */
typedef struct crn_picture_writer crn_picture_writer;

/**
 * Begins a file.
 *
 * @param bytes_expected total bytes of pixels; near 4 GiB, the limit of classic TIFF, a BigTIFF is
 *        written. 0 means small
 * @param ret_writer free it with crn_picture_writer_free()
 * @return 0, or negative errno with one line in *error
 */
CRN_API int crn_picture_writer_open(const char *path, uint64_t bytes_expected,
                                    crn_picture_writer **ret_writer, crn_error *error);

/**
 * Appends an image: each of its planes becomes a page.
 *
 * @param together each plane becomes a sample of one page instead
 * @param description the ImageDescription of the first page that this call appends, or NULL
 * @return 0, or negative errno with one line in *error; the writer can then only be freed
 */
CRN_API int crn_picture_writer_append(crn_picture_writer *writer, const crn_image *image,
                                      bool together, const char *description, crn_error *error);

/**
 * Writes what is left and renames the file into place; the writer is still to be freed.
 *
 * @return 0, or negative errno with one line in *error
 */
CRN_API int crn_picture_writer_finish(crn_picture_writer *writer, crn_error *error);

/** Frees *writer and sets it to NULL; *writer may be NULL. */
CRN_API void crn_picture_writer_free(crn_picture_writer **writer);

/**
 * Memory available without swapping: the kernel's estimate, or what the process's cgroups leave of
 * it if that is less.
 *
 * @return bytes; UINT64_MAX if unknown
 */
CRN_API uint64_t crn_memory_available_bytes(void);

/** Bytes of the text that crn_bytes_format() writes. */
#define CRN_BYTES_TEXT 16

/**
 * Formats a size for people: 512 bytes, 1.5 KiB, 23 GiB, 3.6 TiB.
 *
 * @return `text`
 */
CRN_API const char *crn_bytes_format(uint64_t bytes, char text[CRN_BYTES_TEXT]);

#endif
