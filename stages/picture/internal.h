/* What the files of stages/picture share. */
#ifndef CRN_STAGES_PICTURE_INTERNAL_H
#define CRN_STAGES_PICTURE_INTERNAL_H

#include "stages/picture/picture.h"

/* --- shapes and memory --- */

/*
 * The shape of a picture of which only the file's claims are known, without memory; alpha: with
 * one. 0, or -EOVERFLOW with a line in *error where it has more pixels than an image can have.
 */
int crn_picture_plan(const char *path, crn_type type, int64_t pages, int64_t samples,
                     uint32_t height, uint32_t width, bool alpha, crn_picture *ret_picture,
                     crn_error *error);

/*
 * Gives a planned picture its memory, all 0. extra_bytes: what reading takes beside it. 0, or
 * -ENOMEM with a line in *error: more than the machine has, or than malloc gives.
 */
int crn_picture_reserve(const char *path, uint64_t extra_bytes, crn_picture *picture,
                        crn_error *error);

/* Copies `count` elements of 1, 2 or 4 bytes; steps in elements. */
void crn_picture_copy(const void *from, ptrdiff_t from_step, void *to, ptrdiff_t to_step,
                      size_t count, size_t element_bytes);

/* One element's address. */
void *crn_picture_at(const crn_image *image, int32_t plane, int32_t y, int32_t x);

/* Makes one printable line of what a library says about a file. */
void crn_picture_clean(char *text);

/* crn_memory_available_bytes for a machine whose /proc and /sys lie under `root`. */
uint64_t crn_memory_available_under(const char *root);

/* --- one format each --- */

/* Read from fd, which they take. pixels: false gives what crn_picture_probe does. */
int crn_picture_tiff_read(int fd, const char *path, bool pixels, crn_picture *ret_picture,
                          crn_error *error);
int crn_picture_png_read(int fd, const char *path, bool pixels, crn_picture *ret_picture,
                         crn_error *error);

int crn_picture_tiff_write(const char *path, const crn_picture *picture, crn_error *error);
int crn_picture_png_write(const char *path, const crn_picture *picture, crn_error *error);

#endif
