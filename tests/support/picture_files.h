/* TIFFs of every making, and pictures whose every element can be told from its place alone. */
#ifndef CRN_TESTS_SUPPORT_PICTURE_FILES_H
#define CRN_TESTS_SUPPORT_PICTURE_FILES_H

#include "stages/picture/picture.h"

/* A fresh folder, in which a cmocka group's tests work, and its removal with all that is in it. */
int picture_folder_setup(void **state);
int picture_folder_teardown(void **state);

/* How many files there are in it, hidden ones too. */
int picture_folder_count(void);

/* A path in it, in one of a few buffers used in turn. */
const char *picture_path(const char *name);

/* The whole file; *ret_bytes is the caller's to free. A file of these bytes. */
size_t picture_load_bytes(const char *path, unsigned char **ret_bytes);
void picture_save_bytes(const char *path, const void *bytes, size_t size);

/* An element's bits. */
uint32_t picture_value(int32_t bits, int32_t page, int32_t sample, int32_t y, int32_t x);

/* How a TIFF is made; fields that are 0 are left to libtiff. */
typedef struct picture_making {
    const char *mode; /* as TIFFOpen's: wl, wb, w8 */
    int32_t bits, format;
    int32_t pages, samples, height, width; /* samples: of the file, alpha included */
    int32_t photometric, extras, alpha;    /* extras: how many; alpha: kind of the last of them */
    bool separate;
    int32_t tile_height, tile_width, strip_height;
    int32_t compression, predictor, orientation, fill_order;
} picture_making;

/* Fails the running test when libtiff cannot make it. */
void picture_make(const char *path, const picture_making *making);

/* Fails the running test, naming the place, unless all of the picture's elements are picture_value
 * of that many bits (widened when below 8), turned round when inverted; an alpha is the sample
 * after the others. */
void picture_check(const crn_picture *picture, int32_t bits, bool inverted);

/* The same values into a picture's image, and alpha when it has memory. */
void picture_fill(crn_image *image, int32_t samples, int32_t first_sample);

#endif
