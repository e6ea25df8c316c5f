/*
 * The photographs of recordings, to lay under the outlines of verdicts: found by lane, fruit and
 * view.
 */
#ifndef CRN_TOOLS_TAIL_PHOTOS_H
#define CRN_TOOLS_TAIL_PHOTOS_H

#include <stdint.h>

#include "stages/base/error.h"

/* One view's picture; a zeroed one is a view that nothing is known of. */
typedef struct crn_photo {
    const uint8_t *pixels; /* height x width, grey; NULL: only the size is known */
    int32_t height, width;
} crn_photo;

typedef struct crn_photos crn_photos;

int crn_photos_create(crn_photos **ret_photos);
void crn_photos_free(crn_photos **photos);

/* Adds the photographs of a recording, read whole. 0 or negative errno with *error. */
int crn_photos_add(crn_photos *photos, const char *path, crn_error *error);

/*
 * The photograph of a view. A replay that loops goes on counting fruits from the recording's last
 * one, so an id past it is the recorded one that many loops before. pixels is the photos' own.
 */
crn_photo crn_photos_find(const crn_photos *photos, uint64_t lane, uint64_t fruit, uint64_t view);

#endif
