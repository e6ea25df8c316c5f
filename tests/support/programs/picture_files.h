/* TIFFs of every variety, and pictures whose elements are a function of their position. */
#ifndef CRN_TESTS_SUPPORT_PICTURE_FILES_H
#define CRN_TESTS_SUPPORT_PICTURE_FILES_H

#include "stages/picture/picture.h"

/* A cmocka group's set-up creates a folder as working
 * directory; tear-down removes it with its content. */
int picture_folder_setup(void **state);
int picture_folder_teardown(void **state);

/* Number of files in it, including hidden ones. */
int picture_folder_count(void);

/* A path in it, in one of a few static buffers used in turn. */
const char *picture_path(const char *name);

/* Loads a file (*ret_bytes is freed by the caller); writes a file. */
size_t picture_load_bytes(const char *path, unsigned char **ret_bytes);
void picture_save_bytes(const char *path, const void *bytes, size_t size);

/* The bits of the element at that position. */
uint32_t picture_value(int32_t bits, int32_t page, int32_t sample, int32_t y, int32_t x);

/* Options for creating a TIFF; libtiff's default where a field is 0. */
typedef struct picture_making {
    const char *mode; /* of TIFFOpen: wl, wb, w8 */
    int32_t bits, format;
    int32_t pages, samples, height, width; /* samples include alpha */
    int32_t photometric, extras, alpha;    /* extras: how many; alpha: kind of the last one */
    bool separate;
    int32_t tile_height, tile_width, strip_height;
    int32_t compression, predictor, orientation, fill_order;
} picture_making;

/* Fails the running test if libtiff cannot create the file. */
void picture_make(const char *path, const picture_making *making);

/* Fails the running test, naming the position, unless all elements equal picture_value of that many
 * bits (widened if below 8, complemented if inverted); alpha is the sample after the others. */
void picture_check(const crn_picture *picture, int32_t bits, bool inverted);

/* Fills a picture's image, and its alpha if allocated, with the same values. */
void picture_fill(crn_image *image, int32_t samples, int32_t first_sample);

#endif
