#include "tools/common/cores.h"

#include <sched.h>

int32_t crn_core_count(void)
{
    cpu_set_t set;
    int32_t count = sched_getaffinity(0, sizeof set, &set) < 0 ? 1 : CPU_COUNT(&set);
    return count < 1 ? 1 : count;
}
