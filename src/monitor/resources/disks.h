/*
 * The free space of one folder's disk, asked by a thread of its own: a disk that hangs, as one over
 * a network, holds whoever asks it, and here that is nobody else.
 */
#ifndef CRN_SRC_MONITOR_RESOURCES_DISKS_H
#define CRN_SRC_MONITOR_RESOURCES_DISKS_H

#include "src/monitor/resources/resources.h"

CRN_C_BEGIN

typedef struct crn_resource_disk_watch crn_resource_disk_watch;

/* Returns 0 or a negative errno. */
int crn_resource_disk_watch_start(const crn_resource_folder *folder,
                                  crn_resource_disk_watch **ret_watch);

/* Waits until the disk has answered once, at most until that time; NULL is allowed. */
void crn_resource_disk_watch_await(crn_resource_disk_watch *watch, int64_t until_ns);

/* From any thread; `watch` NULL: no folder. */
void crn_resource_disk_watch_read(crn_resource_disk_watch *watch, int64_t now_ns,
                                  crn_resource_disk *ret_disk);

/* Ends the thread and sets *watch to NULL; NULL is allowed. A thread whose disk does not answer
 * within a second is left behind, and frees its memory once it does. */
void crn_resource_disk_watch_stop(crn_resource_disk_watch **watch);

CRN_C_END

#endif
