#include "src/formats/recording/blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "src/formats/recording/recording.h"

uint64_t crn_blocks_up(uint64_t bytes)
{
    return (bytes + CRN_RECORDING_BLOCK_BYTES - 1) / CRN_RECORDING_BLOCK_BYTES *
           CRN_RECORDING_BLOCK_BYTES;
}

void crn_blocks_bypass_cache(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags >= 0)
        (void)fcntl(fd, F_SETFL, flags | O_DIRECT);
}

/* Returns to the page cache; false if the file uses it already. */
static bool use_cache(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_DIRECT) && fcntl(fd, F_SETFL, flags & ~O_DIRECT) == 0;
}

int crn_blocks_write(int fd, const unsigned char *blocks, size_t bytes, uint64_t offset)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = pwrite(fd, blocks + done, bytes - done, (off_t)(offset + done));
        if (n > 0)
            done += (size_t)n;
        else if (n == 0)
            return -EIO;
        /* EINVAL: larger blocks are asked for, or a call wrote a part of one (a full disk). */
        else if (errno != EINTR && !(errno == EINVAL && use_cache(fd)))
            return -errno;
    }
    return 0;
}
