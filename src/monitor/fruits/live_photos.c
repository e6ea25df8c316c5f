#include "src/monitor/fruits/live_photos.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Who may access the set. */
typedef enum stage {
    STAGE_IDLE,   /* the HTTP thread */
    STAGE_WANTED, /* the line's thread */
    STAGE_FILLED, /* the HTTP thread */
} stage;

struct crn_live_photos {
    atomic_int stage;
    _Atomic int64_t lane; /* that is asked for, or CRN_LIVE_PHOTOS_ANY */
    crn_photo_set set;
    size_t used;
    unsigned char *pixels; /* CRN_LIVE_PHOTOS_BYTES; becomes resident as it is used */
};

int crn_live_photos_create(crn_live_photos **ret_photos)
{
    crn_live_photos *photos = calloc(1, sizeof *photos);
    if (photos && !(photos->pixels = malloc(CRN_LIVE_PHOTOS_BYTES)))
        crn_live_photos_free(&photos);
    *ret_photos = photos;
    return photos ? 0 : -ENOMEM;
}

void crn_live_photos_free(crn_live_photos **photos)
{
    if (!*photos)
        return;
    free((*photos)->pixels);
    free(*photos);
    *photos = NULL;
}

/* --- the line's thread --- */

static bool is_wanted(const crn_live_photos *photos)
{
    return atomic_load_explicit(&photos->stage, memory_order_acquire) == STAGE_WANTED;
}

bool crn_live_photos_are_wanted(const crn_live_photos *photos, uint32_t lane)
{
    if (!is_wanted(photos))
        return false;
    int64_t wanted = atomic_load_explicit(&photos->lane, memory_order_relaxed);
    return wanted == CRN_LIVE_PHOTOS_ANY || wanted == lane;
}

void crn_live_photos_begin(crn_live_photos *photos)
{
    photos->set.count = 0;
    photos->used = 0;
}

void crn_live_photos_add(crn_live_photos *photos, const crn_view *view)
{
    crn_photo_set *set = &photos->set;
    const crn_view_header *header = &view->header;
    size_t bytes = crn_wire_intensity_bytes(header);
    if (!view->intensity || bytes == 0 || bytes > CRN_LIVE_PHOTOS_BYTES - photos->used ||
        set->count == CRN_FRUIT_VIEWS_MAX)
        return;
    unsigned char *pixels = photos->pixels + photos->used;
    memcpy(pixels, view->intensity, bytes);
    photos->used += bytes;
    set->lane = header->lane;
    set->epoch = view->epoch;
    set->fruit = header->fruit;
    set->photos[set->count++] = (crn_view_photo){.view = header->view,
                                                 .height_px = header->height,
                                                 .width_px = header->width,
                                                 .pixels = pixels};
}

void crn_live_photos_end(crn_live_photos *photos)
{
    if (photos->set.count > 0)
        atomic_store_explicit(&photos->stage, STAGE_FILLED, memory_order_release);
}

/* --- the HTTP thread --- */

void crn_live_photos_want(crn_live_photos *photos, int64_t lane)
{
    atomic_store_explicit(&photos->lane, lane, memory_order_relaxed);
    /* While it is wanted only the line's thread changes it. */
    if (!is_wanted(photos))
        atomic_store_explicit(&photos->stage, STAGE_WANTED, memory_order_release);
}

const crn_photo_set *crn_live_photos_take(crn_live_photos *photos)
{
    if (atomic_load_explicit(&photos->stage, memory_order_acquire) != STAGE_FILLED)
        return NULL;
    return &photos->set;
}
