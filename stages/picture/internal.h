/* Functions shared by the files of stages/picture. */
#ifndef CRN_STAGES_PICTURE_INTERNAL_H
#define CRN_STAGES_PICTURE_INTERNAL_H

#include "stages/picture/picture.h"

/* --- shapes and memory --- */

/* What a file's header claims. */
typedef struct crn_picture_shape {
    crn_type type;
    int64_t pages, samples;
    uint32_t height, width;
    bool alpha; /* with an alpha channel */
} crn_picture_shape;

/* Sets the shape of a picture, without memory. 0, or -EOVERFLOW with a line in *error if it exceeds
 * the pixels of an image. */
int crn_picture_set_shape(const char *path, const crn_picture_shape *shape,
                          crn_picture *ret_picture, crn_error *error);

/* Bytes of a dense image; UINT64_MAX on overflow. */
uint64_t crn_picture_bytes(const crn_image *image);

/* Allocates the memory of a picture whose shape is set, zeroed. extra_bytes: additional memory
 * needed for reading. 0, or -ENOMEM with a line in *error if it exceeds the available memory or
 * malloc fails. */
int crn_picture_reserve(const char *path, uint64_t extra_bytes, crn_picture *picture,
                        crn_error *error);

/* Copies `count` elements of 1, 2 or 4 bytes; steps in elements. */
void crn_picture_copy(const void *from, ptrdiff_t from_step, void *to, ptrdiff_t to_step,
                      size_t count, size_t element_bytes);

/* Sets *error to `failure`, in the words of a library that failed to read a file. -ENOMEM if errno,
 * 0 before, says so: the file may be good; else -EBADMSG. */
int crn_picture_fail(const char *path, const char *failure, crn_error *error);

/* Reads bytes of the file from that place on. 0, or -EIO with a line in *error. */
int crn_picture_take(int fd, const char *path, uint64_t at, void *ret_bytes, size_t bytes,
                     crn_error *error);

/* Turns a library's message about a file into one printable line. */
void crn_picture_clean(char *text);

/* crn_memory_available_bytes with /proc and /sys under `root`. */
uint64_t crn_memory_available_under(const char *root);

/* --- formats --- */

/* Readers; they take ownership of fd. pixels: false reads no pixels, as for crn_picture_probe. */
int crn_picture_tiff_read(int fd, const char *path, bool pixels, crn_picture *ret_picture,
                          crn_error *error);
int crn_picture_png_read(int fd, const char *path, bool pixels, crn_picture *ret_picture,
                         crn_error *error);

int crn_picture_jpeg_read(int fd, const char *path, bool pixels, crn_picture *ret_picture,
                          crn_error *error);
int crn_picture_npy_read(int fd, const char *path, bool pixels, crn_picture *ret_picture,
                         crn_error *error);

int crn_picture_tiff_write(const char *path, const crn_picture *picture, crn_error *error);
int crn_picture_png_write(const char *path, const crn_picture *picture, crn_error *error);

#endif
