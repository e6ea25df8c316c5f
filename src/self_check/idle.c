/* Idle states (C-states), out of which a CPU needs time to wake. */
#include <inttypes.h>
#include <string.h>

#include "src/self_check/internal.h"

/* A verdict has milliseconds; a tenth of one does not matter. */
#define LATENCY_OK_US 100

#define COST                                                                                       \
    "each wake-up of a thread on an idle CPU takes up to so much longer, several for each view"
#define CURE "cpupower idle-set -D 100"

/* Finds the enabled state with the longest latency of all CPUs; false without any. */
static bool find_deepest(const crn_self_check *check, const cpu_set_t *cpus, int64_t *ret_us,
                         char ret_name[32])
{
    bool found = false;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        for (int state = 0; CPU_ISSET(cpu, cpus); state++) {
            char path[96], name[CRN_SELF_CHECK_TEXT] = "?";
            int64_t us, disabled = 0;
            snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpuidle/state%d", cpu,
                     state);
            if (!crn_self_check_read_number(check, &us, "%s/latency", path))
                break;
            crn_self_check_read_number(check, &disabled, "%s/disable", path);
            if (disabled || (found && us <= *ret_us))
                continue;
            crn_self_check_read(check, name, "%s/name", path);
            snprintf(ret_name, 32, "%.31s", name);
            *ret_us = us;
            found = true;
        }
    return found;
}

void crn_self_check_idle(crn_self_check *check)
{
    cpu_set_t cpus = crn_self_check_cpus(check);
    char name[32] = "", driver[CRN_SELF_CHECK_TEXT] = "", limit[64] = "";
    int64_t us = 0, max_cstate;
    if (crn_self_check_read_number(check, &max_cstate,
                                   "/sys/module/intel_idle/parameters/max_cstate"))
        snprintf(limit, sizeof limit, ", intel_idle.max_cstate=%" PRId64, max_cstate);
    if (find_deepest(check, &cpus, &us, name)) {
        crn_self_check_add(check, "C-states",
                           us <= LATENCY_OK_US ? CRN_FINDING_OK : CRN_FINDING_NOTE, COST, CURE,
                           "deepest in use: %s, %" PRId64 " us to wake%s", name, us, limit);
        return;
    }
    bool known =
        crn_self_check_read(check, driver, "/sys/devices/system/cpu/cpuidle/current_driver");
    if (known && strcmp(driver, "none") == 0)
        crn_self_check_add(check, "C-states", CRN_FINDING_OK, NULL, NULL, "the kernel uses none%s",
                           limit);
    else
        crn_self_check_add(check, "C-states", CRN_FINDING_UNKNOWN, NULL, NULL, "no cpuidle%s",
                           limit);
}
