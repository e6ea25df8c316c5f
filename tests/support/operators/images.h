/* Access to elements of images of any type and strides; copies; random values. */
#ifndef CRN_TESTS_SUPPORT_IMAGES_H
#define CRN_TESTS_SUPPORT_IMAGES_H

#include <string.h>

#include "stages/image.h"
#include "tests/support/random.h"

/* Elements have 1, 2 or 4 bytes; constant sizes are faster, and tests compare many. */
static inline bool crn_element_is(const void *a, const void *b, size_t size)
{
    return size == 4   ? memcmp(a, b, 4) == 0
           : size == 2 ? memcmp(a, b, 2) == 0
                       : memcmp(a, b, 1) == 0;
}

/* A dense planar copy; the caller frees its `data`. */
crn_image crn_image_copy(const crn_image *image);

/* Sets every element: integers to any value, floats to 0 <= value < 1. */
void crn_image_randomise(const crn_image *image, crn_random *random);

#endif
