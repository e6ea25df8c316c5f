#include "stages/base/process/malloc_tuning.h"

#include <malloc.h>

void crn_malloc_keep_pages(void)
{
    /* M_MMAP_THRESHOLD and M_TRIM_THRESHOLD together: setting the second alone would fix the first
     * at its small default. 32 MiB is the maximum of glibc. */
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 512 << 20);
    mallopt(M_TOP_PAD, 64 << 20);
}
