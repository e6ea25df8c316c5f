/* How the finish halves of a worker read maps in a device's memory: through the device's thread
 * (device/device.h). One object for each worker. */
#ifndef CRN_SRC_ENGINE_REMOTE_MAPS_H
#define CRN_SRC_ENGINE_REMOTE_MAPS_H

#include "src/engine/device/device.h"
#include "stages/stage/stage.h"

typedef struct crn_remote_maps crn_remote_maps;

/* For the worker of that number. Returns 0 or -ENOMEM. */
int crn_remote_maps_create(int32_t worker, crn_remote_maps **ret_maps);
void crn_remote_maps_free(crn_remote_maps **maps); /* NULL is allowed */

/* For crn_device_result.where: the maps of this view, of status 0, until it is finished. */
crn_job_device *crn_remote_maps_of(crn_remote_maps *maps, crn_device_view *from);

#endif
