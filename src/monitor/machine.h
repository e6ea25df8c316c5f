/* What the operating system says of this process and its disks. For the HTTP thread: some of it may
 * take long, as that of a disk that hangs. */
#ifndef CRN_SRC_MONITOR_MACHINE_H
#define CRN_SRC_MONITOR_MACHINE_H

#include <stdint.h>

#include "stages/config/config.h"

CRN_C_BEGIN

/* A folder that the daemon writes to. */
typedef struct crn_machine_disk {
    uint64_t free_bytes, size_bytes; /* free: to this user; size 0: unknown, or no folder is set */
} crn_machine_disk;

typedef struct crn_machine {
    uint64_t resident_bytes;
    uint64_t descriptors;
    double cpu_s;
    crn_machine_disk record, log; /* of record.dir and publish.log.dir */
} crn_machine;

void crn_machine_read(const crn_config *config, crn_machine *ret_machine);

/* The process's address space, and what of it is in memory; 0 if that is unknown. */
void crn_machine_memory(uint64_t *ret_address_space_bytes, uint64_t *ret_resident_bytes);

CRN_C_END

#endif
