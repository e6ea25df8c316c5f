/*
 * Photographs as PNG files that pages load by number: those of a fruit's views, one below the
 * other. The last ones are kept in memory. Used by the HTTP thread.
 */
#ifndef CRN_SRC_MONITOR_HTTP_PICTURES_H
#define CRN_SRC_MONITOR_HTTP_PICTURES_H

#include "src/monitor/photos.h"

CRN_C_BEGIN

/* Pictures kept: those that a page of the last fruits shows, and some of single fruits. */
#define CRN_PICTURES_MAX 24

typedef struct crn_pictures crn_pictures;

/* Where a view's photograph lies in a picture. */
typedef struct crn_picture_part {
    uint16_t view;
    uint32_t y_px, height_px, width_px;
} crn_picture_part;

typedef struct crn_picture {
    uint64_t number; /* 1, 2, …; 0: none */
    uint32_t lane;
    uint64_t epoch, fruit;
    uint32_t part_count;
    crn_picture_part parts[CRN_FRUIT_VIEWS_MAX];
    unsigned char *png;
    size_t size;
} crn_picture;

/* Returns 0 or -ENOMEM. */
int crn_pictures_create(crn_pictures **ret_pictures);
void crn_pictures_free(crn_pictures **pictures); /* NULL is allowed */

/* Makes a picture, which takes the place of the oldest; valid until the next call. NULL: there is
 * no photograph, or memory is short. */
const crn_picture *crn_pictures_add(crn_pictures *pictures, const crn_photo_set *set);

/* NULL: it is not kept, or never was. */
const crn_picture *crn_pictures_of(const crn_pictures *pictures, uint32_t lane, uint64_t epoch,
                                   uint64_t fruit);
const crn_picture *crn_pictures_find(const crn_pictures *pictures, uint64_t number);

CRN_C_END

#endif
