/* The photograph of a view, under what is drawn over it. */
#ifndef CRN_TOOLS_COMMON_DRAWING_PHOTO_H
#define CRN_TOOLS_COMMON_DRAWING_PHOTO_H

#include <stdint.h>

/* Zeroed if nothing is known of the view. */
typedef struct crn_photo {
    const uint8_t *pixels; /* height x width, grey; NULL: only the size is known */
    int32_t height, width;
} crn_photo;

#endif
