/* The photographs of recordings, as backgrounds of verdicts; looked up by lane, fruit and view. */
#ifndef CRN_TOOLS_TAIL_PHOTOS_H
#define CRN_TOOLS_TAIL_PHOTOS_H

#include <stdint.h>

#include "stages/base/error.h"
#include "tools/common/drawing/photo.h"

typedef struct crn_photos crn_photos;

int crn_photos_create(crn_photos **ret_photos);
void crn_photos_free(crn_photos **photos);

/* Adds a recording's photographs, all read into memory. 0 or negative errno with *error. */
int crn_photos_add(crn_photos *photos, const char *path, crn_error *error);

/*
 * The photograph of a view. A looping replay keeps counting fruits after the recording's last one,
 * so an id past it maps back to the recorded fruit. pixels belong to `photos`.
 */
crn_photo crn_photos_find(const crn_photos *photos, uint64_t lane, uint64_t fruit, uint64_t view);

#endif
