#include "src/service/pulse.h"

#include <stdlib.h>
#include <string.h>

crn_pulse *crn_pulse_create(void)
{
    crn_pulse *pulse = aligned_alloc(_Alignof(crn_pulse), sizeof *pulse);
    return pulse ? memset(pulse, 0, sizeof *pulse) : NULL;
}
