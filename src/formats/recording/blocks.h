/* Writes whole blocks of a file (CRN_RECORDING_BLOCK_BYTES), past the page cache where the file
 * system can. */
#ifndef CRN_SRC_FORMATS_RECORDING_BLOCKS_H
#define CRN_SRC_FORMATS_RECORDING_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

/* Rounds up to whole blocks. */
uint64_t crn_blocks_up(uint64_t bytes);

/* What follows goes directly to the disk, if the file system can. */
void crn_blocks_bypass_cache(int fd);

/* Writes `bytes` at `offset`; both, and the address of `blocks`, are of whole blocks. Returns to
 * the page cache where the disk asks for larger ones. Returns 0 or a negative errno; then a part
 * may have been written. */
int crn_blocks_write(int fd, const unsigned char *blocks, size_t bytes, uint64_t offset);

#endif
