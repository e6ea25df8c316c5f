#include "tests/support/operators/images.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/cmocka_prelude.h"

crn_image crn_image_copy(const crn_image *image)
{
    size_t size = crn_type_bytes(image->type);
    uint8_t *to = malloc(crn_image_elements(image) * size);
    assert_non_null(to);
    crn_image copy =
        crn_image_dense(to, image->type, CRN_CHW, image->planes, image->height, image->width);
    for (int32_t plane = 0; plane < image->planes; plane++)
        for (int32_t y = 0; y < image->height; y++)
            for (int32_t x = 0; x < image->width; x++, to += size)
                memcpy(to, crn_image_element(image, plane, y, x), size);
    return copy;
}

void crn_image_randomise(const crn_image *image, crn_random *random)
{
    for (int32_t plane = 0; plane < image->planes; plane++)
        for (int32_t y = 0; y < image->height; y++)
            for (int32_t x = 0; x < image->width; x++) {
                void *element = crn_image_element(image, plane, y, x);
                if (image->type == CRN_U8)
                    *(uint8_t *)element = (uint8_t)crn_random_below(random, 256);
                else if (image->type == CRN_U16)
                    *(uint16_t *)element = (uint16_t)crn_random_below(random, 65536);
                else
                    *(float *)element = (float)crn_random_unit(random);
            }
}
