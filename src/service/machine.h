/* What the operating system says of this process. */
#ifndef CRN_SRC_SERVICE_MACHINE_H
#define CRN_SRC_SERVICE_MACHINE_H

#include <stdint.h>

#include "stages/base/api.h"

CRN_C_BEGIN

typedef struct crn_machine {
    uint64_t resident_bytes;
    uint64_t descriptors;
    double cpu_s;
} crn_machine;

void crn_machine_read(crn_machine *ret_machine);

/* The process's address space, and what of it is in memory; 0 if that is unknown. */
void crn_machine_memory(uint64_t *ret_address_space_bytes, uint64_t *ret_resident_bytes);

CRN_C_END

#endif
