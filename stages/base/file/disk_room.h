/**
 * @file
 * Free space that writers in the background leave to everything else on the disk.
 */
#ifndef CRN_STAGES_BASE_FILE_DISK_ROOM_H
#define CRN_STAGES_BASE_FILE_DISK_ROOM_H

#include <stdint.h>

#include "stages/base/api.h"
#include "stages/base/error.h"

/**
 * Checks that the folder's disk has room for `need_bytes` beside the reserve.
 *
 * @return 0; -ENOSPC, or another negative errno, with one line in *error
 */
CRN_API int crn_disk_check_room(const char *dir, uint64_t need_bytes, uint64_t reserve_bytes,
                                crn_error *error);

#endif
