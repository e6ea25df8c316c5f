/* A real disk that is soon full. */
#ifndef CRN_TESTS_SUPPORT_SMALL_DISK_H
#define CRN_TESTS_SUPPORT_SMALL_DISK_H

#include <stdbool.h>

/* Mounts a tmpfs of this size ("256k") on a folder, for this process and its children alone, as
 * root or in a user namespace: to be called in a child. False if that is not allowed here. */
bool crn_small_disk_mount(const char *folder, const char *size);

#endif
