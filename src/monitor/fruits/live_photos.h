/*
 * The photographs of a fruit's views, from the line's thread to the HTTP thread, which asks for one
 * fruit at a time, and only while a page shows them. Neither waits for the other.
 */
#ifndef CRN_SRC_MONITOR_FRUITS_LIVE_PHOTOS_H
#define CRN_SRC_MONITOR_FRUITS_LIVE_PHOTOS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/fruit/fruit.h"
#include "src/ingest/view.h"

CRN_C_BEGIN

/* Room for one fruit's photographs; views that it does not hold have none. */
#define CRN_LIVE_PHOTOS_BYTES (UINT64_C(4) << 20)

typedef struct crn_view_photo {
    uint16_t view;
    uint32_t height_px, width_px;
    const unsigned char *pixels; /* height x width, grey */
} crn_view_photo;

/* A fruit's photographs, by ascending view. */
typedef struct crn_photo_set {
    uint32_t lane;
    uint64_t epoch, fruit;
    uint32_t count; /* at least 1 */
    crn_view_photo photos[CRN_FRUIT_VIEWS_MAX];
} crn_photo_set;

typedef struct crn_live_photos crn_live_photos;

/* Returns 0 or -ENOMEM. */
int crn_live_photos_create(crn_live_photos **ret_photos);

/* Call it after both threads have ended; NULL is allowed. */
void crn_live_photos_free(crn_live_photos **photos);

#define CRN_LIVE_PHOTOS_ANY (-1) /* lane */

/* For the line's thread: true if the photographs of a fruit of this lane are asked for. Then:
 * begin, add for each of its views that still has its slot, end. A fruit without photographs leaves
 * the question open for the next one. */
bool crn_live_photos_are_wanted(const crn_live_photos *photos, uint32_t lane);
void crn_live_photos_begin(crn_live_photos *photos);
void crn_live_photos_add(crn_live_photos *photos, const crn_view *view);
void crn_live_photos_end(crn_live_photos *photos);

/* For the HTTP thread: asks for the photographs of the next fruit of this lane, or of any. */
void crn_live_photos_want(crn_live_photos *photos, int64_t lane);

/* For the HTTP thread: those that came since, valid until the next crn_live_photos_want(); NULL:
 * none.
 */
const crn_photo_set *crn_live_photos_take(crn_live_photos *photos);

CRN_C_END

#endif
