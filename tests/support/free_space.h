/* A disk with as much free space as a test says: statvfs instead of libc's, in the program that
 * includes this. */
#ifndef CRN_TESTS_SUPPORT_FREE_SPACE_H
#define CRN_TESTS_SUPPORT_FREE_SPACE_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/statvfs.h>

#define CRN_PLENTY_BYTES (UINT64_MAX >> 1)

static _Atomic uint64_t free_bytes = CRN_PLENTY_BYTES;
static uint64_t (*free_bytes_asked)(void); /* NULL, or says it instead */

int statvfs(const char *file, struct statvfs *ret_disk)
{
    (void)file;
    memset(ret_disk, 0, sizeof *ret_disk);
    ret_disk->f_frsize = 1;
    ret_disk->f_bavail = free_bytes_asked ? free_bytes_asked() : atomic_load(&free_bytes);
    return 0;
}

#endif
